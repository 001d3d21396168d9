# SPDX-License-Identifier: GPL-2.0-or-later
"""Hooks: commands that run in a sandbox around a pause, a resume and a fork."""

import threading

import pytest

from client import assert_error
from dataplane import is_cut_off
from faults import InBackground
from services import services, until
from stack import wait_until
from tenant import Sandbox, checkpoint_of

pytestmark = pytest.mark.parallel


def note(word, **members):
    return {"command": f"echo {word} >>/home/user/notes", **members}


def notes(sandbox):
    return sandbox.data.check("cat /home/user/notes 2>/dev/null || true").split()


def made(account, hooks, **fields):
    return Sandbox.create(account.api, hooks=hooks, **fields)


def forked(sandbox):
    fork = sandbox.api.post(f"{sandbox.path}/fork", {}).json()["forks"][0]["sandbox"]
    wait_until(lambda: sandbox.api.show(fork["id"])["state"] == "ready", 60, "the fork")
    session = sandbox.api.post(f"/v1/sandboxes/{fork['id']}/sessions").json()["session"]
    return Sandbox(sandbox.api, {**fork, "session": session})


def failures(sandbox):
    """The failures of its operations, from its events, which come a moment later."""
    path = f"/v1/events?kind=sandbox.failed&sandbox_id={sandbox.id}"
    events = wait_until(lambda: sandbox.api.get(path).json()["events"], 30, "the event")
    return [tuple(event["data"][name] for name in ("operation", "error", "message")) for event in events]


def test_each_hook_runs_at_its_time(account):
    hooks = {"before_pause": note("before"), "after_resume": note("$(id -un)", user="root"), "after_fork": note("fork")}
    sandbox = made(account, hooks)
    assert sandbox.document["hooks"] == hooks and notes(sandbox) == []
    sandbox.pause()
    sandbox.resume()
    assert notes(sandbox) == ["before", "root"]
    assert sandbox.api.post(f"{sandbox.path}/stop", {"memory": False}).status == 200
    sandbox.resume()
    assert notes(sandbox) == ["before", "root", "before", "root"]
    fork = forked(sandbox)
    assert notes(fork) == notes(sandbox) + ["fork"] and fork.show()["hooks"] == hooks


@pytest.mark.long
def test_the_hook_knows_where_the_sandbox_comes_from(account):
    sandbox = made(account, {"after_resume": note("$SANDLOT_RESUMED_FROM")})
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory" and notes(sandbox) == ["memory"]
    assert sandbox.api.post(f"{sandbox.path}/stop", {"memory": False}).status == 200
    assert sandbox.resume()["resumed_from"] == "disk" and notes(sandbox) == ["memory", "disk"]


def test_services_start_behind_the_hook_of_a_start_from_disk(account):
    """The lock of a service that was killed stays on the disk: its next start would find it."""
    service = {"name": "db", "restart": "always", "command":
               "test ! -e lock || { echo locked; exit 1; }; echo $$ >lock; exec sleep 100000"}
    sandbox = made(account, {"after_resume": {"command": "sleep 1; rm -f /home/user/lock"}}, services=[service])
    until(sandbox, "db", state="running")
    assert sandbox.api.post(f"{sandbox.path}/stop", {"memory": False}).status == 200
    sandbox.resume()
    db = services(sandbox)["db"]
    assert (db["state"], db["restarts"]) == ("running", 0)


def test_a_failure_counts_if_it_shall(account):
    flag = {"command": "test ! -e /home/user/bad", "on_failure": "fail"}
    sandbox = made(account, {"before_pause": flag})
    sandbox.data.check("touch /home/user/bad")
    refused = sandbox.api.post(f"{sandbox.path}/pause")
    assert_error(refused, 409, "hook_failed")
    assert failures(sandbox) == [("pause", "hook_failed", refused.json()["message"])]
    route = sandbox.document["data_plane_url"].removeprefix("https://").split(".")[0]
    theirs = sandbox.api.origin.request("POST", f"/sandboxes/{route}/pause", headers={"X-API-Key": sandbox.api.key})
    assert (theirs.status, theirs.json()["code"]) == (503, 503), "E2B's clients take 409 for a sandbox that is paused"
    assert sandbox.show()["state"] == "ready"
    assert "before_pause" in refused.json()["message"] and "1" in refused.json()["message"]
    assert sandbox.show()["state"] == "ready" and sandbox.data.check("rm /home/user/bad; echo here") == "here\n"
    sandbox.pause()
    ignored = made(account, {"before_pause": {"command": "exit 3"}, "after_resume": {"command": "kill -9 $$"}})
    ignored.pause()
    ignored.resume()
    fails = made(account, {"after_resume": {"command": "exit 5", "on_failure": "fail"}})
    fails.pause()
    refused = fails.api.post(f"{fails.path}/resume")
    assert_error(refused, 409, "hook_failed")
    assert failures(fails) == [("resume", "hook_failed", refused.json()["message"])]
    assert fails.show()["state"] == "stopped" and fails.show()["resumed_from"] is None


