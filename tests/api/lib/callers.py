# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that make and delete sandboxes while something happens to the database."""

import collections
import secrets
import threading
import time

from client import Api
from stack import wait_until


class Caller(threading.Thread):
    """Creates and deletes, each order with its own Idempotency-Key until it is answered for good."""

    def __init__(self, stack, key):
        super().__init__(daemon=True)
        self.api = Api(stack, key)
        self.over = threading.Event()
        self.kept, self.deleted, self.refused, self.wrong = [], [], 0, []
        self.refusals = collections.Counter()

    def order(self, method, path, body=None):
        headers = {"Idempotency-Key": secrets.token_hex(12)}
        give_up = time.monotonic() + 180
        while time.monotonic() < give_up:
            answer = self.api.request(method, path, body, headers=headers, timeout_s=60)
            if answer.status not in (502, 503, 504, 409):
                return answer
            self.refused += 1
            self.refusals[answer.status] += 1
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


def start_callers(stack, accounts):
    callers = [Caller(stack, account.api.key) for account in accounts]
    for caller in callers:
        caller.start()
    return callers


def go_on(callers, what):
    """They make sandboxes again."""
    before = made_since(callers)
    wait_until(lambda: made_since(callers) >= before + 6, 120, what, 0.1)


def assert_each_once(callers):
    """Whatever was answered is there, and nothing is there twice. Ends them, and what they made."""
    for caller in callers:
        caller.over.set()
    for caller in callers:
        caller.join(300)
        assert not caller.is_alive() and not caller.wrong, caller.wrong
    for caller in callers:
        listed = [one["id"] for one in caller.api.list("?limit=200")]
        assert sorted(listed) == sorted(caller.kept)
        for sandbox_id in caller.deleted:
            assert caller.api.get(f"/v1/sandboxes/{sandbox_id}").status == 404
        for sandbox_id in caller.kept:
            caller.api.destroy(sandbox_id)
