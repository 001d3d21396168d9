# SPDX-License-Identifier: GPL-2.0-or-later
"""Two who want something of the same sandbox at once, in an order that the test forces."""

import json
import time

import pytest

from client import Origin, assert_error
from faults import InBackground, fault_points, instances, settle, settled_row  # noqa: F401
from stack import wait_until

# Long enough for a call that does not wait to have come back.
MOMENT_S = 0.4


@pytest.fixture(autouse=True)
def quiet(stack):
    yield
    settle(stack)


def assert_waits(call):
    time.sleep(MOMENT_S)
    assert call.is_alive(), call.answer


def operations(stack, sandbox, kind):
    return stack.query(
        "SELECT state, attempts FROM operations WHERE sandbox_id = %s AND kind = %s ORDER BY id",
        sandbox.id,
        kind,
    )


def assert_runs_since(sandbox, boot_id):
    """It is up, and has been since before."""
    assert sandbox.show()["state"] == "ready"
    assert sandbox.boot_id() == boot_id


# --- resume, pause, illegal moves ---


@pytest.mark.parametrize("point", ["pause.begun", "pause.hung_up", "pause.stopped", "finishing"])
def test_resume_while_pausing_waits_and_continues_the_same_sandbox(sandbox, fault_points, point):
    boot_id = sandbox.boot_id()
    fault_points.arm(point, "wait", "sandlot-api")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached(point)
    resuming = InBackground(sandbox.resume)
    assert_waits(resuming)
    fault_points.release(point)
    assert pausing.result().status == 200
    assert resuming.result()["resumed_from"] == "memory"
    assert_runs_since(sandbox, boot_id)


@pytest.mark.parametrize("point", ["pause.begun", "pause.hung_up", "pause.stopped", "finishing"])
def test_pause_while_pausing_joins(sandbox, stack, fault_points, point):
    fault_points.arm(point, "wait", "sandlot-api")
    first = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached(point)
    second = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    assert_waits(second)
    fault_points.release(point)
    assert first.result().status == 200
    assert second.result().status == 200
    assert first.result().json() == second.result().json()
    assert len(operations(stack, sandbox, "pause")) == 1


def test_resume_while_resuming_joins(sandbox, stack, fault_points):
    boot_id = sandbox.boot_id()
    sandbox.pause()
    fault_points.arm("resume.started", "wait", "sandlot-api")
    first = InBackground(sandbox.api.post, f"{sandbox.path}/resume")
    fault_points.reached("resume.started")
    second = InBackground(sandbox.api.post, f"{sandbox.path}/resume")
    assert_waits(second)
    fault_points.release("resume.started")
    assert first.result().status == second.result().status == 200
    assert len(operations(stack, sandbox, "resume")) == 1
    assert_runs_since(sandbox, boot_id)


NEEDS_IT_RUNNING = [
    ("GET", "/ports", None), ("GET", "/ports/3000", None), ("PUT", "/ports/3000", {"public": True}),
    ("DELETE", "/ports/3000", None), ("GET", "/services", None), ("POST", "/services/web/restart", None),
    ("PUT", "/hold", {"seconds": 60}), ("GET", "/logs", None)]
OF_E2B = [("POST", "/timeout", {"timeout": 60}), ("POST", "/refreshes", {"duration": 60}), ("GET", "/logs", None)]
IN_EVERY_STATE = [
    ("GET", "", None, 200), ("PATCH", "", {"metadata": {"a": "b"}}, 200), ("GET", "/network", None, 200),
    ("GET", "/metrics", None, 200), ("GET", "/approvals", None, 200), ("POST", "/sessions", {}, 201),
    ("DELETE", "/hold", None, 200), ("POST", "/network/check", {"host": "a.example", "port": 443}, 200)]


def route_of(sandbox):
    return sandbox.document["data_plane_url"].removeprefix("https://").split(".")[0]


def call_of_e2b(sandbox, method, path, body):
    headers = {"X-API-Key": sandbox.api.key} | ({"Content-Type": "application/json"} if body else {})
    return sandbox.api.origin.request(method, path, json.dumps(body).encode() if body else None, headers)


