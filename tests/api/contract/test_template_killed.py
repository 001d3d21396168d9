# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds of templates whose dispatchers are killed in each step."""

import contextlib
import os
import re
import signal

import pytest

from leavings import deleted_after, delete_recipe_files
from stack import wait_until
from tenant import Sandbox
from test_template_builds import create, slug, version
from test_template_steps import HASH, archive, upload

STEPS = [
    {"type": "user", "user": "root"},
    {"type": "run", "command": "sleep 1; echo first >>/ran"},
    {"type": "workdir", "path": "/work"},
    {"type": "copy", "files": HASH, "source": "one", "destination": "copied"},
    {"type": "env", "envs": {"WORD": "said"}},
    {"type": "run", "command": "sleep 1; echo $WORD >>/ran"},
]


def kill_dispatchers(stack):
    for pid in (before := stack.processes("sandlot-dispatcher")):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: (now := stack.processes("sandlot-dispatcher")) and not set(now) & set(before), 30, "other dispatchers")


@pytest.mark.long
def test_dispatchers_killed_in_each_step(account, stack):
    """Another one takes the build up; no step runs twice, and nothing is left."""
    api, name, killed_at = account.api, slug(), []
    upload(api, archive(one=b"1"))

    def over():
        shown = version(api, name, 1)
        for title in re.findall(r"step \d of 6|waiting for the ready command|finishing", shown["log"]):
            if title not in killed_at:
                killed_at.append(title)
                kill_dispatchers(stack)
        return shown["state"] != "building" and shown

    try:
        with deleted_after(stack):
            create(api, name, template=stack.template, steps=STEPS, start_command="echo started >>/ran; sleep 1000",
                   ready_command="grep started /ran && sleep 1")
            shown = wait_until(over, 400, "the end of the build", 0.05)
            assert shown["state"] == "ready", shown["log"]
            assert [f"step {number} of 6" in killed_at for number in (2, 6)] == [True, True] and len(killed_at) >= 4, killed_at
            wait_until(lambda: api.list() == [], 120, "the end of the build's sandboxes")
            sandbox = Sandbox.create(api, template=name)
            assert sandbox.data.check("cat /ran /work/copied", user="root") == "first\nsaid\nstarted\n1"
            account.clean_up()
    finally:
        delete_recipe_files(stack)
