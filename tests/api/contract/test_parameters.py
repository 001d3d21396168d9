# SPDX-License-Identifier: GPL-2.0-or-later
"""Parameters and headers that come twice, have no value, or are unknown: refused by name, at every address of ours."""

import http.client
import json
import re

import pytest

import contract
from client import Api, assert_error

pytestmark = pytest.mark.parallel

BYTES = {"path", "query[metadata]"}  # an empty value is one
NONE = "sbx_01kamqj6rk5f4v3x0e7s2hjw8a"


def parameters():
    """(method, path, name) of each query parameter, for who has a key."""
    for method, path, operation in contract.operations():
        if operation["security"] == [{"session": []}]:
            continue
        target = re.sub(r"{\w+}", NONE, path)
        for one in map(contract.resolve, operation.get("parameters", [])):
            if one["in"] == "query":
                yield method, target, one["name"]


def test_each_parameter_has_one_value(account):
    """Before anything else of the request is looked at: nothing of this name exists."""
    asked = 0
    for method, target, name in parameters():
        given = name + "[a]" if name == "query[metadata]" else name
        refused = [f"{given}a=1"]
        if not name.endswith("[]") and name != "kind":
            refused.append(f"{given}=1&{given}=1")
        if name not in BYTES:
            refused += [f"{given}=", given]
        for query in refused:
            response = account.api.request(method, f"{target}?{query}")
            field = query.split("=", maxsplit=1)[0]
            if "/callback" in target and field.endswith("a"):
                continue  # providers add others
            assert_error(response, 422, "invalid_request", field)
            asked += 1
    assert asked > 300


def test_the_filter_by_team(account, other_account):
    """Of each list: a team of the key, and no other text."""
    lists = {target for method, target, name in parameters() if name == "team" and method == "GET"
             and NONE not in target and "/operator/" not in target}
    assert len(lists) >= 10
    for target in lists:
        for team, status, code in (("", 422, "invalid_request"), ("no-such", 403, "team_forbidden"),
                                   (other_account.team, 403, "team_forbidden"), (account.team.upper(), 403, "team_forbidden"),
                                   (account.team + "%20", 403, "team_forbidden"), ("x" * 70, 403, "team_forbidden")):
            assert_error(account.api.get(f"{target}?team={team}"), status, code, "team")


def test_a_checkpoint_is_of_the_team_in_the_query(account, other_account):
    second = account.make_team()
    made = account.api.post(f"/v1/sandboxes/{account.api.create()['id']}/checkpoints").json()["id"]
    path = f"/v1/checkpoints/{made}"
    assert account.api.get(path).json() == account.api.get(f"{path}?team={account.team}").json()
    assert_error(account.api.get(f"{path}?team={second}"), 404, "not_found")
    assert_error(account.api.get(f"{path}?team={other_account.team}"), 403, "team_forbidden", "team")


def send_headers(origin, method, path, headers, body=b""):
    """Status and body of the answer to a request with these headers, also such that come twice."""
    connection = origin.connect()
    try:
        connection.putrequest(method, path)
        for name, value in headers:
            connection.putheader(name, value)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, response.read()
    except http.client.RemoteDisconnected:
        return None, b""
    finally:
        connection.close()


KEY = "Idempotency-Key"


@pytest.mark.parametrize("name, first, second", [
    (KEY, "a", "b"), (KEY, "a", "a"), ("Authorization", None, "Bearer slk_none"), ("Authorization", "Bearer slk_none", None),
    ("X-API-Key", "slk_none", "slk_none"), ("If-Match", "*", "*"), ("If-None-Match", "*", '"a"'),
    ("Content-Type", "application/json", "application/json"), ("Content-Encoding", "identity", "gzip")])
