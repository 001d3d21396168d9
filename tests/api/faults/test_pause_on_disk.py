# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a pause is on the disk, where a power failure does not take it."""

import contextlib
import fcntl
import os
import struct
import subprocess

from stack import wait_until
from tenant import Sandbox

FS_IOC_FIEMAP = 0xC020660B
EXTENTS = 512
HEADER, EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQQQIIII")
LAST, DELAYED = 0x1, 0x4

BUSY = "import os, time; kept = os.urandom(48 << 20); open('/tmp/ready', 'w'); time.sleep(3600)"


def is_on_disk(path):
    """None of the file is in the host's memory alone."""
    with open(path, "rb") as file:
        start = 0
        while True:
            asked = bytearray(HEADER.pack(start, (1 << 64) - 1 - start, 0, 0, EXTENTS, 0)) + bytes(EXTENTS * EXTENT.size)
            fcntl.ioctl(file, FS_IOC_FIEMAP, asked)
            count = HEADER.unpack_from(asked)[3]
            found = [EXTENT.unpack_from(asked, HEADER.size + i * EXTENT.size) for i in range(count)]
            if any(extent[5] & DELAYED for extent in found):
                return False
            if not found or found[-1][5] & LAST:
                return True
            start = found[-1][0] + found[-1][2]


@contextlib.contextmanager
def locked(folder):
    """Waits for the process that has it locked."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def commits(pool):
    uuid = subprocess.check_output(["findmnt", "-no", "UUID", pool], text=True).strip()
    with open(f"/sys/fs/btrfs/{uuid}/commit_stats", encoding="ascii") as lines:
        return int(next(lines).split()[1])


def test_the_memory_of_a_pause_is_written_to_the_disk(stack, account):
    sandbox = Sandbox.create(account.api)
    sandbox.data.background("python3", "-c", BUSY)
    wait_until(lambda: sandbox.data.run("test", "-e", "/tmp/ready").exit_code == 0, 60, "the memory in use")
    folder = stack.instance_dir(sandbox.instance)
    containers = folder.parent
    before = commits(containers.parent)
    sandbox.pause()
    with locked(containers), locked(containers.with_name("containers-snapshots")):
        images = sorted((folder / "state").glob("*.img"))
        assert sum(image.stat().st_size for image in images) > 48 << 20
        assert [image.name for image in images if not is_on_disk(image)] == []
        assert commits(containers.parent) > before
    assert sandbox.resume()["resumed_from"] == "memory"
