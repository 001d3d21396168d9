# SPDX-License-Identifier: GPL-2.0-or-later
"""A user becomes a member of a team by accepting its invitation, and of no personal team."""

import pytest

from client import Api, assert_error
from console import Person
from tenant import Account

pytestmark = pytest.mark.parallel


@pytest.fixture
def team(account):
    return account.make_team("pro")


def invitations(team, name=None):
    return f"/v1/teams/{team}/invitations" + (f"/{name}" if name else "")


def invite(account, team, guest, role="member"):
    answer = account.api.post(invitations(team), {"name": guest.user, "role": role})
    assert answer.status == 201, answer
    return answer.json()


def teams(guest):
    return {one["slug"]: one["role"] for one in guest.api.get("/v1/teams").json()["teams"]}


def test_a_member_by_consent(account, other_account, team):
    made = invite(account, team, other_account, "viewer")
    assert (made["team"], made["name"], made["role"], made["invited_by"]) == (team, other_account.user, "viewer", account.user)
    assert made["created_at"] < made["expires_at"]
    # Until the user accepts, nothing has changed for either side.
    assert team not in teams(other_account)
    assert [one["name"] for one in account.api.get(f"/v1/teams/{team}/members").json()["items"]] == [account.user]
    assert_error(other_account.api.get(f"/v1/sandboxes?team={team}"), 403, "team_forbidden")
    assert account.api.get(invitations(team)).json()["items"] == [made]
    assert other_account.api.get("/v1/invitations").json()["items"] == [made]
    accepted = other_account.api.post(f"/v1/invitations/{team}/accept")
    assert (accepted.status, accepted.json()["name"], accepted.json()["role"]) == (200, other_account.user, "viewer")
    assert teams(other_account)[team] == "viewer"
    assert account.api.get(invitations(team)).json()["items"] == []
    assert_error(other_account.api.post(f"/v1/invitations/{team}/accept"), 404, "not_found")
    assert_error(account.api.post(invitations(team), {"name": other_account.user, "role": "owner"}), 409, "name_taken", "/name")


@pytest.mark.parametrize("end", ["decline", "withdraw", "run out"])
def test_an_invitation_that_ended_lets_nobody_in(stack, account, other_account, team, end):
    invite(account, team, other_account)
    if end == "decline":
        assert other_account.api.post(f"/v1/invitations/{team}/decline").status == 204
        assert_error(other_account.api.post(f"/v1/invitations/{team}/decline"), 404, "not_found")
    elif end == "withdraw":
        assert account.api.delete(invitations(team, other_account.user)).status == 204
        assert_error(account.api.delete(invitations(team, other_account.user)), 404, "not_found")
    else:
        stack.query("UPDATE team_invitations i JOIN teams t ON t.id = i.team_id SET expires_at_ms = 1 WHERE t.slug = %s", team)
    assert_error(other_account.api.post(f"/v1/invitations/{team}/accept"), 404, "not_found")
    assert other_account.api.get("/v1/invitations").json()["items"] == []
    assert team not in teams(other_account)
    # The team may ask again.
    invite(account, team, other_account, "owner")
    assert other_account.api.post(f"/v1/invitations/{team}/accept").json()["role"] == "owner"


@pytest.mark.parametrize("end", ["removed", "demoted", "disabled", "deleted"])
def test_an_owner_who_left_leaves_no_way_back(stack, account, other_account, team, end):
    """Not even by an invitation to another user of his own."""
    leaver = Account(stack)
    stack.ctl("team", "add-member", team, "--user", leaver.user, "--role", "owner")
    invite(leaver, team, other_account, "owner")
    assert len(account.api.get(invitations(team)).json()["items"]) == 1
    if end == "removed":
        assert account.api.delete(f"/v1/teams/{team}/members/{leaver.user}").status == 204
    elif end == "demoted":
        assert account.api.request("PATCH", f"/v1/teams/{team}/members/{leaver.user}", {"role": "member"}).status == 200
    elif end == "disabled":
        stack.ctl("user", "disable", leaver.user)
    else:
        stack.ctl("user", "remove", leaver.user)
    assert account.api.get(invitations(team)).json()["items"] == []
    assert other_account.api.get("/v1/invitations").json()["items"] == []
    for answer in ("accept", "decline"):
        assert_error(other_account.api.post(f"/v1/invitations/{team}/{answer}"), 404, "not_found")
    assert team not in teams(other_account)
    invite(account, team, other_account, "viewer")
    assert other_account.api.post(f"/v1/invitations/{team}/accept").json()["role"] == "viewer"


