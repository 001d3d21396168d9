# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program that was taken over could do: workers have what they need and nothing else."""

import grp
import pathlib
import subprocess

import pytest

TALKS_TO_INCUS = ("api", "files", "pauses", "copies", "wake", "dispatcher")
OTHERS = ("records", "gate", "firewall")
CAP_NET_ADMIN = 1 << 12


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
        assert int(status["CapBnd"], 16) == (CAP_NET_ADMIN if pool == "firewall" else 0)


def test_the_group_of_incus_is_nobody_elses(stack):
    group = grp.getgrgid((stack.root / "incus" / "unix.socket").stat().st_gid)
    assert group.gr_name == "sandlot-incus" and not group.gr_mem


def test_decisions_of_the_gate_are_on_no_disk(stack):
    folder = stack.run_dir / "gate-cache"
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], check=True, capture_output=True, text=True).stdout
    assert kind.strip() == "tmpfs"
    assert folder.stat().st_mode & 0o077 == 0