def test_a_rollback_whose_hook_fails_keeps_the_disk(account):
    """It ends at once, as such a resume does, and the sandbox has the disk of the checkpoint."""
    sandbox = made(account, {"after_resume": {"command": "test ! -e /home/user/bad", "on_failure": "fail"}})
    sandbox.data.check("touch /home/user/bad; sync")
    checkpoint = checkpoint_of(sandbox)
    sandbox.data.check("rm /home/user/bad")
    refused = sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": checkpoint["id"]})
    assert_error(refused, 409, "hook_failed")
    assert failures(sandbox) == [("resume", "hook_failed", refused.json()["message"])]
    assert (sandbox.show()["state"], sandbox.show()["snapshot_id"]) == ("stopped", checkpoint["id"])
    assert_error(sandbox.api.post(f"{sandbox.path}/resume"), 409, "hook_failed")


def test_a_fork_whose_hook_fails_is_not_made(account):
    sandbox = made(account, {"after_fork": {"command": "exit 1", "on_failure": "fail"}})
    assert_error(sandbox.api.post(f"{sandbox.path}/fork", {}), 503, "runtime_unavailable")
    wait_until(lambda: [one["id"] for one in account.api.list()] == [sandbox.id], 60, "the end of the fork")


def test_a_hook_that_never_ends_is_killed(account):
    sandbox = made(account, {"before_pause": {"command": "trap '' TERM; while :; do sleep 1; done", "timeout": 1}})
    sandbox.pause()
    sandbox.resume()
    assert sandbox.data.check("ps -eo args | grep '[t]rap ' || true") == ""


@pytest.mark.long
def test_a_pause_disconnects_clients_after_a_slow_hook(account):
    """It lasts longer than all other waits for an agent may. The pause saves the logs afterwards, too."""
    sandbox = made(account, {"before_pause": {"command": "sleep 22", "timeout": 30}})
    stream, pid = sandbox.data.echoing()
    waiting = InBackground(is_cut_off, stream)
    sandbox.pause()
    assert waiting.result(10)
    assert sandbox.api.get(f"{sandbox.path}/logs").status == 200
    assert sandbox.resume()["resumed_from"] == "memory"
    sandbox.data.close_stdin(pid)


def test_an_agent_that_is_stopped_delays_a_pause_by_the_time_of_the_hook(account):
    sandbox = made(account, {"before_pause": {"command": "true", "timeout": 1, "on_failure": "fail"}})
    sandbox.data.background("/bin/sh", "-c", "sleep 0.5; kill -STOP $(pgrep -x sandlot-agent)", user="root")
    wait_until(lambda: sandbox.api.get(f"{sandbox.path}/logs").status >= 500, 30, "the stop of the agent")
    assert_error(sandbox.api.post(f"{sandbox.path}/pause"), 409, "hook_failed")


@pytest.mark.parametrize("hooks,field", [
    ({"before_pause": {}}, "/hooks/before_pause/command"),
    ({"after_fork": {"command": ""}}, "/hooks/after_fork/command"),
    ({"after_fork": {"command": "true", "timeout": 31}}, "/hooks/after_fork/timeout"),
    ({"after_resume": {"command": "true", "on_failure": "retry"}}, "/hooks/after_resume/on_failure"),
    ({"after_pause": {"command": "true"}}, "/hooks/after_pause"),
])
def test_refusals(module_account, hooks, field):
    assert_error(module_account.api.post("/v1/sandboxes", {"hooks": hooks}), 422, "invalid_request", field)


def test_a_policy_applies_while_the_hook_before_a_pause_runs(account):
    """The hook has the network."""
    sandbox = made(account, {"before_pause": {"command": "until [ -e /tmp/go ]; do sleep 0.1; done", "timeout": 30}})
    pausing = threading.Thread(target=sandbox.pause)
    pausing.start()
    try:
        wait_until(lambda: sandbox.show()["state"] == "stopping", 30, "the hook")
        answer = sandbox.api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": False})
        assert (answer.status, answer.json()["status"]) == (200, "applied"), answer
        assert sandbox.show()["state"] == "stopping"
    finally:
        sandbox.stack.incus.write_file(sandbox.instance, "/tmp/go", b"")
        pausing.join()
    assert sandbox.show()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.api.get(f"{sandbox.path}/network").json()["status"] == "applied"
