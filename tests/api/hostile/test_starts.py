# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that would keep a start waiting for ever, beside an honest tenant.

Root of a sandbox owns its disk and can reach what is below a mount. What it leaves there is written from
the host here, so that the tests mean the same however much the kernel lets a sandbox do.
"""

import os
import pathlib
import secrets
import signal
import stat
import time

import pytest

from client import assert_error, when_served
from faults import InBackground, instances
from killing import HeldStarts
from stack import wait_until
from tenant import Sandbox, checkpoint_of
from volumes import Volume

# A start that waits for ever is ended by the host after this many seconds (fcgi/host/helper/launcher).
START_S = 60
PORT = 3000
AT_ONCE = 8


@pytest.fixture
def attacker(make_account):
    return make_account("pro").api


def rootfs(stack, sandbox):
    return stack.instance_dir(sandbox.instance) / "rootfs"


def put_there(stack, sandbox, place, make):
    """Replace a place on its disk, below whatever is mounted there."""
    root = rootfs(stack, sandbox)
    path = root / place.lstrip("/")
    owner = root.stat()
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    elif path.exists():
        path.unlink()
    make(path)
    os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def put_pipe(stack, sandbox, place):
    put_there(stack, sandbox, place, os.mkfifo)
    assert stat.S_ISFIFO((rootfs(stack, sandbox) / place.lstrip("/")).lstat().st_mode)


def own_instances(stack):
    return {name for name in instances(stack) if name.startswith("sbx-")}


def helpers(stack):
    """Processes on the host that start a container of this stack which is of no waiting instance."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            # incusd-exec and incusd forkstart NAME PATH…, sandlot-start LIBRARY forkstart NAME PATH…
            at = words.index(b"forkstart") if b"forkstart" in words[1:3] else len(words)
            if b"sbx-" in b"".join(words[at + 1:at + 2]) and words[at + 2].startswith(bytes(stack.root)):
                found.append(int(process.name))
    return found


def assert_nothing_waits(stack):
    wait_until(lambda: not helpers(stack), 20, "the end of all starts")


# --- from a checkpoint ---


@pytest.mark.parametrize("place", ["/proc", *(pytest.param(place, marks=pytest.mark.long) for place in ("/sys", "/dev"))])
def test_creates_from_a_disk_with_a_pipe_for_a_mount_point(attacker, bystander, stack, place):
    sandbox = Sandbox.create(attacker)
    put_pipe(stack, sandbox, place)
    checkpoint = checkpoint_of(sandbox)["id"]
    before = own_instances(stack)
    creates = [
        InBackground(when_served, attacker.post, "/v1/sandboxes", {"template": checkpoint}) for _ in range(AT_ONCE)]
    bystander.goes_on()
    for create in creates:
        assert_error(create.result(300), 422, "invalid_request", "/template")
        assert place in create.result(0).json()["message"]
    wait_until(lambda: own_instances(stack) <= before, 30, "the removal of what did not start")
    assert_nothing_waits(stack)
    assert attacker.delete(f"/v1/checkpoints/{checkpoint}").status == 204
    assert attacker.delete(sandbox.path).status == 204


# --- volumes ---


def pipe(path):
    os.mkfifo(path)


def file(path):
    path.write_bytes(b"")


def link(path):
    path.symlink_to("/tmp")


def link_that_leads_nowhere(path):
    path.symlink_to("/nowhere")


@pytest.mark.parametrize("make", [
    pipe, *(pytest.param(make, marks=pytest.mark.long) for make in (link, file, link_that_leads_nowhere))])
def test_a_create_with_a_volume_on_what_is_no_directory(attacker, bystander, stack, make):
    volume = Volume(attacker, "v" + secrets.token_hex(3))
    sandbox = Sandbox.create(attacker)
    put_there(stack, sandbox, "/mnt/place", make)
    checkpoint = checkpoint_of(sandbox)["id"]
    body = {"template": checkpoint, "volume_mounts": {"/mnt/place": volume.name}}
    creates = [InBackground(when_served, attacker.post, "/v1/sandboxes", body) for _ in range(AT_ONCE)]
    bystander.goes_on()
    for create in creates:
        assert_error(create.result(300), 422, "invalid_request", "/volume_mounts/~1mnt~1place")
    below = {"template": checkpoint, "volume_mounts": {"/mnt/place/below": volume.name}}
    assert_error(attacker.post("/v1/sandboxes", below), 422, "invalid_request", "/volume_mounts/~1mnt~1place~1below")
    plain = {"template": checkpoint, "volume_mounts": {"/mnt/other/deep": volume.name}}
    made = attacker.create(**plain)
    assert attacker.delete(f"/v1/sandboxes/{made['id']}").status == 204
    assert_nothing_waits(stack)