def test_what_needs_a_running_sandbox_names_the_state(sandbox, fault_points):
    """doc/reference/states.md says which calls need it: a sandbox that changes its state is busy. The others go on."""
    theirs = "/sandboxes/" + route_of(sandbox)
    for verb, word in (("pause", "pausing"), ("resume", "resuming")):
        fault_points.arm(f"{verb}.begun", "wait", "sandlot-api")
        moving = InBackground(sandbox.api.post, f"{sandbox.path}/{verb}")
        fault_points.reached(f"{verb}.begun")
        for method, path, body in NEEDS_IT_RUNNING:
            refused = sandbox.api.request(method, sandbox.path + path, body)
            assert f"is {word}" in assert_error(refused, 409, "sandbox_busy")["message"], (method, path)
            assert int(refused.headers["Retry-After"]) > 0, (method, path)
        for method, path, body in OF_E2B:
            refused = call_of_e2b(sandbox, method, theirs + path, body)
            assert (refused.status, refused.json()["error_code"]) == (409, "sandbox_busy"), (method, path, refused)
            assert int(refused.headers["Retry-After"]) > 0, (method, path)
        for method, path, body, status in IN_EVERY_STATE:
            answer = sandbox.api.request(method, sandbox.path + path, body)
            assert answer.status == status, (method, path, answer)
        fault_points.release(f"{verb}.begun")
        assert moving.result().status == 200


def test_requests_to_a_sandbox_that_pauses(sandbox, stack, fault_points):
    """The data plane answers that the sandbox is busy. E2B's hosts answer that it does not run, because E2B's clients know no other answer."""
    theirs = Origin(stack.ca_file, f"https://49983-{route_of(sandbox)}.{stack.data_plane_host}")
    fault_points.arm("pause.begun", "wait", "sandlot-api")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached("pause.begun")

    def refusal():
        answer = sandbox.data.request("GET", "/files?path=/etc/hostname")
        return answer if answer.status != 200 else None

    refused = wait_until(refusal, 3, "a new decision: nginx may keep one for a second")
    assert_error(refused, 409, "sandbox_busy")
    assert int(refused.headers["Retry-After"]) > 0
    assert wait_until(lambda: theirs.request("GET", "/health").status == 502, 3, "their answer")
    assert sandbox.api.get(f"/sandboxes/{route_of(sandbox)}").json()["state"] == "paused"
    for state, found in (("paused", True), ("running", False), ("running,paused", True)):
        listed = sandbox.api.get(f"/v2/sandboxes?state={state}").json()
        assert (route_of(sandbox) in [one["sandboxID"] for one in listed]) == found, state
    fault_points.release("pause.begun")
    assert pausing.result().status == 200
    wait_until(lambda: refusal().json()["error"] == "sandbox_not_running", 3, "the end of the pause")


# --- delete wins ---


@pytest.mark.parametrize("point", ["create.inserted", "create.agent"])
@pytest.mark.parametrize("body", [{}, {"cpu": 1, "memory_mb": 1664}], ids=["usual size", "own size"])
def test_delete_against_create(make_account, stack, fault_points, point, body):
    delete_against_create(make_account("pro").api, stack, fault_points, point, body)


def test_delete_against_a_create_that_has_just_started_its_instance(make_account, stack, fault_points):
    api = make_account("pro").api
    stack.query("UPDATE warm_instances SET state = 'leaving', lease_until_ms = 0")
    delete_against_create(api, stack, fault_points, "create.started", {})


def delete_against_create(api, stack, fault_points, point, body):
    fault_points.arm(point, "wait", "sandlot-api")
    creating = InBackground(api.post, "/v1/sandboxes", body)
    fault_points.reached(point)
    (listed,) = api.list()
    assert listed["state"] == "creating"
    api.destroy(listed["id"])
    fault_points.release(point)
    assert_error(creating.result(), 409, "sandbox_busy")
    row = settled_row(stack, listed["id"])
    assert (row["state"], row["reserved"]) == ("destroyed", 0)
    assert api.list() == []
    settle(stack)
    assert row["instance_name"] not in instances(stack)


@pytest.mark.parametrize(
    "verb, point",
    [
        ("pause", "pause.begun"),
        ("pause", "pause.stopped"),
        ("resume", "resume.begun"),
        ("resume", "resume.started"),
        ("resume", "resume.agent"),
    ],
)
def test_delete_against_pause_and_resume(sandbox, stack, fault_points, verb, point):
    if verb == "resume":
        sandbox.pause()
    fault_points.arm(point, "wait", "sandlot-api")
    moving = InBackground(sandbox.api.post, f"{sandbox.path}/{verb}")
    fault_points.reached(point)
    sandbox.api.destroy(sandbox.id)
    fault_points.release(point)
    assert_error(moving.result(), 404, "not_found")
    assert_error(sandbox.api.get(sandbox.path), 404, "not_found")
    assert settled_row(stack, sandbox.id)["state"] == "destroyed"


