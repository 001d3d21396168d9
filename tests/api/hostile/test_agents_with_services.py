# SPDX-License-Identifier: GPL-2.0-or-later
"""Services and hooks of sandboxes whose root has put a program of its own into the agent's place."""

import pytest

from client import assert_error
from false_agent import replace_agent
from tenant import Sandbox

pytestmark = pytest.mark.parallel


def test_a_wrong_list_is_refused(account):
    sandbox = replace_agent(Sandbox.create(account.api), "services")
    assert_error(sandbox.api.get(f"{sandbox.path}/services"), 503, "runtime_unavailable")


@pytest.mark.long
def test_a_mute_agent_costs_a_pause_the_time_of_its_hook(account):
    hooks = {"before_pause": {"command": "true", "timeout": 1}, "after_resume": {"command": "true", "timeout": 1}}
    sandbox = replace_agent(Sandbox.create(account.api, hooks=hooks), "mute")
    assert_error(sandbox.api.get(f"{sandbox.path}/services"), 503, "runtime_unavailable")
    assert_error(sandbox.api.post(f"{sandbox.path}/services/web/restart"), 503, "runtime_unavailable")
    assert sandbox.pause()["state"] == "stopped"
