# SPDX-License-Identifier: GPL-2.0-or-later
"""connect.py udp|tcp ADDRESS COUNT SECONDS: begins COUNT flows with one address, as fast as they go.

Prints how many it began. UDP: one datagram to each of so many ports. TCP: handshakes with an open
port, which are held until the seconds are over.
"""

import errno
import resource
import socket
import sys
import time

PORT_FIRST, PORT_LAST = 20000, 60000
TCP_PORT = 5900

kind, address, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
until = time.monotonic() + seconds


def udp():
    began = 0
    while began < count and time.monotonic() < until:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            for port in range(PORT_FIRST, PORT_LAST):
                try:
                    one.sendto(b"x", (address, port))
                except OSError as error:  # refused: what an earlier one was told
                    if error.errno not in (errno.EPERM, errno.EACCES, errno.EHOSTUNREACH, errno.ECONNREFUSED):
                        raise
                began += 1
                if began >= count:
                    break
    return began


def tcp():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held, began = [], 0
    while began < count and time.monotonic() < until:
        one = socket.socket()
        one.settimeout(2)
        began += 1
        try:
            one.connect((address, TCP_PORT))
            held.append(one)
        except OSError:
            one.close()
            time.sleep(0.01)
    print("held", len(held), flush=True)
    time.sleep(max(0, until - time.monotonic()))
    return began


print("began", udp() if kind == "udp" else tcp(), flush=True)
