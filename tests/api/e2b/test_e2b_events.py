# SPDX-License-Identifier: GPL-2.0-or-later
"""Events and webhooks as clients of E2B know them. Their packages have no calls for them: the form is that of the
public description."""

import base64
import hashlib
import json

import pytest

from client import assert_error
from receiver import Receiver
from stack import wait_until
from test_e2b_calls import Calls, assert_refused, call, name_of  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel

SECRET = "a-secret-of-the-client"
ALL = [f"sandbox.lifecycle.{one}" for one in ("created", "updated", "paused", "resumed", "killed")]


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.server.shutdown()


def live(sandbox):
    """Created, paused, resumed and killed."""
    assert sandbox.api.post(f"{sandbox.path}/pause").status == 200
    assert sandbox.api.post(f"{sandbox.path}/resume").status == 200
    sandbox.api.destroy(sandbox.id)


def words(events):
    return [one["type"].rsplit(".", 1)[1] for one in events]


LIFE = ["created", "paused", "resumed", "killed"]


def test_events(call, account, sandbox):
    name = name_of(sandbox)
    live(sandbox)
    path = f"/events/sandboxes/{name}"
    wait_until(lambda: words(call("GET", path + "?orderAsc=true").json()) == LIFE, 60, "the events")
    events = call("GET", path).json()
    assert words(events) == LIFE[::-1], "the newest first"
    assert {one["sandboxId"] for one in events} == {name}
    assert {one["sandboxTemplateId"] for one in events} == {sandbox.document["template"]}
    assert {one["sandboxBuildId"] for one in events} == {sandbox.document["template_version"]}
    assert words(call("GET", path + "?limit=1&offset=1").json()) == ["resumed"]
    assert words(call("GET", path + "?types=sandbox.lifecycle.killed,sandbox.lifecycle.paused").json()) == ["killed", "paused"]
    assert call("GET", path + "?types=sandbox.lifecycle.updated").json() == [], "a pause and a resume are none"
    assert words(call("GET", "/events/sandboxes?orderAsc=true&limit=100").json()) == LIFE


def test_updates(call, account, sandbox):
    """Everything that is set of a sandbox is told, and what sets nothing is not."""
    name = name_of(sandbox)
    path = f"/events/sandboxes/{name}?types=sandbox.lifecycle.updated&orderAsc=true"

    def told(count):
        wait_until(lambda: len(call("GET", path).json()) >= count, 60, "the events")
        return call("GET", path).json()

    assert call("POST", f"/sandboxes/{name}/timeout", {"timeout": 1000}).status == 204
    [first] = told(1)
    end = call("GET", f"/sandboxes/{name}").json()["endAt"]
    assert first["eventData"]["set_timeout"][:19] == end[:19]
    assert (first["eventLabel"], first["sandboxId"]) == ("updated", name)
    assert call("POST", f"/v2/sandboxes/{name}/connect", {"timeout": 10}).status == 200, "shortens nothing, sets nothing"
    assert call("PUT", f"/sandboxes/{name}/network", {"denyOut": ["192.0.2.0/24"]}).status == 204
    assert call("POST", f"/v2/sandboxes/{name}/connect", {"timeout": 2000}).status == 200
    assert account.api.request("PATCH", sandbox.path, {"metadata": {"a": "b"}}).status == 200
    events = told(4)
    assert ["set_timeout" in one["eventData"] for one in events] == [True, False, True, False]
    assert {one["eventData"]["sandbox_metadata"]["a"] for one in events} == {"b"}, "as it is when it is read"
    ours = account.api.get(f"/v1/events?sandbox_id={sandbox.id}&kind=sandbox.updated").json()["events"]
    ours = [one["data"] for one in ours]
    assert [one["changed"] for one in ours] == [["deadline"], ["network"], ["deadline"], ["metadata"]]
    assert [sorted(one) for one in ours] == [["changed", "deadline"], ["changed"]] * 2


def test_a_webhook_for_updates_alone(call, account, receiver, sandbox):
    body = {"name": "a", "url": receiver.url, "events": ["sandbox.lifecycle.updated"], "signatureSecret": SECRET}
    assert call("POST", "/events/webhooks", body).json()["events"] == body["events"]
    wait_until(lambda: account.api.request("PATCH", sandbox.path, {"timeout": 900}).status == 200
               and receiver.bodies(), 60, "the delivery", 1)
    assert set(words(receiver.bodies())) == {"updated"}


def test_events_of_others_are_not_seen(stack, call, other_account, sandbox):
    stranger = Calls(stack, other_account.key("read"))
    assert stranger("GET", "/events/sandboxes").json() == []
    assert_refused(stranger("GET", f"/events/sandboxes/{name_of(sandbox)}"), 404)
    for query, said in (("limit=0", "limit"), ("limit=101", "limit"), ("offset=-1", "offset"), ("offset=10001", "offset"),
                        ("orderAsc=1", "orderAsc"), ("types=sandbox.died", "types")):
        assert_refused(call("GET", f"/events/sandboxes?{query}"), 400, said)
    assert_refused(call("GET", "/events/sandboxes/" + "a" * 26), 404)


