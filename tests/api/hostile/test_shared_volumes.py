# SPDX-License-Identifier: GPL-2.0-or-later
"""What root of a sandbox leaves on a volume, for the next sandbox and for the file interface."""

import os
import stat

import pytest

from tenant import Sandbox
from volumes import Volume

pytestmark = pytest.mark.parallel

LEAVE = """
import os, shutil, stat
os.chdir("/data")
shutil.copy("/usr/bin/id", "rootly")
os.chmod("rootly", 0o6755)
with open("inside", "w") as inside:
    inside.write("inside")
os.link("inside", "again")
for name, place in (("outside", "/etc/shadow"), ("upwards", "../../../../etc/shadow")):
    os.symlink(place, name)
refused = 0
for name in ("trusted.overlay.opaque",):
    try:
        os.setxattr("inside", name, b"x")
    except OSError:
        refused += 1
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    try:
        os.mknod(f"device{kind}", kind | 0o666, os.makedev(1, 3))
    except OSError:
        refused += 1
print(refused)
"""


def test_what_root_leaves_is_of_no_use_outside(account, stack):
    """No device and no attribute of the host's kernel; a set-user-id file is of the sandbox's root alone."""
    volume = Volume(account.api)
    first = Sandbox.create(account.api, volume_mounts=volume.mounts())
    first.data.upload("/tmp/leave.py", LEAVE.encode())
    assert first.data.check("python3 /tmp/leave.py", user="root") == "3\n"
    # On disk the files belong to the host's root, so only the host's root may reach them.
    place = stack.instance_dir(first.instance)
    assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE((place.parent.parent / "custom").stat().st_mode) & 0o077 == 0
    pid = stack.incus.request("GET", f"/1.0/instances/{first.instance}/state")["pid"]
    assert os.stat(f"/proc/{pid}").st_uid >= 1000000, "its root is no root of the host"
    account.api.destroy(first.id)

    second = Sandbox.create(account.api, volume_mounts=volume.mounts())
    mode = int(second.data.check("stat -c %f /data/rootly").strip(), 16)
    assert stat.S_ISREG(mode) and second.data.check("ls /data | grep -c device || true") == "0\n"
    account.api.destroy(second.id)

    for name in ("outside", "upwards"):
        assert volume.call("GET", "files", f"/{name}").status in (403, 404, 422)
        assert volume.put(f"/{name}/x", b"x").status in (403, 404, 409, 422)
    assert volume.put("/again", b"changed").status in (200, 201)
    third = Sandbox.create(account.api, volume_mounts=volume.mounts())
    assert third.data.check("cat /data/again") == "changed"
