# SPDX-License-Identifier: GPL-2.0-or-later
"""Idempotency-Key on every mutating route, what a kept answer tells whom, and how it is kept."""

import base64
import concurrent.futures
import json
import secrets
import subprocess

import pytest

from client import Api, assert_error
from dataplane import DataPlane
from stack import wait_until

pytestmark = pytest.mark.parallel


def new_key():
    return {"Idempotency-Key": secrets.token_urlsafe(24)}


@pytest.fixture(scope="module")
def routes(stack):
    program = stack.root / "build" / "tests" / "api" / "route_table"
    return json.loads(subprocess.run([program], check=True, capture_output=True).stdout)


BODIES = {
    "createSandbox": {"metadata": {"a": "b"}}, "updateSandbox": {"metadata": {"c": "d"}},
    "resumeSandbox": {"timeout": 200}, "connectSandbox": {"timeout": 201}, "exposePort": {"public": False},
    "holdSandbox": {"seconds": 60}, "rollbackSandbox": {"checkpoint": "kept"},
    "createKey": {"scopes": ["read"], "name": "replayed"},
    "createCheckpoint": {"name": "replayed"}, "forkSandbox": {"count": 1}, "createVolume": {"name": "replayed"},
    "replaceNetwork": {"allow_internet_access": False},
    "answerApproval": {"answer": "once"},
    "writeVolumeFile": {"path": "/a", "content_b64": "aGk="}, "makeVolumeDirectory": {"path": "/d"},
    "updateVolumePath": {"path": "/d", "mode": "0700"},
    "moveVolumePath": {"from": "/a", "to": "/b"},
    "uploadTemplateFile": {"content_b64": "aGk="}, "updateTemplate": {"public": True}, "assignTemplateTag": {"version": 1},
    "updateTeam": {"plan": "pro"}, "createUser": {"name": "u" + secrets.token_hex(6)}, "updateHost": {"state": "active"}, "updatePlan": {},
    "replaceTeamProxy": {"egress_proxy": {"type": "http", "host": "proxy.example", "port": 3128}},
    "putSecret": {"value": "replayed", "hosts": ["a.example"]},
    "createWebhook": {"url": "http://127.0.0.1:9/replayed"}, "updateWebhook": {"kinds": ["sandbox.died"]},
}
# What must come before what, and which calls end a thing: those come last.
LAST = ["deleteVolume", "withdrawPort", "assignTemplateTag", "removeTemplateTag", "deleteTemplateVersion", "deleteTemplate", "deleteSandbox", "revokeKey", "resendWebhookMessages",
        "deleteWebhook"]


def public_key():
    """One that nobody has the other half of."""
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in (b"ssh-ed25519", secrets.token_bytes(32)))
    return "ssh-ed25519 " + base64.b64encode(blob).decode()


def dead_letter(stack, webhook_id):
    """A message that nobody took."""
    message_id = "whm_" + webhook_id.removeprefix("whk_")
    stack.query("INSERT INTO webhook_messages (id, webhook_id, message_id, kind, body, state, created_at_ms, next_at_ms)"
                " VALUES (%s, %s, %s, 'sandbox.died', '{}', 'dead', 1, 1)", message_id, webhook_id, message_id)
    return message_id


def approval_of(stack, sandbox_id):
    """A request of the sandbox without an answer."""
    approval_id = "apr_" + sandbox_id.removeprefix("sbx_")
    stack.query("REPLACE INTO approvals (id, sandbox_id, team_id, user_id, target, asked_at_ms)"
                " SELECT %s, id, team_id, created_by, 'a.example', UNIX_TIMESTAMP() * 1000 FROM sandboxes WHERE id = %s", approval_id, sandbox_id)
    return approval_id


def teams_of(stack, account, other_account):
    """A team of the account with another member, and two that invite the account; the member's name."""
    slugs = {"crew": account.make_team()}
    mate = "t" + secrets.token_hex(6)
    stack.ctl("user", "create", mate)
    stack.ctl("team", "add-member", slugs["crew"], "--user", mate, "--role", "viewer")
    for operation in ("acceptInvitation", "declineInvitation"):
        slugs[operation] = other_account.make_team()
        invited = other_account.api.post(f"/v1/teams/{slugs[operation]}/invitations", {"name": account.user, "role": "viewer"})
        assert invited.status == 201, invited
    return slugs, mate


