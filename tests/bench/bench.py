# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks share: which stack they measure, and percentiles."""

import os
import pathlib
import sys

from stack import Stack, read_assignments

HERE = pathlib.Path(__file__).resolve()


def find_env(program, given):
    candidates = [given] if given else [
        os.environ.get("SANDLOT_STACK_ENV"),
        HERE.parents[2] / "run" / "quickstart.env",
        "/var/lib/sandlot/quickstart/stack.env",
    ]
    for candidate in candidates:
        if candidate and pathlib.Path(candidate).is_file():
            return candidate
    return sys.exit(f"{program}: no running stack found: run scripts/quickstart, or give --env FILE")


def open_stack(path):
    """quickstart.env holds what a client needs; the stack.env beside the state holds the rest."""
    values = read_assignments(path)
    if "SANDLOT_STATE_ROOT" in values:
        return Stack(path)
    config = next(
        (word for word in values["SANDLOT_CTL"].split() if word.endswith("sandlot.conf")), None
    )
    if not config:
        sys.exit(f"{path} names no sandlot.conf in SANDLOT_CTL; give a stack.env")
    root = pathlib.Path(config).parents[1]
    return Stack(root / "stack.env")


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
