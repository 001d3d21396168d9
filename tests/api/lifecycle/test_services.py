# SPDX-License-Identifier: GPL-2.0-or-later
"""Services: commands that start with a sandbox, and again by their policies."""

import pytest

from client import assert_error
from services import FOREVER, log, services, until
from stack import wait_until
from tenant import Sandbox, checkpoint_of

pytestmark = pytest.mark.parallel

def made(account, *list_, **fields):
    return Sandbox.create(account.api, services=list(list_), **fields)


def test_services_run_from_the_create_on(account):
    sandbox = made(account, {"name": "web", "command": FOREVER, "envs": {"VALUE": "secret words"}},
                   {"name": "db", "command": "id -un; pwd; exec sleep 100000", "user": "root", "cwd": "/etc",
                    "restart": "always", "health": {"command": "true", "interval": 1}})
    web = until(sandbox, "web", state="running")
    assert web == {"name": "web", "command": FOREVER, "user": None, "cwd": None, "restart": "on-failure",
                   "state": "running", "pid": web["pid"], "health": None, "restarts": 0, "exit_code": None,
                   "reason": None, "started_at": web["started_at"], "ended_at": None, "next_start_at": None}
    assert until(sandbox, "db", health="healthy")["restart"] == "always"
    wait_until(lambda: log(sandbox, "db") == "root\n/etc\n", 30, "the output")
    wait_until(lambda: log(sandbox, "web") == "up secret words\n", 30, "the output")
    # The environment is for root inside alone, and in no answer.
    assert "secret words" not in str(services(sandbox)) and "secret words" not in str(sandbox.show())
    assert sandbox.data.check("stat -c %a:%U /etc/sandlot/services.json", user="root") == "600:root\n"
    assert len(services(sandbox)) == 2


def test_a_crash_a_restart_and_an_end(account):
    sandbox = made(account, {"name": "web", "command": FOREVER}, {"name": "once", "command": "echo once", "restart": "no"})
    first = until(sandbox, "web", state="running")
    assert until(sandbox, "once", state="ended")["exit_code"] == 0
    sandbox.data.check(f"kill -9 {first['pid']}", user="root")
    again = until(sandbox, "web", state="running", restarts=1)
    assert again["pid"] != first["pid"] and again["exit_code"] is None and again["reason"]
    restart = sandbox.api.post(f"{sandbox.path}/services/web/restart")
    assert restart.status == 204
    until(sandbox, "web", state="running", restarts=2)
    wait_until(lambda: log(sandbox, "web") == "up\nup\nup\n", 30, "the output of all three")
    assert_error(sandbox.api.post(f"{sandbox.path}/services/none/restart"), 404, "not_found")
    assert_error(sandbox.api.post(f"{sandbox.path}/services/%2e%2e/restart"), 404, "not_found")
    assert_error(sandbox.api.get(f"{sandbox.path}/logs?service=none"), 404, "not_found")
    assert_error(sandbox.api.get(f"{sandbox.path}/logs?service=a/b"), 422, "invalid_request", "service")


def test_they_start_from_a_disk_and_continue_in_memory(account):
    sandbox = made(account, {"name": "web", "command": FOREVER, "envs": {"VALUE": "7"}})
    before = until(sandbox, "web", state="running")
    wait_until(lambda: log(sandbox, "web") == "up 7\n", 30, "the output")
    sandbox.pause()
    assert_error(sandbox.api.get(f"{sandbox.path}/services"), 409, "sandbox_not_running")
    assert "up 7" in log(sandbox, "web")  # what was kept
    sandbox.resume()
    assert services(sandbox)["web"] == before
    assert sandbox.api.post(f"{sandbox.path}/stop", {"memory": False}).status == 200
    sandbox.resume()
    after = until(sandbox, "web", state="running")
    assert after["started_at"] > before["started_at"]
    wait_until(lambda: log(sandbox, "web") == "up 7\n", 30, "the output")


