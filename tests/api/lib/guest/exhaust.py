# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes as many of a thing as it gets, up to a number, from several processes, says how many, and holds them until its
standard input ends: exhaust.py KIND PROCESSES EACH"""

import ctypes
import os
import resource
import socket
import sys

KEPT = []
LIBC = ctypes.CDLL(None, use_errno=True)


def inotify(_):
    if LIBC.inotify_init1(0) < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")


def pipe(number):
    if number % 2 == 0:
        os.pipe()


def pty(number):
    os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)


def aio(_):
    """Contexts of 60,000 requests each."""
    context = ctypes.c_ulong(0)
    if LIBC.syscall(ctypes.c_long({"x86_64": 206, "aarch64": 0}[os.uname().machine]), ctypes.c_uint(60000),
                    ctypes.byref(context)) < 0:  # fmt: skip
        raise OSError(ctypes.get_errno(), "io_setup")


def epoll(_):
    if LIBC.epoll_create1(0) < 0:
        raise OSError(ctypes.get_errno(), "epoll_create1")


def timer(_):
    if LIBC.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) < 0:
        raise OSError(ctypes.get_errno(), "timer_create")


def dentry(number):
    """The kernel remembers names that are not there."""
    os.path.exists(f"/tmp/{os.getpid()}-{number}")


def rights(_):
    """Send 253 descriptors in each message, and receive none."""
    pair = socket.socketpair()
    KEPT.extend(pair)
    socket.send_fds(pair[0], [b"."], [0] * 253)


def files(_):
    os.open("/dev/null", os.O_RDONLY)


def take(kind, most):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    taken = 0
    try:
        for taken in range(most):
            globals()[kind](taken)
        taken = most
    except OSError:
        pass
    return taken


def main():
    kind, processes, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    reading, writing = os.pipe()
    children = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            os.write(writing, f"{take(kind, each)}\n".encode())
            sys.stdin.buffer.read()
            os._exit(0)
        children.append(pid)
    os.close(writing)
    lines = b""
    while lines.count(b"\n") < processes:
        lines += os.read(reading, 4096)
    print(sum(int(line) for line in lines.split()), flush=True)
    for pid in children:
        os.waitpid(pid, 0)


main()
