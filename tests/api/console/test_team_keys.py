# SPDX-License-Identifier: GPL-2.0-or-later
"""Owners see keys of other members that name the team or were used in it, and exclude them from it."""

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


def use(stack, key, team):
    assert Api(stack, key).get(f"/v1/usage?team={team}").status == 200


def test_an_owner_sees_keys_that_name_the_team_or_were_used_in_it(stack, account, other_account, team):
    unused, used = (other_account.key_document("write") for _ in range(2))
    named = other_account.key_document("read", "--team", team)
    elsewhere = other_account.key_document("write", "--team", other_account.team)
    ended = other_account.key_document("write")
    for one in (used, ended):
        use(stack, one["key"], team)
    use(stack, unused["key"], other_account.team)
    Api(stack, unused["key"]).get("/v1/sandboxes")  # of all teams: used in none
    stack.ctl("key", "revoke", ended["id"])
    listed = keys(account.api, team)
    assert {used["id"], named["id"]} <= listed.keys()
    assert not {unused["id"], elsewhere["id"], ended["id"]} & listed.keys()
    shown = listed[named["id"]]
    assert (shown["user"], shown["scopes"], shown["all_teams"], shown["kind"]) == (other_account.user, ["read"], False, "api")
    assert (listed[used["id"]]["all_teams"], shown["last_used_at"]) == (True, None) and listed[used["id"]]["last_used_at"]
    assert shown["ends_with_session"] is False
    # A key that the owner cannot see cannot be excluded either.
    assert_error(account.api.delete(f"/v1/teams/{team}/keys/{unused['id']}"), 404, "not_found")
    assert team in reached(Api(stack, unused["key"]))


@pytest.mark.parametrize("path", ["/v1/sandboxes?team={}", "/v1/events?team={}", "/v1/teams/{}/members"])
def test_a_list_of_the_team_is_a_use(stack, account, other_account, team, path):
    used = other_account.key_document("read")
    assert Api(stack, used["key"]).get(path.format(team)).status == 200
    assert used["id"] in keys(account.api, team)


def test_an_owner_sees_all_own_keys(account, team):
    mine = account.key_document("write")
    assert mine["id"] in keys(account.api, team)


def test_excluded_from_this_team_and_from_no_other(stack, account, other_account, team):
    whole, named = (other_account.key_document("write", *more) for more in ((), ("--team", team)))
    both = other_account.key_document("write", "--team", team, "--team", other_account.team)
    use(stack, whole["key"], team)
    for one in (whole, named, both):
        assert team in reached(Api(account.stack, one["key"]))
        assert account.api.delete(f"/v1/teams/{team}/keys/{one['id']}").status == 204
        assert_error(account.api.delete(f"/v1/teams/{team}/keys/{one['id']}"), 404, "not_found")
    assert reached(Api(account.stack, whole["key"])) == {other_account.team}
    assert reached(Api(account.stack, both["key"])) == {other_account.team}
    # It was for this team alone.
    assert_error(Api(account.stack, named["key"]).get("/v1/teams"), 401, "unauthorized")
    assert not {whole["id"], named["id"], both["id"]} & keys(account.api, team).keys()
    # The key is still for every team, also for one that its user joins later, and its user sees why it stays out.
    later = account.make_team()
    stack.ctl("team", "add-member", later, "--user", other_account.user, "--role", "viewer")
    assert reached(Api(stack, whole["key"])) == {other_account.team, later}
    (shown,) = [one for one in other_account.api.get("/v1/keys").json()["keys"] if one["id"] == whole["id"]]
    assert (shown["teams"], shown["excluded_by"]) == (None, [team])


def test_an_excluded_key_makes_none_that_reaches_the_team(stack, account, other_account, team):
    whole = other_account.key_document("write")
    use(stack, whole["key"], team)
    assert account.api.delete(f"/v1/teams/{team}/keys/{whole['id']}").status == 204
    made = Api(stack, whole["key"]).post("/v1/keys", {"scopes": ["write"]}).json()
    assert (made["teams"], made["excluded_by"]) == (None, [team])
    assert reached(Api(stack, made["key"])) == {other_account.team}
    # The person is not excluded.
    assert team in reached(Api(stack, other_account.key_document("write")["key"]))


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
