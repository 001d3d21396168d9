# SPDX-License-Identifier: GPL-2.0-or-later
"""The page server of a resumed sandbox (fcgi/host/helper/criu/page_server.h), as the tests find and slow it down."""

import contextlib
import os
import pathlib
import signal
import threading
import time

from faults import InBackground
from stack import wait_until

LOCKS = pathlib.Path("/run/sandlot-pages")
# How the server runs while it is slowed down: so many bytes or so long, then it stands still.
RUN_BYTES, RUN_S, STAND_S = 256 << 10, 0.005, 0.05
ATTEMPTS = 5


def lock_of(sandbox):
    """It exists while there is a server."""
    return LOCKS / sandbox.stack.instance_dir(sandbox.instance).name


def server_of(lock):
    """The pid of the process that copies pages. The lock has the pid of its guard, whose child it is."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        guard = int(lock.read_text(encoding="ascii").split()[1])
        return int(pathlib.Path(f"/proc/{guard}/task/{guard}/children").read_text(encoding="ascii").split()[0])
    return None


def processor_seconds(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory_kib(pid):
    """The most that it has had of its own: without the files that it reads."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _read_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/io").read_text(encoding="ascii").split()[1])


class Slow(threading.Thread):
    """From the start of a sandbox's page server on, let it run for a small part of the time, until it is held or
    released."""

    def __init__(self, sandbox, stand_s=STAND_S):
        super().__init__(daemon=True)
        self.lock = lock_of(sandbox)
        self.stand_s = stand_s
        self.pid = None
        self._held, self._released = threading.Event(), threading.Event()
        self._stands = threading.Event()
        self.start()

    def _run_a_little(self):
        begun, end = _read_bytes(self.pid), time.monotonic() + RUN_S
        os.kill(self.pid, signal.SIGCONT)
        while time.monotonic() < end and _read_bytes(self.pid) < begun + RUN_BYTES:
            pass

    def run(self):
        while not self.pid and not self._released.is_set():
            self.pid = server_of(self.lock)
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            while not self._released.is_set():
                os.kill(self.pid, signal.SIGSTOP)
                if self._held.is_set():
                    self._stands.set()
                    self._released.wait()
                self._released.wait(self.stand_s)
                self._run_a_little()

    def hold(self):
        """Let it stand. Returns whether it has pages left to copy."""
        self._held.set()
        return bool(self.pid) and self._stands.wait(10) and self.lock.exists()

    def release(self):
        self._released.set()
        self.join()


def slowly_resumed(sandbox, before=None):
    """Pause and resume a sandbox, until its page server could be held in the middle: on a busy machine a resume may
    take longer than all its memory. before: a call to make while the server is slow."""
    for attempt in range(ATTEMPTS):
        sandbox.pause()
        slow = Slow(sandbox, STAND_S * 2**attempt)
        try:
            assert sandbox.resume()["resumed_from"] == "memory"
            if before:
                before()
            if slow.hold():
                return slow
        except BaseException:
            slow.release()
            raise
        slow.release()
    raise AssertionError("the memory was always complete before the answer")


@contextlib.contextmanager
def unfinished(sandbox, before=None):
    """Pause and resume a sandbox. In the block its page server stands still in the middle; afterwards, or after
    release(), it continues."""
    slow = slowly_resumed(sandbox, before)
    try:
        yield slow
    finally:
        slow.release()


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
