# SPDX-License-Identifier: GPL-2.0-or-later
"""A sandbox uses up the objects that the kernel counts by user or for the machine. The bystander works meanwhile, and gets
as many objects as before. Both sandboxes have the same user ids inside, and different ones on the host."""

import pathlib

import pytest

from tenant import Sandbox

PIPE_PAGES = pathlib.Path("/proc/sys/fs/pipe-user-pages-soft")
# kind, processes, each: more than all sandboxes together could have before, or than a sandbox should have of the whole
# machine, and few enough to be quick.
GREED = [("inotify", 3, 4000), ("pipe", 2, 8000), ("pty", 1, 5000), ("aio", 1, 3), ("epoll", 2, 15000), ("timer", 1, 20000),
         ("dentry", 2, 200000), ("rights", 2, 1000)]
USES = """
import ctypes, fcntl, os, socket
libc = ctypes.CDLL(None, use_errno=True)
assert libc.inotify_init1(0) >= 0, ctypes.get_errno()
assert fcntl.fcntl(os.pipe()[0], 1032) == 65536, 'a pipe of the usual size'
os.openpty()
assert libc.epoll_create1(0) >= 0, ctypes.get_errno()
assert libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) == 0, ctypes.get_errno()
context = ctypes.c_ulong(0)
number = {'x86_64': 206, 'aarch64': 0}[os.uname().machine]
assert libc.syscall(ctypes.c_long(number), ctypes.c_uint(5000), ctypes.byref(context)) == 0, ctypes.get_errno()
there, here = socket.socketpair()
socket.send_fds(there, [b'.'], [0])
assert socket.recv_fds(here, 1, 1)[1], 'a descriptor in a message'
print('all there')
"""


@pytest.fixture
def kernels_own_pipes():
    """What the kernel allows in the pipes of a user, which an earlier load-network has lifted until the next boot."""
    before = PIPE_PAGES.read_text()
    PIPE_PAGES.write_text("16384")
    yield
    PIPE_PAGES.write_text(before)


@pytest.mark.parametrize("kind, processes, each", [
    pytest.param(*one, id=one[0], marks=pytest.mark.long if one[0] in ("pty", "aio", "epoll", "timer") else ()) for one in GREED])
@pytest.mark.usefixtures("kernels_own_pipes")
def test_all_of_a_kind(kind, processes, each, account, bystander):
    greedy = Sandbox.create(account.api, timeout=900)
    path = greedy.put_guest("exhaust.py")
    greedy.data.upload("/tmp/greed", f"(sleep 999) | python3 {path} {kind} {processes} {each} >/tmp/taken".encode())
    greedy.data.background("bash", "/tmp/greed", user="user")
    greedy.data.check("until [ -s /tmp/taken ]; do sleep 0.1; done")
    taken = int(greedy.data.read("/tmp/taken"))
    assert taken >= {"aio": 3, "rights": 60}.get(kind, 200), "it got something"
    for who in ("user", "root"):
        bystander.sandbox.data.upload("/tmp/uses.py", USES.encode())
        assert bystander.sandbox.data.check("python3 /tmp/uses.py", user=who) == "all there\n"
    bystander.goes_on(pause=kind == "inotify")


def test_each_sandbox_has_user_ids_of_its_own(account, bystander):
    ranges = []
    for data in Sandbox.create(account.api).data, bystander.sandbox.data:
        inside, outside, count = (int(word) for word in data.check("cat /proc/self/uid_map").split())
        assert (inside, count) == (0, 65536) and data.check("cat /proc/self/gid_map").split()[1] == str(outside)
        ranges.append(outside)
    assert min(ranges) > 65536 and abs(ranges[0] - ranges[1]) >= 65536


def test_control_groups_are_not_made(account):
    """The kernel has numbers for 65,535 of them."""
    sandbox = Sandbox.create(account.api)
    mounted = sandbox.data.check("grep -E ' cgroup2? ' /proc/mounts | cut -d ' ' -f 2").split()
    assert mounted, "its own are there to be read"
    for folder in mounted:
        refused = sandbox.data.bash(f"mkdir {folder}/x", user="root")
        assert refused.exit_code != 0 and b"Read-only file system" in refused.stderr, refused