def test_a_mount_path_through_a_link_of_the_template(attacker):
    volume = Volume(attacker, "v" + secrets.token_hex(3))
    refused = attacker.post("/v1/sandboxes", {"volume_mounts": {"/var/run/data": volume.name}})
    assert_error(refused, 422, "invalid_request", "/volume_mounts/~1var~1run~1data")


@pytest.fixture
def spoilt(attacker, stack):
    """Stopped, waking for anybody, with a volume whose mount point has become a pipe."""
    volume = Volume(attacker, "v" + secrets.token_hex(3))
    sandbox = Sandbox.create(
        attacker,
        volume_mounts=volume.mounts("/mnt/v"),
        lifecycle={"on_timeout": "pause", "auto_resume": True},
        exposed_ports=[{"port": PORT, "protocol": "http", "public": True}],
    )
    put_pipe(stack, sandbox, "/mnt/v")
    sandbox.pause()
    return sandbox


@pytest.mark.long
def test_resumes_of_a_disk_with_a_pipe_for_a_mount_point(spoilt, bystander, stack):
    resumes = [InBackground(when_served, spoilt.api.post, f"{spoilt.path}/resume") for _ in range(AT_ONCE)]
    bystander.goes_on()
    refused = [resume.result(300) for resume in resumes]
    assert {answer.status for answer in refused} == {409}, refused
    assert any(answer.json()["error"] == "sandbox_not_startable" for answer in refused)
    assert "/mnt/v" in next(a for a in refused if a.json()["error"] == "sandbox_not_startable").json()["message"]
    assert spoilt.show()["state"] == "stopped"
    assert_nothing_waits(stack)
    assert spoilt.api.delete(spoilt.path).status == 204


@pytest.mark.long
def test_anonymous_requests_to_a_preview_that_cannot_start(spoilt, bystander, stack):
    requests = [InBackground(when_served, spoilt.preview(PORT).request, "GET", "/") for _ in range(AT_ONCE)]
    bystander.goes_on()
    for request in requests:
        assert request.result(300).status in (409, 502, 503)
    assert_nothing_waits(stack)
    assert spoilt.api.delete(spoilt.path).status == 204


# --- what nobody looked for ---


@pytest.mark.long
def test_a_start_that_does_not_end_is_ended(attacker, bystander, stack):
    """It is answered, not tried again, and nothing of it is left; a delete meanwhile is answered."""
    checkpoint = checkpoint_of(Sandbox.create(attacker))["id"]
    before = own_instances(stack)
    started = time.monotonic()
    with HeldStarts(stack) as starts:
        create = InBackground(attacker.request, "POST", "/v1/sandboxes", {"template": checkpoint}, timeout_s=180)
        starts.wait()
        bystander.goes_on()
        refused = create.result(START_S + 90)
        assert not starts.left
    assert_error(refused, 503, "runtime_unavailable")
    assert time.monotonic() - started >= START_S - 1, "it was ended before its time"
    wait_until(lambda: own_instances(stack) <= before, 30, "the removal of what did not start")
    assert_nothing_waits(stack)


@pytest.mark.long
def test_a_delete_of_a_sandbox_whose_start_does_not_end(attacker, bystander, stack):
    sandbox = Sandbox.create(attacker, template=checkpoint_of(Sandbox.create(attacker))["id"])
    os.kill(stack.incus.request("GET", f"/1.0/instances/{sandbox.instance}/state")["pid"], signal.SIGKILL)
    wait_until(lambda: sandbox.show()["state"] == "stopped", 20, "the notice")
    instance = sandbox.instance
    with HeldStarts(stack) as starts:
        resume = InBackground(attacker.request, "POST", f"{sandbox.path}/resume", timeout_s=180)
        starts.wait()
        delete = InBackground(attacker.request, "DELETE", sandbox.path, timeout_s=START_S - 10)
        bystander.goes_on()
        assert delete.result(START_S).status == 204
        assert starts.left, "the start has ended before the delete was answered"
        assert_error(attacker.get(sandbox.path), 404, "not_found")
        wait_until(lambda: not stack.incus.exists(instance), START_S + 90, "the removal")
        assert resume.result(60).status in (404, 409, 503)
        assert not starts.left
    assert_nothing_waits(stack)
