# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI document against the tables of the service, and one authorisation test a route."""

import json
import subprocess

import jsonschema
import pytest

import body_rules
import contract
from client import Api, assert_error

pytestmark = pytest.mark.parallel

ID = {"sandboxes": "sbx_01kamqj6rk5f4v3x0e7s2hjw8a", "keys": "key_01kamqg0v5r8e1m4c2y7z9t3wn",
      "templates": "none", "volumes": "vol_01kamqk3c9d8e7f6g5h4j3k2m1",
      "checkpoints": "ckp_01kamqm3d7e9r5t2y8w4q6z1xc"}


@pytest.fixture(scope="module")
def routes(stack):
    program = stack.root / "build" / "tests" / "api" / "route_table"
    return json.loads(subprocess.run([program], check=True, capture_output=True).stdout)


def template(pattern):
    return "/".join("{" + part[1:] + "}" if part.startswith(":") else part
                    for part in pattern.split("/"))


def path_of(route, sandbox_id=None):
    """A path that the route matches; it names nothing that exists unless an id is given."""
    kind = route["pattern"].split("/")[2]
    path = route["pattern"].replace(":port", "3000").replace(":slug", ID["templates"])
    return path.replace(":id", sandbox_id or ID.get(kind, "x"))


def body_of(operation):
    """An example body, or none."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return content.get("example")


def security_of(route):
    """What lets in: nothing, one who has signed in, or a key."""
    if route["scope"] == "public":
        return []
    return [{"session": []}] if route["session"] else [{"key": [route["scope"]]}]


def test_the_document_has_exactly_the_routes(routes):
    documented = {(method, path, operation["operationId"])
                  for method, path, operation in contract.operations()}
    assert documented == {(route["method"], template(route["pattern"]), route["operation"])
                          for route in routes}


def test_bodies_are_those_that_the_service_checks(routes):
    """Each member, its type, its bounds and its words, in the document as in the tables of the service."""
    found = []
    for route in routes:
        operation = contract.operation_of(route["method"], path_of(route))
        found += body_rules.differences_of_body(operation, route, contract.resolve)
    assert not found


def test_parameters_have_the_same_names(routes):
    for route in routes:
        operation = contract.operation_of(route["method"], path_of(route))
        parameters = [contract.resolve(entry) for entry in operation.get("parameters", [])]
        named = {entry["name"] for entry in parameters if entry["in"] == "query"}
        assert named == {name.removesuffix("[*]") for name in route["query"] if name != "*"}, route
        keyed = any(entry["name"] == "Idempotency-Key" for entry in parameters)
        assert keyed == route["idempotent"], route
        assert operation["security"] == security_of(route), route


def test_every_mutating_route_takes_an_idempotency_key(routes):
    """Those of people do not: what they make are sign-ins and secrets, of which nothing is kept."""
    for route in routes:
        if route["scope"] == "public" or route["session"]:
            assert not route["idempotent"], route
            continue
        assert route["idempotent"] == (route["scope"] == "write"), route
        responses = contract.operation_of(route["method"], path_of(route))["responses"]
        assert "409" in responses or not route["idempotent"], f"{route['operation']}: the key of an unfinished request"
        assert route["scope"] == "write" or route["method"] == "GET" or route["pattern"].endswith("/check")


def test_examples_fit_their_schemas():
    for _, _, operation in contract.operations():
        described = [contract.resolve(response) for response in operation["responses"].values()]
        for node in [operation.get("requestBody", {})] + described:
            content = node.get("content", {}).get("application/json", {})
            if "example" in content:
                contract.validate(content["schema"], content["example"])


def test_clients_can_be_generated():
    """Each operation has a name of its own and examples, and says every error it may end in."""
    names = [operation["operationId"] for _, _, operation in contract.operations()]
    assert len(names) == len(set(names))
    always = {"401", "405", "408", "413", "414", "415", "422", "429", "431", "500", "502", "503", "504"}
    for method, path, operation in contract.operations():
        assert operation["summary"] and operation["tags"], operation
        assert always <= set(operation["responses"]), operation["operationId"]
        reads = operation["security"] in ([{"key": ["read"]}], [])
        assert "403" in operation["responses"] or reads, operation["operationId"]
        assert "404" in operation["responses"] or "{" not in path, operation["operationId"]
        for status, response in operation["responses"].items():
            content = contract.resolve(response).get("content")
            assert status in ("204", "302") or "example" in content["application/json"], (operation, status)


def test_the_table_of_errors_is_closed():
    known = set().union(*contract.CODES.values())
    assert set(contract.DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]) == known
    statuses = {int(status) for _, _, operation in contract.operations()
                for status in operation["responses"] if int(status) >= 400}
    assert statuses == set(contract.CODES)


def test_schemas_are_schemas():
    for schema in contract.DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_it_is_served(stack):
    response = Api(stack, None).get("/v1/openapi.json")
    assert response.status == 200
    assert response.headers.get_content_type() == "application/json"
    assert response.json() == contract.DOCUMENT


# --- every route: who may call it ---


def test_no_route_without_a_key(stack, routes):
    for route in routes:
        if route["scope"] == "public":
            continue
        operation = contract.operation_of(route["method"], path_of(route))
        response = Api(stack, None).request(route["method"], path_of(route), body_of(operation))
        assert_error(response, 401, "unauthorized")
        assert response.headers["WWW-Authenticate"].startswith("Bearer"), route


def test_no_mutating_route_with_a_read_key(stack, account, routes):
    """And none of those for people, with any key."""
    reader = Api(stack, account.key("read"))
    for route in routes:
        if route["scope"] != "write" and not route["session"]:
            continue
        operation = contract.operation_of(route["method"], path_of(route))
        response = reader.request(route["method"], path_of(route), body_of(operation))
        assert_error(response, 403, "insufficient_scope")


def test_no_route_shows_another_teams_sandbox(account, other_account, routes):
    """What exists elsewhere answers exactly like what does not exist."""
    sandbox = other_account.api.create()
    for route in routes:
        if not route["pattern"].startswith("/v1/sandboxes/:id"):
            continue
        operation = contract.operation_of(route["method"], path_of(route))
        answers = [account.api.request(route["method"], path_of(route, sandbox_id),
                                       body_of(operation)).json()
                   for sandbox_id in (sandbox["id"], ID["sandboxes"])]
        for answer in answers:
            assert answer.pop("request_id")
            assert answer["error"] == "not_found", (route, answer)
        assert answers[0] == answers[1], route
    assert other_account.api.show(sandbox["id"])["state"] == "ready"


def test_team_parameters_reach_own_teams_only(account, other_account, routes):
    for route in routes:
        # Operators see all teams: console/test_operators.py.
        is_operators = route["pattern"].startswith("/v1/operator/")
        if "team" in route["query"] and ":" not in route["pattern"] and not is_operators:
            response = account.api.get(f"{route['pattern']}?team={other_account.team}")
            assert_error(response, 403, "team_forbidden", "team")
