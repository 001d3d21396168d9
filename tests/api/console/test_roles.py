# SPDX-License-Identifier: GPL-2.0-or-later
"""Owners, members and viewers of a team: what each may, with a sign-in and with a key."""

import pytest

from client import Api, assert_error
from console import Person

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def owner(stack, module_account):
    return Person(stack, module_account.user)


@pytest.fixture
def team(module_account):
    return module_account.make_team("pro")


@pytest.fixture(scope="module")
def guest_account(make_module_account):
    return make_module_account()


@pytest.fixture(scope="module")
def guest(stack, guest_account):
    """Somebody else, in no team but the own one yet."""
    return Person(stack, guest_account.user)


def members(team, name=None):
    return f"/v1/teams/{team}/members" + (f"/{name}" if name else "")


def add(stack, team, person, role):
    """As the operator: no invitation."""
    stack.ctl("team", "add-member", team, "--user", person.name, "--role", role)


def test_an_owner_changes_roles_and_removes_people(stack, owner, team, guest):
    assert_error(guest.browser.get(members(team)), 404, "not_found")
    add(stack, team, guest, "viewer")
    assert {one["slug"]: one["role"] for one in guest.browser.get("/v1/teams").json()["teams"]}[team] == "viewer"
    listed = guest.browser.get(members(team)).json()["items"]
    assert {(one["name"], one["role"]) for one in listed} == {(owner.name, "owner"), (guest.name, "viewer")}
    changed = owner.browser.request("PATCH", members(team, guest.name), {"role": "member"})
    assert changed.status == 200 and changed.json()["role"] == "member"
    assert owner.browser.delete(members(team, guest.name)).status == 204
    assert_error(guest.browser.get(members(team)), 404, "not_found")
    assert_error(owner.browser.delete(members(team, guest.name)), 404, "not_found")


def test_what_is_refused(owner, team, guest):
    path = members(team)
    # An owner cannot make anybody a member: the user has to accept an invitation.
    assert_error(owner.browser.post(path, {"name": guest.name, "role": "member"}), 405, "method_not_allowed")
    assert_error(owner.browser.request("PATCH", members(team, "nobody"), {"role": "member"}), 404, "not_found")
    assert_error(owner.browser.request("PATCH", members(team, owner.name), {"role": "king"}), 422, "invalid_request", "/role")
    assert_error(owner.browser.get(members("no-such-team")), 404, "not_found")


def test_a_value_goes_to_no_host_that_another_user_set(stack, owner, team, guest):
    path, name = f"/v1/secrets/key?team={team}", "/v1/secrets/key"
    add(stack, team, guest, "member")
    put = lambda person, **fields: person.browser.request("PUT", name, {"team": team, **fields})
    assert put(owner, value="first", hosts=["a.example"]).status == 201
    assert put(owner, value="second").status == 200
    assert_error(put(guest, value="junk"), 422, "invalid_request", "/hosts")
    assert put(guest, value="junk", hosts=["guest.example"]).status == 200
    assert put(guest, value="more junk").status == 200
    assert_error(put(owner, value="third"), 422, "invalid_request", "/hosts")
    assert guest.browser.delete(path).status == 204
    assert put(guest, value="junk", hosts=["guest.example"]).status == 201
    assert_error(put(owner, value="third"), 422, "invalid_request", "/hosts")
    assert put(owner, value="third", hosts=["a.example"]).status == 200
    changed = put(owner, value="fourth")
    assert changed.status == 200 and changed.json()["hosts"] == ["a.example"]


def test_the_last_owner_stays(stack, owner, team, guest):
    assert_error(owner.browser.delete(members(team, owner.name)), 409, "last_owner")
    assert_error(owner.browser.request("PATCH", members(team, owner.name), {"role": "member"}), 409, "last_owner")
    add(stack, team, guest, "owner")
    assert owner.browser.delete(members(team, owner.name)).status == 204
    assert_error(guest.browser.delete(members(team, guest.name)), 409, "last_owner")


@pytest.mark.parametrize("role", ["member", "viewer"])
def test_only_owners_change_members(stack, owner, team, guest, role):
    add(stack, team, guest, role)
    for answer in (guest.browser.request("PATCH", members(team, guest.name), {"role": "owner"}),
                   guest.browser.delete(members(team, owner.name))):
        assert_error(answer, 403, "insufficient_scope")
    # But everybody may leave.
    assert guest.browser.delete(members(team, guest.name)).status == 204


