# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 at every step of every verb: nothing is lost, nothing is left, nothing is stuck."""

import contextlib
import os
import re
import secrets
import signal
import threading
import time

import pytest

import events
from client import assert_error
from false_agent import replace_agent
from tenant import Sandbox
from faults import (  # noqa: F401
    InBackground, fault_points, instances, quiet, quota_in_use, settle, settled_row, take_over
)
from killing import dumping, stopped
from stack import wait_until

API_POINTS = ("create.planned", "create.inserting", "create.inserted", "create.agent", "finishing", "create.finished")


def ids_of(api):
    return [sandbox["id"] for sandbox in api.list()]


def retry_until_answered(api, body, key, timeout_s):
    """As a client does after a 5xx or 409 request_in_progress: the same request again."""
    answers = []

    def again():
        answers.append(api.post("/v1/sandboxes", body, headers=key))
        return answers[-1] if answers[-1].status < 400 else None

    return wait_until(again, timeout_s, f"an answer to the retry, not {answers}", 0.3)


@pytest.mark.parametrize("body", [{}, {"cpu": 1, "memory_mb": 1408}], ids=["usual size", "own size"])
@pytest.mark.parametrize("point", API_POINTS + ("create.adapted", "create.started"))
def test_a_worker_killed_in_a_create_and_the_client_asks_again(make_account, stack, fault_points, point, body):
    account = make_account("pro")
    key = {"Idempotency-Key": secrets.token_urlsafe(24)}
    fault_points.arm(point, "kill", "sandlot-api")
    if point == "create.started":
        drain_warm_pool(stack)
    first = account.api.post("/v1/sandboxes", body, headers=key)
    assert first.status >= 500, first
    assert not (fault_points.directory / point).exists(), "the point was reached"
    second = retry_until_answered(account.api, body, key, 2 * stack.lease_s + 15)
    sandbox = Sandbox(account.api, second.json())
    assert sandbox.data.check("echo works") == "works\n"
    settle(stack)
    assert ids_of(account.api) == [sandbox.id], "one sandbox came of it"
    assert quota_in_use(account.api) == 1


def drain_warm_pool(stack):
    """Nothing waits any more for the next create, if that comes before a dispatcher has made another."""
    stack.query("UPDATE warm_instances SET state = 'leaving', lease_until_ms = 0")


@pytest.mark.parametrize("point", ["create.inserted", "create.started", "create.agent", "finishing"])
def test_a_worker_killed_in_a_create_that_nobody_asks_for_again(account, stack, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-api")
    drain_warm_pool(stack)
    assert account.api.post("/v1/sandboxes", {}).status >= 500
    settle(stack)
    assert ids_of(account.api) == []
    assert quota_in_use(account.api) == 0


@pytest.mark.parametrize(
    "point", ["pause.begun", "pause.hung_up", "pause.stopped", "finishing", "pause.finished"])
def test_a_worker_killed_in_a_pause(sandbox, stack, fault_points, point):
    sandbox.data.upload("/home/user/kept", b"kept")
    boot_id = sandbox.boot_id()
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/pause").status >= 500
    settle(stack)
    assert sandbox.show()["state"] == "stopped", "the dispatcher finished it"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.read("/home/user/kept") == b"kept"
    assert sandbox.boot_id() == boot_id


@pytest.mark.parametrize("verb, point, during, after", [("pause", "pause.stopped", "stopping", "stopped"),
                                                        ("resume", "resume.agent", "restoring", "ready")])
def test_a_worker_writes_no_result_of_what_another_has_taken_over(sandbox, stack, fault_points, verb, point, during, after):
    boot_id = sandbox.boot_id()
    if verb == "resume":
        sandbox.pause()
    fault_points.arm(point, "wait", "sandlot-api")
    asked = InBackground(sandbox.api.post, f"{sandbox.path}/{verb}")
    fault_points.reached(point)
    take_over(stack, sandbox.id, 20)
    fault_points.release(point)
    assert_error(asked.result(), 409, "sandbox_busy")
    assert stack.row(sandbox.id)["state"] == during
    assert settled_row(stack, sandbox.id)["state"] == after
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.boot_id() == boot_id


def test_a_create_whose_commit_got_no_answer_keeps_its_sandbox(account, stack, fault_points):
    """The row says ready, and the next operation has begun before the worker asks again."""
    fault_points.arm("create.agent", "wait", "sandlot-api")
    creating = InBackground(account.api.post, "/v1/sandboxes", {"timeout": 600})
    fault_points.reached("create.agent")
    ((made,), now_ms) = ids_of(account.api), int(time.time() * 1000)
    stack.query("UPDATE operations SET state = 'done', finished_at_ms = %s WHERE sandbox_id = %s", now_ms, made)
    stack.query("INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb, started_at_ms)"
                " SELECT id, incarnation, team_id, 'runtime', cpu, memory_mb, disk_gb, %s FROM sandboxes WHERE id = %s",
                now_ms, made)
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), state = 'ready', operation_id = NULL, deadline_at_ms = %s,"
                " incarnation = incarnation + 1, network_due_at_ms = 1 WHERE id = %s", now_ms + 600000, made)
    fault_points.release("create.agent")
    answer = creating.result()
    assert answer.status == 201 and answer.json()["id"] == made, answer
    sandbox = Sandbox(account.api, answer.json())
    assert stack.incus.exists(sandbox.instance)
    assert sandbox.data.check("echo works") == "works\n"