@pytest.mark.parametrize("point", ["delete.begun", "delete.removed"])
def test_everything_against_a_delete_in_flight(sandbox, fault_points, point):
    fault_points.arm(point, "wait", "sandlot-api")
    deleting = InBackground(sandbox.api.delete, sandbox.path)
    fault_points.reached(point)
    for method, path in (("POST", "/pause"), ("POST", "/resume"), ("PATCH", ""), ("DELETE", ""), ("GET", "")):
        answer = sandbox.api.request(method, sandbox.path + path, {"timeout": 60} if method == "PATCH" else None)
        assert_error(answer, 404, "not_found")
    fault_points.release(point)
    assert deleting.result().status == 204


# --- those who come back too late ---


def overtaken(stack, sandbox, kind):
    """The dispatcher has finished what the one who waits has begun."""
    wait_until(
        lambda: (last := operations(stack, sandbox, kind)) and last[-1]["state"] == "done",
        stack.lease_s + 15,
        f"the {kind} being taken over",
        0.1,
    )


@pytest.mark.parametrize("point", ["pause.begun", "pause.stopped"])
def test_a_late_pause_does_not_stop_what_was_resumed(sandbox, stack, fault_points, point):
    boot_id = sandbox.boot_id()
    fault_points.arm(point, "wait", "sandlot-api")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached(point)
    overtaken(stack, sandbox, "pause")
    assert sandbox.resume()["resumed_from"] == "memory"
    fault_points.release(point)
    assert pausing.result().status in (200, 409), pausing.result()
    assert_runs_since(sandbox, boot_id)


@pytest.mark.parametrize("point", ["resume.begun", "resume.started", "resume.agent"])
def test_a_late_resume_does_not_start_what_was_paused(sandbox, stack, fault_points, point):
    sandbox.pause()
    fault_points.arm(point, "wait", "sandlot-api")
    resuming = InBackground(sandbox.api.post, f"{sandbox.path}/resume")
    fault_points.reached(point)
    overtaken(stack, sandbox, "resume")
    assert sandbox.pause()["state"] == "stopped"
    fault_points.release(point)
    assert resuming.result().status == 409, resuming.result()
    assert sandbox.show()["state"] == "stopped"
    assert stack.incus.instance(sandbox.instance)["status"] == "Stopped"
    assert sandbox.resume()["resumed_from"] == "memory"


def test_a_late_create_leaves_nothing(account, stack, fault_points):
    fault_points.arm("create.inserted", "wait", "sandlot-api")
    creating = InBackground(account.api.post, "/v1/sandboxes", {})
    fault_points.reached("create.inserted")
    (listed,) = account.api.list()
    wait_until(
        lambda: stack.row(listed["id"])["state"] == "destroyed", stack.lease_s + 15, "the create being undone"
    )
    fault_points.release("create.inserted")
    assert_error(creating.result(), 503, "runtime_unavailable")
    settle(stack)
    assert account.api.list() == []


def test_a_late_delete_is_a_delete(sandbox, stack, fault_points):
    fault_points.arm("delete.begun", "wait", "sandlot-api")
    deleting = InBackground(sandbox.api.delete, sandbox.path)
    fault_points.reached("delete.begun")
    overtaken(stack, sandbox, "destroy")
    fault_points.release("delete.begun")
    assert deleting.result().status == 204
    assert stack.row(sandbox.id)["state"] == "destroyed"


# --- extension against deadline ---


def extend(sandbox, how):
    if how == "PATCH":
        return sandbox.api.request("PATCH", sandbox.path, {"timeout": 300})
    return sandbox.api.post(f"{sandbox.path}/connect", {"timeout": 300})


@pytest.mark.parametrize("how", ["PATCH", "connect"])
@pytest.mark.parametrize("auto_pause", [False, True], ids=["kill", "pause"])
def test_an_extension_that_has_begun_beats_the_deadline(make_sandbox, fault_points, how, auto_pause):
    sandbox = make_sandbox(timeout=2, auto_pause=auto_pause)
    boot_id = sandbox.boot_id()
    fault_points.arm("deadline.extending", "wait", "sandlot-api")
    extending = InBackground(extend, sandbox, how)
    fault_points.reached("deadline.extending", 2)
    time.sleep(3)
    fault_points.release("deadline.extending")
    assert extending.result().status == 200
    time.sleep(1)
    assert_runs_since(sandbox, boot_id)


