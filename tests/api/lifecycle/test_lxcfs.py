# SPDX-License-Identifier: GPL-2.0-or-later
"""A container starts also where lxcfs does not run, or has died: without its view of the limits."""

import pathlib
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.parallel

HIDDEN = "mount -t tmpfs none /var/lib"
DEAD = f"""{HIDDEN}; mkdir /var/lib/lxcfs
lxcfs -f -p "$1/pid" /var/lib/lxcfs >"$1/log" 2>&1 & lxcfs=$!
until test -d /var/lib/lxcfs/proc; do sleep 0.05; done
kill -9 $lxcfs; wait $lxcfs || true
! test -d /var/lib/lxcfs/proc"""


@pytest.mark.parametrize("away", [HIDDEN, DEAD], ids=["never there", "dead"])
def test_the_hook_where_lxcfs_is_away(stack, tmp_path, away):
    hook = shutil.copy(stack.root / "prefix/libexec/sandlot/sandlot-mount-lxcfs", tmp_path)
    done = subprocess.run(["unshare", "--mount", "sh", "-euc", f"{away}\nLXC_CGNS_AWARE=1 LXC_ROOTFS_MOUNT=/ exec $2", "sh",
                           tmp_path, hook], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_it_has_no_time_of_the_services():
    """It works for sandboxes, so its time is not that of the machine's services (tests/machine/40-reboot.sh)."""
    source = pathlib.Path(__file__).parents[3]
    drop_in = (source / "conf/systemd/lxcfs.service.d.conf").read_text(encoding="ascii")
    assert "\nSlice=lxcfs.slice\n" in drop_in
