# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands before btrfs in incusd's PATH answers as btrfs does."""

import subprocess

import pytest

from stack import wait_until

pytestmark = pytest.mark.parallel


def answer(program, folder):
    """Ask for the quota group of a subvolume; return the exit status and the output."""
    done = subprocess.run([program, "qgroup", "show", "-e", "-f", "--raw", folder],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def group_of(program, folder):
    """The fields of the line about a subvolume's quota group, as incusd reads them."""
    code, text = answer(program, folder)
    assert code == 0, (program, code, text)
    lines = [line.split() for line in text.splitlines() if not line.startswith(("Qgroupid", "---"))]
    assert len(lines) == 1, text
    group, referenced, exclusive, most = lines[0][:4]
    return group, int(referenced), int(exclusive), most


def test_a_quota_group(stack, sandbox):
    folder, ours = stack.instance_dir(sandbox.instance), stack.host_dir / "incus-bin" / "bin" / "btrfs"
    before = group_of(ours, folder)
    sandbox.data.check("head -c 20M /dev/urandom > /var/tmp/data && sync")
    wait_until(lambda: group_of(ours, folder)[1] - before[1] > 19e6, 30, "20 MB more")
    wait_until(lambda: group_of(ours, folder) == group_of("btrfs", folder), 30, "the same answer from btrfs")


def test_no_quota_group(stack, sandbox, tmp_path):
    """A folder that is no subvolume, on this file system and on another one, and none at all."""
    inside, ours = stack.instance_dir(sandbox.instance) / "rootfs", stack.host_dir / "incus-bin" / "bin" / "btrfs"
    for folder in (inside, tmp_path, tmp_path / "absent"):
        # The sizes of a running sandbox may change between the two answers.
        wait_until(lambda folder=folder: answer(ours, folder) == answer("btrfs", folder), 30, f"the same answer for {folder}")