def test_headers_that_count_once(api, name, first, second):
    """nginx itself refuses some as no HTTP. Others it passes on, or joins to one that is no valid value (from 1.23 on)."""
    bearer = f"Bearer {api.key}"
    given = [(name, first or bearer), (name, second or bearer)]
    if name != "Authorization":
        given.append(("Authorization", bearer))
    if name != "Content-Type":
        given.append(("Content-Type", "application/json"))
    status, body = send_headers(api.origin, "POST", "/v1/volumes", given, b'{"name": "once"}')
    if status == 422:
        assert json.loads(body)["field"] == name, body
    else:
        own = {"X-API-Key": 401, "Content-Encoding": 415}
        assert status == own.get(name, 400) and name not in (KEY, "Content-Type"), body
    assert api.get("/v1/volumes").json()["volumes"] == []


@pytest.mark.parametrize("second", ["0", "5"])
def test_two_lengths_are_no_http(api, second):
    headers = [("Authorization", f"Bearer {api.key}"), ("Content-Length", "0"), ("Content-Length", second)]
    status, body = send_headers(api.origin, "POST", "/v1/sandboxes", headers)
    assert status in (None, 400, 422), (status, body)
    assert api.list() == []


# --- the data plane ---


@pytest.mark.parametrize("tokens, status", [(("own", "none"), 200), (("none", "own"), 401), (("own", "own"), 200)])
def test_of_several_access_tokens_the_first_counts(shared_sandbox, tokens, status):
    """With every version of nginx, for data planes and previews."""
    value = {"own": shared_sandbox.data.token, "none": "slt_none"}
    given = [("X-Access-Token", value[token]) for token in tokens]
    seen, body = send_headers(shared_sandbox.data.origin, "GET", "/files?path=/etc/hostname", given)
    assert seen == status, body
    joined = [("X-Access-Token", ", ".join(value[token] for token in tokens))]
    assert send_headers(shared_sandbox.data.origin, "GET", "/files?path=/etc/hostname", joined)[0] == status
    if status == 401:
        seen, body = send_headers(shared_sandbox.preview(3002), "GET", "/", given)
        assert seen == 401, body


def test_parameters_of_the_data_plane(shared_sandbox):
    data = shared_sandbox.data
    for path, field in (("/files?path=/etc/hostname&usernam=root", "usernam"), ("/files?Path=/etc/hostname", "Path"),
                        ("/files?path=/etc/hostname&path=/etc/passwd", "path"), ("/metrics?a=1", "a"),
                        ("/files?path=/etc/hostname&username=root&username=root", "username")):
        refused = data.request("GET", path)
        assert refused.status == 400, refused
        said = refused.json()
        assert (said["error"], said["field"], said["code"]) == ("invalid_request", field, 400)
    assert data.request("GET", "/files?path=/etc/hostname&username=root").status == 200
    refused = data.request("POST", "/process.Process/List?a=1", b"{}", {"Content-Type": "application/json"})
    assert refused.status == 400 and refused.json()["code"] == "invalid_argument" and refused.json()["field"] == "a"


def test_bodies_of_the_data_plane(shared_sandbox):
    """null is no body, as in the API, and what is wrong has its name."""
    data = shared_sandbox.data
    for call, message, field in (
            ("/exec", {"cmd": 5}, "/cmd"), ("/exec", {"cmd": "a", "args": [5]}, "/args"), ("/hold", {"seconds": "x"}, "/seconds"),
            ("/filesystem.Filesystem/Stat", {"path": 5}, "/path"), ("/process.Process/List", {"details": 1}, "/details"),
            ("/process.Process/CloseStdin", {"process": {"pid": "x"}}, "/process/pid"),
            ("/files/compose", {"source_paths": "a", "destination": "/tmp/b"}, "/source_paths")):
        refused = data.request("POST", call, json.dumps(message).encode(), {"Content-Type": "application/json"})
        assert refused.status == 400 and refused.json()["field"] == field, (call, refused)
    for body in (b"null", b"[]"):
        listed = data.request("POST", "/process.Process/List", body, {"Content-Type": "application/json"})
        assert listed.status == 200, listed
        refused = data.request("POST", "/exec", body, {"Content-Type": "application/json"})
        assert refused.status == 400 and refused.json()["field"] == "/cmd", refused


def test_a_read_key_is_refused_before_its_body(stack, account):
    reader = Api(stack, account.key("read"))
    assert_error(reader.post("/v1/sandboxes?a=1", {"b": 1}), 403, "insufficient_scope")