def test_a_viewer_reads_and_changes_nothing(stack, owner, team, guest, guest_account):
    """With a sign-in and with a key, whatever the key says."""
    volume = owner.browser.post("/v1/volumes", {"team": team, "name": "shared"}).json()
    sandbox = owner.browser.post("/v1/sandboxes", {"team": team}).json()
    add(stack, team, guest, "viewer")
    for viewer in (guest.browser, guest_account.api, Api(stack, guest_account.key("write", "--team", team))):
        assert viewer.get(f"/v1/volumes/{volume['id']}").status == 200
        assert viewer.get(f"/v1/sandboxes/{sandbox['id']}").status == 200
        assert viewer.get(f"/v1/usage?team={team}").status == 200
        assert viewer.request("POST", f"/v1/sandboxes/{sandbox['id']}/network/check", {"host": "example.com", "port": 443}).status == 200
        path = f"/v1/sandboxes/{sandbox['id']}"
        for method, target, body in (
                ("POST", "/v1/sandboxes", {"team": team}), ("POST", "/v1/volumes", {"team": team, "name": "x"}),
                ("POST", "/v1/templates", {"team": team, "slug": "x"}), ("DELETE", f"/v1/volumes/{volume['id']}", None),
                ("PATCH", path, {"metadata": {"a": "b"}}), ("POST", f"{path}/pause", None),
                ("POST", f"{path}/sessions", None), ("PUT", f"{path}/network", {}), ("PUT", f"{path}/ports/3000", {}),
                ("POST", f"{path}/checkpoints", {"name": "x"}), ("DELETE", path, None)):
            answer = viewer.request(method, target, body)
            assert_error(answer, 403, "insufficient_scope")
    owner.browser.request("PATCH", members(team, guest.name), {"role": "member"})
    assert guest.browser.request("PATCH", path, {"metadata": {"a": "b"}}).status == 200
    assert guest.browser.post("/v1/volumes", {"team": team, "name": "x"}).status == 201
    for one in owner.browser.get(f"/v1/volumes?team={team}").json()["volumes"]:
        assert owner.browser.delete(f"/v1/volumes/{one['id']}").status == 204
    assert owner.browser.delete(path).status == 204


def test_a_viewer_gets_no_token_by_the_calls_of_e2b(stack, owner, team, guest, guest_account):
    sandbox = owner.browser.post("/v1/sandboxes", {"team": team}).json()
    add(stack, team, guest, "viewer")
    route = sandbox["data_plane_url"].removeprefix("https://").partition(".")[0]
    shown = guest_account.api.get(f"/sandboxes/{route}")
    assert shown.status == 200 and "envdAccessToken" not in shown.json()
    owner.browser.request("PATCH", members(team, guest.name), {"role": "member"})
    assert guest_account.api.get(f"/sandboxes/{route}").json()["envdAccessToken"]
    assert owner.browser.delete(f"/v1/sandboxes/{sandbox['id']}").status == 204


def test_a_viewer_deletes_no_snapshot_by_the_calls_of_e2b(stack, owner, team, guest, guest_account):
    """The key's own team, where its user is the owner, is another one than the snapshot's."""
    sandbox = owner.browser.post("/v1/sandboxes", {"team": team}).json()
    checkpoint = owner.browser.post(f"/v1/sandboxes/{sandbox['id']}/checkpoints", {"name": "kept"}).json()
    path = f"/v1/checkpoints/{checkpoint['id']}"
    add(stack, team, guest, "viewer")
    api = guest_account.api
    refused = api.origin.request("DELETE", f"/templates/{checkpoint['id']}", headers={"X-API-Key": api.key})
    assert (refused.status, refused.json()["error_code"]) == (403, "insufficient_scope")
    assert owner.browser.get(path).status == 200
    owner.browser.request("PATCH", members(team, guest.name), {"role": "member"})
    assert api.delete(f"/templates/{checkpoint['id']}").status == 204
    assert_error(owner.browser.get(path), 404, "not_found")
    # The log of the snapshot's team says who did it.
    deleted, *_ = owner.browser.get(f"/v1/audit?team={team}&actor={guest.name}").json()["items"]
    assert (deleted["resource"], deleted["result"]) == (checkpoint["id"], "done")
    assert owner.browser.delete(f"/v1/sandboxes/{sandbox['id']}").status == 204


def test_keys_follow_the_role(stack, owner, team, guest, guest_account):
    """A key is worth what its user is, at each request."""
    add(stack, team, guest, "member")
    key = Api(stack, guest_account.key("write", "--team", team))
    assert key.post("/v1/volumes", {"name": "x"}).status == 201
    owner.browser.request("PATCH", members(team, guest.name), {"role": "viewer"})
    assert_error(key.post("/v1/volumes", {"name": "y"}), 403, "insufficient_scope")
    owner.browser.delete(members(team, guest.name))
    assert key.get("/v1/volumes").json()["volumes"] == []
    assert_error(key.get(f"/v1/usage?team={team}"), 403, "team_forbidden", "team")
    volume, = owner.browser.get(f"/v1/volumes?team={team}").json()["volumes"]
    assert owner.browser.delete(f"/v1/volumes/{volume['id']}").status == 204


def test_the_command_line_knows_roles(stack, module_account, team, guest_account):
    stack.ctl("team", "add-member", team, "--user", guest_account.user)
    stack.ctl("team", "add-member", team, "--user", guest_account.user, "--role", "viewer")
    listed = stack.ctl("team", "list-members", team)["members"]
    assert {one["name"]: one["role"] for one in listed} == {module_account.user: "owner", guest_account.user: "viewer"}
    # Who is in stays what he is, unless a role is named.
    assert stack.ctl("team", "add-member", team, "--user", module_account.user)["role"] == "owner"
    refused = stack.ctl("team", "remove-member", team, "--user", module_account.user, check=False)
    assert refused.returncode == 1 and "only owner" in refused.stderr
    stack.ctl("team", "remove-member", team, "--user", guest_account.user)
    assert [one["name"] for one in stack.ctl("team", "list-members", team)["members"]] == [module_account.user]
