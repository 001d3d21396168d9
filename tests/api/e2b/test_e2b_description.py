# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI document of the calls for clients of E2B, against the tables of the service and its answers."""

import json
import subprocess
import urllib.parse

import jsonschema
import pytest

import body_rules
import e2b_contract
from client import Api
from test_e2b_calls import assert_refused, call, name_of  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel

OTHERS = {"/volumecontent": {"path": "/"}, "/teams": {"metric": "sandbox_start_rate"}}
COUNTS = {"limit", "depth", "offset", "logsOffset"}


@pytest.fixture(scope="module")
def routes(stack):
    program = stack.root / "build" / "tests" / "api" / "route_table"
    return json.loads(subprocess.run([program, "e2b"], check=True, capture_output=True).stdout)


def test_it_has_exactly_the_routes(routes):
    described = {(method, path): operation for method, path, operation in e2b_contract.operations()}
    assert set(described) == {(route["method"], e2b_contract.template(route["pattern"])) for route in routes}
    for route in routes:
        operation = described[route["method"], e2b_contract.template(route["pattern"])]
        assert (set(operation["responses"]) == {"501"}) != route["served"], route
        assert e2b_contract.query_names(operation) == set(route["query"]), route
    names = [operation["operationId"] for operation in described.values()]
    assert len(names) == len(set(names))


def test_bodies_are_those_that_the_service_checks(routes):
    found = []
    for route in routes:
        operation = e2b_contract.DOCUMENT["paths"][e2b_contract.template(route["pattern"])][route["method"].lower()]
        found += body_rules.differences_of_body(operation, route, e2b_contract.resolve)
    assert not found


def test_bodies_may_have_unknown_members():
    for _, _, operation in e2b_contract.operations():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        assert not content or "additionalProperties" not in e2b_contract.resolve(content["schema"]), operation


def test_schemas_are_schemas():
    for schema in e2b_contract.DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_it_is_served(stack):
    assert Api(stack, None).get("/v1/e2b-openapi.json").json() == e2b_contract.DOCUMENT


def test_what_is_not_served_is_so_on_every_path(call):
    for method, path, operation in e2b_contract.operations():
        if set(operation["responses"]) == {"501"}:
            assert_refused(call(method, e2b_contract.some_path(path)), 501, "does not serve")


# --- parameters ---


def wrong_values(schema):
    """Values that a schema refuses."""
    kind, item = schema["type"], schema.get("items", {})
    if kind == "integer":
        yield from ("x", schema["minimum"] - 1, schema["maximum"] + 1)
    if kind == "boolean" or "enum" in schema or "enum" in item:
        yield "sideways"
    if schema.get("format") == "date-time":
        yield "yesterday"
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if "maxItems" in schema:
        yield ",".join(["a" * 26] * (schema["maxItems"] + 1))
    if "minItems" in schema:
        yield ""


def right_values(name, schema):
    """Values that a schema admits, as far as no other parameter has a say in them."""
    if name in COUNTS:
        yield from (schema["minimum"], schema["maximum"])
    yield from schema.get("enum", schema.get("items", {}).get("enum", []))


def reads(ids):
    """(path of a real object, operation) of each GET with parameters."""
    for method, path, operation in e2b_contract.operations():
        kind = path.removeprefix("/v2").split("/")[1]
        if method == "GET" and operation.get("parameters"):
            yield path.format(**{"alias": "base", "hash": "a" * 64, **ids, "id": ids.get(kind, "none")}), operation


def test_parameters_have_the_bounds_that_are_described(call, account, sandbox):
    build = call("POST", "/v3/templates", {"name": "bounds"}).json()
    volume = call("POST", "/volumes", {"name": "bounds"}).json()
    ids = {"sandboxes": name_of(sandbox), "events": name_of(sandbox), "teams": account.team, "templates": build["templateID"],
           "build": build["buildID"], "volumecontent": volume["volumeID"]}
    asked = 0
    for path, operation in reads(ids):
        others = next((one for prefix, one in OTHERS.items() if path.startswith(prefix)), {})
        for one in operation["parameters"]:
            if one["in"] != "query":
                continue
            name, schema = one["name"], one["schema"]
            for status, values in ((400, wrong_values(schema)), (200, right_values(name, schema))):
                for value in values:
                    query = urllib.parse.urlencode({**others, name: value})
                    answer = call("GET", f"{path}?{query}")
                    assert answer.status == status, (path, name, value, answer)
                    assert status == 200 or name in answer.json()["message"], (path, value, answer)
                    asked += 1
    assert asked > 100
