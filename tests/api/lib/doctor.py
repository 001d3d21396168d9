# SPDX-License-Identifier: GPL-2.0-or-later
"""What `sandlotctl doctor` says."""

import json
import re
import subprocess


def doctor(stack, config=None, under=()):
    """under: a command that runs it."""
    command = [*under, *stack.ctl_command]
    if config:
        command[command.index("--config") + 1] = str(config)
    done = subprocess.run([*command, "--json", "doctor"], capture_output=True, text=True, timeout=60, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == (1 if answer["wrong"] else 0)
    return answer["findings"]


def wrong(stack, config=None, under=()):
    return [one for one in doctor(stack, config, under) if one["state"] == "WRONG"]


def assert_says(findings, check, what, advice):
    said = [one for one in findings if one["check"] == check]
    assert said, findings
    assert any(re.search(what, one["message"]) and re.search(advice, one["advice"]) for one in said), said
    for one in said:
        assert one["message"].endswith(".") and one["advice"].endswith(".")
