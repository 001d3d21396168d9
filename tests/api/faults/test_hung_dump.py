# SPDX-License-Identifier: GPL-2.0-or-later
"""A dump that does not end: it is ended, and the sandbox is as if nobody had paused it."""

import os
import signal

import pytest

from client import assert_error
from faults import InBackground
from killing import dumping
from stack import wait_until

# The wrapper of CRIU gives a dump a minute, and more for much memory.
ANSWER_S = 300


@pytest.mark.long
def test_a_dump_that_hangs_is_ended_and_the_sandbox_runs_on(make_sandbox):
    sandbox = make_sandbox(lifecycle={"on_pause_failure": "keep_running"})
    sandbox.data.background("/bin/sh", "-c", "while :; do date +%s%N >/tmp/now; sleep 0.1; done")
    boot = sandbox.boot_id()
    pausing = InBackground(sandbox.api.request, "POST", f"{sandbox.path}/pause", timeout_s=ANSWER_S)
    criu = wait_until(lambda: dumping(sandbox.instance), 60, "the dump", 0.001)
    os.kill(criu, signal.SIGSTOP)
    assert_error(pausing.result(ANSWER_S), 503, "runtime_unavailable")
    assert not os.path.exists(f"/proc/{criu}")

    assert sandbox.show()["state"] == "ready" and sandbox.boot_id() == boot
    before = sandbox.data.read("/tmp/now")
    wait_until(lambda: sandbox.data.read("/tmp/now") not in (b"", before), 30, "the process to run on")
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory" and sandbox.boot_id() == boot