@pytest.mark.long
def test_a_worker_killed_while_the_runtime_writes_the_memory(sandbox, stack):
    sandbox.data.upload("/home/user/kept", b"kept")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    holder = wait_until(lambda: holder_of(stack, sandbox.id), 10, "the pause in flight", 0.001)
    with stopped([wait_until(lambda: dumping(sandbox.instance), 10, "the dump", 0.001)]):
        os.kill(holder, signal.SIGKILL)
    assert pausing.result().status >= 500
    settle(stack)
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.read("/home/user/kept") == b"kept"


def holder_of(stack, sandbox_id):
    rows = stack.query(
        "SELECT lease_owner FROM operations WHERE sandbox_id = %s AND state = 'running'", sandbox_id
    )
    return int(re.findall(r"\d+$", rows[0]["lease_owner"])[0]) if rows and rows[0]["lease_owner"] else None


@pytest.mark.parametrize("point", ["resume.begun", "resume.started", "resume.agent", "finishing", "resume.finished"])
def test_a_worker_killed_in_a_resume(sandbox, stack, fault_points, point):
    sandbox.data.upload("/home/user/kept", b"kept")
    boot_id = sandbox.boot_id()
    sandbox.pause()
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/resume").status >= 500
    settle(stack)
    assert sandbox.show()["state"] == "ready"
    assert sandbox.show()["resumed_from"] == "memory"
    sandbox.resume()
    assert sandbox.data.read("/home/user/kept") == b"kept"
    assert sandbox.boot_id() == boot_id


@pytest.mark.parametrize(
    "point", ["rollback.begun", "rollback.removed", "create.started", "rollback.started", "finishing", "rollback.finished"])
def test_a_worker_killed_in_a_rollback(sandbox, stack, fault_points, point):
    boot_id = sandbox.boot_id()
    assert sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "back", "memory": True}).status == 201
    sandbox.data.upload("/home/user/later", b"later")
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": "back"}).status >= 500
    settle(stack)
    shown = sandbox.show()
    assert (shown["state"], shown["resumed_from"]) == ("ready", "memory"), "the dispatcher finished it"
    sandbox.resume()
    assert sandbox.boot_id() == boot_id
    sandbox.data.check("test ! -e /home/user/later")


