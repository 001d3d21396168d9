# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes that end without our doing: out of memory, switched off from inside, and with the host."""

import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import events
from client import assert_error
from tenant import Sandbox
from faults import instances, quota_in_use, settle
from stack import wait_until

pytestmark = pytest.mark.parallel

# Each of these has less than init has with the most that it can be given, and all together have
# more than there is.
HOGS = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = []
        while True:
            kept.append(bytearray(1 << 20))
            time.sleep(0.005)
time.sleep(9999)
"""


def is_down(stack, sandbox):
    return instances(stack).get(sandbox.instance) == "Stopped"


def stopped(sandbox):
    return sandbox.show()["state"] == "stopped"


@pytest.mark.long
def test_init_killed_for_want_of_memory(make_sandbox, stack):
    """The kernel takes who has most, children of the agent before others; unless root inside
    offers it init."""
    sandbox = make_sandbox(envs={"KEPT": "value"})
    sandbox.data.upload("/home/user/kept", b"kept")
    sandbox.data.check("sudo sh -c 'echo 1000 >/proc/1/oom_score_adj'")
    sandbox.data.background("python3", "-c", HOGS)
    wait_until(lambda: is_down(stack, sandbox), 60, "init being killed")
    wait_until(lambda: stopped(sandbox), 10, "the notice")
    assert quota_in_use(sandbox.api) == 0
    assert sandbox.resume()["resumed_from"] == "disk"
    assert sandbox.data.read("/home/user/kept") == b"kept"
    assert sandbox.data.check("echo $KEPT") == "value\n"


@pytest.mark.long
def test_a_process_killed_for_want_of_memory_leaves_the_sandbox(sandbox):
    hog = "x = []\nwhile True: x.append(bytearray(1 << 20))"
    assert sandbox.data.run("python3", "-c", hog).exit_code != 0
    assert sandbox.show()["state"] == "ready"
    assert sandbox.data.check("echo here") == "here\n"


@pytest.mark.long
def test_a_pause_while_a_program_reboots_the_sandbox(make_sandbox):
    """The memory is that of the next start."""
    sandbox = make_sandbox()
    sandbox.data.check("sudo touch /run/before", user="user")
    # It outlives the signal that ends programs, so that the end takes its time.
    sandbox.data.background("sudo", "sh", "-c", "trap '' TERM; reboot; sleep 600")
    wait_until(lambda: sandbox.data.request("GET", "/health", timeout_s=30).status == 502, 30, "the reboot", 0.02)
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.check("ls -A /run/before 2>/dev/null || echo new") == "new\n"


def test_switched_off_from_inside(make_sandbox, stack):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    sandbox.data.upload("/home/user/kept", b"kept")
    sandbox.data.background("sudo", "poweroff", "-f")
    wait_until(lambda: is_down(stack, sandbox), 60, "the end of the instance")
    wait_until(lambda: stopped(sandbox), 60, "the notice")
    assert events.until(sandbox.api, "sandbox.died", f"sandbox_id={sandbox.id}")["data"] == {"reason": "ended"}
    assert sandbox.show()["reason"] == "ended"
    for answer, status in ((sandbox.data.download("/home/user/kept"), 409), (sandbox.preview(3000).request("GET", "/"), 503)):
        refused = assert_error(answer, status, "sandbox_not_running")
        assert "ended by itself" in refused["message"], refused
    assert quota_in_use(sandbox.api) == 0
    assert sandbox.resume()["resumed_from"] == "disk"
    assert sandbox.data.read("/home/user/kept") == b"kept"
    assert sandbox.show()["reason"] is None
    assert sandbox.pause()["reason"] == "request"


@pytest.mark.alone
@pytest.mark.faults
def test_the_host_loses_power_and_boots(make_account, stack):
    account = make_account("pro")
    names = ("runs", "runs until its timeout", "paused", "paused, its memory lost")
    sandboxes, boot_ids = {}, {}
    for name in names:
        sandbox = sandboxes[name] = Sandbox.create(account.api, timeout=3000, auto_pause=name != names[1],
                                                   envs={"NAME": name})
        sandbox.data.upload("/home/user/kept", name.encode())
        sandbox.data.check("sync")
        boot_ids[name] = sandbox.boot_id()
    for name in names[2:]:
        sandboxes[name].pause()
    for image in (stack.instance_dir(sandboxes[names[3]].instance) / "state").iterdir():
        image.unlink()
    deleted = Sandbox.create(account.api)
    deleted.api.destroy(deleted.id)

    program = pathlib.Path(__file__).parent / "power-cycle"
    done = subprocess.run([program, stack.root.name], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

    settle(stack)
    assert quota_in_use(account.api) == 0
    assert {one["id"] for one in account.api.list()} == {sandbox.id for sandbox in sandboxes.values()}
    for name, sandbox in sandboxes.items():
        assert sandbox.show()["state"] == "stopped", name
        origin = sandbox.resume()["resumed_from"]
        if name != "paused":
            assert origin == "disk", name
        assert (sandbox.boot_id() == boot_ids[name]) == (origin == "memory"), name
        assert sandbox.data.read("/home/user/kept") == name.encode()
        assert sandbox.data.check("echo $NAME") == f"{name}\n"
    settle(stack)
    assert Sandbox.create(account.api).data.check("echo new") == "new\n"


class SilentHost:
    """A host that takes connections and never says a word."""

    def __init__(self, stack):
        self.stack = stack
        self.socket = socket.socket(socket.AF_UNIX)
        path = pathlib.Path(tempfile.mkdtemp(prefix="silent-")) / "unix.socket"
        path.parent.chmod(0o755)
        self.socket.bind(str(path))
        path.chmod(0o666)
        self.socket.listen(64)
        self.path = path
        columns = ("name, state, url, project, pool, nic_prefix, address_range, vcpus, memory_mb, created_at_ms")
        stack.query(f"INSERT INTO hosts ({columns}) VALUES ('a-silent-one', 'draining', %s, 'p', 'p', 'zz',"
                    " '10.254.254.0/24', 1, 64, 0)", f"unix://{path}")

    def close(self):
        self.stack.query("DELETE FROM hosts WHERE name = 'a-silent-one'")
        self.socket.close()
        self.path.unlink()
        self.path.parent.rmdir()


@pytest.mark.alone
@pytest.mark.long
def test_a_host_that_hangs_does_not_keep_the_others_unwatched(account, stack):
    sandboxes = [Sandbox.create(account.api) for _ in range(3)]
    silent = SilentHost(stack)
    try:
        for sandbox in sandboxes:
            os.kill(stack.incus.request("GET", f"/1.0/instances/{sandbox.instance}/state")["pid"], signal.SIGKILL)
            wait_until(lambda: is_down(stack, sandbox), 20, "the end of the instance", 0.05)  # noqa: B023
            down = time.monotonic()
            wait_until(lambda: stopped(sandbox), 10, "the notice", 0.05)  # noqa: B023
            assert time.monotonic() - down < 5
            time.sleep(1.3)
    finally:
        silent.close()
