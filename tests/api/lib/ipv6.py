# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses of IPv6 for a while, and programs in a kernel that has none."""

import contextlib
import ctypes
import errno
import platform
import secrets
import socket
import struct
import subprocess

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}


def random_site():
    """The beginning of a random network of 48 bits."""
    return f"fd5a:{secrets.randbelow(0xffff):x}:{secrets.randbelow(0xffff):x}"


@contextlib.contextmanager
def of_this_machine(those):
    for address in those:
        subprocess.run(["ip", "-6", "address", "add", f"{address}/128", "dev", "lo", "nodad"], check=True)
    try:
        yield those
    finally:
        for address in those:
            subprocess.run(["ip", "-6", "address", "del", f"{address}/128", "dev", "lo"], check=True)


@contextlib.contextmanager
def addresses(*counts):
    """So many addresses of this machine in each of so many networks of 64 bits, which nobody else has."""
    networks = []
    for count in counts:
        network = f"{random_site()}:0"
        networks.append([f"{network}:1:2:3:{number}" for number in range(1, 1 + count)])
    with of_this_machine(sum(networks, [])):
        yield networks


def site(count):
    """Addresses of this machine: one in each of so many networks of 64 bits, all in one random network of 48 bits."""
    network = random_site()
    return of_this_machine([f"{network}:{number}:1:2:3:4" for number in range(1, 1 + count)])


def away():
    """For preexec_fn: what is started gets no socket of IPv6, as where the kernel was started without it."""
    load, equal, give = 0x20, 0x15, 0x06
    filters = [(load, 0, 0, 0), (equal, 0, 3, SOCKET_CALL[platform.machine()]), (load, 0, 0, 16),
               (equal, 0, 1, int(socket.AF_INET6)), (give, 0, 0, 0x50000 | errno.EAFNOSUPPORT), (give, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))
    program = struct.pack("HL", len(filters), ctypes.addressof(code))
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")
