# SPDX-License-Identifier: GPL-2.0-or-later
"""Instances that wait for a create, and end meanwhile."""

import pytest

from faults import settle
from stack import wait_until
from tenant import Sandbox


@pytest.fixture
def waiting(stack):
    """Those of the pool, once there are some."""
    return wait_until(lambda: stack.query("SELECT instance_name FROM warm_instances WHERE state = 'ready'"),
                      120, "instances that wait")


def is_known(stack, name):
    return stack.query("SELECT 1 FROM warm_instances WHERE instance_name = %s AND state = 'ready'", name)


@pytest.mark.parametrize("removed", [False, True], ids=["stopped", "removed"])
def test_what_has_ended_waits_for_no_create(stack, waiting, account, removed):
    """As all of them after a reboot of the host; one that is not even there any more is in no listing of it."""
    name = waiting[0]["instance_name"]
    stack.incus.request("PUT", f"/1.0/instances/{name}/state", {"action": "stop", "force": True, "timeout": 30})
    if removed:
        stack.incus.request("DELETE", f"/1.0/instances/{name}")
    wait_until(lambda: not is_known(stack, name), 90, f"{name} no longer waiting", 0.3)
    sandbox = Sandbox.create(account.api)
    assert sandbox.instance != name
    assert sandbox.data.check("echo works") == "works\n"
    settle(stack)
