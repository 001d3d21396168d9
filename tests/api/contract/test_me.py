# SPDX-License-Identifier: GPL-2.0-or-later
"""What a key says of itself: its user, its rights, and the teams that requests may name."""

import pytest

from client import Api, assert_error

pytestmark = pytest.mark.parallel


def test_a_key_of_a_user_with_one_team(account, stack):
    key = account.api.get("/v1/me").json()
    assert key["user"]["id"].startswith("usr_") and key["user"]["name"] == account.user
    assert key["key"]["scopes"] == ["read", "write"] and key["key"]["teams"] is None
    assert key["session"] is None and key["operator"] is False and key["base_url"] == stack.base_url
    (team,) = key["teams"]
    assert (team["slug"], team["role"], team["personal"]) == (account.team, "owner", True)
    assert key["default_team"] == account.team
    assert account.api.get("/v1/teams").json() == {name: key[name] for name in ("teams", "default_team")}
    listed = {one["id"]: one for one in account.api.get("/v1/keys").json()["keys"]}
    assert listed[key["key"]["id"]]["name"] == key["key"]["name"]


def test_what_it_names_is_what_requests_may_name(account):
    teams = sorted([account.team, account.make_team(), account.make_team()])
    shown = account.api.get("/v1/me").json()
    assert [one["slug"] for one in shown["teams"]] == teams
    assert shown["default_team"] == account.team
    for slug in teams:
        assert account.api.get(f"/v1/sandbox_limits?team={slug}").json()["plan"]["name"] == next(
            one["plan"] for one in shown["teams"] if one["slug"] == slug)


def test_a_key_of_some_teams_names_no_others(account, stack):
    second, third = account.make_team(), account.make_team()
    one = Api(stack, account.key("read", "--team", second)).get("/v1/me").json()
    assert [team["slug"] for team in one["teams"]] == [second] and one["default_team"] == second
    assert one["key"]["teams"] == [second] and one["key"]["scopes"] == ["read"]
    two = Api(stack, account.key("read", "--team", second, "--team", third))
    both = two.get("/v1/teams").json()
    assert [team["slug"] for team in both["teams"]] == sorted([second, third]) and both["default_team"] is None
    assert_error(two.get("/v1/sandbox_limits"), 403, "team_forbidden")


def test_a_new_team_and_plan_are_told_at_once(account, stack):
    assert len(account.api.get("/v1/teams").json()["teams"]) == 1
    slug = account.make_team()
    stack.ctl("team", "set-plan", slug, "enterprise")
    plans = {team["slug"]: team["plan"] for team in account.api.get("/v1/teams").json()["teams"]}
    assert plans[slug] == "enterprise" and len(plans) == 2


def test_it_is_for_those_with_a_key_only(stack, account):
    for path in ("/v1/me", "/v1/teams"):
        assert_error(Api(stack, None).get(path), 401, "unauthorized")
        assert_error(account.api.get(f"{path}?team={account.team}"), 422, "invalid_request", "team")
