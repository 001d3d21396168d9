# SPDX-License-Identifier: GPL-2.0-or-later
"""Passkeys: a person adds, renames and removes them, and signs in without a password. unit/login/test_passkey_check.c
tests wrong answers of authenticators."""

import pytest

from authenticator import PRESENT, Authenticator, b64
from client import assert_error
from console import Browser, Person, invite
from test_guessing import fill

pytestmark = pytest.mark.parallel


@pytest.fixture
def make(stack, tmp_path):
    def add(person, name="laptop"):
        device = Authenticator(stack, tmp_path)
        begun = begin(person)
        added = person.browser.post("/v1/me/passkeys", device.create(begun, name))
        assert added.status == 201, added
        return device, added.json()

    return add


def begin(person):
    begun = person.browser.post("/v1/me/passkeys/begin", {"password": person.password})
    assert begun.status == 200, begun
    return begun.json()


def challenge(browser):
    begun = browser.post("/v1/login/passkey/begin")
    assert begun.status == 200, begun
    return begun.json()


def sign_in(browser, device, **changes):
    return browser.post("/v1/login/passkey", device.sign(challenge(browser), **changes))


def listed(person):
    return person.browser.get("/v1/me/passkeys").json()["items"]


def refused(answer):
    """In the same words for a passkey that is unknown, and for one that is not."""
    body = assert_error(answer, 401, "invalid_credentials") or answer.json()
    assert body["message"] == "sandlot does not accept this passkey; sign in another way.", body


def test_a_passkey_signs_in_without_name_password_and_code(stack, person, make):
    assert listed(person) == []
    device, added = make(person, "my läptop")
    assert (added["name"], added["last_used_at"]) == ("my läptop", None)
    browser = Browser(stack)
    answer = sign_in(browser, device)
    assert answer.status == 200 and answer.json()["user"]["name"] == person.name, answer
    assert browser.get("/v1/me").json()["session"]["method"] == "passkey"
    (one,) = listed(person)
    assert (one["id"], one["name"]) == (added["id"], "my läptop") and one["last_used_at"] >= one["created_at"]
    rows = stack.query("SELECT action, resource, error FROM audit_log WHERE user_id = %s"
                       " AND (action LIKE 'passkey.%%' OR action = 'login.begin') ORDER BY id",
                       answer.json()["user"]["id"])
    assert [(row["action"], row["resource"]) for row in rows] == [("passkey.add", added["id"]), ("login.begin", "")]


def test_it_is_renamed_and_removed(stack, person, make):
    device, added = make(person)
    path = f"/v1/me/passkeys/{added['id']}"
    assert person.browser.request("PATCH", path, {"name": "telephone"}).status == 204
    assert listed(person)[0]["name"] == "telephone"
    for header in ({"If-Match": '"seen"'}, {"If-None-Match": "*"}):
        assert_error(person.browser.request("PATCH", path, {"name": "x"}, header), 422, "invalid_request", *header)
    assert listed(person)[0]["name"] == "telephone"
    for name in ("a\nb", "n" * 65):
        assert_error(person.browser.request("PATCH", path, {"name": name}), 422, "invalid_request", "/name")
    assert_error(person.browser.delete(path, {"password": "not the password"}), 401, "invalid_credentials", "/password")
    assert person.browser.delete(path, {"password": person.password}).status == 204
    assert listed(person) == []
    assert_error(person.browser.request("PATCH", path, {"name": "x"}), 404, "not_found")
    assert_error(person.browser.delete(path, {"password": person.password}), 404, "not_found")
    refused(sign_in(Browser(stack), device))


def test_adding_needs_the_password_and_this_sign_in(stack, person, tmp_path):
    assert_error(person.browser.post("/v1/me/passkeys/begin", {"password": "not the password"}),
                 401, "invalid_credentials", "/password")
    device = Authenticator(stack, tmp_path)
    body = device.create(begin(person), "mine")
    thief = person.another_browser()
    assert_error(thief.post("/v1/me/passkeys", body), 401, "invalid_credentials")
    thief.others = person.browser.others
    assert_error(thief.post("/v1/me/passkeys", body), 401, "invalid_credentials")
    wrong = device.create(begin(person), "mine", origin="https://evil.example")
    assert_error(person.browser.post("/v1/me/passkeys", wrong), 422, "invalid_request")
    assert listed(person) == []


