# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls for clients of E2B by themselves: what their packages do not ask."""

import base64
import datetime
import gzip
import json
import secrets
import struct
import urllib.parse
import uuid

import pytest

import e2b_contract
from client import Api, Origin
from killing import traced
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel


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
        answer = self.origin.request(method, path, body, sent)
        e2b_contract.check(method, path, answer)
        return answer


@pytest.fixture
def call(stack, account):
    return Calls(stack, account.key("write"))


def name_of(sandbox):
    return sandbox.document["data_plane_url"].removeprefix("https://").split(".")[0]


def assert_refused(answer, status, said=""):
    body = answer.json()
    assert (answer.status, body["code"]) == (status, status), answer
    assert said in body["message"], answer
    assert status not in (429, 503) or int(answer.headers["Retry-After"]) > 0, answer.headers.items()


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


def test_a_fork(call, sandbox):
    name = name_of(sandbox)
    answer = call("POST", f"/v2/sandboxes/{name}/fork", {"count": 2, "timeout": 600})
    assert answer.status == 201, answer
    made = [one["sandbox"]["sandboxID"] for one in answer.json()]
    assert len({name, *made}) == 3
    for one in made:
        assert call("GET", f"/sandboxes/{one}").json()["state"] == "running"
    assert_refused(call("POST", f"/sandboxes/{name}/fork", {"count": 0}), 400)
    assert call("POST", f"/sandboxes/{name}/pause", {}).status == 204
    assert_refused(call("POST", f"/sandboxes/{name}/fork", {}), 409)


def quoted(name):
    return urllib.parse.quote(name, safe="")


@pytest.mark.long
def test_snapshots_are_templates(stack, call, account, sandbox):
    """With a name, tags and deletion by name. A name is one row, and means what was made last."""
    path = f"/sandboxes/{name_of(sandbox)}/snapshots"
    kept, tagged = f"{account.team}/kept:default", f"{account.team}/kept:v1"
    for name, expected in (("Kept", kept), ("kept", kept), (f"{account.team}/kept:V1", tagged)):
        made = call("POST", path, {"name": name})
        assert (made.status, made.json()) == (201, {"snapshotID": expected, "names": [expected]}), made
    checkpoints = account.api.get("/v1/checkpoints?name=kept").json()["checkpoints"]
    second, first = (one["id"] for one in checkpoints)
    unnamed = call("POST", path, {}).json()
    assert unnamed["names"] == [] and unnamed["snapshotID"].startswith("ckp_")
    listed = [one["snapshotID"] for one in call("GET", "/snapshots").json()]
    assert sorted(listed) == sorted([kept, tagged, unnamed["snapshotID"]])
    for named, rows in (("kept", [tagged, kept]), ("kept:default", [kept]), (quoted(kept), [kept]), ("kept:v1", [tagged]), ("other", [])):
        assert [one["snapshotID"] for one in call("GET", f"/snapshots?name={named}").json()] == rows, named
    for named, expected in (("kept", second), (kept, second), ("kept:1", first)):
        created = call("POST", "/v2/sandboxes", {"templateID": named})
        assert created.status == 201 and created.json()["templateID"] == expected, created
    tags = call("GET", "/templates/kept/tags").json()
    assert [one["tag"] for one in tags] == ["default", "v1"] and uuid.UUID(tags[0]["buildID"])
    for named in ("kept", "kept:v1", "kept:default"):
        assert call("GET", f"/templates/aliases/{named}").json() == {"templateID": "kept", "public": False}
    assert_refused(call("GET", "/templates/aliases/kept:none"), 404)
    others = {first, second, unnamed["snapshotID"]}
    (last,) = {one["id"] for one in account.api.get("/v1/checkpoints").json()["checkpoints"]} - others
    assert call("DELETE", f"/templates/{quoted(tagged)}").status == 204
    # A worker that cannot reach the runtime would leave this to the dispatcher.
    kept_instances = {one["name"] for one in stack.incus.request("GET", "/1.0/instances?recursion=1")}
    assert last.replace("_", "-") not in kept_instances
    assert [one["tag"] for one in call("GET", "/templates/kept/tags").json()] == ["default"]
    assert call("DELETE", "/templates/kept").status == 204
    assert_refused(call("DELETE", f"/templates/{quoted(kept)}"), 404)
    assert_refused(call("GET", "/templates/kept/tags"), 404)
    assert_refused(call("POST", path, {"name": "a b"}), 400, "/name")
    assert call("DELETE", f"/templates/{unnamed['snapshotID']}").status == 204


def test_what_is_not_known_is_ignored(call):
    """A package of tomorrow sends more than this service knows."""
    body = {"templateID": "base", "timeout": 60, "tomorrow": {"a": [1]}, "network": {"tomorrow": 1}, "mcp": {"a": {}}}
    made = call("POST", "/v2/sandboxes?tomorrow=1", body)
    assert made.status == 201, made
    name = made.json()["sandboxID"]
    assert call("POST", f"/sandboxes/{name}/timeout?a=b", {"timeout": 60, "tomorrow": 1}).status == 204
    assert [one["sandboxID"] for one in call("GET", "/v2/sandboxes?tomorrow=1&limit=5").json()] == [name]
    assert_refused(call("GET", "/v2/sandboxes?limit=5&limit=6"), 400, "limit")
    assert call("DELETE", f"/sandboxes/{name}", {"tomorrow": 1}).status == 204