def test_a_second_invitation_replaces_the_first(account, other_account, team):
    for role in ("owner", "viewer"):
        invite(account, team, other_account, role)
    assert [one["role"] for one in other_account.api.get("/v1/invitations").json()["items"]] == ["viewer"]
    assert other_account.api.post(f"/v1/invitations/{team}/accept").json()["role"] == "viewer"


def test_what_is_refused(stack, account, other_account, team):
    for name in ("nobody-of-this-name", "Nö"):
        assert_error(account.api.post(invitations(team), {"name": name, "role": "member"}), 422, "invalid_request", "/name")
    assert_error(account.api.post(invitations(team), {"name": other_account.user, "role": "king"}), 422, "invalid_request", "/role")
    # A personal team takes no members, not even from the operator.
    assert_error(account.api.post(invitations(account.team), {"name": other_account.user, "role": "member"}), 422, "invalid_request")
    assert stack.ctl("team", "add-member", account.team, "--user", other_account.user, check=False).returncode != 0
    assert_error(account.api.get(invitations("no-such-team")), 404, "not_found")
    assert_error(other_account.api.get(invitations(team)), 404, "not_found")
    assert_error(other_account.api.post(invitations(team), {"name": account.user, "role": "viewer"}), 404, "not_found")
    assert_error(other_account.api.post(f"/v1/invitations/{team}/accept"), 404, "not_found")


def test_only_owners_invite(stack, account, other_account, team):
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    for answer in (other_account.api.get(invitations(team)),
                   other_account.api.post(invitations(team), {"name": account.user, "role": "viewer"}),
                   other_account.api.delete(invitations(team, account.user))):
        assert_error(answer, 403, "insufficient_scope")


def test_a_narrow_key_answers_no_invitation(stack, account, other_account, team):
    invite(account, team, other_account)
    narrow = Api(stack, other_account.key("write", "--team", other_account.team))
    reader = Api(stack, other_account.key("read"))
    assert_error(narrow.get("/v1/invitations"), 403, "insufficient_scope")
    for api in (narrow, reader):
        assert_error(api.post(f"/v1/invitations/{team}/accept"), 403, "insufficient_scope")
    assert Person(stack, other_account.user).browser.post(f"/v1/invitations/{team}/accept").status == 200


def test_it_is_recorded_and_told(account, other_account, team):
    invite(account, team, other_account)
    other_account.api.post(f"/v1/invitations/{team}/decline")
    invite(account, team, other_account, "viewer")
    other_account.api.post(f"/v1/invitations/{team}/accept")
    account.api.delete(f"/v1/teams/{team}/members/{other_account.user}")
    rows = account.api.get(f"/v1/audit?team={team}").json()["items"]
    assert [(one["action"], one["actor"]["user"]) for one in reversed(rows)] == [
        ("member.invite", account.user), ("member.decline", other_account.user), ("member.invite", account.user),
        ("member.accept", other_account.user), ("member.remove", account.user)]
    assert {one["resource"] for one in rows} == {other_account.user}
    told, after = [], ""
    while len(told) < 5:
        page = account.api.get(f"/v1/events?team={team}&wait=30{after}").json()
        assert page["events"], told
        told += [(one["kind"], one["data"]) for one in page["events"]]
        after = f"&after={page['last_id']}"
    user = {"user": other_account.user}
    assert told == [("member.invited", user | {"role": "member"}), ("member.declined", user),
                    ("member.invited", user | {"role": "viewer"}), ("member.added", user | {"role": "viewer"}),
                    ("member.removed", user)]
