# SPDX-License-Identifier: GPL-2.0-or-later
"""The database's primary is killed while sandboxes are made and deleted, and its replica takes over."""

import pytest

from callers import assert_each_once, made_since, start_callers
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


def test_writes_go_on_at_the_replica(make_account, stack, pair):
    """Whatever was answered is there, and nothing is there twice."""
    accounts = [make_account("pro") for _ in range(CALLERS)]
    with pair.in_use():
        said = [one["message"] for one in doctor(stack) if one["check"] == "database"]
        assert any("its schema has version" in one for one in said), said
        callers = start_callers(stack, accounts)
        wait_until(lambda: made_since(callers) >= 6, 60, "sandboxes at the primary", 0.1)
        pair.primary.kill()
        before = made_since(callers)
        wait_until(lambda: all(caller.refused for caller in callers), 60, "refusals while no server takes writes", 0.1)
        pair.promote()
        wait_until(lambda: made_since(callers) >= before + 6, 90, "sandboxes at the replica", 0.1)
        assert_each_once(callers)
        wait_until(lambda: not pair.replica.query("SELECT 1 FROM sandboxes WHERE state <> 'destroyed'", database=pair.name),
                   120, "the removal of all", 0.5)
