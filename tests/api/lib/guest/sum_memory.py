# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds random memory of so many MiB in parts, and writes its sum to a file: at first, and at each SIGUSR1."""

import hashlib
import os
import signal
import sys

PART = 1 << 20
held = [bytearray(os.urandom(PART)) for _ in range(int(sys.argv[1]))]
number = 0


def write_sum(*_):
    global number
    total = hashlib.sha256()
    for part in held:
        total.update(part)
    with open(sys.argv[2] + ".new", "w", encoding="ascii") as output:
        output.write(f"{number} {total.hexdigest()}\n")
    os.replace(sys.argv[2] + ".new", sys.argv[2])
    number += 1


signal.signal(signal.SIGUSR1, write_sum)
write_sum()
while True:
    signal.pause()
