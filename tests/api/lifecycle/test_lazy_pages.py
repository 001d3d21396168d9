# SPDX-License-Identifier: GPL-2.0-or-later
"""Resumes in which a sandbox runs before all its memory is there."""

import contextlib
import os
import pathlib
import signal
import time

import pytest

from faults import InBackground
from stack import wait_until
from tenant import Sandbox
from test_forks import fork

HELD_MIB = 200


@pytest.fixture(autouse=True)
def switched_on(stack):
    """The file that the environment of incusd names."""
    if not pathlib.Path("/dev/userfaultfd").exists():
        pytest.skip("the kernel has no /dev/userfaultfd")
    switch = stack.host_dir / "etc" / "lazy-pages"
    switch.touch()
    yield
    switch.unlink()


@pytest.fixture
def holder(make_account):
    sandbox = Sandbox.create(make_account("pro").api, memory_mb=1024)
    program = sandbox.put_guest("held_memory.py")
    sandbox.data.background("python3", program, str(HELD_MIB))
    wait_until(lambda: sandbox.data.bash("test -e /tmp/sum").exit_code == 0, 120, "the memory")
    return sandbox


def assert_sums(sandbox):
    sandbox.data.check("rm -f /tmp/answer /tmp/child; touch /tmp/ask")
    wait_until(lambda: sandbox.data.bash("test -e /tmp/answer").exit_code == 0, 120, "the sums")
    first = sandbox.data.read("/tmp/sum")
    assert sandbox.data.read("/tmp/answer") == first, "the process itself"
    assert sandbox.data.read("/tmp/child") == first, "a process that it forked meanwhile"


def servers():
    """Page servers and their guards, which both have the files: the wrappers of CRIU that wait for no CRIU."""
    found = set()
    for program in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if program.read_text(encoding="ascii") == "criu\n" and any(
                    "userfaultfd" in os.readlink(fd) for fd in (program.parent / "fd").iterdir()):
                found.add(int(program.parent.name))
    return found


def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[1])


def server():
    """The process that copies pages, which is the child of its guard."""
    with contextlib.suppress(OSError):
        held = servers()
        return next((pid for pid in held if parent(pid) in held), None)
    return None


def lock_of(sandbox):
    """It is there while there is a server."""
    return pathlib.Path("/run/sandlot-pages") / sandbox.stack.instance_dir(sandbox.instance).name


def served(sandbox):
    """Resume it, and wait for the end of its server. Return whether there was one."""
    resuming = InBackground(sandbox.resume)
    lock = lock_of(sandbox)
    seen = False
    while resuming.is_alive():
        seen = seen or lock.exists()
        time.sleep(0.001)
    assert resuming.result()["resumed_from"] == "memory"
    wait_until(lambda: not lock.exists(), 60, "the last page")
    return seen


def test_sums_over_pauses_and_forks(holder):
    for _ in range(2):
        holder.pause()
        assert served(holder)
        assert_sums(holder)
    (made,) = fork(holder)
    assert_sums(made)
    assert_sums(holder)
    made.pause()
    assert made.resume()["resumed_from"] == "memory"
    made.pause()  # at once: the dump waits for the last page
    assert made.resume()["resumed_from"] == "memory"
    assert_sums(made)


def test_no_process_of_the_sandbox_keeps_a_file_of_it(holder):
    holder.pause()
    assert served(holder), "it has had a server"
    assert holder.data.check("ls -l /proc/[0-9]*/fd | grep -c -e userfaultfd -e lazy || true").strip() == "0"


def test_a_small_image_is_read_first(sandbox):
    sandbox.data.check("true")
    sandbox.pause()
    assert not served(sandbox)


def test_a_guest_that_writes_at_once(holder):
    """It fills its memory while the old one still comes. The kernel kills its process, and nothing else."""
    fill = "python3 -c 'held = [bytearray(1 << 20) for _ in range({})]; print(len(held))'"
    holder.pause()
    assert holder.resume()["resumed_from"] == "memory"
    assert holder.data.check(fill.format(300)).strip() == "300"
    assert_sums(holder)
    holder.pause()
    assert holder.resume()["resumed_from"] == "memory"
    assert holder.data.bash(fill.format(2000)).exit_code != 0
    assert holder.show()["state"] == "ready"


def test_a_server_that_is_killed(holder):
    """The memory is then lost, and the sandbox starts from its disk. No program continues with a part of its memory."""
    boot = holder.boot_id()
    holder.data.check("echo here >~/kept")
    holder.pause()
    resuming = InBackground(holder.api.request, "POST", f"{holder.path}/resume", timeout_s=180)
    found = wait_until(server, 60, "a server", 0.001)
    os.kill(found, signal.SIGKILL)
    resuming.result(180)
    wait_until(lambda: not lock_of(holder).exists(), 30, "the end of the guard")
    wait_until(lambda: holder.show()["state"] in ("stopped", "ready"), 120, "the end of the container")
    shown = holder.resume()
    assert shown["state"] == "ready" and shown["resumed_from"] == "disk"
    assert holder.boot_id() != boot and holder.data.check("cat ~/kept") == "here\n"
    assert holder.data.bash("pgrep -f held_memory").exit_code != 0