def link_into(api, team):
    made = api.post(f"/v1/teams/{team}/links", {"role": "viewer"})
    assert made.status == 201, made
    return made.json()


@pytest.mark.alone
def test_every_mutating_route_replays(stack, account, other_account, routes):
    """Each call twice with one key: the second is the first answer again and does nothing."""
    api = account.api
    stack.ctl("team", "add-member", "deployment", "--user", account.user, "--role", "owner")
    host = next(one["name"] for one in stack.ctl("host", "list")["hosts"] if one["state"] == "active")
    sandbox_id = api.create(services=[{"name": "replayed", "command": "exec sleep 1000"}])["id"]
    checkpoint = api.post(f"/v1/sandboxes/{sandbox_id}/checkpoints", {"name": "deleted"}).json()
    ids = {"keys": api.post("/v1/keys", {"scopes": ["read"]}).json()["id"], "checkpoints": checkpoint["id"],
           "ssh_keys": api.post("/v1/ssh_keys", {"public_key": public_key()}).json()["id"],
           "keys of the team": api.post("/v1/keys", {"scopes": ["read"]}).json()["id"],
           "webhooks": api.post("/v1/webhooks", {"url": "http://127.0.0.1:9/"}).json()["id"],
           "volumes": api.post("/v1/volumes", {"name": "deleted"}).json()["id"]}
    message_id = dead_letter(stack, ids["webhooks"])
    kept = api.post(f"/v1/sandboxes/{sandbox_id}/checkpoints", {"name": "kept"}).json()
    bodies = {**BODIES, "createTemplate": {"slug": "replayed", "checkpoint_id": kept["id"]},
              "createSshKey": {"public_key": public_key()},
              "createTemplateVersion": {"checkpoint_id": kept["id"]},
              "createTeam": {"slug": "t" + secrets.token_hex(6), "plan": "pro", "owner": account.user},
              "inviteMember": {"name": other_account.user, "role": "viewer"}, "updateMember": {"role": "member"}}
    slugs, mate = teams_of(stack, account, other_account)
    slugs["acceptLink"] = other_account.make_team()
    bodies |= {"createTeamLink": {"role": "viewer"}, "acceptLink": {"token": link_into(other_account.api, slugs["acceptLink"])["token"]}}
    ids["links of the team"] = link_into(api, slugs["crew"])["id"]
    mutating = [route for route in routes if route["idempotent"]]
    audited = {}
    mutating.sort(key=lambda route: LAST.index(route["operation"]) if route["operation"] in LAST else -1)
    for route in mutating:
        slug = slugs.get(route["operation"]) or (
            slugs["crew"] if "teams/:slug/" in route["pattern"] else
            other_account.team if "teams/:slug" in route["pattern"] else "replayed")
        path = route["pattern"].replace(":port", "3000").replace(":service", "replayed").replace(":slug", slug).replace(":version", "1").replace(":tag", "replayed").replace(":hash", "ab" * 32)
        path = path.replace(":message", message_id).replace(":approval", approval_of(stack, sandbox_id)).replace(
            ":name", host if "/hosts/" in path else "enterprise" if "/plans/" in path else mate if "/members/" in path
            else other_account.user)
        path = path.replace("/links/:id", f"/links/{ids['links of the team']}")
        path = path.replace(":id", ids["keys of the team"] if "/keys/:id" in path and "/teams/" in path
                            else ids.get(path.split("/")[2], sandbox_id))
        path += "?path=/d" if route["operation"] == "removeVolumePath" else ""
        api.post(f"/v1/sandboxes/{sandbox_id}/resume")
        if route["operation"] == "assignTemplateTag":
            wait_until(lambda: api.get("/v1/templates/replayed/versions/1").json()["state"] == "ready", 90, "the build")
        key, body = new_key(), bodies.get(route["operation"])
        first = api.request(route["method"], path, body, headers=key)
        assert first.status < 300, (route, first)
        assert first.headers["Idempotent-Replayed"] is None
        audited[first.headers["X-Request-Id"]] = route["operation"]
        again = api.request(route["method"], path, body, headers=key)
        assert (again.status, again.headers["Idempotent-Replayed"]) == (first.status, "true"), route
        if first.body:
            one, other = first.json(), again.json()
            assert one.pop("session", None) is None or other.pop("session")
            assert one == other, route
        other_body = api.request(route["method"], path, {**(body or {}), "timeot": 1}, headers=key)
        assert other_body.status == 422, (route, other_body)
    # Each is in the log of the team or, an operator's act, of the deployment, once for what was done, and its
    # replay is not.
    asked = [(api, ""), (api, "&team=deployment"), *((api if name == "crew" else other_account.api, f"&team={slug}")
                                                     for name, slug in slugs.items())]
    rows = {row["id"]: row for one, query in asked for row in one.get(f"/v1/audit?limit=200{query}").json()["items"]}.values()
    done = [one["request_id"] for one in rows if one["result"] == "done"]
    assert [operation for request_id, operation in audited.items() if done.count(request_id) != 1] == []
    assert len([one for one in api.get("/v1/keys").json()["keys"] if one["name"] == "replayed"]) == 1


