# SPDX-License-Identifier: GPL-2.0-or-later
"""Owners see the keys that reach their team, and shut them out of it."""

import pytest

from client import Api, assert_error

pytestmark = pytest.mark.parallel


@pytest.fixture
def team(account, other_account, stack):
    """A team of account's with other_account in it."""
    slug = account.make_team("pro")
    stack.ctl("team", "add-member", slug, "--user", other_account.user, "--role", "member")
    return slug


def keys(api, team):
    answer = api.get(f"/v1/teams/{team}/keys")
    assert answer.status == 200, answer
    return {one["id"]: one for one in answer.json()["items"]}


def reached(api):
    return {one["slug"] for one in api.get("/v1/teams").json()["teams"]}


def test_an_owner_sees_keys_that_reach_the_team(stack, account, other_account, team):
    whole = other_account.key_document("write")
    named = other_account.key_document("read", "--team", team)
    elsewhere = other_account.key_document("write", "--team", other_account.team)
    ended = other_account.key_document("write")
    stack.ctl("key", "revoke", ended["id"])
    listed = keys(account.api, team)
    assert {whole["id"], named["id"]} <= listed.keys() and not {elsewhere["id"], ended["id"]} & listed.keys()
    shown = listed[named["id"]]
    assert (shown["user"], shown["scopes"], shown["all_teams"], shown["kind"]) == (other_account.user, ["read"], False, "api")
    assert listed[whole["id"]]["all_teams"] is True


def test_shut_out_of_this_team_and_of_no_other(account, other_account, team):
    whole, named = (other_account.key_document("write", *more) for more in ((), ("--team", team)))
    both = other_account.key_document("write", "--team", team, "--team", other_account.team)
    for one in (whole, named, both):
        assert team in reached(Api(account.stack, one["key"]))
        assert account.api.delete(f"/v1/teams/{team}/keys/{one['id']}").status == 204
        assert_error(account.api.delete(f"/v1/teams/{team}/keys/{one['id']}"), 404, "not_found")
    assert reached(Api(account.stack, whole["key"])) == {other_account.team}
    assert reached(Api(account.stack, both["key"])) == {other_account.team}
    # It was for this team alone.
    assert_error(Api(account.stack, named["key"]).get("/v1/teams"), 401, "unauthorized")
    assert not {whole["id"], named["id"], both["id"]} & keys(account.api, team).keys()


def test_only_owners_and_only_keys_of_the_team(account, other_account, stack, team):
    mine = account.key_document("write")
    for answer in (other_account.api.get(f"/v1/teams/{team}/keys"),
                   other_account.api.delete(f"/v1/teams/{team}/keys/{mine['id']}")):
        assert_error(answer, 403, "insufficient_scope")
    # Of a team that one is not in, and a key that is elsewhere only.
    assert_error(account.api.get(f"/v1/teams/{other_account.team}/keys"), 404, "not_found")
    elsewhere = other_account.key_document("write", "--team", other_account.team)
    for id in (elsewhere["id"], "key_00000000000000000000000000", "nothing"):
        assert_error(account.api.delete(f"/v1/teams/{team}/keys/{id}"), 404, "not_found")
    assert Api(stack, elsewhere["key"]).get("/v1/teams").status == 200
    reader = Api(stack, account.key("read"))
    assert_error(reader.delete(f"/v1/teams/{team}/keys/{mine['id']}"), 403, "insufficient_scope")
