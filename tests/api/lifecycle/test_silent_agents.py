# SPDX-License-Identifier: GPL-2.0-or-later
"""An agent that is stopped, or whose instance is frozen: the kernel still takes connections for it."""

import concurrent.futures
import contextlib
import http.client
import json

import pytest

import events
from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel

PATIENCE_S = 240  # of a client; far above the bounds
PUBLIC = [{"port": 3000, "protocol": "http", "public": True}]


def stop_agent(sandbox):
    """Stops the agent; it continues when a file is there."""
    pids = sandbox.data.check("grep -lx sandlot-agent /proc/[0-9]*/comm", user="root").split()
    pid = min(int(path.split("/")[2]) for path in pids)
    with contextlib.suppress(http.client.HTTPException, OSError):
        sandbox.data.background(
            "sh", "-c", f"sleep 1; kill -STOP {pid}; until [ -e /run/go ]; do sleep 0.2; done; kill -CONT {pid}", user="root")
    return lambda: sandbox.stack.incus.write_file(sandbox.instance, "/run/go", "")


def freeze(sandbox):
    sandbox.stack.incus.freeze(sandbox.instance)
    return lambda: sandbox.stack.incus.unfreeze(sandbox.instance)


def run(sandbox, command="true"):
    body = json.dumps({"cmd": command})
    return sandbox.data.request("POST", "/exec", body, {"Content-Type": "application/json"}, timeout_s=PATIENCE_S)


@pytest.mark.parametrize("silence", [stop_agent, pytest.param(freeze, marks=pytest.mark.long)])
def test_it_is_known_in_calls_state_and_events(make_sandbox, silence):
    sandbox = make_sandbox(exposed_ports=PUBLIC)
    query = f"sandbox_id={sandbox.id}"
    assert sandbox.show()["silent_since"] is None
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        begun = pool.submit(run, sandbox, "exec sleep 1000")
        wait_until(lambda: sandbox.data.bash("pgrep -x sleep").exit_code == 0, PATIENCE_S, "the call", 0.2)
        go_on = silence(sandbox)
        assert_error(begun.result(), 502, "runtime_unavailable")
    answer = wait_until(lambda: (answer := run(sandbox)).status != 200 and answer, PATIENCE_S, "the refusal", 0.5)
    assert_error(answer, 502, "runtime_unavailable")
    assert "agent of this sandbox does not answer" in answer.json()["message"], answer
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        at_once = [pool.submit(sandbox.data.download, "/etc/hostname"),
                   pool.submit(sandbox.preview(3000).request, "GET", "/", timeout_s=PATIENCE_S)]
        for answer in (one.result() for one in at_once):
            assert answer.status == 502, answer
    told = events.until(sandbox.api, "sandbox.silent", query)
    shown = sandbox.show()
    assert shown["state"] == "ready" and shown["silent_since"] == told["data"]["since"], (shown, told)

    go_on()
    events.until(sandbox.api, "sandbox.answering", query)
    assert sandbox.show()["silent_since"] is None
    wait_until(lambda: run(sandbox).status == 200, PATIENCE_S, "the agent that continues", 0.5)


@pytest.mark.long
def test_a_pause_and_resume_end_it(make_sandbox):
    sandbox = make_sandbox()
    stop_agent(sandbox)
    wait_until(lambda: sandbox.show()["silent_since"], PATIENCE_S, "the silence", 0.5)
    sandbox.api.post(f"{sandbox.path}/pause", {"memory": False})
    assert sandbox.show()["silent_since"] is None
    assert sandbox.resume()["silent_since"] is None
    assert run(sandbox).status == 200