def test_another_spelling_of_the_body_is_the_same_body(api):
    key, headers = new_key(), {"Content-Type": "application/json"}
    first = api.post("/v1/volumes", b'{"name":"spelled"}', headers={**key, **headers})
    again = api.post("/v1/volumes", b' { "name" : "spell\\u0065d" }\n', headers={**key, **headers})
    assert (first.status, again.status) == (201, 201), (first, again)
    assert again.headers["Idempotent-Replayed"] == "true" and again.json() == first.json()
    other = api.post("/v1/volumes", b'{"name":"spelt"}', headers={**key, **headers})
    assert_error(other, 422, "idempotency_key_reused")


def test_a_refusal_is_not_kept(api, account, stack):
    """Once the cause is gone, the same key succeeds, also with another body."""
    key = new_key()
    assert_error(api.post("/v1/sandboxes", {"template": "no"}, headers=key), 422, "template_not_found")
    assert_error(api.post("/v1/sandboxes", {"volume_mounts": {"/data": "kept"}}, headers=key), 422, "volume_not_found")
    api.create_volume(name="kept")
    mounted = api.post("/v1/sandboxes", {"volume_mounts": {"/data": "kept"}}, headers=key)
    assert mounted.status == 201 and mounted.headers["Idempotent-Replayed"] is None, mounted
    taken = new_key()
    assert_error(api.post("/v1/volumes", {"name": "kept"}, headers=taken), 409, "name_taken")
    volume = next(one for one in api.get("/v1/volumes").json()["volumes"] if one["name"] == "kept")
    attached, path = new_key(), f"/v1/volumes/{volume['id']}"
    assert_error(api.request("DELETE", path, headers=attached), 409, "volume_attached")
    paused, port = new_key(), f"/v1/sandboxes/{mounted.json()['id']}/ports/4000"
    api.pause(mounted.json()["id"])
    assert_error(api.request("PUT", port, {}, headers=paused), 409, "sandbox_not_running")
    api.resume(mounted.json()["id"])
    assert api.request("PUT", port, {}, headers=paused).status == 200
    api.destroy(mounted.json()["id"])
    assert api.request("DELETE", path, headers=attached).status == 204
    assert api.post("/v1/volumes", {"name": "kept"}, headers=taken).status == 201


def test_a_refused_quota_is_not_kept(account, own_plan):
    api, key = account.api, new_key()
    first = api.create_volume(name="first")
    own_plan(account, volumes=1)
    refused = assert_error(api.post("/v1/volumes", {"name": "second"}, headers=key), 422, "volume_quota_exceeded")
    assert (refused["limit"], refused["used"]) == (1, 1)
    assert api.delete(f"/v1/volumes/{first['id']}").status == 204
    assert api.post("/v1/volumes", {"name": "second"}, headers=key).status == 201


