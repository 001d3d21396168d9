# SPDX-License-Identifier: GPL-2.0-or-later
"""The one of three Galera nodes that takes the writes is killed while sandboxes are made, and comes back."""

import pytest

from callers import assert_each_once, go_on, start_callers
from database_group import Cluster
from faults import settle
from stack import wait_until

pytestmark = pytest.mark.faults

CALLERS = 3


@pytest.fixture
def cluster(stack):
    settle(stack)
    cluster = Cluster(stack)
    yield cluster
    cluster.end()
    settle(stack)


def test_another_node_takes_the_writes(make_account, stack, cluster):
    """Of all programs one node takes the writes, at every time, and the one that was it is not again when it is back."""
    accounts = [make_account("pro") for _ in range(CALLERS)]
    with cluster.in_use():
        callers = start_callers(stack, accounts)
        go_on(callers, "sandboxes at the first node")
        first = cluster.writer()
        first.kill()
        go_on(callers, "sandboxes at another node")
        second = cluster.writer()
        assert second is not first
        first.return_anew()
        go_on(callers, "sandboxes while the first is back")
        assert cluster.writer() is second
        assert not first.query("SELECT 1 FROM information_schema.processlist WHERE user = %s",
                               stack.settings["database_user"])
        assert_each_once(callers)
        assert not [caller.refusals for caller in callers if set(caller.refusals) - {503, 409}]
        wait_until(lambda: not second.query("SELECT 1 FROM sandboxes WHERE state <> 'destroyed'", database=cluster.name),
                   120, "the removal of all", 0.5)
