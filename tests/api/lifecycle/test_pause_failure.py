# SPDX-License-Identifier: GPL-2.0-or-later
"""lifecycle.on_pause_failure: what becomes of a pause that cannot keep the memory."""

import secrets
import subprocess
import time

import pytest

from client import assert_error
from faults import InBackground, fault_points  # noqa: F401
from full_pool import FullPool
from killing import traced
from stack import wait_until

KEEP = {"on_pause_failure": "keep_running"}
# More than is left in the pool while it is full.
MEMORY_MB = 200
LEFT_MB = 40


@pytest.fixture
def pool(stack):
    with FullPool(stack, LEFT_MB) as pool:
        yield pool


@pytest.fixture
def holding(make_sandbox):
    """A sandbox with much memory in use, which its process can tell."""
    def make(**lifecycle):
        sandbox = make_sandbox(lifecycle=lifecycle)
        sandbox.data.background("/usr/bin/python3", "-c",
                                f"import os, time; held = os.urandom({MEMORY_MB} << 20); "
                                "open('/tmp/held', 'w').write('x'); time.sleep(10000)")
        wait_until(lambda: sandbox.data.bash("test -s /tmp/held").exit_code == 0, 60, "the memory to be in use")
        return sandbox

    return make


def pauses(sandbox):
    return sandbox.stack.query("SELECT * FROM operations WHERE sandbox_id = %s AND kind = 'pause' ORDER BY id",
                               sandbox.id)


@pytest.mark.long
def test_the_default_stops_with_the_disk(make_sandbox):
    sandbox = make_sandbox()
    assert sandbox.show()["lifecycle"]["on_pause_failure"] == "disk"
    with traced(sandbox):
        assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "disk"


@pytest.mark.parallel
def test_a_memory_that_cannot_be_kept_keeps_running(make_sandbox):
    sandbox = make_sandbox(lifecycle=KEEP)
    boot = sandbox.boot_id()
    with traced(sandbox) as pid:
        deadline = sandbox.show()["deadline"]
        assert_error(sandbox.api.post(f"{sandbox.path}/pause"), 409, "memory_not_kept")
        shown = sandbox.show()
        assert (shown["state"], shown["deadline"]) == ("ready", deadline)
        assert sandbox.boot_id() == boot
        sandbox.data.check(f"kill -9 {pid}")
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.boot_id() == boot


def test_a_timeout_set_during_a_pause_counts_when_the_pause_fails(make_sandbox, stack, fault_points):
    sandbox = make_sandbox(timeout=60, lifecycle=KEEP)
    with traced(sandbox):
        fault_points.arm("pause.hung_up", "wait", "sandlot-api")
        pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
        fault_points.reached("pause.hung_up")
        begun = time.time()
        assert sandbox.api.request("PATCH", sandbox.path, {"timeout": 500}).status == 200
        fault_points.release("pause.hung_up")
        assert_error(pausing.result(), 409, "memory_not_kept")
        assert stack.row(sandbox.id)["deadline_at_ms"] / 1000 >= begun + 499


@pytest.mark.long
def test_a_patch_decides_for_the_next_pause(make_sandbox):
    sandbox = make_sandbox()
    with traced(sandbox):
        for choice, status in (("keep_running", 409), ("disk", 200)):
            body = {"lifecycle": {"on_pause_failure": choice}}
            assert sandbox.api.request("PATCH", sandbox.path, body).json()["lifecycle"]["on_pause_failure"] == choice
            assert sandbox.api.post(f"{sandbox.path}/pause").status == status
    assert sandbox.resume()["resumed_from"] == "disk"
    assert sandbox.show()["lifecycle"]["on_pause_failure"] == "disk"


@pytest.mark.long
def test_a_host_without_room_keeps_it_running(holding, pool):
    sandbox = holding(**KEEP)
    boot = sandbox.boot_id()
    pool.fill()
    refused = sandbox.api.post(f"{sandbox.path}/pause")
    assert_error(refused, 503, "runtime_unavailable")
    assert "keeps running" in refused.json()["message"] and int(refused.headers["Retry-After"]) > 0
    pool.empty()
    assert sandbox.show()["state"] == "ready" and sandbox.boot_id() == boot
    wait_until(pool.admits, 90, "the host to take sandboxes again")
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory" and sandbox.boot_id() == boot


def test_a_pause_without_room_says_why_the_memory_is_lost(holding, stack):
    """The first error that CRIU prints on a full pool is about something else. The reason is the same one whether or
    not the dispatcher has measured the full pool before the pause."""
    sandbox = holding()
    with FullPool(stack) as pool:
        pool.fill()
        assert sandbox.pause()["state"] == "stopped"
    (row,) = pauses(sandbox)
    assert row["last_error"] == "The storage pool has too little space for the memory."
    assert sandbox.resume()["resumed_from"] == "disk"


@pytest.mark.long
def test_a_host_without_room_for_a_moment_loses_nothing(holding, pool, stack):
    """Also with the default: the dump is tried again before the memory is given up."""
    sandbox = holding()
    boot = sandbox.boot_id()
    pool.fill()
    log = stack.root / "log" / "pauses.log"
    before = log.stat().st_size
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")

    def was_refused():
        with log.open("rb") as file:
            file.seek(before)
            return any(b"cannot save the memory of an instance yet" in line and sandbox.instance.encode() in line for line in file)

    wait_until(was_refused, 30, "the first refusal", 0.02)
    pool.empty()
    assert pausing.result().status == 200
    assert sandbox.resume()["resumed_from"] == "memory" and sandbox.boot_id() == boot


@pytest.mark.long
def test_at_the_deadline_it_runs_on_and_is_tried_again(make_sandbox):
    sandbox = make_sandbox(timeout=3, lifecycle={"on_timeout": "pause", **KEEP})
    boot = sandbox.boot_id()
    with traced(sandbox) as pid:
        wait_until(lambda: [one for one in pauses(sandbox) if one["state"] == "failed"], 60, "a refused pause")
        wait_until(lambda: sandbox.show()["state"] == "ready", 20, "the sandbox to go on")
        shown = sandbox.stack.row(sandbox.id)
        assert shown["pause_failures"] == 1 and shown["deadline_at_ms"] > time.time() * 1000
        sandbox.data.check(f"kill -9 {pid}")
    wait_until(lambda: sandbox.show()["state"] == "stopped", 60, "the next try")
    assert sandbox.resume()["resumed_from"] == "memory" and sandbox.boot_id() == boot
    assert sandbox.stack.row(sandbox.id)["pause_failures"] == 0


@pytest.mark.parallel
def test_a_start_waits_for_the_network_of_a_killed_restore(make_sandbox):
    """Its namespace, with one end of the pair that has the route, ends some time after its last process."""
    sandbox = make_sandbox()
    sandbox.pause()
    space, link = f"left-{secrets.token_hex(2)}", f"left{secrets.token_hex(2)}"

    def ip(*words):
        subprocess.run(sandbox.stack.on_host("ip", *words), check=True, timeout=60)

    ip("netns", "add", space)
    try:
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", link, "up")
        ip("route", "add", f"{sandbox.address}/32", "dev", link)
        resuming = InBackground(sandbox.resume)
        time.sleep(3)
        assert resuming.is_alive()
        ip("netns", "delete", space)
        assert resuming.result(120)["state"] == "ready"
    finally:
        subprocess.run(sandbox.stack.on_host("ip", "netns", "delete", space), check=False, capture_output=True, timeout=60)
    assert sandbox.data.check("echo here") == "here\n"
