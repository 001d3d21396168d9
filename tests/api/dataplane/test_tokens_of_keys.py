# SPDX-License-Identifier: GPL-2.0-or-later
"""A token ends with the API key that got it."""

import secrets
import time

import pytest

from client import Api, assert_error
from console import Browser, Person
from dataplane import DataPlane, is_cut_off, signed
from faults import InBackground
from stack import wait_until

pytestmark = pytest.mark.parallel

FILE = "/etc/hostname"


def held_by(stack, key, sandbox_id):
    """Data planes with tokens that a key got: from a connect, and lasting."""
    path = f"/v1/sandboxes/{sandbox_id}"
    api = Api(stack, key)
    sessions = [api.post(f"{path}/resume", {}).json()["session"],
                api.post(f"{path}/sessions", {"lifetime": "sandbox"}).json()["session"]]
    return [DataPlane(stack, session) for session in sessions]


def statuses(planes):
    """Of a request with the token, and of one by a signed link, for each."""
    return [status for plane in planes for status in (
        plane.request("GET", f"/files?path={FILE}").status,
        plane.origin.request("GET", signed(plane, FILE, "read")).status)]


def assert_ended(planes, streams, seconds):
    assert all(one.result(seconds) for one in streams)
    assert statuses(planes) == [401, 401] * len(planes)


@pytest.mark.parametrize("end", ["revoked", pytest.param("expired", marks=pytest.mark.long), "excluded", "revoked by the operator"])
def test_tokens_links_and_streams_end_with_the_key(stack, account, other_account, end):
    team = account.make_team()
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    used, apart = (account.api.create(team=team) for _ in range(2))
    key = other_account.key_document("write", *(["--expires", "30s"] if end == "expired" else []))
    held = held_by(stack, key["key"], used["id"])
    other = [DataPlane(stack, apart["session"])]
    assert statuses(held) == [200] * 4
    streams = [InBackground(is_cut_off, plane.echoing()[0]) for plane in held]
    kept, pid = other[0].echoing()
    if end == "revoked":
        assert Api(stack, other_account.key("write")).delete(f"/v1/keys/{key['id']}").status == 204
    elif end == "excluded":
        assert account.api.delete(f"/v1/teams/{team}/keys/{key['id']}").status == 204
    elif end == "revoked by the operator":
        stack.ctl("key", "revoke", key["id"])
    assert_ended(held, streams, 60)
    # A sandbox of which the key got no token is left alone.
    assert statuses(other) == [200, 200]
    other[0].type(pid, b"still there\n")
    assert kept.output() == b"still there\n"
    kept.close()
    # Other holders get new tokens.
    assert statuses(held_by(stack, account.key("write"), used["id"])) == [200] * 4


def test_the_tokens_of_a_creation_end_with_its_key(stack, account):
    key = account.key_document("write")
    sandbox = Api(stack, key["key"]).create()
    plane = DataPlane(stack, sandbox["session"])
    stream = InBackground(is_cut_off, plane.echoing()[0])
    begun = time.monotonic()
    stack.ctl("key", "revoke", key["id"])
    wait_until(lambda: statuses([plane]) == [401, 401], 30, "the end of the token")
    assert_ended([plane], [stream], 30)
    print(f"{time.monotonic() - begun:.1f} s")


def test_rows_of_token_keys_end_with_key_and_sandbox(stack, account):
    keys = [account.key_document("write") for _ in range(2)]
    first, second = (Api(stack, keys[0]["key"]).create()["id"] for _ in range(2))
    for _ in range(2):
        held_by(stack, keys[1]["key"], first)

    def rows():
        found = stack.query("SELECT sandbox_id, api_key_id FROM sandbox_token_keys WHERE sandbox_id IN (%s, %s)", first, second)
        return {(one["sandbox_id"], one["api_key_id"]) for one in found}

    assert rows() == {(first, keys[0]["id"]), (second, keys[0]["id"]), (first, keys[1]["id"])}
    stack.ctl("key", "revoke", keys[0]["id"])
    assert rows() == {(first, keys[1]["id"])}
    account.api.delete(f"/v1/sandboxes/{first}")
    wait_until(lambda: not rows(), 30, "the end of the rows")


def test_a_key_of_a_sign_in_takes_its_tokens_along(stack, account):
    person = Person(stack, account.user)
    thief = Browser(stack)
    assert thief.sign_in(person.name, person.password).status == 200
    key = thief.post("/v1/keys", {"scopes": ["write"]}).json()
    held = held_by(stack, key["key"], account.api.create()["id"])
    streams = [InBackground(is_cut_off, plane.echoing()[0]) for plane in held]
    (login,) = [one for one in person.browser.get("/v1/logins").json()["items"] if not one["current"]]
    assert person.browser.delete(f"/v1/logins/{login['id']}").status == 204
    assert_ended(held, streams, 60)


def test_a_sign_in_that_makes_room_takes_the_tokens_along(stack, account):
    """The oldest one ends with one sign-in too many, and its key with it."""
    person = Person(stack, account.user)
    thief = Browser(stack)
    assert thief.sign_in(person.name, person.password).status == 200
    key = thief.post("/v1/keys", {"scopes": ["write"]}).json()
    held = held_by(stack, key["key"], account.api.create()["id"])
    streams = [InBackground(is_cut_off, plane.echoing()[0]) for plane in held]
    stack.query("INSERT INTO logins SELECT CONCAT(%s, LPAD(seq, 6, '0')), user_id, hash_key_id, hash, method,"
                " created_at_ms, last_seen_at_ms, idle_at_ms, expires_at_ms, address, user_agent"
                " FROM logins, seq_1_to_100 WHERE id = %s", f"lgn_7z{secrets.token_hex(9)}", thief.cookie[:30])
    assert Browser(stack).sign_in(person.name, person.password).status == 200
    assert_error(Api(stack, key["key"]).get("/v1/me"), 401, "unauthorized")
    assert_ended(held, streams, 60)


def test_a_sign_in_gets_no_lasting_token(stack, account):
    person = Person(stack, account.user)
    path = f"/v1/sandboxes/{account.api.create()['id']}/sessions"
    refused = person.browser.post(path, {"lifetime": "sandbox"})
    assert_error(refused, 422, "invalid_request", "/lifetime")
    assert person.browser.post(path, {}).status == 201