def test_the_template_base(stack, call, account):
    assert call("GET", "/templates/aliases/base").json() == {"templateID": "base", "public": True}
    assert call("GET", "/templates/BASE/tags").json()[0]["tag"] == "default"
    made = call("POST", "/v2/sandboxes", {"templateID": "Base"})
    assert made.status == 201 and made.json()["templateID"] == stack.template, made
    for template in ("base", stack.template):
        listed = call("GET", f"/v2/sandboxes?template={template}")
        assert [one["sandboxID"] for one in listed.json()] == [made.json()["sandboxID"]]
        assert listed.headers["X-Total-Running"] == "1"
    assert_refused(call("POST", "/templates/tags", {"target": "base", "tags": ["x"]}), 403, "deployment")
    assert_refused(call("DELETE", "/templates/tags", {"name": "none", "tags": ["default"]}), 404)


def test_the_health_of_the_service(stack):
    answer = Api(stack, None).origin.request("GET", "/health")
    assert (answer.status, answer.body) == (200, b"Health check successful"), answer


def test_the_address_of_a_sandbox_in_their_console_leads_to_ours(stack, sandbox):
    there = Origin(stack.ca_file, f"https://{stack.data_plane_host}")
    there.context.check_hostname = False
    answer = there.request("GET", f"/dashboard/inspect/sandbox/{name_of(sandbox)}")
    assert (answer.status, answer.headers["Location"]) == (302, f"{stack.console_url}/sandboxes"), answer


def test_a_host_of_no_sandbox(stack):
    for name in ("3210-i0000000000", "3210-none-client"):
        refused = Origin(stack.ca_file, f"https://{name}.{stack.data_plane_host}").request("GET", "/")
        expected = {"sandboxId": name.split("-")[1], "message": "The sandbox was not found", "code": 502}
        assert (refused.status, refused.json()) == (502, expected), refused


def test_a_port_wants_their_token(stack, call):
    made = call("POST", "/v2/sandboxes", {"templateID": "base", "network": {"allowPublicTraffic": False}}).json()
    port = Origin(stack.ca_file, f"https://8080-{made['sandboxID']}.{stack.data_plane_host}")
    for headers, said in (({}, "is missing"), ({"e2b-traffic-access-token": "wrong"}, "is invalid")):
        refused = port.request("GET", "/", headers=headers)
        message = f"Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' {said}"
        expected = {"sandboxId": made["sandboxID"], "message": message, "code": 403}
        assert (refused.status, refused.json()) == (403, expected), refused


def test_every_name_may_be_allowed(call, sandbox):
    path = f"/sandboxes/{name_of(sandbox)}"
    assert call("PUT", f"{path}/network", {"allowOut": ["*"], "denyOut": ["0.0.0.0/0"]}).status == 204
    network = call("GET", path).json()["network"]
    assert (network["allowOut"], network["denyOut"]) == (["0.0.0.0/0", "::/0"], [])
    assert_refused(call("PUT", f"{path}/network", {"allowOut": ["a.*.example"]}), 400, "/network/allowOut/0")


def test_an_expired_link_has_the_answer_of_their_agent(stack, sandbox):
    host = Origin(stack.ca_file, f"https://49983-{name_of(sandbox)}.{stack.data_plane_host}")
    refused = host.request("GET", "/files?path=/etc/hostname&signature=v1_x&signature_expiration=1")
    assert refused.status == 401 and set(refused.json()) == {"code", "message"}, refused


@pytest.mark.long
def test_the_environment_of_a_fork_names_a_template(sandbox):
    (made,) = sandbox.api.post(f"{sandbox.path}/fork", {}).json()["forks"]
    session = sandbox.api.post(f"/v1/sandboxes/{made['sandbox']['id']}/sessions", {}).json()["session"]
    fork = Sandbox(sandbox.api, {**made["sandbox"], "session": session})
    wait_until(lambda: fork.show()["state"] == "ready", 90, "the fork")
    read = "echo $E2B_TEMPLATE_ID; cat /run/e2b/.E2B_TEMPLATE_ID"
    assert fork.data.check(read) == sandbox.data.check(read)


def test_secrets_and_rules(call, sandbox):
    name = "t" + secrets.token_hex(4)
    made = call("POST", "/secrets", {"name": name, "value": "first", "metadata": {"owner": "me"}})
    assert made.status == 201 and made.json()["currentVersion"] == 1, made
    assert made.json()["metadata"] == {"owner": "me"} and "first" not in str(made.json())
    assert_refused(call("POST", "/secrets", {"name": name, "value": "again"}), 409)
    for large in ("x" * 1000, "\x01" * 1000):
        assert_refused(call("POST", "/secrets", {"name": "large", "value": "v", "metadata": {f"k{n}": large for n in range(17)}}), 400)
    identifier = made.json()["secretID"]
    changed = call("POST", f"/secrets/{name}", {"value": "second"})
    assert changed.status == 200 and changed.json()["currentVersion"] == 2, changed
    assert call("GET", f"/secrets/{identifier}").json() == changed.json()
    assert name in [one["name"] for one in call("GET", "/secrets").json()]
    path = f"/sandboxes/{name_of(sandbox)}/network"
    rules = {"api.example.com": [{"transform": {"headers": {"Authorization": "Bearer ${e2b.secrets.%s}" % name}}}]}
    assert call("PUT", path, {"rules": rules}).status == 204
    shown = sandbox.api.get(f"{sandbox.path}/network").json()["rules"]
    assert shown == [{"host": "api.example.com", "headers": {"Authorization": "Bearer ${secrets.%s}" % name}}]
    assert call("GET", f"/sandboxes/{name_of(sandbox)}").json()["network"]["rules"] == rules
    long = {"api.example.com": [{"transform": {"headers": {"Cookie": "v" * 2048}}}]}
    assert call("PUT", path, {"rules": long}).status == 204
    for bad in ({"api.example.com": [{"transform": {"headers": {"X-Own": "v"}}}]},
                {"api.example.com": [{"transform": {"headers": {"Cookie": "a\r\nb: c"}}}]},
                {"*.example.com": [{"transform": {"headers": {"Cookie": "v"}}}]},
                {"api.example.com": {"transform": {"headers": {"Cookie": "v"}}}}, {"api.example.com": ["Cookie"]},
                {"api.example.com": [{"transform": {"headers": {"Cookie": 1}}}]},
                {"api.example.com": [{"transform": {"headers": {"Cookie": "v" * 2049}}}]},
                {"api.example.com": [{"transform": {"headers": {"Cookie": "v"}}}, {"transform": {"headers": {"Token": "w"}}}]}):
        assert_refused(call("PUT", path, {"rules": bad}), 400)
    bound = call("POST", f"/secrets/{name}", {"value": "third", "metadata": {"hosts": "other.example"}})
    assert bound.status == 200 and bound.json()["metadata"] == {"hosts": "other.example"}, bound
    assert_refused(call("PUT", path, {"rules": rules}), 400)
    # Another secret, listed before it, has its id as a name: that one must not get its value.
    assert call("POST", "/secrets", {"name": identifier, "value": "decoy"}).status == 201
    assert call("POST", f"/secrets/{identifier}", {"value": "fourth"}).json()["name"] == name
    assert call("DELETE", f"/secrets/{identifier}").status == 204
    assert_refused(call("GET", f"/secrets/{name}"), 404)
    assert call("PUT", path, {}).status == 204


