# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys through the API: listed, made, revoked."""

import datetime
import re

import pytest

from client import Api, assert_error

pytestmark = pytest.mark.parallel


def make(api, **fields):
    response = api.post("/v1/keys", {"scopes": ["read"], **fields})
    assert response.status == 201, response
    return response.json()


def test_a_key_is_made_shown_once_and_revoked(api, account, stack):
    made = make(api, name="of a test", scopes=["write"])
    key = made.pop("key")
    assert key.startswith("slk_") and len(key) == 60
    spelled = made.pop("e2b_key")
    assert re.fullmatch("e2b_[0-9a-f]+", spelled)
    assert made["id"].startswith("key_")
    assert made["scopes"] == ["read", "write"]
    assert made["teams"] is None and made["expires_at"] is None
    listed = {one["id"]: one for one in api.get("/v1/keys").json()["keys"]}
    assert listed[made["id"]] == made
    assert all("key" not in one for one in listed.values())
    assert key.split("_", 2)[2] not in api.get("/v1/keys").body.decode()

    theirs = Api(stack, key)
    assert theirs.list() == []
    for name, value in (("X-API-Key", key), ("X-API-Key", spelled), ("Authorization", f"Bearer {spelled}")):
        assert Api(stack, None).request("GET", "/v1/me", headers={name: value}).json()["key"]["id"] == made["id"]
    assert api.delete(f"/v1/keys/{made['id']}").status == 204
    assert_error(theirs.get("/v1/sandboxes"), 401, "unauthorized")
    assert made["id"] not in [one["id"] for one in api.get("/v1/keys").json()["keys"]]


def test_a_key_gives_away_no_more_than_it_has(account, stack):
    second = account.make_team()
    reader = Api(stack, account.key("read"))
    assert_error(reader.post("/v1/keys", {"scopes": ["read"]}), 403, "insufficient_scope")
    narrow = Api(stack, account.key("write", "--team", second))
    assert_error(
        narrow.post("/v1/keys", {"scopes": ["write"], "teams": [account.team]}),
        403,
        "team_forbidden",
        "/teams/0",
    )
    inherited = make(narrow, scopes=["write"])
    assert inherited["teams"] == [second]
    assert_error(
        Api(stack, inherited["key"]).post("/v1/sandboxes", {"team": account.team}),
        403,
        "team_forbidden",
    )


def test_a_narrow_key_sees_and_revokes_only_what_it_covers(account, stack):
    second = account.make_team()
    wide = make(account.api, scopes=["write"])
    both = make(account.api, scopes=["read"], teams=[account.team, second])
    beside = make(account.api, scopes=["read"], teams=[second])
    narrow = make(account.api, scopes=["write"], teams=[second])
    api = Api(stack, narrow["key"])
    assert {one["id"] for one in api.get("/v1/keys").json()["keys"]} == {beside["id"], narrow["id"]}
    for hidden in (wide, both):
        assert_error(api.delete(f"/v1/keys/{hidden['id']}"), 404, "not_found")
    assert api.delete(f"/v1/keys/{beside['id']}").status == 204
    kept = {one["id"] for one in account.api.get("/v1/keys").json()["keys"]}
    assert {wide["id"], both["id"], narrow["id"]} <= kept and beside["id"] not in kept


def test_a_key_that_ends_makes_none_that_outlives_it(api, stack):
    now = datetime.datetime.now(datetime.timezone.utc)
    end, earlier, later = (
        (now + datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ") for hours in (2, 1, 3)
    )
    ending = Api(stack, make(api, scopes=["write"], expires_at=end)["key"])
    assert make(ending)["expires_at"].startswith(end[:-1])
    assert make(ending, expires_at=earlier)["expires_at"].startswith(earlier[:-1])
    assert make(ending, expires_at=end)["expires_at"].startswith(end[:-1])
    for other in (later, "1970-01-01T00:00:00Z"):
        assert_error(
            ending.post("/v1/keys", {"scopes": ["read"], "expires_at": other}),
            422,
            "invalid_request",
            "/expires_at",
        )


def test_keys_of_others(make_account):
    one, other = make_account(), make_account()
    made = make(one.api)
    assert_error(other.api.delete(f"/v1/keys/{made['id']}"), 404, "not_found")
    assert made["id"] not in str(other.api.get("/v1/keys").json())
    assert one.api.delete(f"/v1/keys/{made['id']}").status == 204


@pytest.mark.parametrize(
    "body, field",
    [
        ({}, None),
        ({"scopes": []}, "/scopes"),
        ({"scopes": ["admin"]}, "/scopes/0"),
        ({"scopes": "read"}, "/scopes"),
        ({"scopes": ["read"], "teams": []}, "/teams"),
        ({"scopes": ["read"], "expires_at": "tomorrow"}, "/expires_at"),
        ({"scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"}, "/expires_at"),
        ({"scopes": ["read"], "expires_at": "1970-01-01T00:00:00Z"}, "/expires_at"),
        ({"scopes": ["read"], "name": "x" * 65}, "/name"),
        ({"scopes": ["read"], "scope": "read"}, "/scope"),
    ],
)
def test_requests_for_keys_that_are_refused(module_account, body, field):
    assert_error(module_account.api.post("/v1/keys", body), 422, "invalid_request", field)