@pytest.mark.parametrize("value", ["", " ", "a b", "x" * 256, "\u00e9", "a\x01", "a\x7f", "\u20ac"])
def test_keys_that_are_none(module_account, value):
    headers = {"Idempotency-Key": value.encode("utf-8")}
    response = module_account.api.post("/v1/sandboxes", {"template": "no"}, headers=headers)
    assert response.status in (400, 422), response
    if response.status == 422:
        assert_error(response, 422, "invalid_request", "Idempotency-Key")


@pytest.mark.parametrize("value", ["!", "~", "x" * 255, "a,b;c=\"d\""])
def test_the_edges_of_keys(module_account, value):
    for replayed in (None, "true"):
        response = module_account.api.post("/v1/keys", {"scopes": ["read"]}, headers={"Idempotency-Key": value})
        assert (response.status, response.headers["Idempotent-Replayed"]) == (201, replayed), response


@pytest.mark.parametrize("path", ["/v1/sandboxes/\u00e9", "/v1/sandboxes/%C3%A9", "/v1/sandboxes/" + "x" * 300])
def test_paths_that_name_nothing(api, path):
    """Paths are kept with their keys: whatever they hold, they are just not found."""
    connection = api.origin.connect()
    connection._encode_request = lambda request: request.encode("utf-8")  # pylint: disable=protected-access
    connection._validate_path = lambda url: None  # pylint: disable=protected-access
    connection.request("DELETE", path, headers={"Authorization": f"Bearer {api.key}", **new_key()})
    response = connection.getresponse()
    assert response.status == 404 and json.loads(response.read())["error"] == "not_found"
    connection.close()


def test_a_replay_for_a_sandbox_that_is_gone(api, stack):
    key = new_key()
    made = api.post("/v1/sandboxes", {"timeout": 60}, headers=key).json()
    api.destroy(made["id"])
    again = api.post("/v1/sandboxes", {"timeout": 60}, headers=key)
    assert (again.status, again.json()["id"]) == (201, made["id"])
    # Its session is well-formed and opens nothing.
    assert DataPlane(stack, again.json()["session"]).download("/etc/passwd").status in (401, 404)
    assert api.list() == []


def test_a_key_of_less_reach_learns_nothing(account, stack):
    """Kept answers are the user's; a key that reaches less must not get what it could not ask for."""
    team = account.make_team()
    narrow = Api(stack, account.key("write", "--team", team))
    key, keys_key = new_key(), new_key()
    made = account.api.post("/v1/sandboxes", {"timeout": 60}, headers=key).json()
    # Without a name the team is the one that the narrow key reaches: another request.
    assert_error(narrow.post("/v1/sandboxes", {"timeout": 60}, headers=key),
                 422, "idempotency_key_reused", "Idempotency-Key")
    named = {"timeout": 60, "team": account.team}
    theirs = new_key()
    assert account.api.post("/v1/sandboxes", named, headers=theirs).status == 201
    assert_error(narrow.post("/v1/sandboxes", named, headers=theirs), 403, "team_forbidden", "/team")
    path = f"/v1/sandboxes/{made['id']}"
    assert account.api.request("PATCH", path, {"timeout": 99}, headers=key).status == 200
    assert_error(narrow.request("PATCH", path, {"timeout": 99}, headers=key), 404, "not_found")
    assert account.api.post("/v1/keys", {"scopes": ["write"]}, headers=keys_key).status == 201
    assert_error(narrow.post("/v1/keys", {"scopes": ["write"]}, headers=keys_key), 403, "team_forbidden")
    # Another key of the same reach is as good as the first.
    twin = Api(stack, account.key("write"))
    assert twin.post("/v1/keys", {"scopes": ["write"]}, headers=keys_key).status == 201
    reader = Api(stack, account.key("read"))
    assert_error(reader.post("/v1/keys", {"scopes": ["write"]}, headers=keys_key), 403, "insufficient_scope")