def test_an_egress_proxy_keeps_its_password_as_a_secret(call, account, sandbox):
    path = f"/sandboxes/{name_of(sandbox)}/network"
    network = lambda: account.api.get(f"{sandbox.path}/network").json().get("egress_proxy")
    secrets = lambda: [one for one in account.api.get("/v1/secrets").json()["secrets"] if one["name"].startswith("e2b-proxy-")]
    proxy = {"address": "proxy.example:1080", "username": "me", "password": "first-password"}
    ours = {"type": "socks5", "host": "proxy.example", "port": 1080}
    assert call("PUT", path, {"egressProxy": proxy}).status == 204
    (secret,) = secrets()
    assert network() == {**ours, "username": "me", "password": "${secrets.%s}" % secret["name"]}
    assert secret["hosts"] == ["proxy.example"] and secret["version"] == 1
    answer = call("GET", f"/sandboxes/{name_of(sandbox)}")
    assert answer.json()["network"]["egressProxy"] == {"address": "proxy.example:1080", "username": "me"}
    assert "first-password" not in str(answer.json()) + str(account.api.get("/v1/audit?limit=200").json())
    assert call("PUT", path, {"egressProxy": proxy}).status == 204
    assert [one["version"] for one in secrets()] == [1], "the same password again"
    assert call("PUT", path, {"egressProxy": {**proxy, "password": "second"}}).status == 204
    assert [one["version"] > 1 for one in secrets()] == [True], "another password of the same account"
    assert call("PUT", path, {"egressProxy": {"address": "192.0.2.5:99"}}).status == 204
    assert network() == {**ours, "host": "192.0.2.5", "port": 99}
    shown = call("GET", f"/sandboxes/{name_of(sandbox)}").json()["network"]
    assert shown["egressProxy"] == {"address": "192.0.2.5:99"}
    assert call("PUT", path, {"egressProxy": {**proxy, "address": "192.0.2.5:99"}}).status == 204
    assert sorted(one["hosts"] for one in secrets()) == [["192.0.2.5"], ["proxy.example"]]
    puts = [one["resource"] for one in account.api.get("/v1/audit?action=secret.put").json()["items"]]
    assert [puts.count(one["name"]) for one in secrets() if one["name"] != secret["name"]] == [1]
    assert puts.count(secret["name"]) == 2, "each password that was new, and nothing else"
    account.api.request("PUT", "/v1/secrets/way", {"value": "v", "hosts": ["proxy.example"]})
    assert call("PUT", path, {"egressProxy": {**proxy, "password": "${e2b.secrets.way}"}}).status == 204
    assert network()["password"] == "${secrets.way}"
    assert_refused(call("PUT", path, {"egressProxy": {"address": "192.0.2.5:99", "password": "x"}}), 400)
    for address in ("proxy.example", "proxy.example:0", "Proxy.example:1", ":1"):
        assert_refused(call("PUT", path, {"egressProxy": {"address": address}}), 400)
    assert call("PUT", path, {}).status == 204 and network() is None
    assert not {"rules", "egressProxy"} & set(call("GET", f"/sandboxes/{name_of(sandbox)}").json()["network"])
    team = account.api.request("PUT", "/v1/egress_proxy", {"egress_proxy": ours})
    assert team.status == 200, team
    assert call("PUT", path, {}).status == 204 and network() == ours
    assert call("PUT", path, {"egressProxy": None}).status == 204 and network() is None
    assert account.api.request("PUT", "/v1/egress_proxy", {"egress_proxy": None}).status == 200


def test_the_password_of_a_proxy_goes_with_its_last_sandbox(call, stack, account):
    names = lambda: {one["name"] for one in account.api.get("/v1/secrets").json()["secrets"]}

    def left():
        stack.query("UPDATE secrets SET updated_at_ms = updated_at_ms - 400000 WHERE team_id ="
                    " (SELECT id FROM teams WHERE slug = %s)", account.team)
        return names()

    assert account.api.request("PUT", "/v1/secrets/own", {"value": "v", "hosts": ["a.example"]}).status == 201
    proxy = {"address": "proxy.example:1080", "username": "me", "password": "p"}
    first, second = (call("POST", "/sandboxes", {"templateID": "base", "network": {"egressProxy": proxy}}).json()["sandboxID"]
                     for _ in range(2))
    (name,) = names() - {"own"}
    assert call("PUT", f"/sandboxes/{second}/network", {"egressProxy": {**proxy, "username": "other"}}).status == 204
    assert len(names()) == 3
    assert call("PUT", f"/sandboxes/{second}/network", {"egressProxy": proxy}).status == 204
    assert call("DELETE", f"/sandboxes/{first}").status == 204
    wait_until(lambda: left() == {name, "own"}, 60, "the end of the one that no sandbox has")
    assert call("DELETE", f"/sandboxes/{second}").status == 204
    wait_until(lambda: left() == {"own"}, 60, "the end of the other one")


