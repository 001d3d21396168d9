# SPDX-License-Identifier: GPL-2.0-or-later
"""Daemons of a host that have no descriptor for a connection that waits: they rest, and continue when they have one."""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import time

from fake_internet import FirewallProcess
from stack import wait_until

# An empty message ends the connection at once; one without any is kept for a while.
RESOLVER = "import socket; one = socket.create_connection(('169.254.0.1', 53), 20); one.sendall(bytes(2)); one.recv(1); print('closed')"


def limit(pid, soft, hard):
    """As the user of the process: root may not do it everywhere."""
    status = dict(line.split(":\t") for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    user, group = status["Uid"].split()[0], status["Gid"].split()[0]
    subprocess.run(["setpriv", "--reuid", user, "--regid", group, "--clear-groups",
                    "prlimit", "--pid", str(pid), f"--nofile={soft}:{hard}"], check=True)


@contextlib.contextmanager
def without_descriptors(pid):
    limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
    usual = re.search(r"^Max open files +(\S+) +(\S+)", limits, re.MULTILINE).groups()
    used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
    limit(pid, min(set(range(len(used) + 1)) - used), usual[1])
    try:
        yield
    finally:
        limit(pid, *usual)


def processor_s(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def rests(pid):
    """It takes some milliseconds of a processor for a try each 200 ms, and without a rest the whole."""
    before, began = processor_s(pid), time.monotonic()
    time.sleep(2)
    return processor_s(pid) - before < 0.3 * (time.monotonic() - began)


def test_the_firewall_rests(shared_sandbox, stack):
    firewall = FirewallProcess(stack)
    (pid,) = firewall.pids()
    with without_descriptors(pid):
        shared_sandbox.data.background("sh", "-c", f'python3 -c "{RESOLVER}" >/tmp/resolver.log 2>&1')
        wait_until(lambda: shared_sandbox.data.check("ss -tn state established dst 169.254.0.1 | tail -n +2 || true"), 15,
                   "a connection to the resolver")
        assert rests(pid)
    assert firewall.pids() == [pid]
    wait_until(lambda: shared_sandbox.data.check("cat /tmp/resolver.log").strip() == "closed", 60,
               "the connection's end, after which it was accepted")


def test_the_limits_rest_and_stay(stack):
    config = bytes(stack.host_dir / "etc" / "sandlot.conf")
    pids = lambda: [pid for pid in stack.processes("sandlot-limits")
                    if config in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    (pid,) = pids()
    with socket.socket(socket.AF_UNIX) as client:
        with without_descriptors(pid):
            client.connect(str(stack.host_dir / "run" / "limits.sock"))
            assert rests(pid)
        client.sendall(b"no order\n")
        client.settimeout(20)
        assert client.recv(1024)
    assert pids() == [pid]
