# SPDX-License-Identifier: GPL-2.0-or-later
"""A sign-in ends: by its user, without requests, after a time, and with the user."""

import secrets

import pytest

from client import altered, assert_error
from console import Browser, Person, invite

pytestmark = pytest.mark.parallel


def login_id(browser):
    return browser.cookie[:30]


def test_they_are_listed_and_ended(person):
    other = person.another_browser()
    listed = person.browser.get("/v1/logins").json()["items"]
    assert [(one["id"], one["current"]) for one in listed] == [
        (login_id(other), False), (login_id(person.browser), True)]
    assert listed[0]["address"] == other.address and listed[0]["user_agent"] == "Mozilla/5.0 (a test)"
    assert person.browser.delete(f"/v1/logins/{listed[0]['id']}").status == 204
    assert_error(other.get("/v1/me"), 401, "unauthorized")
    assert_error(person.browser.delete(f"/v1/logins/{listed[0]['id']}"), 404, "not_found")
    assert len(person.browser.get("/v1/logins").json()["items"]) == 1


def test_nobody_ends_another_users(stack, person, other_account):
    stranger = Person(stack, other_account.user)
    assert_error(stranger.browser.delete(f"/v1/logins/{login_id(person.browser)}"), 404, "not_found")
    assert person.browser.get("/v1/me").status == 200


def test_signing_out_ends_it_and_takes_the_cookie_back(person):
    cookie = person.browser.cookie
    assert person.browser.post("/v1/logout").status == 204
    assert person.browser.cookie is None and "Max-Age=0" in person.browser.set_cookie
    person.browser.cookie = cookie
    assert_error(person.browser.get("/v1/me"), 401, "unauthorized")


@pytest.mark.parametrize("column", ["idle_at_ms", "expires_at_ms"])
def test_its_time_ends(stack, person, column):
    assert person.browser.get("/v1/me").status == 200
    stack.query(f"UPDATE logins SET {column} = UNIX_TIMESTAMP() * 1000 - 1000 WHERE id = %s", login_id(person.browser))
    assert_error(person.browser.get("/v1/me"), 401, "unauthorized")


def test_requests_move_the_idle_end_and_not_the_other(stack, person):
    which = login_id(person.browser)
    stack.query("UPDATE logins SET last_seen_at_ms = last_seen_at_ms - 3600000,"
                " idle_at_ms = UNIX_TIMESTAMP() * 1000 + 60000 WHERE id = %s", which)
    before = stack.query("SELECT * FROM logins WHERE id = %s", which)[0]
    assert person.browser.get("/v1/me").status == 200
    after = stack.query("SELECT * FROM logins WHERE id = %s", which)[0]
    assert after["idle_at_ms"] > before["idle_at_ms"] + 3600000 and after["expires_at_ms"] == before["expires_at_ms"]
    # Never past it.
    stack.query("UPDATE logins SET last_seen_at_ms = 0, expires_at_ms = UNIX_TIMESTAMP() * 1000 + 60000"
                " WHERE id = %s", which)
    assert person.browser.get("/v1/me").status == 200
    row = stack.query("SELECT * FROM logins WHERE id = %s", which)[0]
    assert row["idle_at_ms"] == row["expires_at_ms"]


def test_a_cookie_that_is_none(person):
    good = person.browser.cookie
    for cookie in ("", "x", good[:-1], altered(good), good + "A", good.upper(),
                   good.replace("lgn_", "inv_"), "lgn_" + "0" * 26 + good[30:]):
        person.browser.cookie = cookie or "="
        assert_error(person.browser.get("/v1/me"), 401, "unauthorized")
    person.browser.cookie = good
    assert person.browser.get("/v1/me").status == 200


def test_a_disabled_user_is_out_at_once(stack, account, person):
    second = person.another_browser()
    stack.ctl("user", "disable", person.name)
    try:
        for browser in (person.browser, second):
            assert_error(browser.get("/v1/me"), 401, "unauthorized")
        assert_error(account.api.get("/v1/me"), 401, "unauthorized")
        assert_error(Browser(stack).sign_in(person.name, person.password), 401, "invalid_credentials")
        refused = stack.ctl("user", "invite", person.name, check=False)
        assert refused.returncode == 1 and "disabled" in refused.stderr
    finally:
        stack.ctl("user", "enable", person.name)
    # What had ended stays ended; password and keys count again.
    assert_error(person.browser.get("/v1/me"), 401, "unauthorized")
    assert account.api.get("/v1/me").status == 200
    assert Browser(stack).sign_in(person.name, person.password).status == 200


def test_a_reset_takes_everything_away(stack, person):
    token = invite(stack, person.name, "reset")
    assert_error(person.browser.get("/v1/me"), 401, "unauthorized")
    assert_error(Browser(stack).sign_in(person.name, person.password), 401, "invalid_credentials")
    browser = Browser(stack)
    assert browser.post("/v1/invites/accept", {"token": token, "password": "four words of mine"}).status == 200
    assert browser.get("/v1/me").json()["user"]["name"] == person.name


def test_a_user_has_so_many_and_the_oldest_go(stack, person):
    """Rows of a user are bounded, whoever signs in again and again."""
    older = f"lgn_00{secrets.token_hex(9)}"
    stack.query("INSERT INTO logins SELECT CONCAT(%s, LPAD(seq, 6, '0')), user_id, hash_key_id, hash, method,"
                " created_at_ms, last_seen_at_ms, idle_at_ms, expires_at_ms, address, user_agent"
                " FROM logins, seq_1_to_150 WHERE id = %s", older, login_id(person.browser))
    person.another_browser()
    left = stack.query("SELECT l.id FROM logins l JOIN users u ON u.id = l.user_id WHERE u.name = %s", person.name)
    assert len(left) == 100
    assert person.browser.get("/v1/me").status == 200