def test_a_refused_request_leaves_the_password_of_a_proxy(call, account, sandbox):
    path = f"/sandboxes/{name_of(sandbox)}/network"
    secrets = lambda: {one["name"]: one["version"] for one in account.api.get("/v1/secrets").json()["secrets"]}
    proxy = {"address": "proxy.example:1080", "username": "me", "password": "first"}
    refused = {"templateID": "base", "network": {"egressProxy": {**proxy, "password": "second"}}}
    for stored in (False, True):
        if stored:
            assert call("PUT", path, {"egressProxy": proxy}).status == 204
        before = secrets()
        assert len(before) == stored
        for wrong in ({"templateID": "no-such-template"}, {"timeout": 31536000}, {"metadata": {"a": "x" * 65536}},
                      {"autoPauseMemory": False}, {"volumeMounts": [{"name": "no-such", "path": "relative"}]},
                      {"network": {**refused["network"], "allowOut": ["not a destination"]}}):
            answer = call("POST", "/sandboxes", {**refused, **wrong})
            assert 400 <= answer.status < 500, (wrong, answer)
            assert secrets() == before, wrong
        assert_refused(call("PUT", path, {"egressProxy": {**proxy, "password": "second"}, "denyOut": ["not a destination"]}), 400)
        assert secrets() == before


@pytest.mark.long
def test_a_password_stays_while_the_proxy_of_the_team_has_it(call, stack, account):
    names = lambda: {one["name"] for one in account.api.get("/v1/secrets").json()["secrets"]}
    age = lambda: stack.query("UPDATE secrets SET updated_at_ms = updated_at_ms - 400000 WHERE team_id ="
                              " (SELECT id FROM teams WHERE slug = %s)", account.team)
    proxy = {"address": "proxy.example:1080", "username": "me", "password": "p"}
    kept, other = (call("POST", "/sandboxes", {"templateID": "base", "network": {"egressProxy": {**proxy, "username": one}}})
                   .json()["sandboxID"] for one in ("kept", "other"))
    shown = account.api.get("/v1/sandboxes").json()["sandboxes"]
    ids = {one["data_plane_url"].removeprefix("https://").split(".")[0]: one["id"] for one in shown}
    ours = account.api.get(f"/v1/sandboxes/{ids[kept]}/network").json()["egress_proxy"]
    assert account.api.request("PUT", "/v1/egress_proxy", {"egress_proxy": ours}).status == 200
    for one in (kept, other):
        assert call("DELETE", f"/sandboxes/{one}").status == 204
    (name,) = [one for one in names() if one in ours["password"]]
    age()
    wait_until(lambda: names() == {name}, 60, "the end of the one that nothing has")
    assert account.api.request("PUT", "/v1/egress_proxy", {"egress_proxy": None}).status == 200
    wait_until(lambda: not age() and names() == set(), 60, "the end of the other one")


def test_passwords_have_room_beside_the_secrets_of_a_team(stack, call, account, sandbox):
    path = f"/sandboxes/{name_of(sandbox)}/network"
    proxy = {"address": "proxy.example:1080", "username": "me", "password": "p"}
    for n in range(100):
        assert account.api.request("PUT", f"/v1/secrets/s{n}", {"value": "v", "hosts": ["a.example"]}).status == 201
    team = stack.query("SELECT id FROM teams WHERE slug = %s", account.team)[0]["id"]
    rows = [f"('sec_{n:026}', '{team}', 'made-{n}', '[\"a.example\"]', '', 1, '', UNIX_TIMESTAMP() * 1000, UNIX_TIMESTAMP() * 1000)"
            for n in range(900)]
    stack.query("INSERT INTO secrets (id, team_id, name, hosts, value, for_sandboxes, created_by, created_at_ms, updated_at_ms) VALUES "
                + ", ".join(rows))
    assert_refused(call("PUT", path, {"egressProxy": proxy}), 400, "/egressProxy/password")
    stack.query("DELETE FROM secrets WHERE team_id = %s AND name = 'made-1'", team)
    assert call("PUT", path, {"egressProxy": proxy}).status == 204


def test_what_is_not_served_says_so(call, sandbox):
    for path in ("/sandboxes", "/v2/sandboxes"):
        body = {"templateID": "base", "iam": {"tokens": {"a": {"audience": "b"}}}}
        assert_refused(call("POST", path, body), 501, "iam")
    assert_refused(call("GET", "/sandboxes/nothing/at/all"), 404)


def test_teams(call, account):
    (mine,) = [one for one in call("GET", "/teams").json() if one["name"] == account.team]
    assert mine == {**mine, "apiKey": "", "isDefault": True}
    assert call("GET", f"/teams/{mine['teamID']}/metrics").status == 200


def test_errors_have_their_numbers(stack, call, sandbox):
    name = name_of(sandbox)
    assert_refused(Calls(stack, None)("GET", "/sandboxes"), 401)
    assert_refused(call("POST", "/sandboxes", {"templateID": "base", "timeout": "x"}), 400, "/timeout")
    assert_refused(call("GET", "/v2/sandboxes?nextToken=none"), 400)
    assert_refused(call("GET", "/v2/sandboxes?metadata=%25zz"), 400, "metadata")
    assert call("POST", f"/sandboxes/{name}/pause").status == 204
    assert_refused(call("POST", f"/sandboxes/{name}/pause"), 409)
    assert_refused(call("POST", f"/sandboxes/{name}/timeout", {"timeout": 60}), 404)


