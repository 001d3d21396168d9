# SPDX-License-Identifier: GPL-2.0-or-later
"""A tenant who takes all the disk there is, or tries to have it paid for by nobody."""

import os

import pytest

from client import assert_error
from full_pool import FullPool
from stack import wait_until
from tenant import Sandbox
from volumes import Volume

CLONE = """
import ctypes, errno, fcntl, os, struct, sys
source, target = sys.argv[1:]
a = os.open(source, os.O_RDONLY)
b = os.open(target, os.O_RDWR | os.O_CREAT)
calls = {
    "FICLONE": (0x40049409, a),
    "FICLONERANGE": (0x4020940D, bytearray(struct.pack("qQQQ", a, 0, 0, 0))),
    "FIDEDUPERANGE": (0xC0189436, bytearray(struct.pack("QQHHI", 0, 4096, 1, 0, 0)
                                            + struct.pack("qQQiI", b, 0, 0, 0, 0))),
    # The kernel looks at the lower half of the number alone.
    "FICLONE, upper half set": (0x40049409 | 1 << 40, a),
}
libc = ctypes.CDLL(None, use_errno=True)
for name, (number, argument) in calls.items():
    if isinstance(argument, bytearray):
        argument = (ctypes.c_char * len(argument)).from_buffer(argument)
    done = libc.syscall(16, b, ctypes.c_ulong(number), argument)
    print(name, "done" if done == 0 else errno.errorcode[ctypes.get_errno()])
try:
    os.copy_file_range(a, b, 4096)
    print("copy_file_range done")
except OSError as e:
    print("copy_file_range", errno.errorcode[e.errno])
flags = ctypes.c_uint64(2)                               # read-only
done = libc.syscall(16, os.open(os.path.dirname(target), os.O_RDONLY), 0x4008941A, ctypes.byref(flags))
print("SUBVOL_SETFLAGS", "done" if done == 0 else errno.errorcode[ctypes.get_errno()])
"""


@pytest.fixture
def hostile(make_account):
    return make_account("pro")


def fill(sandbox):
    """All that it gets, at once and to the last block."""
    sandbox.data.bash(
        "mkdir -p ~/full; for i in $(seq 80); do fallocate -l 512M ~/full/$i || break; done;"
        " dd if=/dev/zero of=~/full/rest bs=1M; dd if=/dev/zero of=~/full/last bs=4k; sync",
        timeout_s=300,
    )


@pytest.mark.parallel
@pytest.mark.parametrize("user", ["user", "root"])
def test_nothing_is_cloned(hostile, user):
    volume = Volume(hostile.api)
    sandbox = Sandbox.create(hostile.api, volume_mounts=volume.mounts("/data"))
    sandbox.data.upload("/tmp/clone.py", CLONE.encode())
    sandbox.data.check("head -c 1M /dev/urandom >/home/user/source; sync")
    done = sandbox.data.run("python3", "/tmp/clone.py", "/home/user/source", "/data/target", user=user)
    assert done.exit_code == 0, done
    assert done.stdout.decode().splitlines() == [
        "FICLONE ENOTSUP",
        "FICLONERANGE ENOTSUP",
        "FIDEDUPERANGE ENOTSUP",
        "FICLONE, upper half set ENOTSUP",
        "copy_file_range EXDEV",
        "SUBVOL_SETFLAGS EPERM",
    ]


@pytest.mark.parallel
def test_programs_copy_instead(sandbox):
    sandbox.data.check(
        "cd /tmp && head -c 3M /dev/urandom >a && cp a b && cp --reflink=auto a c && cmp a b && cmp a c"
        " && python3 -c 'import shutil; shutil.copy(\"a\", \"d\"); shutil.copytree(\"/etc/apt\", \"e\")'"
        " && cmp a d"
    )


@pytest.mark.parallel
def test_a_volumes_size_bites_whatever_it_is_filled_with(make_account, stack):
    """Rounds of sandboxes, each with its own disk to copy from."""
    account = make_account("pro")
    volume = Volume(account.api)
    for turn in range(2):
        sandbox = Sandbox.create(account.api, volume_mounts=volume.mounts("/data"))
        sandbox.data.check(
            "cd ~ && head -c 64M /dev/urandom >f && ! cp --reflink=always f /data/never"
            f" && cp --reflink=auto f /data/f{turn} && rm f && sync"
        )
        account.api.destroy(sandbox.id)
    keeper = Sandbox.create(account.api, volume_mounts=volume.mounts("/data"))
    keeper.data.check("sync")
    state = stack.incus.request(
        "GET", f"/1.0/storage-pools/sandlot/volumes/custom/{volume.id.replace('_', '-')}/state"
    )
    assert state["usage"]["used"] >= 2 * 64 << 20, "the volume pays for what is in it"


@pytest.mark.parallel
def test_a_sandbox_that_has_filled_its_disk(account, stack, own_plan):
    """The memory image does not compete with the files for the quota."""
    own_plan(account, disk_gb=1)
    sandbox = Sandbox.create(account.api)
    sandbox.data.upload("/home/user/kept", b"kept")
    boot_id = sandbox.boot_id()
    filled = sandbox.data.bash("head -c 2G /dev/zero >/home/user/filler; sync; echo more >/home/user/more && sync")
    assert filled.exit_code != 0, "the disk is full"
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.boot_id() == boot_id
    assert sandbox.data.read("/home/user/kept") == b"kept"
    os.kill(stack.incus.request("GET", f"/1.0/instances/{sandbox.instance}/state")["pid"], 9)
    wait_until(lambda: sandbox.show()["state"] == "stopped", 20, "the notice")
    assert sandbox.resume()["resumed_from"] == "disk", "a start from a full disk works too"
    assert sandbox.data.read("/home/user/kept") == b"kept"
    sandbox.data.check("rm /home/user/filler; sync; echo more >/home/user/more; sync; cat /home/user/more")