def test_a_patch_that_comes_when_the_deadline_is_acted_on_is_too_late(make_sandbox, stack, fault_points):
    fault_points.arm("deadline.expiring")
    sandbox = make_sandbox(timeout=1)
    fault_points.reached("deadline.expiring")
    extending = InBackground(extend, sandbox, "PATCH")
    assert_waits(extending)
    fault_points.release("deadline.expiring")
    assert_error(extending.result(), 404, "not_found")
    assert settled_row(stack, sandbox.id)["state"] == "destroyed"


@pytest.mark.parametrize("how", ["PATCH", "connect"])
def test_a_pause_at_the_deadline_and_who_comes_meanwhile(make_sandbox, stack, fault_points, how):
    fault_points.arm("deadline.expiring")
    sandbox = make_sandbox(timeout=1, auto_pause=True)
    boot_id = sandbox.boot_id()
    fault_points.reached("deadline.expiring")
    extending = InBackground(extend, sandbox, how)
    assert_waits(extending)
    fault_points.release("deadline.expiring")
    assert extending.result().status == 200
    if how == "PATCH":
        # It changes what the next resume gives, and wakes nobody.
        assert settled_row(stack, sandbox.id)["state"] == "stopped"
        assert sandbox.resume()["timeout"] == 300
    assert sandbox.show()["resumed_from"] == "memory"
    assert_runs_since(sandbox, boot_id)


# --- auto-resume ---


@pytest.fixture
def waking(make_sandbox):
    sandbox = make_sandbox(timeout=300, lifecycle={"on_timeout": "pause", "auto_resume": True})
    sandbox.data.upload("/home/user/kept", b"kept")
    return sandbox


@pytest.mark.parametrize("point", ["pause.begun", "pause.stopped"])
def test_auto_resume_against_pause(waking, fault_points, point):
    boot_id = waking.boot_id()
    fault_points.arm(point, "wait", "sandlot-api")
    pausing = InBackground(waking.api.post, f"{waking.path}/pause")
    fault_points.reached(point)
    time.sleep(1.2)  # what the edge remembers of the running sandbox
    reading = InBackground(waking.data.read, "/home/user/kept")
    assert_waits(reading)
    fault_points.release(point)
    assert pausing.result().status == 200
    assert reading.result() == b"kept"
    assert_runs_since(waking, boot_id)


def test_pause_against_auto_resume(waking, stack, fault_points):
    waking.pause()
    time.sleep(1.2)
    fault_points.arm("resume.begun", "wait", "sandlot-gate")
    reading = InBackground(waking.data.download, "/home/user/kept")
    fault_points.reached("resume.begun")
    pausing = InBackground(waking.api.post, f"{waking.path}/pause")
    assert_waits(pausing)
    fault_points.release("resume.begun")
    assert pausing.result().status == 200
    # The request that woke it may have been cut off by the pause, or woken it once more.
    assert reading.result().status in (200, 502, 503, 504), reading.result()
    assert settled_row(stack, waking.id)["state"] in ("stopped", "ready")
    assert waking.data.read("/home/user/kept") == b"kept"


@pytest.mark.parametrize("point", ["resume.begun", "resume.started"])
def test_two_auto_resumes_at_once(waking, stack, fault_points, point):
    boot_id = waking.boot_id()
    waking.pause()
    time.sleep(1.2)
    fault_points.arm(point, "wait", "sandlot-gate")
    first = InBackground(waking.data.read, "/home/user/kept")
    fault_points.reached(point)
    second = InBackground(waking.data.read, "/home/user/kept")
    assert_waits(second)
    fault_points.release(point)
    assert first.result() == second.result() == b"kept"
    assert len(operations(stack, waking, "resume")) == 1
    assert_runs_since(waking, boot_id)


def test_delete_against_auto_resume(waking, stack, fault_points):
    waking.pause()
    time.sleep(1.2)
    fault_points.arm("resume.started", "wait", "sandlot-gate")
    reading = InBackground(waking.data.download, "/home/user/kept")
    fault_points.reached("resume.started")
    waking.api.destroy(waking.id)
    fault_points.release("resume.started")
    assert reading.result().status in (404, 503), reading.result()
    assert settled_row(stack, waking.id)["state"] == "destroyed"