@pytest.mark.long
def test_a_pause_that_cannot_keep_the_memory_is_for_later(call, account):
    name = call("POST", "/v2/sandboxes", {"templateID": "base"}).json()["sandboxID"]
    (shown,) = account.api.get("/v1/sandboxes").json()["sandboxes"]
    session = account.api.post(f"/v1/sandboxes/{shown['id']}/sessions", {}).json()["session"]
    sandbox = Sandbox(account.api, {**shown, "session": session})
    boot = sandbox.boot_id()
    with traced(sandbox) as pid:
        assert_refused(call("POST", f"/sandboxes/{name}/pause"), 503)
        assert call("GET", f"/sandboxes/{name}").json()["state"] == "running"
        sandbox.data.check(f"kill -9 {pid}")
    assert call("POST", f"/sandboxes/{name}/pause").status == 204
    assert call("POST", f"/v2/sandboxes/{name}/connect").status == 201
    assert sandbox.boot_id() == boot


@pytest.mark.alone
def test_no_host_has_room(stack, call):
    hosts = [row["name"] for row in stack.query("SELECT name FROM hosts WHERE state = 'active'")]
    for host in hosts:
        stack.ctl("host", "drain", host, "--stay")
    try:
        refused = call("POST", "/v2/sandboxes", {"templateID": "base"})
    finally:
        for host in hosts:
            stack.ctl("host", "activate", host)
    assert_refused(refused, 503)
    assert refused.json()["error_code"] == "sandbox_capacity_unavailable"


def test_what_a_create_refuses(call):
    for body, said in (
            ({"timeout": 0}, "timeout"), ({"autoPauseMemory": False}, "autoPauseMemory"),
            ({"autoPause": True, "autoPauseMemory": False, "autoResume": {"enabled": True}}, "autoPauseMemory"),
            ({"network": {"httpsPorts": [49983]}}, "httpsPorts"), ({"network": {"denyOut": ["a b"]}}, "denyOut"),
            ({"secure": False, "network": {"allowPublicTraffic": False}}, "allowPublicTraffic")):
        for path in ("/sandboxes", "/v2/sandboxes"):
            assert_refused(call("POST", path, {"templateID": "base", **body}), 400, said)
    assert call("GET", "/sandboxes").json() == []


def test_null_is_no_value(call):
    nulls = dict.fromkeys(("timeout", "metadata", "envVars", "autoPause", "autoPauseMemory", "autoResume", "secure", "network",
                           "allow_internet_access", "volumeMounts", "mcp", "iam"))
    made = call("POST", "/sandboxes", {"templateID": "base", **nulls})
    assert made.status == 201, made
    sandbox_id = made.json()["sandboxID"]
    inner = {"allowOut": None, "denyOut": None, "rules": None, "allow_internet_access": None}
    assert call("PUT", f"/sandboxes/{sandbox_id}/network", inner).status == 204
    assert_refused(call("POST", "/sandboxes", {"templateID": None}), 400, "templateID")
    assert call("DELETE", f"/sandboxes/{sandbox_id}").status == 204


def test_calls_of_older_clients(call, sandbox):
    name = name_of(sandbox)
    path = f"/sandboxes/{name}"
    assert [one["sandboxID"] for one in call("GET", "/sandboxes").json()] == [name]
    running = call("POST", f"{path}/resume", {"timeout": 60})
    assert_refused(running, 409)
    assert running.headers["Retry-After"] is None, "later it would be the same"
    end = call("GET", path).json()["endAt"]
    assert call("POST", f"{path}/refreshes", {"duration": 1}).status == 204
    assert call("GET", path).json()["endAt"] == end, "to a later end only"
    assert call("POST", f"{path}/timeout", {"timeout": 5}).status == 204
    short = call("GET", path).json()["endAt"]
    assert call("POST", f"{path}/refreshes", {"duration": 1}).status == 204
    assert short < call("GET", path).json()["endAt"] < end, "15 s at least"
    assert call("POST", f"{path}/refreshes", {"duration": 3000}).status == 204
    assert call("GET", path).json()["endAt"] > end
    assert call("POST", f"{path}/pause", {"memory": True}).status == 204
    assert_refused(call("POST", f"{path}/refreshes", {"duration": 60}), 404)
    assert call("GET", "/sandboxes").json() == [], "running ones only"
    assert [one["sandboxID"] for one in call("GET", "/v2/sandboxes").json()] == [name]
    resumed = call("POST", f"{path}/resume", {"timeout": 60})
    assert (resumed.status, resumed.json()["sandboxID"]) == (201, name)
    last = call("GET", path).json()["endAt"]
    assert last < end
    assert call("POST", f"{path}/pause").status == 204
    assert call("POST", f"{path}/resume").status == 201
    assert call("GET", path).json()["endAt"] < last, "15 s, without a timeout"


def test_a_network_takes_the_place_of_the_one_before(call, sandbox):
    path = f"/sandboxes/{name_of(sandbox)}"
    both = {"allowOut": ["192.0.2.1"], "denyOut": ["0.0.0.0/0"]}
    assert call("PUT", f"{path}/network", both).status == 204
    network = call("GET", path).json()["network"]
    assert (network["allowOut"], network["denyOut"]) == (["192.0.2.1"], ["0.0.0.0/0"])
    assert call("PUT", f"{path}/network", {"denyOut": ["198.51.100.0/24"]}).status == 204
    network = call("GET", path).json()["network"]
    assert (network["allowOut"], network["denyOut"]) == ([], ["198.51.100.0/24"]), "what is left out is cleared"
    assert call("PUT", f"{path}/network", {}).status == 204
    assert call("GET", path).json()["network"]["denyOut"] == []
    assert call("PUT", f"{path}/network", {"allow_internet_access": False}).status == 204
    assert call("GET", path).json()["allowInternetAccess"] is False


