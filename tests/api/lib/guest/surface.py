# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel grants the caller, as JSON: for each attempt "done", or the name of the error."""

import ctypes
import errno
import json
import mmap
import os
import platform
import socket

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_CLONE = {"x86_64": 56, "aarch64": 220}[platform.machine()]
NUMBERS = {
    "x86_64": {"mount": 165, "setns": 308, "bpf": 321, "fanotify_init": 300, "socket": 41, "memfd_secret": 447,
               "open_tree": 428, "fsopen": 430, "modify_ldt": 154, "keyctl": 250, "io_uring_setup": 425,
               "quotactl": 179, "syslog": 103, "unshare": 272},
    "aarch64": {"mount": 40, "setns": 268, "bpf": 280, "fanotify_init": 262, "socket": 198, "memfd_secret": 447,
                "open_tree": 428, "fsopen": 430, "keyctl": 219, "io_uring_setup": 425, "quotactl": 60,
                "syslog": 116, "unshare": 97},
}[platform.machine()]  # fmt: skip
NAMESPACES = {"NEWNS": 0x20000, "NEWCGROUP": 0x02000000, "NEWUTS": 0x04000000, "NEWIPC": 0x08000000,
              "NEWUSER": 0x10000000, "NEWPID": 0x20000000, "NEWNET": 0x40000000}


def call(number, *arguments):
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *(ctypes.c_ulong(one) for one in arguments))
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def clone(flags):
    pid = LIBC.syscall(ctypes.c_long(SYS_CLONE), ctypes.c_ulong(flags | 17), *[ctypes.c_ulong(0)] * 4)
    if pid == 0:
        os._exit(0)
    if pid < 0:
        return errno.errorcode[ctypes.get_errno()]
    os.waitpid(pid, 0)
    return "done"


def open_socket(family, kind, protocol=0):
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as failure:
        return errno.errorcode[failure.errno]
    return "done"


def machine_code(code):
    """Runs it in a child; what it leaves in the first register, or the signal that ended it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os.write(writing, str(result).encode())
        os._exit(0)
    os.close(writing)
    status = os.waitpid(pid, 0)[1]
    text = os.read(reading, 64).decode()
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return errno.errorcode[-int(text)] if int(text) < 0 else "done"


def foreign_calls():
    """getpid() as a 32-bit program calls it (20 by int 0x80), and as an x32 one does."""
    if platform.machine() != "x86_64":
        return {}
    return {
        "32-bit": machine_code(bytes.fromhex("53b81400000031dbcd805bc3")),
        "x32": machine_code(bytes.fromhex("b8270000400f05c3")),
    }


def main():
    families = {number: open_socket(number, kind) for number in range(1, 46)
                for kind in [socket.SOCK_RAW if number in (16, 17) else socket.SOCK_STREAM]}
    with open("/proc/self/status", encoding="ascii") as status:
        capabilities = {line.split(":")[0]: int(line.split()[1], 16) for line in status if line.startswith("Cap")}
    print(json.dumps({
        "clone": {name: clone(flag) for name, flag in NAMESPACES.items()} | {"none": clone(0)},
        "families": families | {"40 with a high bit": call(NUMBERS["socket"], 1 << 32 | 40, 1, 0)},
        "netlink": {number: open_socket(16, socket.SOCK_RAW, number) for number in range(24)},
        "calls": {name: call(number, 0, 0, 0, 0, 0) for name, number in NUMBERS.items() if name != "socket"},
        "foreign": foreign_calls(),
        "capabilities": capabilities,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
