# SPDX-License-Identifier: GPL-2.0-or-later
"""A link into a team: its holder sees the team, consents, and is a member; a few times, for a while."""

import datetime
import secrets

import pytest

from client import Api, assert_error
from console import Browser, Person, some_address
from edge import process_settings

pytestmark = pytest.mark.parallel

PASSWORD = "correct horse battery"


@pytest.fixture
def team(account):
    return account.make_team("pro")


def links(team, link=None):
    return f"/v1/teams/{team}/links" + (f"/{link}" if link else "")


def make(account, team, **wish):
    answer = account.api.post(links(team), {"role": "member", **wish})
    assert answer.status == 201, answer
    return answer.json()


def accept(guest, link):
    return guest.api.post("/v1/links/accept", {"token": link["token"]})


def in_days(days):
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def members(account, team):
    return {one["name"]: one["role"] for one in account.api.get(f"/v1/teams/{team}/members").json()["items"]}


def test_a_member_by_a_link(stack, account, other_account, team):
    made = make(account, team, role="viewer", uses=2)
    assert made["link"] == f"{stack.console_url}/join#{made['token']}"
    assert (made["team"], made["role"], made["made_by"], made["uses_left"]) == (team, "viewer", account.user, 2)
    (listed,) = account.api.get(links(team)).json()["items"]
    assert listed == {name: value for name, value in made.items() if name not in ("token", "link")}
    # A visitor with the link and without a key sees the team, and a look uses nothing up.
    shown = Browser(stack).post("/v1/links/show", {"token": made["token"]})
    assert shown.json() == listed | {"sign_up": True}
    assert members(account, team) == {account.user: "owner"}
    joined = accept(other_account, made)
    assert (joined.status, joined.json()["team"], joined.json()["role"]) == (200, team, "viewer")
    assert members(account, team) == {account.user: "owner", other_account.user: "viewer"}
    # A member who accepts again uses nothing up.
    assert_error(accept(other_account, made), 409, "name_taken")
    assert account.api.get(links(team)).json()["items"][0]["uses_left"] == 1


def test_the_database_has_no_token(stack, account, team):
    made = make(account, team)
    secret = made["token"].removeprefix(made["id"] + "_")
    (row,) = stack.query("SELECT * FROM team_links WHERE id = %s", made["id"])
    assert len(secret) == 43 and not [value for value in row.values() if secret.encode() in str(value).encode()]
    assert len(row["hash"]) == 32


@pytest.mark.parametrize("end", ["used up", "revoked", "run out", "maker left", "maker disabled", "another secret",
                                 "another form"])
def test_a_link_that_ended_lets_nobody_in(stack, account, other_account, make_account, team, end):
    made, first = make(account, team), make_account()
    if end == "used up":
        assert accept(first, made).status == 200
    elif end == "revoked":
        assert account.api.delete(links(team, made["id"])).status == 204
        assert_error(account.api.delete(links(team, made["id"])), 404, "not_found")
    elif end == "run out":
        stack.query("UPDATE team_links SET expires_at_ms = 1 WHERE id = %s", made["id"])
    elif end.startswith("maker "):
        stack.ctl("team", "add-member", team, "--user", first.user, "--role", "owner")
        if end == "maker disabled":
            stack.ctl("user", "disable", account.user)
        else:
            change = first.api.request("PATCH", f"/v1/teams/{team}/members/{account.user}", {"role": "member"})
            assert change.status == 200
    elif end == "another secret":
        made = made | {"token": made["token"][:-4] + "AAAA"}
    else:
        made = made | {"token": "lnk_é"}
    browser = Browser(stack, some_address())
    assert_error(browser.post("/v1/links/show", {"token": made["token"]}), 404, "not_found", "/token")
    assert_error(accept(other_account, made), 404, "not_found", "/token")
    assert other_account.user not in members(first if end.startswith("maker ") else account, team)
    if end == "maker disabled":
        stack.ctl("user", "enable", account.user)  # whose sandboxes are removed by its key


def test_one_use_is_one_of_many_at_once(account, make_account, team):
    import concurrent.futures
    guests, made = [make_account() for _ in range(6)], make(account, team, uses=2)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(lambda guest: accept(guest, made).status, guests))
    assert statuses == [200, 200, 404, 404, 404, 404]
    assert len(members(account, team)) == 3


def test_links_are_few_and_short(account, team):
    for wish, field in (({"uses": 101}, "/uses"), ({"uses": 0}, "/uses"), ({"expires_at": in_days(31)}, "/expires_at"),
                        ({"expires_at": in_days(-1)}, "/expires_at"), ({"expires_at": "soon"}, "/expires_at"),
                        ({"role": "owner"}, "/role")):
        assert_error(account.api.post(links(team), {"role": "member", **wish}), 422, "invalid_request", field)
    assert_error(account.api.post(links(account.team), {"role": "member"}), 422, "invalid_request")
    first = make(account, team, expires_at=in_days(29))
    for _ in range(19):
        make(account, team)
    assert_error(account.api.post(links(team), {"role": "member"}), 422, "invalid_request")
    assert account.api.delete(links(team, first["id"])).status == 204
    make(account, team)


def test_only_owners_make_and_see_links(stack, account, other_account, team):
    made = make(account, team)
    assert_error(other_account.api.get(links(team)), 404, "not_found")
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    for answer in (other_account.api.get(links(team)), other_account.api.post(links(team), {"role": "viewer"}),
                   other_account.api.delete(links(team, made["id"]))):
        assert_error(answer, 403, "insufficient_scope")


def test_a_narrow_key_joins_nothing(stack, account, other_account, team):
    made = make(account, team)
    narrow = Api(stack, other_account.key("write", "--team", other_account.team))
    for api in (narrow, Api(stack, other_account.key("read"))):
        assert_error(api.post("/v1/links/accept", {"token": made["token"]}), 403, "insufficient_scope")
    assert Person(stack, other_account.user).browser.post("/v1/links/accept", {"token": made["token"]}).status == 200


def test_guesses_are_limited(stack, account, team):
    browser = Browser(stack)
    guess = {"token": make(account, team)["token"][:-4] + "AAAA"}
    statuses = [browser.post("/v1/links/show", guess).status for _ in range(60)]
    assert 429 in statuses and set(statuses) == {404, 429}


def test_it_is_in_the_log_of_the_team(account, other_account, team):
    made = make(account, team)
    accept(other_account, made)
    gone = make(account, team)
    account.api.delete(links(team, gone["id"]))
    rows = account.api.get(f"/v1/audit?team={team}").json()["items"]
    assert [(one["action"], one["actor"]["user"], one["resource"]) for one in reversed(rows)] == [
        ("member.link", account.user, made["id"]), ("member.join", other_account.user, other_account.user),
        ("member.link", account.user, gone["id"]), ("member.unlink", account.user, gone["id"])]
    assert made["token"] not in str(rows)
    kinds = [one["kind"] for one in account.api.get(f"/v1/events?team={team}&wait=30").json()["events"]]
    assert kinds == ["member.added"]


@pytest.mark.alone
def test_a_link_makes_no_user_unless_the_operator_says_so(stack, account, team):
    made, name = make(account, team), "u" + secrets.token_hex(6)
    wish = {"token": made["token"], "name": name, "password": PASSWORD}
    with process_settings(stack, "sandlot-api", links_create_users="off"):
        assert Browser(stack).post("/v1/links/show", {"token": made["token"]}).json()["sign_up"] is False
        assert_error(Browser(stack).post("/v1/links/sign-up", wish), 422, "invalid_request")
    assert account.api.get(links(team)).json()["items"][0]["uses_left"] == 1
