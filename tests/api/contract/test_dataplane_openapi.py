# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI document of the data plane against the agent of a sandbox."""

import json
import pathlib
import re

import jsonschema
import pytest

import dataplane_contract
from client import Api

pytestmark = pytest.mark.parallel

OPERATIONS = [(method, path, operation) for method, path, operation in dataplane_contract.operations()]
ROUTES = pathlib.Path(__file__).parents[3] / "fcgi" / "guest" / "agent" / "routes.c"

# What makes each call succeed, in the order of the document; the others are asked without a body.
BODIES = {
    "exec": {"cmd": "true"},
    "stat": {"path": "/etc/passwd"},
    "makeDir": {"path": "described"},
    "move": {"source": "described", "destination": "moved"},
    "listDir": {"path": "/etc"},
    "remove": {"path": "moved"},
    "list": {},
}


def test_it_is_served(stack):
    response = Api(stack, None).get("/v1/dataplane-openapi.json")
    assert response.status == 200
    assert response.headers.get_content_type() == "application/json"
    assert response.json() == dataplane_contract.DOCUMENT


def test_schemas_are_schemas():
    for schema in dataplane_contract.DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(names) == len(set(names))


def test_it_has_exactly_the_agents_routes():
    """But those for the control plane."""
    text = ROUTES.read_text(encoding="utf-8")
    rows = re.findall(r'\.method = "(\w+)",\s*\.path = "([^"]+)"(?:,\s*\.flags = ([A-Z_| ]+))?', text)
    known = {(method, path) for method, path, flags in rows if "INTERNAL" not in flags}
    known |= {("POST", path) for path in re.findall(r'RPC\("([^"]+)"', text)}
    assert {(method, path) for method, path, _ in OPERATIONS} == known


@pytest.mark.parametrize("method, path", [(method, path) for method, path, _ in OPERATIONS], ids=str)
def test_every_path_answers_as_described(data, method, path):
    """Each call is there for whoever shows the token, and refuses an empty request in its own words."""
    operation = dataplane_contract.DOCUMENT["paths"][path][method.lower()]
    types = list(operation.get("requestBody", {}).get("content", {}))
    body = b"" if method == "GET" or operation["operationId"] not in BODIES else json.dumps(
        BODIES[operation["operationId"]]).encode()
    response = data.request(method, path, body or None, {"Content-Type": types[0]} if types else {})
    unknown = response.status == 404 and response.json()["code"] != "not_found"
    assert not unknown and response.status not in (405, 501), response
    dataplane_contract.check(method, path, response)
    if operation["operationId"] in BODIES:
        assert response.status == 200, response


def test_without_a_token_all_but_health_is_refused(data):
    for method, path, operation in OPERATIONS:
        response = data.origin.request(method, path)
        assert response.status == (401 if operation["security"] else 204), (path, response)
        dataplane_contract.check(method, path, response)


def test_a_file_that_is_written_and_read(data):
    written = data.upload("/home/user/described.txt", b"text", headers={"X-Metadata-Origin": "test"})
    dataplane_contract.validate({"type": "array", "items": {"$ref": "#/components/schemas/WrittenFile"}}, written)
    entry = data.call("filesystem.Filesystem/Stat", {"path": "described.txt"})
    assert entry.json()["entry"]["metadata"] == {"origin": "test"}


def test_streams_say_what_is_described(data):
    with data.start("/bin/sh", "-c", "echo out; echo err >&2") as stream:
        for message in stream:
            dataplane_contract.check_message("/process.Process/Start", message)
    data.call("filesystem.Filesystem/MakeDir", {"path": "watched"})
    with data.watch("watched", includeEntry=True) as stream:
        data.upload("/home/user/watched/new", b"")
        dataplane_contract.check_message("/filesystem.Filesystem/WatchDir", next(stream))
