# SPDX-License-Identifier: GPL-2.0-or-later
"""A storage pool without room: a file of the host's takes what is left."""

import contextlib
import os
import subprocess

import pytest

from stack import wait_until

STEPS = (1 << 30, 1 << 26, 1 << 22, 1 << 20, 1 << 16)


class FullPool:
    """The pool of the host that takes sandboxes, full from fill() to empty(). As a context, it is always emptied."""

    def __init__(self, stack, left_mb=0):
        (host,) = stack.query("SELECT pool FROM hosts WHERE state = 'active'")
        pool = stack.incus_dir / "storage-pools" / host["pool"]
        if not os.path.ismount(pool):
            pytest.skip("the pool is a directory of the machine's own file system")
        self.stack = stack
        self.filler = pool / "filler"
        self.left = left_mb << 20

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.empty()
        wait_until(self.admits, 90, "the host to take new sandboxes again")

    def admits(self):
        return not any("nearly full" in problem for problem in self.stack.ctl("status")["problems"])

    def fill(self):
        """What the file system says to be free is not what it gives: it is asked until it refuses."""
        size = 0
        with self.filler.open("wb") as file:
            for step in STEPS:
                with contextlib.suppress(OSError):
                    while True:
                        os.posix_fallocate(file.fileno(), size, step)
                        size += step
            file.truncate(max(size - self.left, 0))

    def empty(self):
        """The file system keeps emptied block groups for data until its next commit, and has none for its own trees before."""
        self.filler.unlink(missing_ok=True)
        subprocess.run(["btrfs", "balance", "start", "-dusage=0", self.filler.parent], check=True, capture_output=True)