@pytest.mark.long
def test_metrics_between_two_times(call, sandbox):
    path = f"/sandboxes/{name_of(sandbox)}/metrics"
    sandbox.data.check("head -c 300M /dev/zero | sha256sum")
    used = wait_until(lambda: [one["cpuUsedPct"] for one in call("GET", path).json() if one["cpuUsedPct"]], 60, "a sample")
    assert used == [round(one, 2) for one in used], "no more digits than E2B's"
    at = call("GET", path).json()[0]["timestampUnix"]
    assert at in [one["timestampUnix"] for one in call("GET", f"{path}?start={at}&end={at + 1}").json()]
    assert call("GET", f"{path}?start={at - 1000}&end={at - 900}").json() == []
    assert call("GET", f"{path}?start={at - 1000}&end={at - 1000}").json() == []
    assert_refused(call("GET", f"{path}?start={at}&end={at - 1}"), 400, "start")


def test_pages_of_secrets(call):
    for name in ("first", "second", "third"):
        assert call("POST", "/secrets", {"name": name, "value": "v"}).status == 201
    newest = call("GET", "/secrets?limit=2")
    oldest = call("GET", f"/secrets?limit=2&nextToken={newest.headers['X-Next-Token']}")
    assert [one["name"] for one in newest.json() + oldest.json()] == ["third", "second", "first"]
    assert oldest.headers["X-Next-Token"] is None
    assert_refused(call("GET", "/secrets?limit=0"), 400, "limit")
    assert call("POST", "/secrets", {"name": "Case", "value": "v"}).status == 201
    for name in ("case", "Case"):
        assert call("GET", f"/secrets/{name}").json()["name"] == "Case", "their names ignore case"
    assert call("DELETE", "/secrets/CASE").status == 204
    assert_refused(call("GET", "/secrets/Case"), 404)


def test_a_page_has_a_hundred_rows(call, account):
    """Clients of E2B may read the first page only."""
    for number in range(60):
        assert account.api.request("PUT", f"/v1/secrets/s{number}", {"value": "v", "hosts": ["a.example"]}).status == 201
    listed = call("GET", "/secrets")
    assert (len(listed.json()), listed.headers["X-Next-Token"]) == (60, None)


@pytest.mark.long
def test_pages_of_snapshots(call, sandbox):
    path = f"/sandboxes/{name_of(sandbox)}/snapshots"
    made = [call("POST", path, {}).json()["snapshotID"] for _ in range(3)]
    found, token = [], ""
    while token is not None:
        answer = call("GET", f"/snapshots?sandboxID={name_of(sandbox)}&limit=2{token}")
        found += [one["snapshotID"] for one in answer.json()]
        token = answer.headers["X-Next-Token"] and f"&nextToken={answer.headers['X-Next-Token']}"
    assert sorted(found) == sorted(made)
    for none in ("none", "%C3%A9"):
        assert call("GET", f"/snapshots?sandboxID={none}").json() == []
    assert call("DELETE", f"/sandboxes/{name_of(sandbox)}").status == 204
    kept = call("GET", f"/snapshots?sandboxID={name_of(sandbox)}").json()
    assert sorted(one["snapshotID"] for one in kept) == sorted(made), "they outlive their sandbox"
    for snapshot in made:
        assert call("DELETE", f"/templates/{snapshot}").status == 204
    assert_refused(call("DELETE", f"/templates/{made[0]}"), 404)


@pytest.mark.long
def test_forks_beyond_the_quota_say_so_one_by_one(stack, make_account, own_plan):
    account = make_account("enterprise")
    own_plan(account, sandboxes=3)
    call = Calls(stack, account.key("write"))
    name, _ = (call("POST", "/v2/sandboxes", {"templateID": "base"}).json()["sandboxID"] for _ in range(2))
    answer = call("POST", f"/v2/sandboxes/{name}/fork", {"count": 2})
    assert answer.status == 201, answer
    assert sorted("sandbox" in one for one in answer.json()) == [False, True]
    assert {one["error"]["code"] for one in answer.json() if "error" in one} == {429}
    assert_refused(call("POST", f"/v2/sandboxes/{name}/fork", {"count": 3}), 400, "count")


def test_an_empty_directory_has_a_size(sandbox):
    sandbox.data.check("mkdir /home/user/empty")
    for method, path, member in (("Stat", "/home/user/empty", "entry"), ("ListDir", "/home/user", "entries")):
        answer = sandbox.data.call("filesystem.Filesystem/" + method, {"path": path}).json()[member]
        entries = answer if isinstance(answer, list) else [answer]
        assert [int(one["size"]) > 0 for one in entries if one["name"] == "empty"] == [True], answer


def test_messages_of_gzip(sandbox):
    """By itself and in a stream, through everything that stands before the agent."""
    def packed(message):
        return gzip.compress(json.dumps(message).encode())

    found = sandbox.data.request("POST", "/filesystem.Filesystem/Stat", packed({"path": "/etc"}),
                                 {"Content-Type": "application/json", "Content-Encoding": "gzip"})
    assert (found.status, found.json()["entry"]["name"]) == (200, "etc"), found
    message = packed({"process": {"cmd": "echo", "args": ["packed"]}})
    headers = {"Content-Type": "application/connect+json", "Connect-Content-Encoding": "gzip"}
    ran = sandbox.data.request("POST", "/process.Process/Start", struct.pack(">BI", 1, len(message)) + message, headers)
    assert (ran.status, base64.b64encode(b"packed\n") in ran.body) == (200, True), ran
    bomb = gzip.compress(bytes(64 << 20))
    refused = sandbox.data.request("POST", "/filesystem.Filesystem/Stat", bomb,
                                   {"Content-Type": "application/json", "Content-Encoding": "gzip"})
    assert (refused.status, refused.json()["code"]) == (429, "resource_exhausted"), refused


