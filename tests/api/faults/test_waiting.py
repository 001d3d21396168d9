# SPDX-License-Identifier: GPL-2.0-or-later
"""Instances that wait for a create, and end meanwhile."""

import contextlib
import datetime
import os
import subprocess
import sys
import time

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


@pytest.mark.long
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


@contextlib.contextmanager
def all_processors_at_work():
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@pytest.mark.long
@pytest.mark.usefixtures("waiting")
def test_a_start_gives_way_to_others(stack):
    """It waits for an idle processor, for two seconds at most."""
    with all_processors_at_work():
        time.sleep(1)
        before = [row["instance_name"] for row in stack.query("SELECT instance_name FROM warm_instances")]
        stack.query("UPDATE warm_instances SET state = 'leaving' WHERE state = 'ready'")
        rows = wait_until(lambda: stack.query(
            "SELECT instance_name, created_at_ms FROM warm_instances WHERE state = 'ready' AND instance_name NOT IN"
            f" ({', '.join(['%s'] * len(before))})", *before), 120, "a new one that waits", 0.3)
    for row in rows:
        made = stack.incus.request("GET", f"/1.0/instances/{row['instance_name']}")["created_at"]
        made_ms = datetime.datetime.fromisoformat(made[:26].rstrip("Z") + "+00:00").timestamp() * 1000
        assert made_ms - row["created_at_ms"] > 1500, row
