# SPDX-License-Identifier: GPL-2.0-or-later
"""The database's primary is killed while sandboxes are made and deleted, and its replica takes over."""

import secrets
import threading
import time

import pytest

from client import Api
from database_pair import DatabasePair
from doctor import doctor
from faults import settle
from stack import wait_until

pytestmark = pytest.mark.faults

CALLERS = 3


@pytest.fixture
def pair(stack):
    settle(stack)
    pair = DatabasePair(stack)
    yield pair
    pair.end()
    settle(stack)


class Caller(threading.Thread):
    """Creates and deletes, each order with its own Idempotency-Key until it is answered for good."""

    def __init__(self, stack, key):
        super().__init__(daemon=True)
        self.api = Api(stack, key)
        self.over = threading.Event()
        self.kept, self.deleted, self.refused, self.wrong = [], [], 0, []

    def order(self, method, path, body=None):
        headers = {"Idempotency-Key": secrets.token_hex(12)}
        give_up = time.monotonic() + 90
        while time.monotonic() < give_up:
            answer = self.api.request(method, path, body, headers=headers, timeout_s=60)
            if answer.status not in (502, 503, 504, 409):
                return answer
            self.refused += 1
            time.sleep(0.3)
        return answer

    def run(self):
        while not self.over.is_set():
            made = self.order("POST", "/v1/sandboxes", {"timeout": 3600})
            if made.status != 201:
                self.wrong.append(made)
                return
            self.kept.append(made.json()["id"])
            if len(self.kept) > 2:
                gone = self.order("DELETE", f"/v1/sandboxes/{self.kept[0]}")
                if gone.status not in (204, 404):
                    self.wrong.append(gone)
                    return
                self.deleted.append(self.kept.pop(0))


def made_since(callers):
    assert not [one.wrong for one in callers if one.wrong]
    return sum(len(one.kept) + len(one.deleted) for one in callers)


def test_writes_go_on_at_the_replica(make_account, stack, pair):
    """Whatever was answered is there, and nothing is there twice."""
    accounts = [make_account("pro") for _ in range(CALLERS)]
    with pair.in_use():
        said = [one["message"] for one in doctor(stack) if one["check"] == "database"]
        assert any("its schema is at version" in one for one in said), said
        callers = [Caller(stack, account.api.key) for account in accounts]
        for caller in callers:
            caller.start()
        wait_until(lambda: made_since(callers) >= 6, 60, "sandboxes at the primary", 0.1)
        pair.primary.kill()
        before = made_since(callers)
        wait_until(lambda: all(caller.refused for caller in callers), 60, "refusals while no server takes writes", 0.1)
        pair.promote()
        wait_until(lambda: made_since(callers) >= before + 6, 90, "sandboxes at the replica", 0.1)
        for caller in callers:
            caller.over.set()
        for caller in callers:
            caller.join(120)
            assert not caller.is_alive() and not caller.wrong, caller.wrong
        for caller in callers:
            listed = [one["id"] for one in caller.api.list("?limit=200")]
            assert sorted(listed) == sorted(caller.kept)
            for sandbox_id in caller.deleted:
                assert caller.api.get(f"/v1/sandboxes/{sandbox_id}").status == 404
            for sandbox_id in caller.kept:
                caller.api.destroy(sandbox_id)
        wait_until(lambda: not pair.replica.query("SELECT 1 FROM sandboxes WHERE state <> 'destroyed'", database=pair.name),
                   120, "the removal of all", 0.5)
