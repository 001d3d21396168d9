# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts in memory alone, ten times a second, and lets the last number be read from a file."""

import os
import sys
import time

number = int(sys.argv[2]) if len(sys.argv) > 2 else 0
while True:
    number += 1
    with open(sys.argv[1] + ".new", "w", encoding="ascii") as output:
        output.write(f"{os.getpid()} {number}\n")
    os.replace(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(0.1)