@pytest.mark.parametrize("point", ["resume.started", "resume.agent"], ids=["before its agent", "behind its agent"])
def test_resumed_from_is_the_truth_when_the_worker_that_started_it_died(sandbox, stack, fault_points, point):
    sandbox.data.upload("/home/user/kept", b"kept")
    sandbox.pause()
    for image in (stack.instance_dir(sandbox.instance) / "state").glob("pages-*.img"):
        image.unlink()
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/resume").status >= 500
    settle(stack)
    assert sandbox.show()["state"] == "ready"
    assert sandbox.show()["resumed_from"] == "disk"
    sandbox.resume()
    assert sandbox.data.read("/home/user/kept") == b"kept"


def test_a_worker_killed_in_a_delete(sandbox, stack, fault_points):
    fault_points.arm("delete.cut", "kill", "sandlot-api")
    assert sandbox.api.delete(sandbox.path).status >= 500
    assert_deleted(sandbox, stack)


def assert_deleted(sandbox, stack):
    instance = sandbox.instance
    assert_error(sandbox.api.get(sandbox.path), 404, "not_found")
    assert settled_row(stack, sandbox.id)["state"] == "destroyed"
    settle(stack)
    assert instance not in instances(stack)
    assert quota_in_use(sandbox.api) == 0


# --- the dispatcher, at the same steps ---


@pytest.mark.parametrize("paused", [False, True], ids=["running", "paused"])
@pytest.mark.parametrize("point", ["delete.begun", "delete.removed", "finishing", "delete.finished"])
def test_a_dispatcher_killed_in_a_removal(sandbox, stack, fault_points, point, paused):
    if paused:
        sandbox.pause()
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    sandbox.api.destroy(sandbox.id)
    wait_until(lambda: not (fault_points.directory / point).exists(), 20, f"a dispatcher at {point}")
    assert_deleted(sandbox, stack)


@pytest.mark.parametrize("point", ["deadline.expiring", "pause.begun", "pause.stopped", "finishing", "pause.finished"])
def test_a_dispatcher_killed_in_a_pause_at_the_deadline(make_sandbox, stack, fault_points, point):
    sandbox = make_sandbox(timeout=1, auto_pause=True)
    fault_points.arm(point, "kill", "sandlot-dispatcher" if point != "deadline.expiring" else "")
    wait_until(lambda: not (fault_points.directory / point).exists(), 20, f"a dispatcher at {point}")
    row = wait_until(
        lambda: (r := stack.row(sandbox.id))["state"] == "stopped" and r, stack.lease_s + 20, "the pause"
    )
    assert not row["operation_id"] or settled_row(stack, sandbox.id)
    settle(stack)
    assert sandbox.resume(timeout=60)["resumed_from"] == "memory"


@pytest.mark.parametrize("point", ["idle.pausing", "pause.begun", "pause.stopped", "finishing", "pause.finished"])
def test_a_dispatcher_killed_in_a_pause_of_an_idle_sandbox(make_sandbox, stack, fault_points, point):
    sandbox = make_sandbox(lifecycle={"idle_timeout": 30})
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    wait_until(lambda: not (fault_points.directory / point).exists(), 120, f"a dispatcher at {point}")
    wait_until(lambda: stack.row(sandbox.id)["state"] == "stopped", stack.lease_s + 120, "the pause")
    settle(stack)
    paused = [event for event in events.page(sandbox.api, f"limit=1000&sandbox_id={sandbox.id}")["events"]
              if event["kind"] == "sandbox.paused"]
    assert [event["data"] for event in paused] == [{"by": "idleness"}], "it was paused once"
    assert sandbox.resume(timeout=60)["resumed_from"] == "memory"


@pytest.mark.parametrize("point", ["deadline.expiring", "delete.begun", "delete.removed", "finishing", "delete.finished"])
def test_a_dispatcher_killed_in_a_delete_at_the_deadline(make_sandbox, stack, fault_points, point):
    sandbox = make_sandbox(timeout=1)
    fault_points.arm(point, "kill", "sandlot-dispatcher" if point != "deadline.expiring" else "")
    wait_until(lambda: not (fault_points.directory / point).exists(), 20, f"a dispatcher at {point}")
    wait_until(
        lambda: stack.row(sandbox.id)["state"] == "destroyed", stack.lease_s + 20, "the sandbox's end"
    )
    settle(stack)


