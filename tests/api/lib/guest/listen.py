# SPDX-License-Identifier: GPL-2.0-or-later
"""listen.py PORT FILE: accepts TCP and UDP on all addresses and notes in FILE who came."""

import socket
import sys
import threading

port = int(sys.argv[1])
lock = threading.Lock()


def note(line):
    with lock, open(sys.argv[2], "a", encoding="utf-8") as output:
        output.write(line + "\n")


def tcp():
    listener = socket.create_server(("", port))
    note("listening")
    while True:
        connection, address = listener.accept()
        note(f"tcp {address[0]}")
        connection.close()


threading.Thread(target=tcp, daemon=True).start()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
    datagrams.bind(("", port))
    while True:
        data, address = datagrams.recvfrom(2048)
        note(f"udp {address[0]} {data.decode(errors='replace')}")
        datagrams.sendto(b"here", address)
