# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals, probes of a silent connection, and how much environment there may be."""

import subprocess

import pytest

from libssh import Command
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel

REPORTS = """
import signal
got = []
for name in ("HUP", "QUIT", "TERM", "USR1", "USR2"):
    signal.signal(getattr(signal, "SIG" + name), lambda number, _: got.append(number))
print("ready", flush=True)
while True:
    signal.sigtimedwait([], 0.1)
    while got:
        print(signal.Signals(got.pop(0)).name, flush=True)
"""


@pytest.fixture(scope="module")
def work(module_account):
    return Sandbox.create(module_account.api, timeout=1800)


def test_signals_reach_the_command(ssh, work):
    work.data.upload("/home/user/reports.py", REPORTS.encode())
    with Command(ssh, work.id, "exec python3 reports.py") as command:
        assert command.line() == "ready\n"
        for sent, arrives in (("HUP", "SIGHUP"), ("USR1", "SIGUSR1"), ("USR2", "SIGUSR2"), ("QUIT", "SIGQUIT"),
                              ("TERM", "SIGTERM"), ("INT", "SIGTERM")):
            command.signal(sent)
            assert command.line() == arrives + "\n", sent


def test_a_signal_that_ends_the_command_is_in_its_exit_code(ssh, work):
    with Command(ssh, work.id, "echo in; exec sleep 600") as command:
        assert command.line() == "in\n"
        command.signal("USR1")
        assert command.status() == 128 + 10


def test_a_background_program_keeps_no_command(ssh, work):
    """The command ends, and the program that holds its output runs on."""
    pid = ssh.say(work.id, "sleep 600 & echo $!").strip()
    work.data.check(f"kill -0 {pid} && kill {pid}")


def test_a_client_that_asks_whether_somebody_is_there_is_answered(ssh, work):
    process = ssh.start(work.id, "echo in; cat", options=["-vvv", "-o", "ServerAliveInterval=1",
                                                           "-o", "ServerAliveCountMax=90"])
    assert process.stdout.readline() == b"in\n"
    packets = (line for line in process.stderr if b" packet: type 8" in line)
    assert any(b"send packet: type 80" in line for line in packets)
    assert b"receive packet: type 8" in next(packets)
    process.stdin.close()
    assert process.wait(60) == 0


def test_the_kernel_looks_after_a_silent_client(ssh, stack, work):
    """Who is gone without a word is noticed by TCP's own probes."""
    process = ssh.start(work.id, "echo in; cat")
    assert process.stdout.readline() == b"in\n"
    port = stack.ssh_settings["port"]

    def is_probed():
        said = subprocess.run(["ss", "-Htno", "state", "established", f"( sport = :{port} )"], capture_output=True,
                              text=True, check=True).stdout
        return said and all("timer:(keepalive" in line for line in said.splitlines())
    wait_until(is_probed, 60, "a timer")
    process.stdin.close()
    assert process.wait(60) == 0


def test_the_environment_has_a_bound(ssh, work):
    def variables(count, size=1):
        return ["-o", "SetEnv=" + " ".join(f"V{number}={'x' * size}" for number in range(count))]
    said = ssh.say(work.id, "env | grep -c '^V[0-9]*=x'", options=variables(150))
    assert said == "128\n"
    said = ssh.say(work.id, "env | grep -c '^V[0-9]*=x'", options=variables(3, 30000))
    assert said == "2\n"
