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


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])


class HeldStarts:
    """Starts of instances in whose name this is, by default of all that wait for nobody, stop before liblxc begins.

    A script in the place of sandlot-start stops itself, however busy the machine is.
    """

    SCRIPT = """#!/bin/bash
# In the place of sandlot-start for a test.
if [[ "$*" == *"forkstart "*{whose}* ]]; then
    echo $$ >>{log}
    kill -STOP $$
fi
exec -a "$0" {real} "$@"
"""

    def __init__(self, stack, whose="sbx-"):
        self.whose = whose
        self.path = stack.host_dir / "incus-bin" / "sandlot-start"
        self.real = self.path.with_suffix(".real")
        self.log = self.path.with_suffix(".held")

    def __enter__(self):
        script = self.path.with_suffix(".script")
        script.write_text(self.SCRIPT.format(whose=self.whose, real=self.real, log=self.log), encoding="utf-8")
        script.chmod(0o755)
        os.link(self.path, self.real)
        script.replace(self.path)
        return self

    def __exit__(self, *_):
        self.real.replace(self.path)
        for pid in self.left:
            os.kill(pid, signal.SIGCONT)
        self.log.unlink(missing_ok=True)

    @property
    def held(self):
        return [int(word) for word in self.log.read_text(encoding="ascii").split()] if self.log.exists() else []

    @property
    def left(self):
        return [pid for pid in self.held if str(self.real.parent) in " ".join(words_of(pid))]

    def wait(self, timeout_s=60):
        """The processes of the first start that has stopped, and of those after it."""
        return wait_until(lambda: self.held, timeout_s, "a start that stops")


def words_of(pid):
    """The words of its command, or none when it has just ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def program_of(pid):
    """The name of its program's file, or nothing when it has just ended."""
    try:
        return pathlib.PurePath(os.readlink(f"/proc/{pid}/exe")).name
    except OSError:
        return ""


def dumping(instance):
    """CRIU itself at its dump, not the program that runs it; or None."""
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        words = words_of(pid)
        if "dump" in words and any(instance in word for word in words) \
                and program_of(pid) not in ("", "sandlot-incus"):
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
