# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys through the API: listed, made, revoked."""

import datetime

import pytest

from client import Api, assert_error


def make(api, **fields):
    response = api.post("/v1/keys", {"scopes": ["read"], **fields})
    assert response.status == 201, response
    return response.json()


def test_a_key_is_made_shown_once_and_revoked(api, account, stack):
    made = make(api, name="of a test", scopes=["write"])
    key = made.pop("key")
    assert key.startswith("slk_") and len(key) == 60
    assert made["id"].startswith("key_")
    assert made["scopes"] == ["read", "write"]
    assert made["teams"] is None and made["expires_at"] is None
    listed = {one["id"]: one for one in api.get("/v1/keys").json()["keys"]}
    assert listed[made["id"]] == made
    assert all("key" not in one for one in listed.values())
    assert key.split("_", 2)[2] not in api.get("/v1/keys").body.decode()

    theirs = Api(stack, key)
    assert theirs.list() == []
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


def test_keys_of_others(make_account):
    one, other = make_account(), make_account()
    made = make(one.api)
    assert_error(other.api.delete(f"/v1/keys/{made['id']}"), 404, "not_found")
    assert made["id"] not in str(other.api.get("/v1/keys").json())
    assert one.api.delete(f"/v1/keys/{made['id']}").status == 204


def test_a_key_with_an_end(api):
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    made = make(api, expires_at=end.strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert made["expires_at"].startswith(end.strftime("%Y-%m-%dT%H:%M:%S"))


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
        ({"scopes": ["read"], "name": "x" * 65}, "/name"),
        ({"scopes": ["read"], "scope": "read"}, "/scope"),
    ],
)
def test_requests_for_keys_that_are_refused(api, body, field):
    assert_error(api.post("/v1/keys", body), 422, "invalid_request", field)