def test_a_webhook(stack, call, account, receiver):
    body = {"name": "theirs", "url": receiver.url, "events": ALL, "signatureSecret": SECRET}
    made = call("POST", "/events/webhooks", body)
    assert made.status == 201 and SECRET not in made.body.decode(), made
    hook = made.json()
    assert hook["events"] == ALL and hook["enabled"] is True
    assert call("GET", "/events/webhooks").json() == [hook]
    assert call("GET", f"/events/webhooks/{hook['id']}").json() == hook
    shown = account.api.get(f"/v1/webhooks/{hook['id']}").json()
    assert (shown["form"], "secret" in shown) == ("e2b", False)
    assert_error(account.api.post(f"/v1/webhooks/{hook['id']}/rotate"), 422, "invalid_request")
    assert stack.query("SELECT secret FROM webhooks WHERE id = %s", hook["id"])[0]["secret"].find(SECRET.encode()) < 0

    document = account.api.create(metadata={"a": "b"})
    name = document["data_plane_url"].removeprefix("https://").split(".")[0]
    account.api.destroy(document["id"])
    wait_until(lambda: words(receiver.bodies()) == ["created", "killed"], 60, "the deliveries")
    for headers, sent in receiver.requests:
        headers = {key.lower(): value for key, value in headers.items()}
        digest = hashlib.sha256(SECRET.encode() + sent).digest()
        assert headers["e2b-signature"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
        assert (headers["e2b-webhook-id"], headers["e2b-signature-version"]) == (hook["id"], "v1")
        event = json.loads(sent)
        assert headers["e2b-delivery-id"] == event["id"]
        assert (event["sandboxId"], event["eventData"]["sandbox_metadata"]) == (name, {"a": "b"})

    other = "another-secret-of-the-client"
    changed = call("PATCH", f"/events/webhooks/{hook['id']}",
                   {"signatureSecret": other, "events": ["sandbox.lifecycle.killed"], "name": "renamed"}).json()
    assert changed == {**hook, "events": ["sandbox.lifecycle.killed"], "name": "renamed"}

    def told_alone():
        """Of a life that began when the change was in force, which is soon after its answer."""
        receiver.requests.clear()
        account.api.destroy(account.api.create()["id"])
        wait_until(lambda: words(receiver.bodies())[-1:] == ["killed"], 60, "the delivery")
        return words(receiver.bodies()) == ["killed"]

    wait_until(told_alone, 60, "the change being in force")
    ((headers, sent),) = receiver.requests
    digest = hashlib.sha256(other.encode() + sent).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") in headers.values()
    assert call("DELETE", f"/events/webhooks/{hook['id']}").status == 204
    assert call("GET", "/events/webhooks").json() == []
    assert_refused(call("GET", f"/events/webhooks/{hook['id']}"), 404)


def test_a_webhook_that_v1_gives_other_kinds(stack, call, account, receiver):
    """An event without an E2B type has no message here, and holds up none of the others."""
    body = {"name": "theirs", "url": receiver.url, "events": ["sandbox.lifecycle.killed"], "signatureSecret": SECRET}
    made = call("POST", "/events/webhooks", body).json()
    path = f"/v1/webhooks/{made['id']}"
    for kinds, field in ((["quota.near"], "/kinds/0"), (["sandbox.deleted", "sandbox.died"], "/kinds/1")):
        assert_error(account.api.request("PATCH", path, {"kinds": kinds}), 422, "invalid_request", field)
    assert account.api.get(path).json()["kinds"] == ["sandbox.deleted"]
    every = account.api.request("PATCH", path, {"kinds": []}).json()["kinds"]
    assert {"sandbox.started", "sandbox.deleted"} < set(every) and "quota.near" not in every
    assert call("GET", f"/events/webhooks/{made['id']}").json()["events"] == ALL
    # As an earlier version stored the empty list.
    stack.query("UPDATE webhooks SET kinds = '' WHERE id = %s", made["id"])
    stack.query("INSERT INTO event_outbox (team_id, kind, data, at_ms) SELECT id, 'quota.near', '{}', UNIX_TIMESTAMP() * 1000"
                " FROM teams WHERE slug = %s", account.team)
    account.api.destroy(account.api.create()["id"])
    wait_until(lambda: words(receiver.bodies())[-2:] == ["created", "killed"], 60, "the deliveries")


def test_webhooks_that_cannot_be(stack, call, account, other_account):
    body = {"name": "a", "url": "http://127.0.0.1:9/", "events": ALL, "signatureSecret": SECRET}
    for change, status, said in (
            ({"name": None}, 400, "/name"), ({"name": "a" * 129}, 400, "/name"), ({"url": "ftp://a/"}, 400, "/url"),
            ({"url": "http://user@a/"}, 400, "/url"), ({"events": []}, 400, "/events"),
            ({"events": ["sandbox.died"]}, 400, "/events/0"),
            ({"signatureSecret": "short"}, 400, "/signatureSecret"), ({"signatureSecret": "a" * 129}, 400, "/signatureSecret")):
        assert_refused(call("POST", "/events/webhooks", {**body, **change}), status, said)
    ours = account.api.post("/v1/webhooks", {"url": "http://127.0.0.1:9/"}).json()
    assert ours["form"] == "standard"
    assert call("GET", "/events/webhooks").json() == []
    for method, sent in (("GET", None), ("PATCH", {"name": "a"}), ("DELETE", None)):
        assert_refused(call(method, f"/events/webhooks/{ours['id']}", sent), 404)
    made = call("POST", "/events/webhooks", body).json()
    stranger = Calls(stack, other_account.key("write"))
    for method, sent in (("GET", None), ("PATCH", {"name": "a"}), ("DELETE", None)):
        assert_refused(stranger(method, f"/events/webhooks/{made['id']}", sent), 404)
    reader = Calls(stack, account.key("read"))
    assert_refused(reader("POST", "/events/webhooks", body), 403)
    for _ in range(8):
        assert call("POST", "/events/webhooks", body).status == 201
    assert_refused(call("POST", "/events/webhooks", body), 400, "10 webhooks")
