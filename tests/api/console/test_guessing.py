# SPDX-License-Identifier: GPL-2.0-or-later
"""Guessing is slowed by account and by address, and takes neither memory nor workers from others."""

import concurrent.futures

import pytest

from client import assert_error
from console import Browser, Person, code_of, some_address


@pytest.fixture(scope="module")
def person(stack, module_account):
    return Person(stack, module_account.user)


def guess_until_slowed(browser, name, most):
    for count in range(most + 1):
        answer = browser.sign_in(name, f"guess number {count}")
        if answer.status == 429:
            return count, answer
        assert_error(answer, 401, "invalid_credentials")
    raise AssertionError(f"{most} guesses and no end")


def fill(stack, subject, free):
    """As if so many were left of what the subject may have at once."""
    burst, interval_ms = {"address": (50, 5000), "both": (10, 30000), "account": (100, 5000), "code": (10, 60000)}[
        subject.split()[0]]
    stack.query("REPLACE INTO login_attempts (subject, due_at_ms) VALUES (%s, UNIX_TIMESTAMP() * 1000 + %s)",
                subject, (burst - free) * interval_ms)


def test_an_address_has_few_guesses_at_an_account(stack, person):
    browser = Browser(stack)
    fill(stack, f"both {person.name} {browser.address}", 3)
    count, refused = guess_until_slowed(browser, person.name, 5)
    assert count == 3
    assert_error(refused, 429, "rate_limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 30
    # The right password does not help the guesser now; its owner is elsewhere and comes in.
    assert browser.sign_in(person.name, person.password).status == 429
    assert Browser(stack).sign_in(person.name, person.password).status == 200
    # Nor is another account closed to the address.
    assert browser.sign_in("somebody-else", "guess").status == 401


def test_many_addresses_share_the_guesses_at_an_account(stack, person):
    fill(stack, f"account {person.name}", 3)
    for _ in range(3):
        assert Browser(stack).sign_in(person.name, "guess").status == 401
    # Then each network has one an hour, and the account gets one back every five seconds: a guesser is soon refused, the user
    # with the password comes in.
    count, refused = guess_until_slowed(Browser(stack), person.name, 8)
    assert count >= 1
    assert_error(refused, 429, "rate_limited")
    fill(stack, f"account {person.name}", 0)
    assert Browser(stack).sign_in(person.name, person.password).status == 200
    fill(stack, f"account {person.name}", 100)


def test_an_address_has_few_guesses_at_all_accounts(stack):
    address = some_address()
    fill(stack, f"address {address}", 3)
    for name in ("one", "two"):
        assert Browser(stack, address).sign_in(name, "guess").status == 401
    token = "inv_" + "0" * 26 + "_" + "A" * 43
    body = {"token": token, "password": "four words of mine"}
    assert Browser(stack, address).post("/v1/invites/accept", body).status == 401
    assert Browser(stack, address).post("/v1/invites/accept", body).status == 429
    assert Browser(stack, address).sign_in("three", "guess").status == 429
    assert Browser(stack).sign_in("three", "guess").status == 401


def test_who_is_right_is_not_counted(stack, person):
    address = some_address()
    fill(stack, f"both {person.name} {address}", 1)
    for _ in range(3):
        assert Browser(stack, address).sign_in(person.name, person.password).status == 200


@pytest.mark.parametrize("subject", ["address", "both"])
def test_a_clock_that_was_set_back_locks_nobody_out(stack, person, subject):
    """The stored time is a month ahead: one attempt is left, and the next one waits as if all were used up."""
    address = some_address()
    day_s = 86400
    fill(stack, f"both {person.name} {address}" if subject == "both" else f"address {address}", 5 - day_s)
    assert Browser(stack, address).sign_in(person.name, "guess").status == 401
    refused = Browser(stack, address).sign_in(person.name, "guess")
    assert_error(refused, 429, "rate_limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 30


def test_guesses_at_the_same_time_are_all_counted(stack, person):
    address = some_address()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: Browser(stack, address).sign_in(person.name, f"guess {n}").status, range(16)))
    assert answers.count(401) == 10 and answers.count(429) == 6, answers


def test_codes_are_few_from_anywhere(stack, account):
    person = Person(stack, account.user)
    secret = person.browser.post("/v1/me/totp").json()["secret"]
    assert person.browser.post("/v1/me/totp/confirm", {"code": code_of(secret)}).status == 200
    fill(stack, f"code {person.name}", 2)
    for _ in range(2):
        assert Browser(stack).sign_in(person.name, person.password, "000000").status == 401
    assert_error(Browser(stack).sign_in(person.name, person.password, code_of(secret, 1)), 429, "rate_limited")


def test_a_second_factor_takes_one_attempt_of_the_network(stack, account):
    """The account has no attempts left, and guessers elsewhere take each one that it gets back."""
    person = Person(stack, account.user)
    secret = person.browser.post("/v1/me/totp").json()["secret"]
    assert person.browser.post("/v1/me/totp/confirm", {"code": code_of(secret)}).status == 200
    browser = Browser(stack)
    fill(stack, f"account {person.name}", 0)
    assert_error(browser.sign_in(person.name, person.password), 401, "second_factor_required", "/code")
    fill(stack, f"account {person.name}", 0)
    assert browser.sign_in(person.name, person.password, code_of(secret, 1)).status == 200


def test_others_are_served_meanwhile(stack, account):
    """While as many passwords as may be are looked at, calls with a key find workers."""
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        guesses = [pool.submit(Browser(stack).sign_in, f"nobody-{n}", "guess") for n in range(12)]
        for _ in range(20):
            assert account.api.get("/v1/me").status == 200
        assert {guess.result().status for guess in guesses} <= {401, 429}