def test_a_challenge_adds_one_passkey(stack, person, tmp_path):
    begun = begin(person)
    one, two = Authenticator(stack, tmp_path), Authenticator(stack, tmp_path)
    assert person.browser.post("/v1/me/passkeys", one.create(begun, "one")).status == 201
    assert_error(person.browser.post("/v1/me/passkeys", two.create(begun, "two")), 401, "invalid_credentials")
    # The answer lists the passkeys that exist. A browser that ignores the list cannot add a passkey twice.
    begun = begin(person)
    assert begun["exclude"] == [b64(one.id)]
    assert_error(person.browser.post("/v1/me/passkeys", one.create(begun, "again")), 422, "invalid_request")
    assert [passkey["name"] for passkey in listed(person)] == ["one"]


@pytest.mark.long
def test_a_user_has_so_many(person, make, stack, tmp_path):
    for number in range(10):
        make(person, f"number {number}")
    more = Authenticator(stack, tmp_path).create(begin(person), "one more")
    assert_error(person.browser.post("/v1/me/passkeys", more), 422, "invalid_request")
    assert len(listed(person)) == 10


def test_a_challenge_is_of_one_browser_and_good_once(stack, person, make):
    device, _ = make(person)
    browser, other = Browser(stack), Browser(stack)
    answer = device.sign(challenge(browser))
    challenge(other)
    refused(other.post("/v1/login/passkey", answer))
    other.others = {}
    assert_error(other.post("/v1/login/passkey", answer), 401, "invalid_credentials")
    assert browser.post("/v1/login/passkey", answer).status == 200
    assert_error(browser.post("/v1/login/passkey", answer), 401, "invalid_credentials")
    # A challenge to add a passkey is not valid for a sign-in.
    other.others = person.browser.others
    assert_error(other.post("/v1/login/passkey", device.sign(begin(person))), 401, "invalid_credentials")


def test_refusals_do_not_say_which_passkeys_exist(stack, person, make, tmp_path):
    device, _ = make(person)
    stranger = Authenticator(stack, tmp_path)
    stranger.handle = device.handle
    refused(sign_in(Browser(stack), stranger))
    stranger.id = device.id
    refused(sign_in(Browser(stack), stranger))
    refused(sign_in(Browser(stack), device, origin="https://evil.example"))
    refused(sign_in(Browser(stack), device, flags=PRESENT))
    device.handle = b64(b"usr_01kamqg0v5r8e1m4c2y7z9t3wn")
    refused(sign_in(Browser(stack), device))


def test_a_counter_that_goes_back_is_refused_and_recorded(stack, person, make):
    device, added = make(person)
    device.count = 7
    assert sign_in(Browser(stack), device).status == 200
    for count in (7, 6, 0):
        device.count = count
        refused(sign_in(Browser(stack), device))
    rows = stack.query("SELECT action, result, error, user_id FROM audit_log WHERE resource = %s AND result = 'refused'",
                       added["id"])
    user = person.browser.get("/v1/me").json()["user"]["id"]
    assert [tuple(row.values()) for row in rows] == [("login.begin", "refused", "invalid_credentials", user)] * 3
    device.count = 8
    assert sign_in(Browser(stack), device).status == 200


def test_attempts_count_for_the_address(stack, person, make):
    device, _ = make(person)
    browser = Browser(stack)
    fill(stack, f"address {browser.address}", 1)
    for _ in range(3):
        assert sign_in(browser, device).status == 200
    refused(sign_in(browser, device, flags=PRESENT))
    assert_error(sign_in(browser, device), 429, "rate_limited")


def test_operators_take_it_away(stack, person, make):
    device, _ = make(person)
    stack.ctl("user", "disable", person.name)
    refused(sign_in(Browser(stack), device))
    stack.ctl("user", "enable", person.name)
    assert sign_in(Browser(stack), device).status == 200
    (shown,) = [user for user in stack.ctl("user", "list")["users"] if user["name"] == person.name]
    assert shown["passkeys"] == 1
    invite(stack, person.name, "reset")
    refused(sign_in(Browser(stack), device))
    assert stack.query("SELECT p.id FROM passkeys p JOIN users u ON u.id = p.user_id WHERE u.name = %s", person.name) == ()


def test_others_and_keys_reach_none(stack, account, other_account, person, make):
    _, added = make(person)
    other = Person(stack, other_account.user)
    path = f"/v1/me/passkeys/{added['id']}"
    assert listed(other) == []
    assert_error(other.browser.request("PATCH", path, {"name": "x"}), 404, "not_found")
    assert_error(other.browser.delete(path, {"password": other.password}), 404, "not_found")
    assert_error(account.api.get("/v1/me/passkeys"), 403, "insufficient_scope")
    foreign = {"Origin": "https://evil.example"}
    assert_error(Browser(stack).post("/v1/login/passkey/begin", headers=foreign), 401, "unauthorized")
