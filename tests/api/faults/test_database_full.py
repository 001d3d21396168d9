# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk of the database's server is full, or the server stands still, while sandboxes are made and deleted."""

import os
import secrets
import signal

import pytest

from callers import assert_each_once, made_since, start_callers
from client import assert_error
from database_pair import BINARY_LOG, SmallDatabase
from doctor import assert_says, wrong
from faults import quiet  # noqa: F401
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.faults

CALLERS = 2


# A server with a binary log waits for room and looks each minute; without one it refuses at once.
@pytest.fixture(params=[(), BINARY_LOG], ids=["refused", "kept waiting"])
def small(stack, request):
    small = SmallDatabase(stack, request.param)
    yield small
    small.end()


def begin(stack, accounts):
    callers = start_callers(stack, accounts)
    wait_until(lambda: made_since(callers) >= 2 * CALLERS, 90, "sandboxes of before", 0.1)
    return callers


class Writer:
    """Answers of its changes are kept for replays, which takes room fast."""

    def __init__(self, sandbox):
        self.sandbox, self.shown = sandbox, None

    def write(self, text=None, once=None):
        text = text or secrets.token_hex(6)
        metadata = {f"k{i}": text * 20 for i in range(40)}
        answer = self.sandbox.api.request("PATCH", self.sandbox.path, {"metadata": metadata},
                                          headers={"Idempotency-Key": once or secrets.token_hex(12)}, timeout_s=60)
        if answer.status == 200:
            self.shown = metadata
        return answer

    def until_refused(self):
        refused = []
        wait_until(lambda: (answer := self.write()).status != 200 and (refused.append(answer) or True), 300, "a refusal", 0)
        return refused[0]


def test_what_a_full_disk_refuses_is_done_once_later(make_account, stack, small, request):
    account, *others = [make_account("pro") for _ in range(1 + CALLERS)]
    with small.in_use():
        sandbox = Sandbox.create(account.api, timeout=3600)
        callers = begin(stack, others)
        writer = Writer(sandbox)
        small.fill()
        refused = writer.until_refused()
        error = assert_error(refused, 503, "runtime_unavailable")
        assert int(refused.headers["Retry-After"]) > 0
        said = "no room" if "refused" in request.node.name else "Idempotency-Key"
        assert said in error["message"] or small.has_ended(), error
        wait_until(lambda: all(caller.refused for caller in callers), 120, "refusals to all callers", 0.2)
        try:
            assert_says(wrong(stack), "database", r"file system of \S+ has 0 MiB left", "add space")
            assert sandbox.data.run("/bin/true").exit_code == 0
            assert len(sandbox.api.list()) == 1
        except AssertionError:
            if not small.has_ended():
                raise
            assert_says(wrong(stack), "database", "cannot connect", "Check that the server runs")
        before = made_since(callers)
        small.make_room()
        text, once = secrets.token_hex(6), secrets.token_hex(12)
        wait_until(lambda: writer.write(text, once).status == 200, 180, "room for a change", 0.5)
        wait_until(lambda: made_since(callers) >= before + 2 * CALLERS, 180, "sandboxes of after", 0.2)
        assert sandbox.show()["metadata"] == writer.shown
        assert_each_once(callers)
        sandbox.api.destroy(sandbox.id)
        wait_until(lambda: not small.servers[0].query("SELECT 1 FROM sandboxes WHERE state <> 'destroyed'", database=small.name),
                   120, "the removal of all", 0.5)
        wait_until(lambda: not wrong(stack), 60, "nothing being wrong", 0.5)


def test_a_server_that_stands_still(make_account, stack):
    """As one does whose disk is too slow: statements end late or never, and each order is done once."""
    callers = begin(stack, [make_account("pro") for _ in range(CALLERS)])
    pid = stack.daemon("database").pid
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: all(caller.refused for caller in callers), 120, "refusals to all callers", 0.2)
        assert_says(wrong(stack), "database", "cannot connect", "Check that the server runs")
    finally:
        os.kill(pid, signal.SIGCONT)
    before = made_since(callers)
    wait_until(lambda: made_since(callers) >= before + 2 * CALLERS, 120, "sandboxes of after", 0.2)
    assert_each_once(callers)