def test_each_gets_its_stop_signal_and_time_to_end(account):
    """In a pause with volumes. A service may take seconds, and the pause waits for its end."""
    assert account.api.post("/v1/volumes", {"name": "kept"}).status == 201
    sandbox = made(account, {"name": "quits", "stop_signal": "SIGQUIT", "command":
                             "trap 'touch also-term' TERM; trap 'touch quit; exit' QUIT; echo up; while :; do sleep 0.1; done"},
                   {"name": "ends", "command": "trap 'sleep 2; touch term; exit' TERM; echo up; while :; do sleep 0.1; done"},
                   volume_mounts={"/data": "kept"})
    for name in ("quits", "ends"):
        wait_until(lambda name=name: log(sandbox, name) == "up\n", 30, "its traps")
    sandbox.pause()
    sandbox.resume()
    assert sandbox.data.check("ls ~").split() == ["quit", "term"]


def test_copies_have_them_too(account):
    sandbox = made(account, {"name": "web", "command": FOREVER}, {"name": "old", "command": FOREVER})
    running = until(sandbox, "web", state="running")
    fork = sandbox.api.post(f"{sandbox.path}/fork", {}).json()["forks"][0]["sandbox"]
    fork["session"] = sandbox.api.post(f"/v1/sandboxes/{fork['id']}/sessions").json()["session"]
    copy = Sandbox(sandbox.api, fork)
    wait_until(lambda: copy.show()["state"] == "ready", 60, "the fork")
    assert services(copy)["web"]["pid"] == running["pid"] and log(copy, "web") == ""
    checkpoint = checkpoint_of(sandbox)
    cold = Sandbox.create(account.api, snapshot_id=checkpoint["id"])
    assert set(services(cold)) == {"web", "old"}
    assert until(cold, "web", state="running")["started_at"] > running["started_at"]
    other = made(account, {"name": "web", "command": "exec sleep 99999"}, snapshot_id=checkpoint["id"])
    assert {name: one["command"] for name, one in services(other).items()} == {"web": "exec sleep 99999"}


def test_an_agent_that_is_killed(account):
    sandbox = made(account, {"name": "web", "command": FOREVER}, {"name": "once", "command": "echo x >>/tmp/once", "restart": "no"})
    until(sandbox, "once", state="ended")
    before = until(sandbox, "web", state="running")
    sandbox.data.check("setsid sh -c 'sleep 1.5; kill -9 $(pgrep -x sandlot-agent | tail -n 1)' >/dev/null 2>&1 &", user="root")
    other = lambda answer: answer.status == 200 and answer.json()["services"][0]["pid"] not in (before["pid"], None)
    wait_until(lambda: other(sandbox.api.get(f"{sandbox.path}/services")), 60, "the next agent's process")
    after = services(sandbox)["web"]
    wait_until(lambda: sandbox.data.check("pgrep -x sleep").split() == [str(after["pid"])], 30, "the end of the old process")
    assert sandbox.data.check("cat /tmp/once") == "x\n"


@pytest.mark.parametrize("list_,field", [
    ([{"command": "true"}], "/services/0/name"),
    ([{"name": "a b", "command": "true"}], "/services/0/name"),
    ([{"name": "a", "command": ""}], "/services/0/command"),
    ([{"name": "a", "command": "true"}, {"name": "a", "command": "true"}], "/services/1/name"),
    ([{"name": "a", "command": "true", "restart": "often"}], "/services/0/restart"),
    ([{"name": "a", "command": "true", "stop_signal": "SIGSTOP"}], "/services/0/stop_signal"),
    ([{"name": "a", "command": "true", "envs": {"A B": ""}}], "/services/0/envs/A B"),
    ([{"name": "a", "command": "true", "health": {"interval": 0, "command": "true"}}], "/services/0/health/interval"),
    ([{"name": "a", "command": "true", "directory": "/"}], "/services/0/directory"),
    ([{"name": f"a{i}", "command": "true"} for i in range(17)], "/services"),
    ([{"name": f"a{i}", "command": "x" * 16384} for i in range(5)], "/services"),
])
def test_refusals(module_account, list_, field):
    assert_error(module_account.api.post("/v1/sandboxes", {"services": list_}), 422, "invalid_request", field)
