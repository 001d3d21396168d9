# SPDX-License-Identifier: GPL-2.0-or-later
"""A person makes a user with a link into a team, where the operator lets links do so."""

import secrets

import pytest

from client import assert_error
from console import Browser

pytestmark = pytest.mark.parallel

PASSWORD = "correct horse battery"


def test_a_link_makes_a_user_and_a_member(stack, account):
    team, name = account.make_team("pro"), "u" + secrets.token_hex(6)
    link = account.api.post(f"/v1/teams/{team}/links", {"role": "viewer"}).json()
    wish = {"token": link["token"], "name": name, "password": PASSWORD}
    browser = Browser(stack)
    assert browser.post("/v1/links/show", {"token": link["token"]}).json()["sign_up"] is True
    # A refusal makes no user, and is no use of the link.
    for wrong, status, code, field in (({"password": "short"}, 422, "invalid_request", "/password"),
                                       ({"name": account.user}, 409, "name_taken", "/name"),
                                       ({"name": "No Name"}, 422, "invalid_request", "/name"),
                                       ({"token": link["token"][:-4] + "AAAA"}, 404, "not_found", "/token")):
        assert_error(browser.post("/v1/links/sign-up", {**wish, **wrong}), status, code, field)
    # Only a page of the console may: another site's page must not sign somebody in.
    assert_error(browser.request("POST", "/v1/links/sign-up", wish, {"Origin": "https://evil.example"}), 401, "unauthorized")
    made = browser.post("/v1/links/sign-up", wish)
    assert (made.status, made.json()["user"]["name"]) == (200, name)
    me = browser.get("/v1/me").json()
    assert {one["slug"]: one["role"] for one in me["teams"]} == {name: "owner", team: "viewer"}
    assert Browser(stack).post("/v1/login", {"name": name, "password": PASSWORD}).status == 200
    # It was its only use; a user without a team is not left behind.
    again = "u" + secrets.token_hex(6)
    assert_error(Browser(stack).post("/v1/links/sign-up", {**wish, "name": again}), 404, "not_found", "/token")
    assert stack.query("SELECT id FROM users WHERE name = %s", again) == ()
    (row,) = [one for one in account.api.get(f"/v1/audit?team={team}").json()["items"] if one["action"] == "member.join"]
    assert (row["actor"]["user"], row["resource"], row["result"]) == (name, name, "done")