def test_two_crashes_in_one_recovery(sandbox, stack, fault_points):
    """The worker dies, and then the dispatcher that took its work over."""
    fault_points.arm("pause.begun", "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/pause").status >= 500
    fault_points.arm("pause.stopped", "kill", "sandlot-dispatcher")
    wait_until(
        lambda: not (fault_points.directory / "pause.stopped").exists(), stack.lease_s + 10, "the take-over"
    )
    settle(stack)
    row = stack.query("SELECT attempts, state FROM operations WHERE sandbox_id = %s AND kind = 'pause'", sandbox.id)
    assert row == [{"attempts": 3, "state": "done"}]
    assert sandbox.resume()["resumed_from"] == "memory"


# --- the gate's wake worker ---


@pytest.mark.parametrize("point", ["resume.begun", "resume.started", "resume.agent", "finishing", "resume.finished"])
def test_a_gate_worker_killed_in_an_auto_resume(make_sandbox, stack, fault_points, point):
    sandbox = make_sandbox(timeout=300, lifecycle={"on_timeout": "pause", "auto_resume": True})
    sandbox.data.upload("/home/user/kept", b"kept")
    sandbox.pause()
    fault_points.arm(point, "kill", "sandlot-gate")
    answer = sandbox.data.download("/home/user/kept")
    assert not (fault_points.directory / point).exists(), "the point was reached"
    assert answer.status in (200, 502, 503), answer
    settle(stack)
    assert sandbox.show()["state"] == "ready"
    assert sandbox.data.read("/home/user/kept") == b"kept"


# --- the daemons, under load ---


class Load(threading.Thread):
    """A client that makes, pauses, resumes and deletes, keeps count of what was acknowledged, and
    meets a daemon's absence with another try."""

    def __init__(self, api, stop):
        super().__init__(daemon=True)
        self.api, self.stop = api, stop
        self.kept, self.bad = {}, []
        self.start()

    def run(self):
        while not self.stop.is_set():
            try:
                self.round()
            except Exception as error:  # pylint: disable=broad-except
                self.bad.append(repr(error))
                return

    def say(self, method, path, body=None, headers=None):
        answer = self.api.request(method, path, body, headers)
        if answer.status == 500:
            self.bad.append(f"{method} {path}: {answer}")
        return answer

    def round(self):
        key = {"Idempotency-Key": secrets.token_urlsafe(24)}
        while not self.stop.is_set():
            made = self.say("POST", "/v1/sandboxes", {}, key)
            if made.status == 201:
                break
            time.sleep(0.3)
        else:
            return
        sandbox_id = made.json()["id"]
        self.kept[sandbox_id] = "ready"
        for verb in ("pause", "resume"):
            answer = self.say("POST", f"/v1/sandboxes/{sandbox_id}/{verb}")
            if answer.status == 404:
                self.bad.append(f"{sandbox_id} was acknowledged and is lost: {answer}")
        if len(self.kept) % 2:
            # Deleted from here on, whatever the answer says.
            self.kept[sandbox_id] = "deleted"
            while self.say("DELETE", f"/v1/sandboxes/{sandbox_id}").status not in (204, 404):
                time.sleep(0.3)


def under_load(account, disturb, clients=3, before_s=2, after_s=3):
    stop = threading.Event()
    loads = [Load(account.api, stop) for _ in range(clients)]
    try:
        time.sleep(before_s)
        disturb()
        time.sleep(after_s)
    finally:
        stop.set()
    for load in loads:
        load.join(90)
        assert not load.is_alive()
    assert not [bad for load in loads for bad in load.bad]
    return loads


