# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program that was taken over could do: workers have what they need and nothing else."""

import contextlib
import grp
import pathlib
import socket
import subprocess

import pytest

from stack import wait_until

TALKS_TO_INCUS = ("api", "files", "pauses", "copies", "wake", "dispatcher")
OTHERS = ("records", "gate", "firewall", "limits")
CAPABILITIES = {"firewall": 1 << 12, "limits": 1 << 21}  # CAP_NET_ADMIN, CAP_SYS_ADMIN


def workers(stack, pool):
    """What the kernel knows of the pool's processes: its watcher and what that has started."""
    watcher = int((stack.run_dir / f"{pool}.pid").read_text(encoding="ascii").split()[0])
    children = pathlib.Path(f"/proc/{watcher}/task/{watcher}/children").read_text(encoding="ascii").split()
    assert children, pool
    for pid in (watcher, *children):
        lines = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        yield dict(line.split(":\t", 1) for line in lines if ":\t" in line)


@pytest.mark.parametrize("pool", TALKS_TO_INCUS + OTHERS)
def test_a_worker_has_what_it_needs(stack, pool):
    group = (stack.root / "incus" / "unix.socket").stat().st_gid
    for status in workers(stack, pool):
        groups = {int(number) for number in status["Groups"].split()} | {int(status["Gid"].split()[0])}
        assert (group in groups) == (pool in TALKS_TO_INCUS), (pool, groups)
        assert status["NoNewPrivs"].strip() == "1"
        assert int(status["CapBnd"], 16) == CAPABILITIES.get(pool, 0)


def test_the_group_of_incus_is_nobody_elses(stack):
    group = grp.getgrgid((stack.root / "incus" / "unix.socket").stat().st_gid)
    assert group.gr_name == "sandlot-incus" and not group.gr_mem


def test_limits_are_set_for_the_firewall_alone(stack):
    path = stack.run_dir / "limits.sock"
    assert (path.owner(), path.group(), path.stat().st_mode & 0o777) == ("root", "sandlot-firewall", 0o660)


def ask(stack, line):
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(10)
        caller.connect(str(stack.run_dir / "limits.sock"))
        with contextlib.suppress(ConnectionResetError):
            caller.sendall(line)
            return caller.recv(4096)
    return b""


@pytest.mark.parametrize("line", [
    b"tpl-01m84zv6v7k928m8ea9wv1r61y 1 512 0\n",
    b"sbx-../../../system.slice00000 1 512 0\n",
    b"warm-01m84zv6v7k928m8ea9wv1r61y/.. 1 512 0\n",
    b"warm-01m84zv6v7k928m8ea9wv1r61y 0 512 0\n",
    b"warm-01m84zv6v7k928m8ea9wv1r61y 1 512\n",
    b"warm-01m84zv6v7k928m8ea9wv1r61y 1 512 0 0\n",
    b"warm-01m84zv6v7k928m8ea9wv1r61y 1 512 0\n",
    b"warm-\0" + b"1" * 25 + b" 1 512 0\n",
    b"1" * 4096,
], ids=range(9))
def test_what_is_no_instance_has_no_limits_set(stack, line):
    assert ask(stack, line) != b"done\n"


@pytest.mark.parallel
def test_an_instance_that_holds_more_memory_keeps_its_limit(stack, sandbox):
    sandbox.data.check("setsid python3 -c 'import time; b = bytearray(200 << 20); time.sleep(600)' >/dev/null 2>&1 &")
    wait_until(lambda: int(sandbox.data.check("free -m | awk '/^Mem:/ { print $3 }'")) > 190, 30, "the memory in use")
    assert ask(stack, f"{sandbox.instance} 1 100 0\n".encode()) not in (b"done\n", b"")
    assert sandbox.data.check("free -m | awk '/^Mem:/ { print $2 }'") == "512\n"


@pytest.mark.parallel
def test_a_sandbox_cannot_write_to_its_control_group(sandbox):
    told = sandbox.data.check("find /sys/fs/cgroup -writable -type f 2>/dev/null | head; find / -name limits.sock "
                              "2>/dev/null; echo none", user="root")
    assert told == "none\n"


def test_decisions_of_the_gate_are_on_no_disk(stack):
    folder = stack.run_dir / "gate-cache"
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], check=True, capture_output=True, text=True).stdout
    assert kind.strip() == "tmpfs"
    assert folder.stat().st_mode & 0o077 == 0
