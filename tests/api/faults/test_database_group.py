# SPDX-License-Identifier: GPL-2.0-or-later
"""The primary of three members of Group Replication, Oracle's server, is killed and held still while sandboxes are made."""

import signal

import pytest

from callers import assert_each_once, go_on, start_callers
from database_group import SinglePrimary
from faults import settle
from stack import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.oracle]

CALLERS = 3


@pytest.fixture
def group(stack):
    settle(stack)
    group = SinglePrimary(stack)
    yield group
    group.end()
    settle(stack)


def test_the_group_finds_another_primary(make_account, stack, group):
    """Whatever was answered is there once; what was not is 503, or 409 while the same order is under way."""
    accounts = [make_account("pro") for _ in range(CALLERS)]
    with group.in_use():
        callers = start_callers(stack, accounts)
        go_on(callers, "sandboxes at the first primary")
        first = group.primary()
        first.kill()
        go_on(callers, "sandboxes at the second primary")
        first.start()
        first.join()
        group.wait_for(group.servers)
        assert not first.takes_writes()
        go_on(callers, "sandboxes while the first is back")
        # One that hangs is put out of the group, and says so of itself when it goes on.
        second = group.primary()
        second.process.send_signal(signal.SIGSTOP)
        try:
            go_on(callers, "sandboxes at the third primary")
        finally:
            second.process.send_signal(signal.SIGCONT)
        wait_until(lambda: not second.takes_writes(), 120, "the one that hung knowing that it is none any more", 0.2)
        go_on(callers, "sandboxes while the one that hung is back")
        assert_each_once(callers)
        assert not [caller.refusals for caller in callers if set(caller.refusals) - {503, 409}]
        third = group.primary()
        wait_until(lambda: not third.query("SELECT 1 FROM sandboxes WHERE state <> 'destroyed'", database=group.name),
                   120, "the removal of all", 0.5)
