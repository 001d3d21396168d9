# SPDX-License-Identifier: GPL-2.0-or-later
"""The pools of workers, as their files say."""

import pathlib


def shares(stack, pool):
    """How many workers of the pool serve somebody: its file, as the workers read it."""
    table = (pathlib.Path(stack.settings["pools_dir"]) / f"{pool}.pool").read_bytes()
    return sum(int.from_bytes(table[at:at + 8], "little") != 0 for at in range(0, 1024 * 64, 64))


def workers_of(stack, pool):
    """Pids of the pool's workers."""
    pid = (stack.run_dir / f"{pool}.pid").read_text(encoding="utf-8").split()[0]
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return {int(child) for child in children.split()}
