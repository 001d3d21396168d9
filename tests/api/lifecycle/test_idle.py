# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes that are paused when they do nothing, and what keeps them awake."""

import pytest

import events
from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel

SHORTEST_S = 30
PATIENCE_S = 300
AGENT = "/usr/lib/sandlot/sandlot-agent"
IDLE = {"idle_timeout": SHORTEST_S, "auto_resume": True}
# A sandbox is busy with 2 % of a processor. This takes 30 % at most: other tests run at the same time.
BUSY = """
import time
while True:
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    time.sleep(0.7)
"""


def test_an_idle_sandbox_is_paused_and_others_are_not(make_sandbox):
    idle = make_sandbox(lifecycle=IDLE)
    idle.data.check("echo kept >/run/lock/memory; sync", user="root")
    others = [make_sandbox(lifecycle=IDLE) for _ in range(4)] + [make_sandbox()]
    busy, held, holder, commander, without = others
    busy.data.background("python3", "-c", BUSY)
    assert held.api.request("PUT", f"{held.path}/hold", {"seconds": 3600}).json()["hold_until"]
    holder.data.check("""curl -sf -d '{"seconds": 3600}' http://127.0.0.1:49983/hold""")
    commander.data.background(AGENT, "hold", "--", "sleep", "1000")
    assert (idle.show()["lifecycle"]["idle_timeout"], without.show()["lifecycle"]["idle_timeout"]) == (SHORTEST_S, None)
    # A sandbox of the same age shows that the others would have been paused by now, too.
    last = make_sandbox(lifecycle=IDLE)
    for one in (last, idle):  # in any order
        wait_until(lambda: one.show()["state"] == "stopped", PATIENCE_S, "the pause of an idle one", 1)
    assert idle.show()["reason"] == "idleness"
    assert [other.show()["state"] for other in others] == ["ready"] * len(others)
    told = events.until(idle.api, "sandbox.paused", f"sandbox_id={idle.id}")
    assert told["data"] == {"by": "idleness"}, told
    route = idle.document["data_plane_url"].removeprefix("https://").split(".")[0]
    theirs = idle.api.origin.request("GET", f"/sandboxes/{route}", None, {"X-API-Key": idle.api.key})
    assert theirs.json()["state"] == "paused", "E2B's clients see a pause like any other"
    # A request wakes it, with its memory, and it does not fall asleep at once.
    assert idle.data.read("/run/lock/memory") == b"kept\n"
    told = events.until(idle.api, "sandbox.resumed", f"sandbox_id={idle.id}")
    assert (told["data"]["by"], told["data"]["from"]) == ("traffic", "memory"), told
    assert (idle.show()["state"], idle.show()["reason"]) == ("ready", None)


@pytest.mark.long
def test_the_end_of_a_hold(make_sandbox):
    held = make_sandbox(lifecycle=IDLE)
    assert held.api.request("PUT", f"{held.path}/hold", {"seconds": 604800}).status == 200
    other = make_sandbox(lifecycle=IDLE)
    wait_until(lambda: other.show()["state"] == "stopped", PATIENCE_S, "the pause of the other one", 1)
    answer = held.api.request("DELETE", f"{held.path}/hold")
    assert (answer.status, answer.json()["hold_until"]) == (200, None)
    wait_until(lambda: held.show()["state"] == "stopped", PATIENCE_S, "the pause after the hold", 1)
    answer = held.api.request("PUT", f"{held.path}/hold", {"seconds": 60})
    assert_error(answer, 409, "sandbox_not_running")


def test_a_command_that_holds(make_sandbox):
    """It is the command itself, without a child of its own, and holds no stream open."""
    sandbox = make_sandbox()
    for command, code in (("exit 7", 7), ("kill -TERM $$", 143), ("! pgrep -P $$ || exit 9", 0)):
        assert sandbox.data.check(f"{AGENT} hold -- sh -c '{command}'; echo $?") == f"{code}\n"
    assert sandbox.data.run(AGENT, "hold", "/nowhere").exit_code == 127
    # The end of the command is the end of its output, too.
    assert sandbox.data.check(f"{AGENT} hold -- echo out | cat") == "out\n"
    sandbox.data.check("for _ in $(seq 100); do pgrep -f 'agent [h]old' || exit 0; sleep 0.1; done; exit 1")


@pytest.mark.long
def test_the_end_of_a_command_that_holds(make_sandbox):
    sandbox = make_sandbox(lifecycle=IDLE)
    sandbox.data.background(AGENT, "hold", "sleep", "1000")
    other = make_sandbox(lifecycle=IDLE)
    wait_until(lambda: other.show()["state"] == "stopped", PATIENCE_S, "the pause of the other one", 1)
    assert sandbox.show()["state"] == "ready"
    sandbox.data.check("pkill -x sleep")
    wait_until(lambda: sandbox.show()["state"] == "stopped", PATIENCE_S, "the pause after the command", 1)


def test_it_is_changed_and_ended(make_sandbox):
    sandbox = make_sandbox(lifecycle={"idle_timeout": 600, "idle_connections": "ignore"})
    shown = sandbox.show()["lifecycle"]
    assert (shown["idle_timeout"], shown["idle_connections"]) == (600, "ignore")
    changed = sandbox.api.request("PATCH", sandbox.path, {"lifecycle": {"idle_timeout": None}}).json()["lifecycle"]
    assert (changed["idle_timeout"], changed["idle_connections"]) == (None, "ignore")


@pytest.mark.parametrize("value", [0, 29, 31536001, -1, 60.5, "60", True])
def test_other_timeouts_are_refused(module_account, value):
    answer = module_account.api.request("POST", "/v1/sandboxes", {"lifecycle": {"idle_timeout": value}})
    assert_error(answer, 422, "invalid_request", "/lifecycle/idle_timeout")


@pytest.mark.parametrize("body, field", [({}, "/seconds"), ({"seconds": 0}, "/seconds"), ({"seconds": 604801}, "/seconds"),
                                         ({"seconds": 60, "until": 1}, "/until")])
def test_other_holds_are_refused(shared_sandbox, body, field):
    answer = shared_sandbox.api.request("PUT", f"{shared_sandbox.path}/hold", body)
    assert_error(answer, 422, "invalid_request", field)


def test_auto_resume_needs_a_pause(account):
    answer = account.api.request("POST", "/v1/sandboxes", {"lifecycle": {"auto_resume": True}})
    assert_error(answer, 422, "invalid_request", "/lifecycle/auto_resume")
