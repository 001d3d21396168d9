# SPDX-License-Identifier: GPL-2.0-or-later
"""hold.py KIND MODE HOST PORT FILE: opens a flow, keeps it, and notes in FILE what becomes of it.

KIND: tcp or udp. MODE: idle says one word and waits for what comes; active goes on saying words.
Lines: `open`, `echo N` (so many have come back), and how it ended: `reset`, `closed` or the error.
"""

import socket
import sys
import time

kind, mode, host, port, path = sys.argv[1:]


def note(line):
    with open(path, "a", encoding="utf-8") as output:
        output.write(line + "\n")


def talk(flow):
    count = 0
    while True:
        if mode == "active" or not count:
            flow.send(b"word\n")
        if not flow.recv(2048):
            return "closed"
        count += 1
        note(f"echo {count}")
        time.sleep(0.05)


with socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM) as flow:
    try:
        flow.settimeout(5)
        flow.connect((host, int(port)))
        note("open")
        if mode == "idle" or kind == "tcp":
            flow.settimeout(None)
        note(talk(flow))
    except ConnectionResetError:
        note("reset")
    except OSError as failure:
        note(f"{type(failure).__name__} {failure}")
