# SPDX-License-Identifier: GPL-2.0-or-later
"""Habits of ordinary HTTP clients: media types, ETags, CORS, compression, pages."""

import concurrent.futures
import gzip

import pytest

from client import Api, assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel

JSON = {"Content-Type": "application/json"}


def test_a_checkpoint_needs_no_body(api):
    sandbox_id = api.create()["id"]
    made = api.post(f"/v1/sandboxes/{sandbox_id}/checkpoints")
    assert made.status == 201 and made.json()["name"], made


@pytest.mark.parametrize("name", ["query[state][0]", "query%5Bstate%5D%5B17%5D", "query[state][]"])
def test_the_index_that_php_writes(api, name):
    made = api.create()["id"]
    assert [one["id"] for one in api.list(f"?{name}=ready")] == [made]
    assert api.list(f"?{name}=stopped") == []
    assert [one["id"] for one in api.list(f"?query[state][0]=stopped&query[state][1]=ready")] == [made]


@pytest.mark.parametrize("method, path, allow", [
    ("POST", "/v1/openapi.json", "GET, HEAD"), ("DELETE", "/v1/dataplane-openapi.json", "GET, HEAD"),
    ("TRACE", "/v1/sandboxes", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")])
def test_a_405_of_nginx_names_methods_that_it_allows(api, method, path, allow):
    refused = api.request(method, path)
    assert_error(refused, 405, "method_not_allowed")
    assert refused.headers["Allow"] == allow


def test_a_number_may_be_a_metadata_key(api):
    made = api.create(metadata={"0": "a"})["id"]
    assert [one["id"] for one in api.list("?query[metadata][0]=a")] == [made]


def test_an_empty_array_may_be_an_empty_object(api):
    """PHP's json_encode() writes [] for both."""
    made = api.create(metadata=[], envs=[], volume_mounts=[], lifecycle=[])
    assert (made["metadata"], made["volume_mounts"], made["lifecycle"]["on_timeout"]) == ({}, {}, "kill")
    assert_error(api.post("/v1/sandboxes", {"metadata": ["a"]}), 422, "invalid_request", "/metadata")


def test_a_change_may_be_a_merge_patch(api):
    path = f"/v1/sandboxes/{api.create(metadata={'a': '1'})['id']}"
    changed = api.request("PATCH", path, b'{"metadata":{"a":null,"b":"2"}}',
                          headers={"Content-Type": "application/merge-patch+json"})
    assert changed.status == 200 and changed.json()["metadata"] == {"b": "2"}, changed
    refused = api.post("/v1/sandboxes", b"{}", headers={"Content-Type": "application/merge-patch+json"})
    assert_error(refused, 415, "unsupported_media_type")
    hint = assert_error(api.request("PATCH", path, {"auto_pause": True}), 422, "invalid_request", "/auto_pause")
    assert "on_timeout" in hint["message"]


@pytest.mark.parametrize("headers", [
    {"Content-Type": "application/json; charset=iso-8859-1"}, {**JSON, "Content-Encoding": "gzip"},
    {**JSON, "Content-Encoding": "br"}, {"Content-Type": "application/json; charset=\"utf-16\""},
    {"Content-Type": "text/plain"}])
def test_other_charsets_and_encodings_are_415(module_account, headers):
    refused = module_account.api.post("/v1/keys", b'{"scopes":["read"]}', headers=headers)
    assert_error(refused, 415, "unsupported_media_type")
    assert refused.headers.get("accept-encoding") == ("identity" if "Content-Encoding" in headers else None)


@pytest.mark.parametrize("headers", [
    {"Content-Type": "application/json; charset=UTF-8"}, {"Content-Type": "application/json;charset=\"utf-8\""},
    {**JSON, "Content-Encoding": "identity"}])
def test_utf8_and_identity_are_accepted(api, headers):
    assert api.post("/v1/keys", b'{"scopes":["read"]}', headers=headers).status == 201


def tagged(api, path):
    answer = api.get(path)
    assert answer.status == 200, answer
    return {"If-Match": answer.headers["ETag"]}


def test_a_change_of_an_old_state_is_refused(api):
    """Two clients read the same state: the change of the second is refused, that of the first stays."""
    path = f"/v1/sandboxes/{api.create()['id']}"
    seen = tagged(api, path)
    assert api.request("PATCH", path, {"metadata": {"of": "first"}}, headers=seen).status == 200
    refused = api.request("PATCH", path, {"metadata": {"of": "second"}}, headers=seen)
    assert_error(refused, 412, "precondition_failed", "If-Match")
    assert api.get(path).json()["metadata"] == {"of": "first"}
    now = tagged(api, path)
    weak = {"If-Match": f'"other", W/{now["If-Match"]}'}
    assert api.request("PATCH", path, {"metadata": {"of": "second"}}, headers=weak).status == 200
    assert_error(api.request("DELETE", path, headers=now), 412, "precondition_failed", "If-Match")
    network = tagged(api, f"{path}/network")
    body = {"allow_internet_access": False}
    assert api.request("PUT", f"{path}/network", body, headers=network).status in (200, 202)
    body = {"allow_internet_access": True}
    assert_error(api.request("PUT", f"{path}/network", body, headers=network), 412, "precondition_failed")
    assert api.request("DELETE", path, headers={"If-Match": "*"}).status == 204


def test_one_of_many_changes_of_the_same_state_is_done(api):
    path = f"/v1/sandboxes/{api.create()['id']}"
    for round_of in range(10):
        seen = tagged(api, path)

        def change(number):
            return api.request("PATCH", path, {"metadata": {"of": f"{round_of}.{number}"}}, headers=seen).status

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            assert sorted(pool.map(change, range(6))) == [200] + [412] * 5


def test_none_match_creates_and_never_overwrites(api):
    new = {"If-None-Match": "*"}
    body = {"value": "first", "hosts": ["a.example"]}
    assert api.request("PUT", "/v1/secrets/made-once", body, headers=new).status == 201
    assert_error(api.request("PUT", "/v1/secrets/made-once", body, headers=new), 412, "precondition_failed", "If-None-Match")
    seen = tagged(api, "/v1/secrets/made-once")
    unlike = {"If-None-Match": f'"other", {seen["If-Match"]}'}
    assert api.request("PUT", "/v1/secrets/made-once", body, headers=unlike).status == 412
    assert api.request("PUT", "/v1/secrets/made-once", body, headers=seen).status == 200
    assert api.request("PUT", "/v1/secrets/made-once", body, headers=seen).status == 412
    path = f"/v1/sandboxes/{api.create()['id']}"
    assert api.request("PUT", f"{path}/ports/8000", {"public": True}, headers=new).status == 200
    assert api.request("PUT", f"{path}/ports/8000", {"public": False}, headers=new).status == 412
    assert api.request("PUT", f"{path}/ports/8000", {"public": False}, headers=tagged(api, f"{path}/ports/8000")).status == 200
    assert api.request("PUT", f"{path}/network", {}, headers=new).status == 412


def test_a_condition_that_nothing_can_fulfil_is_refused(api):
    """It is not left out: the change would overwrite what it was to keep."""
    volume = api.post("/v1/volumes", {"name": "conditions"}).json()["id"]
    file = {"path": "/a", "content_b64": ""}
    for header in ({"If-None-Match": "*"}, {"If-Match": '"seen"'}):
        assert_error(api.request("PUT", f"/v1/volumes/{volume}/files", file, headers=header), 422, "invalid_request",
                     *header)
        assert_error(api.post("/v1/sandboxes", {}, headers=header), 422, "invalid_request", *header)
    assert api.request("DELETE", f"/v1/volumes/{volume}", headers={"If-Match": "*"}).status == 204
    assert api.request("DELETE", f"/v1/volumes/{volume}", headers={"If-Match": "*"}).status == 404


@pytest.mark.parametrize("text, timeout", [("60.0", 60), ("6e1", 60), ("1.2E2", 120)])
def test_a_whole_number_in_any_form(api, text, timeout):
    made = api.post("/v1/sandboxes", f'{{"timeout": {text}}}'.encode(), headers=JSON)
    assert made.status == 201 and made.json()["timeout"] == timeout, made


def test_numbers_out_of_range_and_an_empty_array_as_body(api):
    for text in ("1e30", "123456789012345678901234567890", "0.5"):
        refused = api.post("/v1/sandboxes", f'{{"timeout": {text}}}'.encode(), headers=JSON)
        assert_error(refused, 422, "invalid_request", "/timeout")
    assert api.post("/v1/sandboxes", b"[]", headers=JSON).status == 201


def test_webhooks_have_etags_too(api):
    made = api.post("/v1/webhooks", {"url": "http://127.0.0.1:9/tagged", "kinds": ["sandbox.died"]}).json()
    path = f"/v1/webhooks/{made['id']}"
    seen = tagged(api, path)
    assert api.request("PATCH", path, {"kinds": ["sandbox.failed"]}, headers=seen).status == 200
    assert_error(api.request("PATCH", path, {"kinds": []}, headers=seen), 412, "precondition_failed")
    assert_error(api.request("DELETE", path, headers=seen), 412, "precondition_failed")


def test_a_delivery_changes_no_etag(api):
    made = api.post("/v1/webhooks", {"url": "http://127.0.0.1:9/tagged", "kinds": ["sandbox.created"]}).json()
    path = f"/v1/webhooks/{made['id']}"
    seen = tagged(api, path)
    api.create()
    wait_until(lambda: api.get(path).json()["failed_at"], 60, "the first delivery, which fails", 0.2)
    assert tagged(api, path) == seen
    assert api.request("PATCH", path, {"kinds": ["sandbox.failed"]}, headers=seen).status == 200


def test_a_pause_at_the_deadline_changes_no_etag(api):
    made = api.create(timeout=2, lifecycle={"on_timeout": "pause"})
    path = f"/v1/sandboxes/{made['id']}"
    seen, network = tagged(api, path), tagged(api, f"{path}/network")
    wait_until(lambda: api.get(path).json()["state"] == "stopped", 60, "the pause", 0.2)
    assert tagged(api, f"{path}/network") == network
    assert api.request("PATCH", path, {"metadata": {"of": "first"}}, headers=seen).status == 200
    assert_error(api.request("PATCH", path, {"metadata": {}}, headers=seen), 412, "precondition_failed")


def test_pages_of_any_origin_may_call(stack, api):
    asked = api.origin.request("OPTIONS", "/v1/sandboxes", headers={
        "Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type"})
    assert asked.status == 204, asked
    assert asked.headers["Access-Control-Allow-Origin"] == "*"
    assert "POST" in asked.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    for who, status in ((api, 200), (Api(stack, None), 401)):
        answer = who.request("GET", "/v1/sandboxes", headers={"Origin": "https://elsewhere.example"})
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (status, "*")
        assert answer.headers["Access-Control-Allow-Credentials"] is None
        assert answer.headers["Strict-Transport-Security"]


def test_long_answers_are_compressed_on_request(api):
    zipped = api.origin.request("GET", "/v1/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip" and "Accept-Encoding" in zipped.headers["Vary"]
    plain = api.origin.request("GET", "/v1/openapi.json")
    assert gzip.decompress(zipped.body) == plain.body and len(zipped.body) < len(plain.body) / 4
    headers = {"Authorization": f"Bearer {api.key}", "Accept-Encoding": "gzip"}
    limits = api.origin.request("GET", "/v1/sandbox_limits", headers=headers)
    assert limits.headers["Content-Encoding"] == "gzip" and b"plan" in gzip.decompress(limits.body)
    short = api.origin.request("GET", "/v1/sandboxes", headers=headers)
    assert short.headers["Content-Encoding"] is None and short.json()["sandboxes"] == []


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "BREW"])
def test_unknown_methods(api, method):
    target = "/v1/sandboxes"
    sock = api.origin.tls_socket()
    sock.sendall(f"{method} {target} HTTP/1.1\r\nHost: {api.origin.host}\r\nConnection: close\r\n\r\n".encode())
    head = b""
    while piece := sock.recv(4096):
        head += piece
    sock.close()
    lines = head.decode().split("\r\n\r\n")[0].lower().split("\r\n")
    if " 405 " in lines[0]:
        assert any(line.startswith("allow: ") for line in lines), lines
    else:
        assert " 400 " in lines[0], lines


@pytest.mark.parametrize("path", ["//v1/nothing", "/v1%2Fsandboxes", "/v1%2fsandboxes"])
def test_a_path_with_other_slashes_has_errors_of_this_interface(api, path):
    headers = {"Authorization": f"Bearer {api.key}"}
    assert_error(api.origin.request("GET", path, headers=headers), 404, "not_found")


def test_an_escape_that_a_path_does_not_need(api):
    """Some clients escape the underscore."""
    assert api.origin.request("GET", "/v1/%73andbox%5Flimits", headers={"Authorization": f"Bearer {api.key}"}).status == 200


def test_a_time_zone_whose_plus_is_a_blank(api):
    for path in ("/v1/usage?from=", "/v1/events?since="):
        assert api.get(path + "2026-11-22T10:00:00%2B02:00").status == 200
        answer = assert_error(api.get(path + "2026-11-22T10:00:00+02:00"), 422, "invalid_request")
        assert "%2B" in answer["message"]
        answer = assert_error(api.get(path + "yesterday"), 422, "invalid_request")
        assert "%2B" not in answer["message"]


def pages(api, path, member, limit):
    rows, token = [], ""
    for _ in range(20):
        answer = api.get(f"{path}{'&' if '?' in path else '?'}limit={limit}" + (f"&next_token={token}" if token else ""))
        assert answer.status == 200, answer
        body = answer.json()
        assert len(body[member]) <= limit
        rows += body[member]
        token = body.get("next_token")
        if not token:
            return rows
    raise AssertionError("the list has no end")


def test_each_list_has_pages(api, account):
    for n in range(4):
        assert api.post("/v1/keys", {"scopes": ["read"], "name": f"k{n}"}).status == 201
    ports = [{"port": port} for port in (3000, 3001, 3002)]
    sandbox = f"/v1/sandboxes/{api.create(exposed_ports=ports)['id']}"
    account.make_team()
    lists = [("/v1/keys", "keys", 5), ("/v1/ssh_keys", "ssh_keys", 0), ("/v1/templates", "templates", 1),
             ("/v1/teams", "teams", 2), (f"/v1/teams/{account.team}/members", "items", 1),
             (f"/v1/teams/{account.team}/keys", "items", 1), (f"{sandbox}/ports", "ports", 3),
             (f"{sandbox}/network/denials", "denials", 0)]
    for path, member, least in lists:
        whole = api.get(path).json()[member]
        assert len(whole) >= least, path
        assert pages(api, path, member, 1) == pages(api, path, member, 2) == whole, path
        for limit in ("0", "201", "x"):
            assert_error(api.get(f"{path}?limit={limit}"), 422, "invalid_request", "limit")
        assert_error(api.get(f"{path}?next_token=AAAA"), 422, "invalid_next_token", "next_token")
    token = api.get("/v1/keys?limit=1").json()["next_token"]
    assert_error(api.get(f"/v1/teams?next_token={token}"), 422, "invalid_next_token", "next_token")


def test_the_next_page_begins_after_the_last_row(api):
    ids = [api.post("/v1/keys", {"scopes": ["read"]}).json()["id"] for _ in range(4)]
    whole = [one["id"] for one in api.get("/v1/keys").json()["keys"]]
    first = api.get("/v1/keys?limit=2").json()
    gone = next(one for one in whole[:2] if one in ids)
    assert api.delete(f"/v1/keys/{gone}").status == 204
    rest = api.get(f"/v1/keys?limit=200&next_token={first['next_token']}").json()["keys"]
    assert [one["id"] for one in rest] == whole[2:]
