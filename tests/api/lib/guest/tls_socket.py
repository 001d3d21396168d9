# SPDX-License-Identifier: GPL-2.0-or-later
"""tls_socket.py HOST: say hello over a WebSocket at /socket, and print what comes back.

tls_socket.py HOST FILE: say nothing; FILE has "open", and "ended" after the connection's end."""

import os
import socket
import ssl
import sys

host = sys.argv[1]
connection = ssl.create_default_context().wrap_socket(socket.create_connection((host, 443)), server_hostname=host)
head = (
    f"GET /socket HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
connection.sendall(head.encode())
got = b""
while b"\r\n\r\n" not in got:
    got += connection.recv(4096)
assert b" 101 " in got.split(b"\r\n")[0], got
if len(sys.argv) > 2:
    log = open(sys.argv[2], "a", encoding="ascii", buffering=1)
    print("open", file=log)
    try:
        connection.recv(100)
    except OSError:
        pass
    print("ended", file=log)
    sys.exit()
mask = os.urandom(4)
masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(b"hello"))
connection.sendall(bytes([0x81, 0x85]) + mask + masked)
print(connection.recv(100)[2:].decode())