@pytest.mark.long
def test_a_full_pool_stops_nobody_else(hostile, bystander, stack):
    before = Sandbox.create(bystander.api)
    before.data.check("head -c 4M /dev/urandom >~/mine")
    checkpoint = None
    sandboxes = [Sandbox.create(hostile.api) for _ in range(2)]
    try:
        for sandbox in sandboxes:
            fill(sandbox)
        refused = sandboxes[0].data.bash("head -c 64M /dev/zero >~/more && sync")
        assert refused.exit_code != 0, "its part of the pool is full"
        # The host sees it within a second or two; then whoever uses little goes on, one after the other.
        for neighbour in (before, bystander.sandbox):
            wait_until(lambda one=neighbour: one.data.bash("head -c 8M /dev/urandom >~/new && sync").exit_code == 0, 30,
                       "a neighbour writes again")
        bystander.goes_on()
        boot = before.boot_id()
        before.pause()
        assert before.resume()["resumed_from"] == "memory"
        assert before.boot_id() == boot
        answer = bystander.api.post(f"{before.path}/checkpoints", {"name": "kept"})
        assert answer.status == 201, answer
        checkpoint = answer.json()["id"]
        copy = Sandbox.create(bystander.api, template=checkpoint)
        copy.data.check("test $(stat -c %s ~/mine) = 4194304 && head -c 4M /dev/urandom >~/theirs && sync")
    finally:
        for sandbox in sandboxes:
            hostile.api.destroy(sandbox.id)
        if checkpoint:
            bystander.api.delete(f"/v1/checkpoints/{checkpoint}")
    wait_until(lambda: before.data.bash("head -c 400M /dev/zero >~/large && sync").exit_code == 0, 120,
               "there is room for all again")


# --- what a host promises, and what it has ---

def host_row(stack):
    """Of the host that takes sandboxes."""
    (row,) = stack.query("SELECT p.*, h.disk_overcommit FROM host_pools p JOIN hosts h ON h.id = p.host_id WHERE h.state = 'active'")
    return row


@pytest.mark.long
def test_no_more_is_promised_than_the_host_may(make_account, set_plan, stack):
    account = make_account("enterprise")
    usual = host_row(stack)["disk_overcommit"]
    total_gb = host_row(stack)["total_mb"] // 1024
    wait_until(lambda: not stack.query("SELECT 1 FROM sandboxes WHERE state = 'destroying'")
               and host_row(stack)["promised_gb"] == promised(stack), 60, "all deletions being counted", 0.5)
    try:
        stack.query("UPDATE hosts SET disk_overcommit = 1")
        set_plan("enterprise", disk_gb=max(1, total_gb - host_row(stack)["promised_gb"]), volume_gb=1)
        first = account.api.request("POST", "/v1/sandboxes", {})
        assert first.status == 201, first
        refused = account.api.request("POST", "/v1/sandboxes", {})
        assert_error(refused, 507, "insufficient_storage")
        assert "reserved" in refused.json()["message"] and refused.headers["Retry-After"]
        assert_error(account.api.post("/v1/volumes", {"name": "more"}), 507, "insufficient_storage")
        # What is promised stays so while it is stopped, and is free with the deletion.
        account.api.pause(first.json()["id"])
        assert_error(account.api.request("POST", "/v1/sandboxes", {}), 507, "insufficient_storage")
        account.api.resume(first.json()["id"])
        account.api.destroy(first.json()["id"])
        wait_until(lambda: account.api.request("POST", "/v1/sandboxes", {}).status == 201, 60,
                   "room for another one", 1)
    finally:
        stack.query("UPDATE hosts SET disk_overcommit = %s", usual)


def promised(stack):
    return stack.query(
        "SELECT (SELECT COALESCE(SUM(disk_gb), 0) FROM sandboxes WHERE state <> 'destroyed')"
        " + (SELECT COALESCE(SUM(size_gb), 0) FROM volumes WHERE taken = 1) AS n")[0]["n"]


@pytest.mark.long
def test_nothing_new_on_a_pool_that_is_nearly_full(account, stack):
    sandbox = Sandbox.create(account.api)
    with FullPool(stack, left_mb=128) as pool:
        pool.fill()
        measured = host_row(stack)["measured_at_ms"]
        wait_until(lambda: host_row(stack)["measured_at_ms"] > measured + 10000, 90, "two looks at the pool", 1)
        refused = account.api.request("POST", "/v1/sandboxes", {})
        assert_error(refused, 507, "insufficient_storage")
        assert "nearly full" in refused.json()["message"]
        assert_error(account.api.post("/v1/volumes", {"name": "none"}), 507, "insufficient_storage")
        assert_error(account.api.post(f"{sandbox.path}/checkpoints", {"name": "none"}), 507, "insufficient_storage")
        problems = stack.ctl("status")["problems"]
        assert any("nearly full" in problem for problem in problems), problems
        found = stack.ctl("doctor", check=False).stdout
        assert "the host gets no new objects" in found
        # What is there goes on.
        sandbox.data.check("echo well >/tmp/well && sync")
        boot = sandbox.boot_id()
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
        assert sandbox.boot_id() == boot
    wait_until(lambda: account.api.request("POST", "/v1/sandboxes", {}).status == 201, 120, "room again", 1)