def messages(answer):
    assert answer.status == 200, answer
    return [line["message"] for line in answer.json()["logs"]]


def test_logs(call, sandbox):
    name = name_of(sandbox)
    sandbox.data.bash("echo one; echo two; echo three >&2")
    old = call("GET", f"/sandboxes/{name}/logs?start=1").json()
    assert [json.loads(line["line"])["message"] for line in old["logs"]] == ["one", "two", "three"]
    assert {json.loads(line["line"])["logger"] for line in old["logs"]} == {"process"}
    assert [line["level"] for line in old["logEntries"]] == ["info", "info", "error"]
    path = f"/v2/sandboxes/{name}/logs"
    assert messages(call("GET", path + "?direction=forward")) == ["one", "two", "three"]
    for query in ("", "?direction=backward"):
        assert messages(call("GET", path + query)) == ["three", "two", "one"]
    assert messages(call("GET", path + "?level=warn")) == ["three"]
    assert messages(call("GET", path + "?search=tw")) == ["two"]
    assert messages(call("GET", path + "?direction=backward&cursor=1")) == []
    assert messages(call("GET", path + "?direction=forward&cursor=99999999999999")) == []
    for query in ("limit=1001", "level=loud", "direction=up", "cursor=x", "search=" + "x" * 257):
        assert_refused(call("GET", f"{path}?{query}"), 400)


def test_logs_of_a_paused_one(call, sandbox):
    name = name_of(sandbox)
    sandbox.data.bash("echo one; echo two >&2")
    assert call("POST", f"/sandboxes/{name}/pause").status == 204
    assert messages(call("GET", f"/v2/sandboxes/{name}/logs?direction=forward")) == ["one", "two"]
    assert messages(call("GET", f"/v2/sandboxes/{name}/logs?direction=backward&level=error")) == ["two"]
    old = call("GET", f"/sandboxes/{name}/logs").json()
    assert [json.loads(line["line"])["message"] for line in old["logs"]] == ["one", "two"]


def test_metrics_of_several(stack, call, other_account, make_sandbox, sandbox):
    names = [name_of(sandbox), name_of(make_sandbox())]
    strangers = name_of(Sandbox.create(other_account.api))

    def metrics(*ids):
        answer = call("GET", f"/sandboxes/metrics?sandbox_ids={','.join(ids)}")
        assert answer.status == 200, answer
        return answer.json()["sandboxes"]

    wait_until(lambda: set(metrics(*names, strangers, "none", "a" * 26)) == set(names), 60, "a sample of each")
    assert metrics(names[0] + "-client")[names[0]]["memUsed"] > 0
    assert call("POST", f"/sandboxes/{names[0]}/pause").status == 204
    assert set(metrics(*names)) == {names[1]}, "what is paused uses nothing"
    for query in ("", "?sandbox_ids=", "?sandbox_ids=" + ",".join(["a" * 26] * 101)):
        assert_refused(call("GET", f"/sandboxes/metrics{query}"), 400, "sandbox_ids")


def test_pages_of_templates(stack, call, account, sandbox):
    made = account.api.post(f"{sandbox.path}/checkpoints", {"name": "made"}).json()
    for slug in ("first", "second"):
        assert account.api.post("/v1/templates", {"slug": slug, "checkpoint_id": made["id"]}).status == 201
    ids = []
    all_of_them = {one["templateID"] for one in call("GET", "/templates").json()}
    query = ""
    while query is not None:
        answer = call("GET", f"/v2/templates?limit=1{query}")
        assert answer.status == 200 and len(answer.json()) == 1, answer
        ids += [one["templateID"] for one in answer.json()]
        token = answer.headers["X-Next-Token"]
        query = f"&nextToken={token}" if token else None
    assert len(ids) == len(set(ids)) > 1 and set(ids) == all_of_them
    assert ids[:2] == ["second", "first"], "newest first"
    shown = {one["templateID"]: one for one in call("GET", f"/v2/templates?teamID={account.team}").json()}
    own, theirs = shown["first"], shown[stack.template]
    assert own["diskSizeMB"] >= 1024 and own["names"] == [f"{account.team}/first"] and not own["public"]
    assert theirs["names"] == [f"deployment/{stack.template}"] and theirs["public"]
    shown_alone = call("GET", f"/templates/{stack.template}").json()
    for one in (theirs, shown_alone):
        assert (one["spawnCount"], one["lastSpawnedAt"]) == (0, None), "the uses of other teams"
    assert_refused(call("GET", "/v2/templates?nextToken=none"), 400)
    assert_refused(call("GET", "/v2/templates?limit=0"), 400, "limit")
    assert_refused(call("GET", "/v2/templates?teamID=of-somebody-else"), 400, "teamID")


