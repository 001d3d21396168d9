# SPDX-License-Identifier: GPL-2.0-or-later
"""Deadlines: the dispatcher acts on them within one second, and never before."""

import threading
import time

import pytest

from client import assert_error
from tenant import Sandbox
from stack import wait_until


# What a busy machine may take beside the second that is promised; without a look at deadlines it
# would be a lease.
LATE_S = 3.0


def watch(sandbox, timeout_s=15):
    """When the sandbox stopped being ready, in seconds after its deadline, and what it was then."""
    deadline_s = sandbox.stack.row(sandbox.id)["deadline_at_ms"] / 1000
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        response = sandbox.api.get(sandbox.path)
        seen_s = time.time()
        state = response.json()["state"] if response.status == 200 else response.status
        if state != "ready":
            return seen_s - deadline_s, state
        time.sleep(0.02)
    raise AssertionError(f"still ready {timeout_s} s later")


def test_kill_within_one_second(make_sandbox, stack):
    sandbox = make_sandbox(timeout=2)
    instance = sandbox.instance
    late_s, state = watch(sandbox)
    assert state == 404
    assert -0.05 <= late_s <= LATE_S, late_s
    wait_until(lambda: not stack.incus.exists(instance), 10, "the end of the instance")
    wait_until(lambda: stack.row(sandbox.id)["state"] == "destroyed", 5, "the end of the row")
    row = stack.row(sandbox.id)
    assert (row["reserved"], row["deadline_at_ms"]) == (0, None), "retention deletes rows without a deadline"
    assert sandbox.data.call("process.Process/List", {}).status == 404


def test_pause_within_one_second(make_sandbox):
    sandbox = make_sandbox(timeout=2, lifecycle={"on_timeout": "pause"})
    sandbox.data.upload("/home/user/kept", b"kept")
    program = sandbox.put_guest("counter.py")
    pid = sandbox.data.background("python3", program, "/tmp/count")
    late_s, state = watch(sandbox)
    assert state in ("stopping", "stopped")
    assert -0.05 <= late_s <= LATE_S, late_s
    wait_until(lambda: sandbox.show()["state"] == "stopped", 10, "the end of the pause")
    resumed = sandbox.resume(timeout=60)
    assert resumed["resumed_from"] == "memory"
    assert int(sandbox.data.read("/tmp/count").split()[0]) == pid
    assert sandbox.data.read("/home/user/kept") == b"kept"


@pytest.mark.parallel
def test_a_timeout_set_during_a_move_counts_after_it(make_sandbox, stack):
    """The move of a sandbox that is stopped only to move has the deadline that it gets at its next start."""
    sandbox = make_sandbox(timeout=60)
    sandbox.pause()
    stack.query(
        "INSERT INTO moves (id, kind, team_id, group_id, state, asked, from_host_id, to_host_id, generation,"
        " deadline_at_ms, lease_owner, lease_until_ms, created_at_ms)"
        " SELECT id, 'sandbox', team_id, id, 'copying', 0, host_id, host_id, 1, 1, 'test', %s, 1 FROM sandboxes"
        " WHERE id = %s", int(time.time() * 1000) + 600000, sandbox.id)
    try:
        begun = time.time()
        assert sandbox.api.request("PATCH", sandbox.path, {"timeout": 500}).status == 200
        (move,) = stack.query("SELECT deadline_at_ms FROM moves WHERE id = %s", sandbox.id)
        assert begun + 499 <= move["deadline_at_ms"] / 1000 <= time.time() + 501
    finally:
        stack.query("DELETE FROM moves WHERE id = %s", sandbox.id)


def test_many_deadlines_at_once(api):
    """They fall together, and each is acted on in its second."""
    sandboxes = [Sandbox.create(api, timeout=12) for _ in range(6)]
    for sandbox in sandboxes:
        sandbox.resume(timeout=2)
    seen = []
    watchers = [threading.Thread(target=lambda one=one: seen.append(watch(one))) for one in sandboxes]
    for watcher in watchers:
        watcher.start()
    for watcher in watchers:
        watcher.join()
    assert len(seen) == len(sandboxes)
    assert all(state == 404 for _, state in seen), seen
    assert all(-0.05 <= late_s <= LATE_S for late_s, _ in seen), seen


@pytest.mark.long
def test_an_extension_wins(make_sandbox):
    sandbox = make_sandbox(timeout=5)
    for _ in range(2):
        time.sleep(3)
        sandbox.resume(timeout=5)
    assert sandbox.show()["state"] == "ready"
    assert sandbox.data.check("echo alive") == "alive\n"
    watch(sandbox)


def test_a_resume_can_shorten_the_deadline(make_sandbox):
    sandbox = make_sandbox(timeout=300)
    sandbox.resume(timeout=1)
    late_s, state = watch(sandbox)
    assert (state, late_s <= LATE_S) == (404, True), (state, late_s)


@pytest.mark.parallel
def test_a_paused_sandbox_has_no_deadline(make_sandbox):
    sandbox = make_sandbox(timeout=5)
    assert sandbox.pause()["deadline"] is None
    time.sleep(6)
    assert sandbox.show()["state"] == "stopped"
    resumed = sandbox.resume()
    assert resumed["deadline"] is not None
    watch(sandbox)


@pytest.mark.parallel
def test_after_the_deadline_nothing_brings_it_back(make_sandbox):
    sandbox = make_sandbox(timeout=1)
    watch(sandbox)
    assert_error(sandbox.api.post(f"{sandbox.path}/resume"), 404, "not_found")


@pytest.mark.parallel
def test_a_resume_has_the_longest_timeout_of_the_present_plan(make_account, stack):
    account = make_account("pro")
    sandbox = Sandbox.create(account.api, timeout=7200)
    sandbox.pause()
    stack.ctl("team", "set-plan", account.team, "basic")
    longest = account.api.get("/v1/sandbox_limits").json()["max_timeout"]
    assert longest < 7200
    assert sandbox.resume()["timeout"] == longest


@pytest.mark.parallel
def test_a_running_sandbox_gets_the_longest_timeout_of_the_present_plan(make_account, stack):
    account = make_account("pro")
    sandbox = Sandbox.create(account.api, timeout=7200)
    stack.ctl("team", "set-plan", account.team, "basic")
    longest = account.api.get("/v1/sandbox_limits").json()["max_timeout"]
    assert longest < 7200
    kept = account.api.post(f"{sandbox.path}/resume", {"extend_only": True})
    assert kept.status == 200 and kept.json()["sandbox"]["timeout"] == 7200, "its deadline is later already"
    resumed = sandbox.resume()
    assert resumed["timeout"] == longest
    assert stack.row(sandbox.id)["deadline_at_ms"] / 1000 <= time.time() + longest
