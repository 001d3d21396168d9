# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes that pretend to work, or to be idle: each decides about itself only."""

import pytest

import events
from false_agent import replace_agent
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel

PATIENCE_S = 300
IDLE = {"idle_timeout": 30, "on_timeout": "pause"}
BURNS = """
import sys, time
while True:
    until = time.process_time() + float(sys.argv[1])
    while time.process_time() < until:
        pass
    time.sleep(1)
"""
CALLS = """
import socket, sys, time
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
called = 0
while True:
    for address in (sys.argv[1], "255.255.255.255"):
        stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        stream.setblocking(False)
        for call in (lambda: datagrams.sendto(b"wake up", (address, 9)), lambda: stream.connect((address, 49983))):
            try:
                call()
            except OSError:
                pass
        stream.close()
    called += 1
    with open("/tmp/called", "w") as count:
        count.write(str(called))
    time.sleep(0.02)
"""


def burning(make_sandbox, seconds, **fields):
    """A program that uses so many seconds of a processor in each second."""
    sandbox = make_sandbox(lifecycle=IDLE, **fields)
    sandbox.data.upload("/tmp/burns.py", BURNS.encode())
    sandbox.data.background("python3", "/tmp/burns.py", str(seconds))
    return sandbox


def cause_of_pause(sandbox):
    wait_until(lambda: sandbox.show()["state"] == "stopped", PATIENCE_S, "the pause", 1)
    told = [event for event in events.page(sandbox.api, f"limit=1000&sandbox_id={sandbox.id}")["events"]
            if event["kind"] in ("sandbox.paused", "sandbox.stopped")]
    return [event["data"]["by"] for event in told]


@pytest.mark.long
def test_work_that_is_feigned_lasts_until_the_deadline(make_sandbox):
    feigning = burning(make_sandbox, 0.1, timeout=100)
    held = make_sandbox(lifecycle=IDLE, timeout=100)
    held.data.check("""curl -sf -d '{"seconds": 604800}' http://127.0.0.1:49983/hold""")
    below = burning(make_sandbox, 0.008)
    assert cause_of_pause(below) == ["idleness"]
    assert cause_of_pause(feigning) == ["deadline"]
    assert cause_of_pause(held) == ["deadline"]


@pytest.mark.long
def test_false_agents(make_account, make_sandbox):
    """With a false agent root of a sandbox says what it likes, of its own sandbox."""
    hostile = make_account("pro").api
    awake = replace_agent(Sandbox.create(hostile, lifecycle=IDLE, timeout=100), "awake")
    idle = replace_agent(Sandbox.create(hostile, lifecycle=IDLE), "idle")
    untimed = replace_agent(Sandbox.create(hostile, timeout=900), "idle")
    garbage = replace_agent(Sandbox.create(hostile, lifecycle=IDLE, timeout=900), "garbage")
    honest = make_sandbox(lifecycle=IDLE)
    busy = burning(make_sandbox, 0.5)
    assert cause_of_pause(idle) == ["idleness"]
    assert cause_of_pause(honest) == ["idleness"]
    assert cause_of_pause(awake) == ["deadline"]
    for sandbox in (untimed, garbage, busy):
        assert sandbox.show()["state"] == "ready"


@pytest.mark.long
def test_a_neighbour_keeps_nobody_awake(make_account, make_sandbox):
    """Its packets, which would be activity, do not reach the other sandbox."""
    asleep = make_sandbox(lifecycle=IDLE)
    hostile = Sandbox.create(make_account("pro").api, timeout=900)
    hostile.data.upload("/tmp/calls.py", CALLS.encode())
    hostile.data.background("python3", "/tmp/calls.py", asleep.address, user="root")

    def calls():
        return int(hostile.data.check("cat /tmp/called || echo 0").strip() or 0)

    wait_until(lambda: calls() > 100, 60, "the calls")
    assert cause_of_pause(asleep) == ["idleness"]
    assert calls() > 500
