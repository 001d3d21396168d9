# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that make their sandbox hard to pause, beside an honest tenant: the pause ends, and what is kept can be
resumed."""

import pytest

from faults import InBackground
from stack import wait_until
from tenant import Sandbox

# A process that another one traces and has stopped; processes that end and begin all the time; as many as there may be.
TRACED = """
import ctypes, os, signal, time
child = os.fork()
if child == 0:
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(9999)
os.waitpid(child, 0)
open("/tmp/ready", "w").close()
time.sleep(9999)
"""
FORKS = "for _ in 1 2 3 4; do (while :; do /bin/true; done) & done; touch /tmp/ready; wait"
# The shell itself starts no process behind the bomb: it would fail, and end.
BOMB = "mkfifo /tmp/wait; bomb() { bomb | bomb & }; bomb; read -t 2 <>/tmp/wait; : >/tmp/ready; exec sleep 9999"


@pytest.mark.parametrize("command", [
    pytest.param(("python3", "-c", TRACED), id="traced", marks=[pytest.mark.parallel, pytest.mark.long]),
    pytest.param(("bash", "-c", FORKS), id="forks"), pytest.param(("bash", "-c", BOMB), id="bomb", marks=pytest.mark.long)])
def test_a_pause_ends(stack, account, bystander, command):
    hostile = Sandbox.create(account.api, timeout=1800)
    hostile.data.background(*command)
    path = f"/1.0/instances/{hostile.instance}/files?path=/tmp/ready"
    wait_until(lambda: stack.incus.raw("GET", path)[0] == 200, 60, "the processes")
    pausing = InBackground(hostile.pause)
    bystander.goes_on()
    assert pausing.result()["state"] == "stopped"
    assert hostile.resume()["state"] == "ready"
    account.api.destroy(hostile.id)


# A deleted file that a program holds: too large for CRIU, which says its name in the refusal.
HELD = """
import os, time
path = "/var/tmp/Instance not found"
held = os.open(path, os.O_RDWR | os.O_CREAT)
os.posix_fallocate(held, 0, 300 << 20)
os.unlink(path)
open("/tmp/ready", "w").close()
time.sleep(9999)
"""


@pytest.mark.parallel
def test_a_name_in_a_refusal_does_not_hide_a_running_sandbox(stack, account):
    hostile = Sandbox.create(account.api, lifecycle={"on_pause_failure": "keep_running"})
    hostile.data.background("python3", "-c", HELD)
    wait_until(lambda: hostile.data.bash("test -e /tmp/ready").exit_code == 0, 60, "the file")
    assert account.api.post(f"{hostile.path}/pause").status != 200
    assert hostile.show()["state"] == "ready"
    assert stack.incus.instance(hostile.instance)["status"] == "Running"
    account.api.destroy(hostile.id)
