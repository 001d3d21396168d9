# SPDX-License-Identifier: GPL-2.0-or-later
"""Codes of an authenticator as a second factor, and recovery codes."""

import pytest

from client import assert_error
from console import Browser, Person, code_of, invite

pytestmark = pytest.mark.parallel


def turn_on(person):
    """The secret and the recovery codes."""
    begun = person.browser.post("/v1/me/totp")
    assert begun.status == 200, begun
    secret = begun.json()["secret"]
    assert begun.json()["url"] == f"otpauth://totp/sandlot:{person.name}?secret={secret}&issuer=sandlot"
    done = person.browser.post("/v1/me/totp/confirm", {"code": code_of(secret)})
    assert done.status == 200, done
    return secret, done.json()["recovery_codes"]


def test_a_code_is_asked_for_besides_the_password(stack, person):
    me = person.browser.get("/v1/me").json()
    assert (me["password"], me["second_factor"]) == (True, False)
    secret, _ = turn_on(person)
    assert person.browser.get("/v1/me").json()["second_factor"] is True
    browser = Browser(stack)
    assert_error(browser.sign_in(person.name, person.password), 401, "second_factor_required", "/code")
    assert_error(browser.sign_in(person.name, "not the password"), 401, "invalid_credentials")
    assert_error(browser.sign_in(person.name, "not the password", code_of(secret, 1)), 401, "invalid_credentials")
    assert_error(browser.sign_in(person.name, person.password, "000000"), 401, "invalid_credentials", "/code")
    # The one that turned it on was used; the next one comes soon enough.
    assert browser.sign_in(person.name, person.password, code_of(secret, 1)).status == 200
    assert person.browser.get("/v1/me").status == 200


def test_a_code_is_good_once(stack, person):
    secret, _ = turn_on(person)
    code = code_of(secret, 1)
    assert Browser(stack).sign_in(person.name, person.password, code).status == 200
    assert_error(Browser(stack).sign_in(person.name, person.password, code), 401, "invalid_credentials", "/code")


def test_nothing_is_asked_for_before_the_first_code(stack, person):
    assert_error(person.browser.post("/v1/me/totp/confirm", {"code": "123456"}), 422, "invalid_request")
    assert person.browser.post("/v1/me/totp").status == 200
    assert_error(person.browser.post("/v1/me/totp/confirm", {"code": "12345"}), 422, "invalid_request", "/code")
    assert Browser(stack).sign_in(person.name, person.password).status == 200
    turn_on(person)
    assert_error(person.browser.post("/v1/me/totp"), 422, "invalid_request")


def test_recovery_codes_are_good_once_each(stack, person):
    _, codes = turn_on(person)
    assert len(set(codes)) == 10
    assert Browser(stack).sign_in(person.name, person.password, codes[3]).status == 200
    assert Browser(stack).sign_in(person.name, person.password, codes[4].upper().replace("-", " ")).status == 200
    for code in (codes[3], codes[4], codes[5][:-1]):
        assert_error(Browser(stack).sign_in(person.name, person.password, code), 401, "invalid_credentials", "/code")
    assert len(stack.query("SELECT 1 FROM recovery_codes r JOIN users u ON u.id = r.user_id WHERE u.name = %s",
                           person.name)) == 8


def test_other_peoples_recovery_codes_are_of_no_use(stack, person, other_account):
    _, codes = turn_on(person)
    other = Person(stack, other_account.user)
    turn_on(other)
    assert_error(Browser(stack).sign_in(other.name, other.password, codes[0]), 401, "invalid_credentials", "/code")


def test_it_is_turned_off_with_the_password(stack, person):
    _, codes = turn_on(person)
    assert_error(person.browser.delete("/v1/me/totp", {"password": "not the password"}),
                 401, "invalid_credentials", "/password")
    assert person.browser.delete("/v1/me/totp", {"password": person.password}).status == 204
    assert Browser(stack).sign_in(person.name, person.password).status == 200
    _, fresh = turn_on(person)
    assert_error(Browser(stack).sign_in(person.name, person.password, codes[0]), 401, "invalid_credentials", "/code")
    assert Browser(stack).sign_in(person.name, person.password, fresh[0]).status == 200


def test_a_reset_takes_it_away(stack, person):
    turn_on(person)
    token = invite(stack, person.name, "reset")
    browser = Browser(stack)
    assert browser.post("/v1/invites/accept", {"token": token, "password": "four words of mine"}).status == 200
    assert Browser(stack).sign_in(person.name, "four words of mine").status == 200


def test_its_secret_is_sealed(stack, person):
    secret, codes = turn_on(person)
    text = repr(stack.query("SELECT * FROM users")) + repr(stack.query("SELECT * FROM recovery_codes"))
    assert secret not in text and codes[0] not in text and codes[0].replace("-", "") not in text
