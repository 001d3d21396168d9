# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are killed or stopped in the middle of their work, and one that cannot be dumped."""

import contextlib
import os
import pathlib
import re
import signal
import threading

from stack import wait_until
from tenant import Sandbox, checkpoint_of

# A program that traces another: CRIU cannot dump it, so a pause loses its memory.
TRACER = """
import ctypes, os, time
child = os.fork()
if child == 0:
    time.sleep(1000)
os.write(1, b"%d" % ctypes.CDLL(None).ptrace(0x4206, child, 0, 0))  # PTRACE_SEIZE
time.sleep(1000)
"""


@contextlib.contextmanager
def traced(sandbox):
    """A process that traces another one: such a memory cannot be dumped."""
    with sandbox.data.start("/usr/bin/python3", "-c", TRACER) as tracing:
        pid = next(tracing)["event"]["start"]["pid"]
        assert tracing.output() == b"0"
        yield pid


@contextlib.contextmanager
def stopped(pids):
    """These processes are there and do nothing."""
    pids = list(pids)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def words_of(pid):
    """The words of its command, or none when it has just ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def dumping(instance):
    """CRIU itself at its dump, not the wrapper's shell nor the program that runs it; or None."""
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        words = words_of(pid)
        if "dump" in words and any(instance in word for word in words) \
                and pathlib.PurePath(words[0]).name not in ("sh", "sandlot-criu"):
            return pid
    return None


class HolderKiller:
    """Kills the worker that holds a team's operation as soon as the operation is there."""

    HOLDER = (
        "SELECT o.lease_owner, o.sandbox_id FROM operations o JOIN sandboxes s ON s.id = o.sandbox_id"
        " JOIN teams t ON t.id = s.team_id WHERE t.slug = %s AND o.kind = %s AND o.state = 'running'"
    )

    def __init__(self, stack, team, kind):
        self.workers = set(stack.processes("sandlot-api"))
        self.question = (team, kind)
        self.connection = stack.database()
        self.pid = None

    def _ask(self):
        with self.connection.cursor() as cursor:
            cursor.execute(self.HOLDER, self.question)
            return cursor.fetchone()

    def kill(self):
        """The id of the sandbox that the operation is about."""
        row = wait_until(self._ask, 10, f"the {self.question[1]} in flight", 0.001)
        numbers = {int(number) for number in re.findall(r"\d+$", row["lease_owner"])}
        pids = numbers & self.workers
        assert len(pids) == 1, f"the lease owner {row['lease_owner']} names its process"
        self.pid = pids.pop()
        os.kill(self.pid, signal.SIGKILL)
        self.connection.close()
        return row["sandbox_id"]


def cold_create(account):
    """The body of a create that no waiting instance is handed over for: it is in flight long enough to be met."""
    sandbox = Sandbox.create(account.api)
    checkpoint = checkpoint_of(sandbox)
    account.api.destroy(sandbox.id)
    return {"template": checkpoint["id"]}


def in_background(call, *arguments):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call(*arguments)))
    thread.start()
    return thread, answers