@pytest.mark.long
def test_how_often_a_template_was_used(call, account, make_sandbox, sandbox):
    """Its sandboxes count, also those that are gone, and forks and what is made of a checkpoint do not."""
    made = account.api.post(f"{sandbox.path}/checkpoints", {"name": "made"}).json()
    assert account.api.post("/v1/templates", {"slug": "counted", "checkpoint_id": made["id"]}).status == 201

    def listed():
        (one,) = (one for one in call("GET", "/templates").json() if one["templateID"] == "counted")
        return one

    def counted():
        one = listed()
        shown = call("GET", "/templates/counted").json()
        assert (shown["spawnCount"], shown["lastSpawnedAt"]) == (one["spawnCount"], one["lastSpawnedAt"])
        return one["spawnCount"], one["lastSpawnedAt"]

    wait_until(lambda: listed()["buildStatus"] == "ready", 90, "the build")
    assert counted() == (0, None)
    first = make_sandbox(template="counted")
    assert counted() == (1, first.document["created_at"])
    account.api.destroy(first.id)
    second = make_sandbox(template="counted")
    make_sandbox(snapshot_id=made["id"])
    assert counted() == (2, second.document["created_at"])


def test_tags_that_are_refused(stack, call, account):
    tags = "/templates/tags"
    assert_refused(call("POST", tags, {"target": "no-such:default", "tags": ["x"]}), 404)
    assert_refused(call("POST", tags, {"target": stack.template, "tags": ["x"]}), 403, "deployment")
    assert_refused(call("POST", tags, {"target": stack.template, "tags": []}), 400, "/tags")
    assert_refused(call("POST", tags, {"tags": ["x"]}), 400, "/target")
    assert_refused(call("DELETE", tags, {"name": "no-such", "tags": ["x"]}), 404)
    assert_refused(call("GET", "/templates/no-such/tags"), 404)
    assert_refused(call("PATCH", f"/v2/templates/{stack.template}", {"public": True}), 403)
    reader = Calls(stack, account.key("read"))
    assert [one["tag"] for one in reader("GET", f"/templates/{stack.template}/tags").json()] == ["default"]
    for method, body in (("POST", {"target": stack.template, "tags": ["x"]}), ("DELETE", {"name": stack.template, "tags": ["x"]})):
        assert_refused(reader(method, tags, body), 403)


def test_order_time_and_template_of_a_list(call, api):
    first, second = (api.create(metadata={"list": "x"}) for _ in range(2))
    names = [one["data_plane_url"].removeprefix("https://").split(".")[0] for one in (first, second)]

    def listed(query):
        answer = call("GET", f"/v2/sandboxes?metadata=list%3Dx&{query}")
        assert answer.status == 200, answer
        return [one["sandboxID"] for one in answer.json()]

    assert listed("order=asc") == names
    assert listed("order=desc") == names[::-1]
    started = call("GET", f"/sandboxes/{names[1]}").json()["startedAt"]
    assert listed(f"startedAfter={started}") == names[1:], "at that time or later"
    after = datetime.datetime.fromisoformat(started.replace("Z", "+00:00")) + datetime.timedelta(milliseconds=1)
    assert listed(f"startedAfter={after.isoformat(timespec='milliseconds').replace('+00:00', 'Z')}") == []
    assert_refused(call("GET", "/v2/sandboxes?startedAfter=yesterday"), 400, "startedAfter must be a time")
    assert_refused(call("GET", "/v2/sandboxes?nextToken=x"), 400, "(nextToken)")
    assert listed(f"template={first['template']}&order=asc") == names
    assert listed("template=none-of-this-name") == []


# --- one host for all ---


def test_the_host_of_all_sandboxes(stack, sandbox, make_sandbox):
    shared = Origin(stack.ca_file, f"https://sandbox.{stack.data_plane_host}")
    other = make_sandbox()

    def ask(headers):
        return shared.request("GET", "/files?path=/etc/hostname", headers=headers)

    for one in (sandbox, other):
        answer = ask({"E2b-Sandbox-Id": name_of(one), "E2b-Sandbox-Port": "49983", "X-Access-Token": one.data.token})
        assert answer.status == 200, answer
        assert answer.body == one.data.read("/etc/hostname")
    token = {"X-Access-Token": sandbox.data.token}
    assert ask({**token, "E2b-Sandbox-Id": name_of(sandbox)}).status == 200
    assert ask({**token, "E2b-Sandbox-Id": name_of(other)}).status == 401
    assert ask({"E2b-Sandbox-Id": name_of(sandbox)}).status == 401
    for headers in ({}, {"E2b-Sandbox-Id": "none"}, {"E2b-Sandbox-Id": name_of(sandbox), "E2b-Sandbox-Port": "3000"}):
        refused = ask({**token, **headers})
        assert (refused.status, refused.json()["code"]) == (502, 502), refused
    preflight = shared.request("OPTIONS", "/files", headers={"Origin": "https://page.example", "Access-Control-Request-Method": "GET"})
    assert (preflight.status, preflight.headers["Access-Control-Allow-Origin"]) == (204, "*")


# --- teams ---


def test_metrics_of_a_team(call, account, make_sandbox):
    team = account.api.get("/v1/me").json()["teams"][0]
    make_sandbox()
    make_sandbox()

    def series():
        answer = call("GET", f"/teams/{team['id'] if 'id' in team else team['slug']}/metrics")
        assert answer.status == 200, answer
        return answer.json()

    points = series()
    assert points[-1]["concurrentSandboxes"] == 2 and points[0]["concurrentSandboxes"] == 0
    assert sum(one["sandboxStartRate"] for one in points) > 0
    most = call("GET", f"/teams/{team['slug']}/metrics/max?metric=concurrent_sandboxes").json()
    assert most["value"] == 2
    assert call("GET", f"/teams/{team['slug']}/metrics/max?metric=sandbox_start_rate").json()["value"] > 0
    assert_refused(call("GET", f"/teams/{team['slug']}/metrics/max"), 400, "metric")
    assert_refused(call("GET", f"/teams/{team['slug']}/metrics?start=9&end=8"), 400, "start")
    assert_refused(call("GET", "/teams/of-somebody-else/metrics"), 403)
