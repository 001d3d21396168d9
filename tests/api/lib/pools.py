# SPDX-License-Identifier: GPL-2.0-or-later
"""The pools of workers, as their files say."""

import pathlib


def shares(stack, pool):
    """How many workers of the pool serve somebody: its file, as the workers read it."""
    table = (pathlib.Path(stack.settings["pools_dir"]) / f"{pool}.pool").read_bytes()
    return sum(int.from_bytes(table[at:at + 8], "little") != 0 for at in range(0, 1024 * 64, 64))
