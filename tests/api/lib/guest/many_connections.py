# SPDX-License-Identifier: GPL-2.0-or-later
"""many_connections.py ADDRESS PORT COUNT: open so many connections at once, and print how many there are."""

import socket
import sys

address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kept = []
for _ in range(count):
    try:
        kept.append(socket.create_connection((address, port), 2))
    except OSError:
        pass
print(len(kept))