def test_kept_answers_are_sealed(account, stack):
    api, mark = account.api, "mark" + secrets.token_hex(12)
    assert api.post("/v1/sandboxes", {"metadata": {"m": mark}, "envs": {"E": mark}}, headers=new_key()).status == 201
    made = api.post("/v1/keys", {"scopes": ["read"]}, headers=new_key()).json()["key"]
    rows = stack.query("SELECT k.* FROM idempotency_keys k JOIN users u ON u.id = k.user_id WHERE u.name = %s",
                       account.user)
    assert len(rows) == 2 and all(row["answer_sealed"] for row in rows)
    for secret in (mark, made, made.split("_", 2)[2], "access_token", "slt_", "data_plane_url"):
        assert secret.encode() not in repr(rows).encode() + b"".join(row["answer_sealed"] for row in rows)


@pytest.mark.alone
def test_an_attempt_that_failed_may_be_tried_again(account, stack):
    """A 503 is not kept: the same key makes the one sandbox later."""
    image = stack.query("SELECT image FROM template_versions WHERE state = 'ready' LIMIT 1")[0]["image"]
    slug = "t" + secrets.token_hex(5)  # nothing of it stands ready, so a host must be found
    stack.ctl("template", "add", slug, "--image", image, "--cpu", "1", "--memory-mb", "256")
    key, body = new_key(), {"template": slug}
    (host,) = [row["id"] for row in stack.query("SELECT id FROM hosts WHERE state = 'active'")]
    stack.query("UPDATE hosts SET state = 'draining' WHERE id = %s", host)
    try:
        refused = account.api.post("/v1/sandboxes", body, headers=key)
        assert_error(refused, 503, "no_capacity")
        assert refused.headers["Retry-After"]
    finally:
        stack.query("UPDATE hosts SET state = 'active' WHERE id = %s", host)
    made = account.api.post("/v1/sandboxes", body, headers=key)
    assert made.status == 201 and made.headers["Idempotent-Replayed"] is None, made
    assert [row["id"] for row in account.api.list()] == [made.json()["id"]]


@pytest.mark.alone
def test_parallel_retries_of_each_kind(account):
    """However many come at once: one does it, the others wait or get its answer."""
    api = account.api
    sandbox_id = api.create()["id"]
    calls = [("POST", "/v1/sandboxes", {}), ("PATCH", f"/v1/sandboxes/{sandbox_id}", {"metadata": {"a": "1"}}),
             ("PUT", f"/v1/sandboxes/{sandbox_id}/ports/4000", {}), ("POST", "/v1/keys", {"scopes": ["read"]}),
             ("POST", f"/v1/sandboxes/{sandbox_id}/pause", None), ("DELETE", f"/v1/sandboxes/{sandbox_id}", None)]
    for method, path, body in calls:
        key = new_key()
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _, m=method, p=path, b=body, k=key:
                                    api.request(m, p, b, headers=k), range(50)))
        done = [answer for answer in answers if answer.status < 300]
        firsts = [answer for answer in done if answer.headers["Idempotent-Replayed"] is None]
        assert len(firsts) == 1, (method, path, answers)
        if path == "/v1/sandboxes":
            assert {answer.json()["id"] for answer in done} == {firsts[0].json()["id"]}
        for answer in answers:
            if answer not in done:
                assert_error(answer, 409, "request_in_progress", "Idempotency-Key")
                assert int(answer.headers["Retry-After"]) > 0, answer
    assert len(api.list()) == 1


def test_the_largest_answer_is_kept(account):
    """Metadata at its limits, in the characters that JSON writes longest."""
    body = {"metadata": {f"{n:02d}" + "\x01" * 62: "\x02" * 512 for n in range(64)}}
    key = new_key()
    first = account.api.post("/v1/sandboxes", body, headers=key)
    again = account.api.post("/v1/sandboxes", body, headers=key)
    assert (first.status, again.status) == (201, 201), (first, again)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["metadata"] == body["metadata"]
