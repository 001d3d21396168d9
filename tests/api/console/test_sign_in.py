# SPDX-License-Identifier: GPL-2.0-or-later
"""People sign in with name and password, by way of an invite."""

import pytest

from client import Api, altered, assert_error
from console import COOKIE, Browser, invite

pytestmark = pytest.mark.parallel


def test_an_invite_sets_the_first_password(stack, account):
    token = invite(stack, account.user)
    browser = Browser(stack)
    assert_error(browser.sign_in(account.user, "four words of mine"), 401, "invalid_credentials")
    assert_error(browser.post("/v1/invites/accept", {"token": token, "password": "short"}),
                 422, "invalid_request", "/password")
    assert_error(browser.post("/v1/invites/accept", {"token": altered(token), "password": "four words of mine"}),
                 401, "invalid_credentials", "/token")
    done = browser.post("/v1/invites/accept", {"token": token, "password": "four words of mine"})
    assert done.status == 200 and done.json()["user"]["name"] == account.user
    assert browser.get("/v1/me").json()["user"] == done.json()["user"]
    # It is good once.
    assert_error(browser.post("/v1/invites/accept", {"token": token, "password": "other words of mine"}),
                 401, "invalid_credentials", "/token")
    assert Browser(stack).sign_in(account.user, "four words of mine").status == 200
    refused = stack.ctl("user", "invite", account.user, check=False)
    assert refused.returncode == 1 and "user reset" in refused.stderr


def test_an_invite_says_for_whom_it_is(stack, account):
    team, browser = account.make_team(), Browser(stack)
    token = invite(stack, account.user)
    shown = browser.post("/v1/invites/show", {"token": token}).json()
    assert {"team": team, "role": "owner"} in shown["teams"] and shown["name"] == account.user
    assert account.user not in [row["team"] for row in shown["teams"]] and shown["expires_at"]
    for wrong in (altered(token), "inv_1", token.replace("inv_", "lnk_")):
        assert_error(browser.post("/v1/invites/show", {"token": wrong}), 401, "invalid_credentials", "/token")
    # It is as good as before.
    assert browser.post("/v1/invites/accept", {"token": token, "password": "four words of mine"}).status == 200
    assert_error(browser.post("/v1/invites/show", {"token": token}), 401, "invalid_credentials", "/token")


def test_guesses_at_invites_are_limited(stack, account):
    browser, guess = Browser(stack), {"token": altered(invite(stack, account.user))}
    statuses = [browser.post("/v1/invites/show", guess).status for _ in range(60)]
    assert 429 in statuses and set(statuses) == {401, 429}


def test_a_new_invite_takes_the_place_of_the_old(stack, account):
    old, new = invite(stack, account.user), invite(stack, account.user)
    browser = Browser(stack)
    body = {"token": old, "password": "four words of mine"}
    assert_error(browser.post("/v1/invites/accept", body), 401, "invalid_credentials", "/token")
    assert browser.post("/v1/invites/accept", body | {"token": new}).status == 200


def test_an_invite_ends(stack, account):
    token = invite(stack, account.user)
    stack.query("UPDATE invites SET expires_at_ms = 1 WHERE id = %s", token[:30])
    assert_error(Browser(stack).post("/v1/invites/accept", {"token": token, "password": "four words of mine"}),
                 401, "invalid_credentials", "/token")


def test_the_cookie_is_for_this_host_and_no_script(person):
    name, *attributes = [part.strip() for part in person.browser.set_cookie.split(";")]
    assert name.startswith(f"{COOKIE}=lgn_")
    assert {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"} < set(attributes)
    assert not any(part.lower().startswith("domain") for part in attributes)


def test_what_one_who_has_signed_in_is_told(stack, account, person):
    team = account.make_team()
    shown = person.browser.get("/v1/me").json()
    assert shown["key"] is None and shown["session"]["current"] is True
    assert shown["session"]["method"] == "password" and shown["session"]["address"] == person.browser.address
    assert {one["slug"]: one["role"] for one in shown["teams"]} == {account.team: "owner", team: "owner"}
    assert shown["default_team"] == account.team
    assert person.browser.get("/v1/login").json() == {"password": True, "oidc": None, "header": False}


def test_it_is_as_good_as_a_key(account, person):
    made = person.browser.post("/v1/volumes", {"name": "mine"}, headers={"Idempotency-Key": "k-1"})
    assert made.status == 201, made
    assert account.api.get("/v1/volumes").json()["volumes"][0]["id"] == made.json()["id"]
    again = person.browser.post("/v1/volumes", {"name": "mine"}, headers={"Idempotency-Key": "k-1"})
    assert again.headers["Idempotent-Replayed"] == "true" and again.json() == made.json()
    key = person.browser.post("/v1/keys", {"scopes": ["read"]})
    assert key.status == 201
    assert Api(account.stack, key.json()["key"]).get("/v1/me").json()["user"]["name"] == account.user


def test_other_peoples_things_are_not_there(person, other_account):
    volume = other_account.api.create_volume(name="theirs")
    assert_error(person.browser.get(f"/v1/volumes/{volume['id']}"), 404, "not_found")
    assert_error(person.browser.get(f"/v1/volumes?team={other_account.team}"), 403, "team_forbidden", "team")


def test_who_is_wrong_is_not_told_what(stack, person):
    browser = Browser(stack)
    answers = [browser.sign_in(name, password).json() for name, password in (
        (person.name, "not the password"), ("nobody-of-this-name", person.password), ("Nö", person.password))]
    for answer in answers:
        assert answer.pop("request_id")
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["error"] == "invalid_credentials"
    assert browser.cookie is None


def test_a_key_signs_nobody_in_and_changes_no_password(stack, account, person):
    body = {"old": person.password, "new": "four words of mine"}
    assert_error(account.api.request("PUT", "/v1/me/password", body), 403, "insufficient_scope")
    assert_error(Api(stack, None).post("/v1/login", {"name": person.name, "password": person.password}),
                 404, "not_found")


def test_a_new_password_ends_the_other_sign_ins(stack, person):
    other = person.another_browser()
    mine = person.browser
    refused = mine.request("PUT", "/v1/me/password", {"old": "not the password", "new": "four words of mine"})
    assert_error(refused, 401, "invalid_credentials", "/old")
    short = mine.request("PUT", "/v1/me/password", {"old": person.password, "new": "short"})
    assert_error(short, 422, "invalid_request", "/new")
    assert other.get("/v1/me").status == 200
    done = mine.request("PUT", "/v1/me/password", {"old": person.password, "new": "four words of mine"})
    assert done.status == 204, done
    assert mine.get("/v1/me").status == 200
    assert_error(other.get("/v1/me"), 401, "unauthorized")
    assert_error(Browser(stack).sign_in(person.name, person.password), 401, "invalid_credentials")
    assert Browser(stack).sign_in(person.name, "four words of mine").status == 200


def test_no_secret_is_kept_or_logged(stack, person):
    """Neither the database nor a log has the password, or what a cookie or an invite holds."""
    secret = person.browser.cookie.split("_", 2)[2]
    person.browser.get("/v1/me")
    rows = [row for table in ("logins", "users", "invites") for row in stack.query(f"SELECT * FROM {table}")]
    logs = [path.read_bytes() for path in (stack.root / "log").glob("*.log")]
    for text in [repr(rows).encode(), *logs]:
        assert secret.encode() not in text and person.password.encode() not in text
    stored = stack.query("SELECT password_hash FROM users WHERE name = %s", person.name)[0]["password_hash"]
    assert stored.startswith("$argon2id$")
