# SPDX-License-Identifier: GPL-2.0-or-later
"""An open connection to the outside without packets, such as the wait for a model's answer."""

import pytest

from stack import wait_until

pytestmark = pytest.mark.long

OUTSIDE = "203.0.113.7"
PORT = 5000
PATIENCE_S = 300


def with_connection(make_sandbox, **lifecycle):
    sandbox = make_sandbox(lifecycle={"idle_timeout": 30, **lifecycle})
    sandbox.put_guest("hold.py")
    sandbox.data.check("touch /tmp/flow")
    sandbox.data.background("python3", "/tmp/hold.py", "tcp", "idle", OUTSIDE, str(PORT), "/tmp/flow")
    wait_until(lambda: b"echo 1" in sandbox.data.read("/tmp/flow"), 15, "the connection")
    return sandbox


def test_it_keeps_a_sandbox_awake_unless_it_is_ignored(make_sandbox, internet):
    awake = with_connection(make_sandbox)
    ignoring = with_connection(make_sandbox, idle_connections="ignore")
    without = make_sandbox(lifecycle={"idle_timeout": 30})
    for sandbox in (ignoring, without):
        wait_until(lambda: sandbox.show()["state"] == "stopped", PATIENCE_S, "the pause", 1)
    assert awake.show()["state"] == "ready"
    awake.data.check("pkill -f hold.py")
    wait_until(lambda: awake.show()["state"] == "stopped", PATIENCE_S, "the pause after the connection", 1)
