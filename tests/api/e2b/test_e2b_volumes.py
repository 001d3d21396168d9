# SPDX-License-Identifier: GPL-2.0-or-later
"""Volumes and their tokens as clients of E2B know them."""

import secrets

import pytest

from client import Api, altered
from tenant import Sandbox
from test_e2b_calls import Calls, assert_refused, call  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel


@pytest.fixture
def volume(call):
    made = call("POST", "/volumes", {"name": "v" + secrets.token_hex(4)})
    assert made.status == 201, made
    return made.json()


def test_names_of_volumes(call):
    made = call("POST", "/volumes", {"name": "My_Volume"})
    assert (made.status, made.json()["name"]) == (201, "my_volume"), made
    for name in ("my_volume", "MY_VOLUME"):
        assert_refused(call("POST", "/volumes", {"name": name}), 400, "/name")
    for name in ("a b", "a/b", "-a", "a.b"):
        assert_refused(call("POST", "/volumes", {"name": name}), 400, "/name")


def content(stack, token, method, path, body=None):
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    return Api(stack, None).origin.request(method, path, body, sent)


def test_a_token_of_a_volume_opens_its_files_alone(stack, account, call, volume):
    token, place = volume["token"], f"/volumecontent/{volume['volumeID']}"
    other = call("POST", "/volumes", {"name": "v" + secrets.token_hex(4)}).json()
    assert content(stack, token, "PUT", f"{place}/file?path=/f", b"kept").status == 201
    read = content(stack, token, "GET", f"{place}/file?path=/f")
    assert (read.status, read.body) == (200, b"kept")
    refused = [("GET", f"/volumecontent/{other['volumeID']}/file?path=/f"), ("GET", "/volumes"), ("GET", "/sandboxes"),
               ("GET", "/v1/me"), ("DELETE", f"/volumes/{volume['volumeID']}")]
    for method, path in refused:
        assert content(stack, token, method, path).status == 403, path
    for wrong in (altered(token), "slv_", token + "A"):
        assert content(stack, wrong, "GET", f"{place}/file?path=/f").status == 401
    sandbox = Sandbox.create(account.api, volume_mounts={"/data": volume["name"]})
    assert sandbox.data.read("/data/f") == b"kept"
    assert content(stack, token, "PUT", f"{place}/file?path=/f", b"changed").status == 409


def test_a_token_of_a_volume_ends_with_its_key(stack, account, volume):
    key = account.key_document("write")
    place = f"/volumecontent/{volume['volumeID']}"
    token = Calls(stack, key["key"])("GET", f"/volumes/{volume['volumeID']}").json()["token"]
    assert content(stack, token, "GET", f"{place}/dir?path=/").status == 200
    assert account.api.delete(f"/v1/keys/{key['id']}").status == 204
    assert content(stack, token, "GET", f"{place}/dir?path=/").status == 401


def test_a_token_of_a_volume_has_the_rights_of_its_key(stack, account, volume):
    """E2B's Python package fails at a volume without a token."""
    place = f"/volumecontent/{volume['volumeID']}"
    assert content(stack, volume["token"], "PUT", f"{place}/file?path=/f", b"kept").status == 201
    token = Calls(stack, account.key("read"))("GET", f"/volumes/{volume['volumeID']}").json()["token"]
    assert content(stack, token, "GET", f"{place}/file?path=/f").body == b"kept"
    assert content(stack, token, "GET", f"{place}/path?path=/f").status == 200
    for method, path, body in (("PUT", "file?path=/g", b"x"), ("POST", "dir?path=/g", None), ("DELETE", "path?path=/f", None)):
        assert content(stack, token, method, f"{place}/{path}", body).status == 403, path


def test_files_of_a_volume(call, volume):
    place = f"/volumecontent/{volume['volumeID']}"
    for query, status in (("", 400), ("?path=/a&uid=65536", 400), ("?path=/a&mode=4096", 400)):
        assert_refused(call("POST", f"{place}/dir{query}"), status)
    assert call("POST", f"{place}/dir?path=/a/b&mode=448&uid=1000&gid=1000&force=true").json()["mode"] == 0o700
    assert_refused(call("PUT", f"{place}/file?path=/a/f", {"a": 1}), 400)
    assert [one["name"] for one in call("GET", f"{place}/dir?path=/a").json()] == ["b"]
    assert call("GET", f"{place}/path?path=/a/b").json()["type"] == "directory"
    changed = call("PATCH", f"{place}/path?path=/a/b", {"mode": 0o755, "uid": 0}).json()
    assert (changed["path"], changed["mode"], changed["uid"], changed["gid"]) == ("/a/b", 0o755, 0, 1000)
    for query, body in (("?path=/a/b", {}), ("?path=/a/b", {"mode": 4096}), ("?path=/a/b", {"uid": -1}), ("", {"uid": 0})):
        assert_refused(call("PATCH", f"{place}/path{query}", body), 400)
    assert_refused(call("PATCH", f"{place}/path?path=/none", {"uid": 0}), 404)
    assert call("POST", f"{place}/dir?path=/a/b/c&uid=7").json()["uid"] == 7
    assert sorted(one["path"] for one in call("GET", f"{place}/dir?path=/a&depth=2").json()) == ["/a/b", "/a/b/c"]
    assert_refused(call("GET", f"{place}/dir?path=/a&depth=0"), 400, "depth")
    assert call("DELETE", f"{place}/path?path=/a").status == 204
    assert_refused(call("GET", f"{place}/path?path=/a"), 404)


def test_a_path_in_a_volume_may_be_written_in_several_ways(stack, volume):
    token, place = volume["token"], f"/volumecontent/{volume['volumeID']}"

    def ask(method, kind, path, body=None):
        return content(stack, token, method, f"{place}/{kind}?path={path}", body)

    made = ask("PUT", "file", "a/./b//f", b"kept")
    assert (made.status, made.json()["path"], made.json()["name"]) == (201, "/a/b/f", "f"), made
    for path in ("/a/b/f", "a/b/f", "/a/b/../b/f/", "../../a/b/f"):
        assert ask("GET", "file", path).body == b"kept", path
        assert ask("GET", "path", path).json()["path"] == "/a/b/f", path
    for path in ("", "/", ".", "a/.."):
        assert [one["path"] for one in ask("GET", "dir", path).json()] == ["/a"], path
    assert ask("POST", "dir", "d/").json()["name"] == "d"
    assert ask("DELETE", "path", "./a/").status == 204
    assert ask("GET", "path", "/a").status == 404
    assert ask("DELETE", "path", "d/..").status == 400, "the volume itself"


def test_a_path_of_a_volume_is_replaced_by_force_alone(stack, volume):
    token, place = volume["token"], f"/volumecontent/{volume['volumeID']}"

    def put(query, body):
        return content(stack, token, "PUT", f"{place}/file?path=/f{query}", body)

    assert put("", b"first").status == 201
    for query in ("", "&force=false"):
        assert_refused(put(query, b"second"), 409)
    assert content(stack, token, "GET", f"{place}/file?path=/f").body == b"first"
    replaced = put("&force=true", b"second")
    assert (replaced.status, replaced.json()["size"]) == (201, 6)
    assert content(stack, token, "GET", f"{place}/file?path=/f").body == b"second"
    for query, status in (("", 201), ("", 409), ("&force=false", 409), ("&force=true", 201)):
        assert content(stack, token, "POST", f"{place}/dir?path=/d{query}").status == status, query
