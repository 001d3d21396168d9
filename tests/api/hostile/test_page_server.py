# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that work against the server of their pages, and servers that end in the middle: the memory is whole, or the
sandbox starts from its disk and says why."""

import contextlib
import fcntl
import os
import pathlib
import signal

import pytest

from page_server import LOCKS, Slow, lock_of, memory_kib, processor_seconds, server_of, unfinished
from stack import wait_until
from tenant import Sandbox

pytestmark = [pytest.mark.parallel, pytest.mark.one_host]

HELD_MIB, HOSTILE_MIB = 136, 64
# Each of many processes gets its own copy of its parent's missing memory: they need much memory, and hold little.
CROWD_HELD_MIB, CROWD_MEMORY_MIB = 1, 4096
# Of a server: its buffer, its lists of ranges and its program; and some seconds for an image of HELD_MIB.
SERVER_KIB, SERVER_S = 64 << 10, 20

# They begin at the moment of the resume, which the clock of the boot alone counts.
AWAIT = """
import ctypes, mmap, os, sys, threading, time
def paused():
    while True:
        begun = time.monotonic()
        boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        if time.monotonic() - begun < 0.01: return boot - begun
held = bytearray(os.urandom(int(sys.argv[1]) << 20))
before = paused()
open("/tmp/ready", "w").close()
while paused() - before < 0.02: time.sleep(0.0005)
"""
EVENTS = {
    "forks": "end = time.monotonic() + 8\n"
             "while time.monotonic() < end:\n"
             "    child = os.fork()\n"
             "    if child == 0: os._exit(0)\n"
             "    os.waitpid(child, 0)\n",
    "processes": "for _ in range(200):\n"
                 "    if os.fork() == 0: time.sleep(8); os._exit(0)\n"
                 "time.sleep(8)\n",
    "drops": "memory = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
             "at = ctypes.addressof(ctypes.c_char.from_buffer(held)) + 4096 & ~4095\n"
             "drop = ctypes.CDLL(None).madvise\n"
             "drop.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
             "def more():\n"
             "    end = time.monotonic() + 8\n"
             "    while time.monotonic() < end: drop(at, 4096, 4)\n"
             "for _ in range(8): threading.Thread(target=more).start()\n",
    "writes": "for i in range(0, len(held), 4096): held[i] = 1\n"
              "time.sleep(8)\n",
}


@pytest.fixture(autouse=True)
def device():
    if not pathlib.Path("/dev/userfaultfd").exists():
        pytest.skip("the kernel has no /dev/userfaultfd")


@pytest.fixture
def attacker(make_account, request):
    return Sandbox.create(make_account("pro").api, memory_mb=getattr(request, "param", 1024), timeout=3600)


def begin(sandbox, *command):
    sandbox.data.background(*command)
    wait_until(lambda: sandbox.data.bash("test -e /tmp/ready").exit_code == 0, 120, "the memory")


def hold(sandbox):
    program = sandbox.put_guest("held_memory.py")
    sandbox.data.background("python3", program, str(HELD_MIB))
    wait_until(lambda: sandbox.data.bash("test -e /tmp/sum").exit_code == 0, 120, "the memory")


def resume_and_watch(sandbox):
    """Until the server's end: the most memory and processor time that it was seen to take."""
    lock = lock_of(sandbox)
    seen = {"kib": 0, "s": 0.0}

    def has_ended():
        pid = server_of(lock)
        if pid:
            try:
                seen.update(kib=max(seen["kib"], memory_kib(pid)), s=max(seen["s"], processor_seconds(pid)))
            except (OSError, StopIteration):  # it has just ended
                pass
        return not lock.exists()

    with unfinished(sandbox) as slow:
        slow.release()
        wait_until(has_ended, 120, "the last page")
    return seen


def test_a_guest_that_changes_all_its_mappings(attacker):
    """In three processes with nine threads each: each reads the bytes that it must have."""
    program = attacker.put_guest("change_memory.py")
    attacker.data.background("python3", program, "9")
    wait_until(lambda: attacker.data.bash("test -e /tmp/sum").exit_code == 0, 120, "the memory")
    attacker.pause()
    slow = Slow(attacker)
    try:
        assert attacker.resume()["resumed_from"] == "memory" and slow.pid
    finally:
        slow.release()
    wait_until(lambda: attacker.data.bash("test -e /tmp/verdict").exit_code == 0, 120, "the verdict")
    assert attacker.data.read("/tmp/verdict") == b"right"


def numbers_of(sandbox):
    """TEAM:USER, which count the places of both."""
    team, user = os.readlink(f"/run/sandlot-teams/{sandbox.instance}").split(":")
    return team, user


@contextlib.contextmanager
def taken(numbers, count):
    """So many places for servers have these numbers, TEAM:USER."""
    with contextlib.ExitStack() as opened:
        free = 0
        for place in (LOCKS / f".{number}" for number in range(32)):
            file = opened.enter_context(open(place, "a+", encoding="ascii"))
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if free < count:
                    file.truncate(0)
                    file.write(numbers)
                    file.flush()
                    free += 1
                else:
                    fcntl.flock(file, fcntl.LOCK_UN)
        assert free == count
        yield


