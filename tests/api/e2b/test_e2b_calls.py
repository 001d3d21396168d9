# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls for clients of E2B by themselves: what their packages do not ask."""

import json

import pytest

from client import Api


class Calls:
    """The API as such a client sees it: a key in X-API-Key, errors with a number."""

    def __init__(self, stack, key):
        self.origin = Api(stack, None).origin
        self.key = key

    def __call__(self, method, path, body=None):
        sent = {"X-API-Key": self.key} if self.key else {}
        if body is not None:
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        return self.origin.request(method, path, body, sent)


@pytest.fixture
def call(stack, account):
    return Calls(stack, account.key("write"))


def name_of(sandbox):
    return sandbox.document["data_plane_url"].removeprefix("https://").split(".")[0]


def assert_refused(answer, status, said=""):
    body = answer.json()
    assert (answer.status, body["code"]) == (status, status), answer
    assert said in body["message"], answer


def test_a_key_that_reads_gets_no_token(stack, account, sandbox):
    reader = Calls(stack, account.key("read"))
    shown = reader("GET", f"/sandboxes/{name_of(sandbox)}")
    assert shown.status == 200 and shown.json()["state"] == "running"
    assert "slt_" not in shown.body.decode()
    listed = reader("GET", "/v2/sandboxes")
    assert [one["sandboxID"] for one in listed.json()] == [name_of(sandbox)]
    assert "slt_" not in listed.body.decode()
    for method, path in (("POST", "connect"), ("POST", "pause"), ("POST", "timeout"), ("PUT", "network")):
        assert_refused(reader(method, f"/sandboxes/{name_of(sandbox)}/{path}", {}), 403)
    assert_refused(reader("DELETE", f"/sandboxes/{name_of(sandbox)}"), 403)


def test_nobody_sees_the_sandboxes_of_others(stack, other_account, sandbox):
    stranger = Calls(stack, other_account.key("write"))
    for name in (name_of(sandbox), sandbox.id):
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/connect"), ("GET", "/metrics")):
            assert_refused(stranger(method, f"/sandboxes/{name}{path}"), 404)
    assert stranger("GET", "/sandboxes").json() == []


def test_what_is_not_served_says_so(call, sandbox):
    name = name_of(sandbox)
    assert_refused(call("POST", f"/sandboxes/{name}/fork", {"count": 2}), 501, "forks")
    assert_refused(call("GET", f"/sandboxes/{name}/logs?start=1"), 501, "logs")
    assert_refused(call("POST", "/v3/templates", {"name": "x"}), 501, "builds")
    assert_refused(call("GET", "/v2/sandboxes?order=asc"), 501, "newest first")
    assert_refused(call("POST", "/sandboxes", {"templateID": "base", "mcp": {"a": 1}}), 501, "mcp")
    assert_refused(call("GET", "/sandboxes/nothing/at/all"), 404)


def test_errors_have_their_numbers(stack, call, sandbox):
    name = name_of(sandbox)
    assert_refused(Calls(stack, None)("GET", "/sandboxes"), 401)
    assert_refused(call("POST", "/sandboxes", {"templateID": "base", "timeout": "x"}), 400, "/timeout")
    assert_refused(call("POST", "/sandboxes", {"templateID": "base", "tiemout": 5}), 400, "timeout")
    assert_refused(call("GET", "/v2/sandboxes?nextToken=none"), 400)
    assert_refused(call("GET", "/v2/sandboxes?metadata=%25zz"), 400, "metadata")
    assert call("POST", f"/sandboxes/{name}/pause").status == 204
    assert_refused(call("POST", f"/sandboxes/{name}/pause"), 409)
    assert_refused(call("POST", f"/sandboxes/{name}/timeout", {"timeout": 60}), 404)


def test_a_timeout_of_nothing_ends_it(call, sandbox):
    assert call("POST", f"/sandboxes/{name_of(sandbox)}/timeout", {"timeout": 0}).status == 204
    assert_refused(call("GET", f"/sandboxes/{name_of(sandbox)}"), 404)
