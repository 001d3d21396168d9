# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace that a client says its request belongs to is in the logs of all that see the request."""

import json
import secrets

import pytest

from client import Origin
from stack import wait_until

pytestmark = pytest.mark.parallel


class Logs:
    """What the programs and nginx write from now on."""

    def __init__(self, stack):
        self.ends = {path: path.stat().st_size for folder in {stack.root, stack.host_dir}
                     for path in (folder / "log").glob("*.log")}

    def lines(self, what):
        found = []
        for path, end in self.ends.items():
            with path.open(encoding="utf-8", errors="replace") as log:
                log.seek(end)
                found += [line for line in log if what in line]
        return found

    def wait_for(self, what):
        """The lines of nginx, and those of the workers, when there are both."""
        def both():
            found = self.lines(what)
            nginx = [json.loads(line) for line in found if line.startswith("{")]
            workers = [line for line in found if " sandlot-api[" in line]
            return nginx and workers and (nginx, workers)

        return wait_until(both, 90, f"the lines with {what}", 0.2)


@pytest.fixture
def logs(stack):
    return Logs(stack)


def ask(stack, api, traceparent):
    """The id of a request."""
    answer = Origin(stack.ca_file, stack.base_url).request(
        "GET", "/v1/sandboxes/sbx_01kamqm3d7e9r5t2y8w4q6z1xc",
        headers={"Authorization": f"Bearer {api.key}", "traceparent": traceparent})
    return answer.headers["X-Request-Id"]


def test_a_trace_is_in_the_lines_of_its_request(stack, api, logs):
    trace = secrets.token_hex(16)
    request_id = ask(stack, api, f"00-{trace}-00f067aa0ba902b7-01")
    nginx, workers = logs.wait_for(trace)
    assert [(line["request_id"], line["trace_id"]) for line in nginx] == [(request_id, trace)]
    assert all(f"request_id={request_id} " in line and f"trace_id={trace} " in line for line in workers)


def traced(trace):
    return {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}


def test_a_trace_leads_to_the_runtime_and_the_firewall(api, logs):
    """A create has its policy put in force, and a pause is an operation of Incus."""
    trace = secrets.token_hex(16)
    made = api.post("/v1/sandboxes", {}, headers=traced(trace))
    assert made.status == 201, made
    assert api.post(f"/v1/sandboxes/{made.json()['id']}/pause", headers=traced(trace)).status == 200
    lines = wait_until(lambda: complete(logs.lines(trace)), 90, "the lines of all who worked for the request", 0.2)
    assert any(" Incus operation ended " in line and "incus_operation=" in line for line in lines)
    api.destroy(made.json()["id"])


def complete(lines):
    wanted = (" Incus operation ended ", " sandlot-firewall[", " sandlot-api[")
    return lines if all(any(one in line for line in lines) for one in wanted) else None


def test_a_trace_is_in_the_logs_of_what_it_started(sandbox):
    trace = secrets.token_hex(16)
    with sandbox.data.start("/bin/echo", "traced", headers=traced(trace)) as stream:
        for _ in stream:
            pass
    sandbox.data.request("POST", "/exec", b'{"cmd": "echo by exec"}',
                         {"Content-Type": "application/json", **traced(trace)})
    sandbox.data.run("/bin/echo", "without")
    told = {one["data"]: one["trace_id"] for one in sandbox.api.get(f"{sandbox.path}/logs").json()["logs"]}
    assert told == {"traced\n": trace, "by exec\n": trace, "without\n": None}
    sandbox.pause()
    kept = sandbox.api.get(f"{sandbox.path}/logs").json()["logs"]
    assert {one["data"]: one["trace_id"] for one in kept} == told


@pytest.mark.parametrize("form", ["00-{}-00f067aa0ba902b7", "ff-{}-00f067aa0ba902b7-01", "00-{}-00f067aa0ba902b7-01-x",
                                  "00-{}-0000000000000000-01", "{}"])
def test_another_form_is_no_trace(stack, api, logs, form):
    trace = secrets.token_hex(16)
    request_id = ask(stack, api, form.format(trace))
    nginx, workers = logs.wait_for(request_id)
    assert [line["trace_id"] for line in nginx] == [""]
    assert all("trace_id" not in line for line in workers)
    assert logs.lines(trace) == []
