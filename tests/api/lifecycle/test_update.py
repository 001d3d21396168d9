# SPDX-License-Identifier: GPL-2.0-or-later
"""Changing a sandbox: PATCH, ports exposed and withdrawn; finding sandboxes by what they are."""

import os
import pathlib
import signal
import time

import pytest

from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


def patch(sandbox, body):
    response = sandbox.api.request("PATCH", sandbox.path, body)
    assert response.status == 200, response
    assert response.json() == sandbox.show()
    return response.json()


def settles(preview, status):
    """nginx keeps what the gate allowed to the end of the second, so a change may take that long."""
    wait_until(lambda: preview.request("GET", "/").status == status, 2, f"an answer {status}")


def test_metadata_is_merged(make_sandbox):
    sandbox = make_sandbox(metadata={"a": "1", "b": "2"})
    changed = patch(sandbox, {"metadata": {"b": None, "c": 3, "d": None}})
    assert changed["metadata"] == {"a": "1", "c": "3"}
    assert changed["updated_at"] > sandbox.document["updated_at"]


def test_a_timeout_counts_from_now(make_sandbox):
    sandbox = make_sandbox(timeout=100)
    changed = patch(sandbox, {"timeout": 500})
    assert changed["timeout"] == 500
    left_s = sandbox.stack.row(sandbox.id)["deadline_at_ms"] / 1000 - time.time()
    assert 495 < left_s <= 500.5


def test_the_lifecycle_can_change(make_sandbox):
    sandbox = make_sandbox()
    lifecycle = {
        "on_timeout": "pause", "auto_resume": True, "pause_memory": True, "on_pause_failure": "keep_running",
        "idle_timeout": 3600, "idle_connections": "ignore"}
    assert patch(sandbox, {"lifecycle": lifecycle})["lifecycle"] == lifecycle
    sandbox.pause()
    assert sandbox.data.check("echo awake") == "awake\n"
    for changes, field in (({"on_timeout": "kill", "idle_timeout": None}, "on_timeout"),
                           ({"on_timeout": "kill", "idle_timeout": None, "auto_resume": True}, "auto_resume")):
        refused = sandbox.api.request("PATCH", sandbox.path, {"lifecycle": changes})
        assert_error(refused, 422, "invalid_request", f"/lifecycle/{field}")


@pytest.mark.parametrize(
    "body, field",
    [
        ({"timeout": 0}, "/timeout"),
        ({"timeout": 3601}, "/timeout"),
        ({"metadata": {"k": "v" * 513}}, "/metadata/k"),
        ({"state": "stopped"}, "/state"),
        ({"envs": {"A": "b"}}, "/envs"),
    ],
)
def test_changes_that_are_refused(shared_sandbox, body, field):
    before = shared_sandbox.show()
    response = shared_sandbox.api.request("PATCH", shared_sandbox.path, body)
    assert_error(response, 422, "invalid_request", field)
    assert shared_sandbox.show() == before


def test_public_traffic_is_closed_and_opened(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    sandbox.data.background("python3", "-m", "http.server", "3000", "--bind", "127.0.0.1")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    preview = sandbox.preview(3000)
    assert preview.request("GET", "/").status == 200
    patch(sandbox, {"allow_public_traffic": False})
    settles(preview, 401)
    patch(sandbox, {"allow_public_traffic": True})
    assert preview.request("GET", "/").status == 200


def test_ports_are_exposed_and_withdrawn(sandbox):
    sandbox.data.background("python3", "-m", "http.server", "3000", "--bind", "127.0.0.1")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    preview, path = sandbox.preview(3000), f"{sandbox.path}/ports/3000"
    assert preview.request("GET", "/").status == 404
    put = sandbox.api.request("PUT", path, {"protocol": "http", "public": True})
    assert put.status in (200, 201), put
    assert preview.request("GET", "/").status == 200
    assert [one["port"] for one in sandbox.api.get(f"{sandbox.path}/ports").json()["ports"]] == [3000]
    sandbox.api.request("PUT", path, {"public": False})
    settles(preview, 401)
    assert sandbox.api.delete(path).status == 204
    settles(preview, 404)
    assert_error(sandbox.api.delete(path), 404, "not_found")


@pytest.mark.alone
def test_a_patch_does_not_wait_for_slow_calls(sandbox, stack):
    """All workers that may wait for the runtime are stopped: a deadline can be moved all the same."""
    note = stack.run_dir / "api.pid"
    if not note.exists():
        pytest.skip("the pools are units of their own")
    pool = note.read_text(encoding="utf-8").split()[0]
    workers = [int(pid) for pid in pathlib.Path(f"/proc/{pool}/task/{pool}/children").read_text().split()]
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert patch(sandbox, {"timeout": 500})["timeout"] == 500
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
