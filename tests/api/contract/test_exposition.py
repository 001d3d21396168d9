# SPDX-License-Identifier: GPL-2.0-or-later
"""GET /metrics at metrics_port: numbers for Prometheus, in a format that its own parser takes."""

import http.client
import json
import pathlib
import re

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from client import Origin
from tenant import Sandbox

pytestmark = pytest.mark.parallel

MONITORING = pathlib.Path(__file__).resolve().parents[3] / "conf" / "monitoring"


def ask(stack, path="/metrics", method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", int(stack.settings["metrics_port"]), timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()
    finally:
        connection.close()


def families(stack):
    status, media_type, text = ask(stack)
    assert status == 200 and media_type.startswith("application/openmetrics-text; version=1.0.0"), media_type
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(found, sample, **labels):
    """Of all series with these labels together; 0 when there is none yet."""
    return sum(one.value for family in found.values() for one in family.samples
               if one.name == sample and labels.items() <= one.labels.items())


def test_what_is_done_is_counted(stack, api):
    before = families(stack)
    made = Sandbox.create(api)
    made.pause()
    assert made.resume()["resumed_from"] == "memory"
    assert api.request("GET", "/v1/sandboxes/sbx_00000000000000000000000000").status == 404
    api.destroy(made.id)
    after = families(stack)

    def grew(sample, **labels):
        return value(after, sample, **labels) - value(before, sample, **labels)

    assert grew("sandlot_requests_total", operation="createSandbox", status="201") >= 1
    assert grew("sandlot_requests_total", operation="showSandbox", status="404") >= 1
    assert grew("sandlot_request_seconds_count", operation="createSandbox") >= 1
    assert grew("sandlot_operations_total", kind="pause", outcome="done") >= 1
    assert grew("sandlot_operation_seconds_count", kind="resume") >= 1
    assert grew("sandlot_creates_total") >= 1
    assert grew("sandlot_pauses_total", kept="memory") >= 1
    assert grew("sandlot_resumes_total", source="memory") >= 1
    assert grew("sandlot_statements_total", statement="api_key.find") >= 1


def test_the_gate_s_decisions_are_counted(stack, sandbox):
    before = families(stack)
    assert sandbox.data.run("true").exit_code == 0
    unknown = Origin(stack.ca_file, f"https://{'a' * 26}.{stack.settings['data_plane_host']}")
    assert unknown.request("GET", "/health").status >= 400
    after = families(stack)
    assert value(after, "sandlot_gate_decisions_total", decision="pass") > \
        value(before, "sandlot_gate_decisions_total", decision="pass")
    counted = [sum(one.value for one in found["sandlot_gate_decisions"].samples) for found in (before, after)]
    assert counted[1] >= counted[0] + 2


def test_what_stands_in_the_database_is_told(stack, account, sandbox):
    found = families(stack)
    host = stack.query("SELECT h.* FROM hosts h JOIN sandboxes s ON s.host_id = h.id WHERE s.id = %s", sandbox.id)[0]
    assert value(found, "sandlot_database_up") == 1
    assert value(found, "sandlot_host_vcpus", host=host["name"]) == host["vcpus"]
    assert value(found, "sandlot_host_memory_bytes", host=host["name"]) == host["memory_mb"] << 20
    assert value(found, "sandlot_host_sandboxes", host=host["name"]) >= 1
    assert value(found, "sandlot_team_sandboxes", team=account.team) == 1
    assert sandbox.document["state"] == "ready"


@pytest.mark.parametrize("path", ["/", "/metrics/x", "/v1/sandboxes", "/metricsx"])
def test_nothing_else_is_served_there(stack, path):
    assert ask(stack, path)[0] == 404


def test_the_numbers_are_not_on_the_api_s_host(stack, api):
    answer = Origin(stack.ca_file, stack.base_url).request(
        "GET", "/metrics", headers={"Authorization": f"Bearer {api.key}", "Sandlot-Metrics": "1"})
    assert answer.status == 404


def test_rules_and_dashboard_know_the_names(stack, api):
    """A name that is told by nobody would be an alert that never comes."""
    api.destroy(api.create()["id"])
    known = set()
    for family in families(stack).values():
        known.add(family.name)
    source = (MONITORING.parents[1] / "fcgi" / "base" / "counters.def").read_text(encoding="utf-8")
    known |= set(re.findall(r'"(sandlot_[a-z_]+)"', source))
    dashboard = (MONITORING / "sandlot-dashboard.json").read_text(encoding="utf-8")
    assert len(json.loads(dashboard)["panels"]) > 10
    for text in (dashboard, (MONITORING / "sandlot.rules.yml").read_text(encoding="utf-8")):
        for name in re.findall(r"sandlot_[a-z_]+", text):
            assert name in known or re.sub(r"_(total|bucket|count|sum)$", "", name) in known, name