def has_server(sandbox):
    """Resume it; whether a server brought its memory."""
    slow = Slow(sandbox)
    try:
        assert sandbox.resume()["resumed_from"] == "memory"
        return slow.pid is not None
    finally:
        slow.release()


@pytest.mark.long
def test_a_team_leaves_servers_to_others(attacker, bystander):
    """Half of the places of the host: then all memory of its sandboxes is read first."""
    honest = Sandbox.create(bystander.api, memory_mb=512, timeout=3600)
    for sandbox in (attacker, honest):
        hold(sandbox)
        sandbox.pause()
    team, user = numbers_of(attacker)
    with taken(f"{team}:1", 16):
        assert not has_server(attacker)
        assert has_server(honest)
    wait_until(lambda: not lock_of(honest).exists(), 120, "the last page")
    attacker.pause()
    with taken(f"{team}:{user}", 15):
        assert has_server(attacker)


@pytest.mark.long
def test_a_user_leaves_servers_to_others(attacker):
    """All teams of one user together have as many page servers as one team."""
    hold(attacker)
    attacker.pause()
    _, user = numbers_of(attacker)
    with taken(f"1:{user}", 16):
        assert not has_server(attacker)
    attacker.pause()
    with taken(f"1:{user}", 15):
        assert has_server(attacker)


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("kind, held_mib, attacker", [
    ("forks", HOSTILE_MIB, 1024), ("processes", CROWD_HELD_MIB, CROWD_MEMORY_MIB), ("drops", HOSTILE_MIB, 1024),
    ("writes", HOSTILE_MIB, 1024)], indirect=["attacker"])
def test_a_guest_that_makes_events_without_end(attacker, bystander, kind, held_mib):
    """The memory of another process comes all the same, and the server takes little."""
    hold(attacker)
    begin(attacker, "python3", "-c", AWAIT + EVENTS[kind], str(held_mib))
    seen = resume_and_watch(attacker)
    print(f"{kind}: {seen}")
    assert 0 < seen["kib"] < SERVER_KIB and seen["s"] < SERVER_S
    bystander.goes_on()
    assert attacker.show()["state"] == "ready"
    attacker.data.check("rm -f /tmp/answer; touch /tmp/ask")
    wait_until(lambda: attacker.data.bash("test -e /tmp/answer").exit_code == 0, 120, "the sums")
    assert attacker.data.read("/tmp/answer") == attacker.data.read("/tmp/sum")


@pytest.mark.long
def test_a_guest_that_fills_its_memory_at_once(attacker):
    """The kernel kills its process, and nothing else."""
    fill = "python3 -c 'held = [bytearray(1 << 20) for _ in range(2000)]'"
    hold(attacker)
    with unfinished(attacker) as slow:
        slow.release()
        assert attacker.data.bash(fill).exit_code != 0
    assert attacker.show()["state"] == "ready"


# --- ends in the middle ---


def kill(slow):
    os.kill(slow.pid, signal.SIGKILL)


def cut_the_image(slow):
    """Also files that are deleted already can be opened here."""
    for fd in pathlib.Path(f"/proc/{slow.pid}/fd").iterdir():
        if "/pages-" in os.readlink(fd):
            with open(fd, "r+b") as file:
                file.truncate(0)


def spend(slow):
    """The kernel sends this signal at the limit of the processor time."""
    os.kill(slow.pid, signal.SIGXCPU)


@pytest.mark.parametrize("end, cause", [
    (kill, "the page server was killed"),
    pytest.param(spend, "the memory needed too much processor time", marks=pytest.mark.long),
    pytest.param(cut_the_image, "cannot read the memory image: No data available", marks=pytest.mark.long)])
def test_a_server_that_ends_early(attacker, stack, end, cause):
    """No program continues with a part of its memory."""
    hold(attacker)
    boot = attacker.boot_id()
    attacker.data.check("echo here >~/kept")
    with unfinished(attacker) as slow:
        end(slow)
    wait_until(lambda: attacker.show()["state"] == "stopped", 60, "the end of the container")
    assert attacker.show()["reason"] == "memory_lost"
    events = wait_until(lambda: attacker.api.get(f"/v1/events?kind=sandbox.died&sandbox_id={attacker.id}").json()["events"],
                        30, "the event")
    assert [one["data"] for one in events] == [{"reason": "memory_lost"}]
    assert any(cause in line for path in (stack.root / "log").glob("*.log")
               for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if attacker.id in line)
    wait_until(lambda: not lock_of(attacker).exists(), 30, "the end of the guard")
    shown = attacker.resume()
    assert shown["state"] == "ready" and shown["resumed_from"] == "disk"
    assert attacker.boot_id() != boot and attacker.data.check("cat ~/kept") == "here\n"
    assert attacker.data.bash("pgrep -f held_memory").exit_code != 0


@pytest.mark.long
def test_signals_that_end_other_programs(attacker):
    """A shutdown of the host sends them to all processes."""
    hold(attacker)
    with unfinished(attacker) as slow:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(slow.pid, number)
    attacker.data.check("touch /tmp/ask")
    wait_until(lambda: attacker.data.bash("test -e /tmp/answer").exit_code == 0, 120, "the sums")
    assert attacker.data.read("/tmp/answer") == attacker.data.read("/tmp/sum")
