# SPDX-License-Identifier: GPL-2.0-or-later
"""A listener of the sandbox's root in the agent's place (guest/false_agent.py)."""

import contextlib
import http.client
import subprocess

from stack import wait_until

AGENT_PORT = 49983


def agent_says(sandbox):
    """What comes from where the agent should be, asked by its host; b"" when it stays mute."""
    done = subprocess.run(sandbox.stack.on_host("curl", "-si", "--http0.9", "--max-time", "2", f"http://{sandbox.address}:{AGENT_PORT}/health"),
                          capture_output=True, check=False)
    return done.stdout or (b"" if done.returncode == 28 else None)


def replace_agent(sandbox, answer):
    """As root of the sandbox."""
    program = sandbox.put_guest("false_agent.py")
    with contextlib.suppress(http.client.IncompleteRead, ConnectionError):  # the agent may end before its answer does
        result = sandbox.data.run("python3", program, "install", answer, user="root")
        assert result.exit_code == 0, result
    wait_until(lambda: agent_says(sandbox) == b"" if answer == "mute" else
               b"False" in (agent_says(sandbox) or b""), 30, "the false agent")
    return sandbox