def assert_nothing_lost(account, stack, loads):
    settle(stack)
    there = {sandbox["id"]: sandbox["state"] for sandbox in account.api.list("?limit=200")}
    for load in loads:
        for sandbox_id, wanted in load.kept.items():
            assert (sandbox_id in there) == (wanted == "ready"), f"{sandbox_id} should be {wanted}"
    made = {sandbox_id for load in loads for sandbox_id in load.kept}
    # One request of each client may have been cut off by the end of the test.
    assert len(set(there) - made) <= len(loads)
    assert quota_in_use(account.api) == sum(state == "ready" for state in there.values())


@pytest.mark.faults
def test_the_database_restarted_under_load(make_account, stack):
    account = make_account("pro")

    def restart():
        daemon = stack.daemon("database")
        daemon.stop()
        time.sleep(0.5)
        daemon.start(stack.database_answers)

    loads = under_load(account, restart)
    assert_nothing_lost(account, stack, loads)


@pytest.mark.faults
def test_the_database_killed_under_load(make_account, stack):
    account = make_account("pro")

    def crash():
        daemon = stack.daemon("database")
        os.kill(daemon.pid, signal.SIGKILL)
        wait_until(daemon.is_gone, 10, "the database's end")
        daemon.start(stack.database_answers)

    loads = under_load(account, crash)
    assert_nothing_lost(account, stack, loads)


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_the_runtime_daemon_restarted_under_load(make_account, stack, number):
    account = make_account("pro")
    daemon = stack.daemon("incusd")  # looked for while it has no helpers

    def restart():
        os.kill(daemon.pid, number)
        wait_until(daemon.is_gone, 30, "the daemon's end")
        time.sleep(0.5)
        daemon.start(stack.incus.answers)

    loads = under_load(account, restart)
    assert_nothing_lost(account, stack, loads)


# --- instances that die by themselves ---


def init_pid(stack, instance):
    return stack.incus.request("GET", f"/1.0/instances/{instance}/state")["pid"]


def seconds_until_stopped(stack, sandboxes, limit_s=10):
    """From when the last instance is really down to when the last row says so."""
    wait_until(
        lambda: all(instances(stack)[sandbox.instance] == "Stopped" for sandbox in sandboxes),
        20,
        "the end of the instances",
        0.02,
    )
    down = time.monotonic()
    wait_until(
        lambda: all(sandbox.show()["state"] == "stopped" for sandbox in sandboxes), limit_s, "the notice", 0.02
    )
    return time.monotonic() - down


def test_an_init_that_is_killed_is_noticed_at_once(make_sandbox, stack):
    sandbox = make_sandbox(auto_pause=True, envs={"KEPT": "value"})
    sandbox.data.upload("/home/user/kept", b"kept")
    os.kill(init_pid(stack, sandbox.instance), signal.SIGKILL)
    assert seconds_until_stopped(stack, [sandbox]) < 5
    shown = sandbox.show()
    assert shown["lifecycle"]["on_timeout"] == "pause"
    assert shown["deadline"] is None and shown["stopped_at"]
    assert quota_in_use(sandbox.api) == 0
    assert sandbox.resume()["resumed_from"] == "disk"
    assert sandbox.data.read("/home/user/kept") == b"kept"
    assert sandbox.data.check("echo $KEPT") == "value\n"


def test_a_sandbox_that_ends_in_its_pause_has_no_memory(sandbox, stack, fault_points):
    fault_points.arm("pause.hung_up", "wait", "sandlot-api")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached("pause.hung_up")
    os.kill(init_pid(stack, sandbox.instance), signal.SIGKILL)
    wait_until(lambda: instances(stack)[sandbox.instance] == "Stopped", 20, "the end of the instance", 0.02)
    fault_points.release("pause.hung_up")
    assert pausing.result().json()["state"] == "stopped"
    told = sandbox.api.get(f"/v1/events?sandbox_id={sandbox.id}&since=2020-01-01T00:00:00Z").json()["events"]
    assert told[-1]["kind"] == "sandbox.stopped", told
    assert not stack.query("SELECT id FROM memory_images WHERE id = %s", sandbox.id), "it takes no room for paused memory"
    assert sandbox.resume()["resumed_from"] == "disk"


@pytest.mark.long
def test_a_host_that_was_started_anew(account, stack):
    """All instances are down at once, without our doing; paused ones stay what they were."""
    running = [Sandbox.create(account.api) for _ in range(4)]
    paused = Sandbox.create(account.api)
    for sandbox in [*running, paused]:
        sandbox.data.upload("/home/user/kept", sandbox.id.encode())
    paused.pause()
    for one in stack.incus.request("GET", "/1.0/instances?recursion=2"):
        if one["status"] == "Running" and one["name"].startswith(("sbx-", "warm-")):
            with contextlib.suppress(ProcessLookupError):  # a waiting one that was not wanted any more
                os.kill(one["state"]["pid"], signal.SIGKILL)
    assert seconds_until_stopped(stack, running) < 5
    assert paused.show()["state"] == "stopped"
    for sandbox in [*running, paused]:
        assert sandbox.resume()["state"] == "ready"
        assert sandbox.data.read("/home/user/kept") == sandbox.id.encode()


# --- a host that drains ---


@pytest.mark.long
def test_a_draining_host_moves_no_one(make_account, stack):
    account = make_account("pro")
    running, paused = Sandbox.create(account.api), Sandbox.create(account.api)
    paused.pause()
    (host,) = stack.query("SELECT name FROM hosts")
    answer = stack.ctl("host", "drain", host["name"])
    try:
        listed = {row["id"]: row["state"] for row in answer["sandboxes"]}
        assert (listed[running.id], listed[paused.id]) == ("ready", "stopped")
        wait_until(
            lambda: not stack.query("SELECT 1 FROM warm_instances"), 30, "the waiting instances leaving", 0.2
        )
        refused = account.api.post("/v1/sandboxes", {})
        assert_error(refused, 503, "no_capacity")
        assert running.show()["state"] == "ready"
        assert running.data.check("echo stays") == "stays\n"
        assert paused.resume()["resumed_from"] == "memory"
    finally:
        stack.ctl("host", "activate", host["name"])


@pytest.mark.long
@pytest.mark.one_host
def test_a_start_from_the_disk_in_place_of_memory_waits_for_its_agent(account, stack, fault_points):
    """The agent in the memory and a slow stop of the instance take nothing from the time of the next agent."""
    sandbox = replace_agent(Sandbox.create(account.api, timeout=1800), "mute")
    sandbox.pause()
    stack.incus.write_file(
        sandbox.instance, "/usr/lib/sandlot/start-agent",
        b"#!/bin/sh\nexec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/sandlot/sandlot-agent --guard\n")
    fault_points.arm("resume.started", "wait", "sandlot-api")
    resuming = InBackground(sandbox.api.request, "POST", f"{sandbox.path}/resume", timeout_s=120)
    fault_points.reached("resume.started")
    with stopped([stack.daemon("incusd").pid]):
        fault_points.release("resume.started")
        time.sleep(25)
    answer = resuming.result(120)
    assert answer.status == 200, answer
    assert answer.json()["resumed_from"] == "disk"


def test_memory_is_not_given_up_for_a_database_that_is_away(sandbox, stack, fault_points):
    """It is restored, and only then the database is needed for the environment."""
    boot_id = sandbox.boot_id()
    sandbox.pause()
    fault_points.arm("resume.started", "wait", "sandlot-api")
    resuming = InBackground(sandbox.api.post, f"{sandbox.path}/resume")
    fault_points.reached("resume.started")
    daemon = stack.daemon("database")
    daemon.stop()
    try:
        fault_points.release("resume.started")
        assert resuming.result().status == 503
    finally:
        daemon.start(stack.database_answers)
    settle(stack)
    assert sandbox.show()["resumed_from"] == "memory"
    sandbox.resume()
    assert sandbox.boot_id() == boot_id
