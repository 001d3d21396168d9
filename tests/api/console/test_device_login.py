# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are let in by somebody who confirms a code in the console (RFC 8628)."""

import concurrent.futures
import re
import secrets

import pytest

from client import Api, assert_error
from console import Browser, Person, some_address

pytestmark = pytest.mark.parallel

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.fixture(scope="module")
def person(stack, module_account):
    return Person(stack, module_account.user)


@pytest.fixture
def program(stack):
    """One that asks, from an address of its own: the console's host serves the API too."""
    return Browser(stack)


def begin(program, name="laptop"):
    answer = program.post("/v1/device/authorize", {"client_name": name})
    assert answer.status == 200, answer
    return answer.json()


def ask(program, begun):
    return program.post("/v1/device/token", {"grant_type": GRANT_TYPE, "device_code": begun["device_code"]})


def settle(stack, begun):
    """As if the interval were over."""
    stack.query("UPDATE device_logins SET poll_at_ms = 0 WHERE id = %s", begun["device_code"][:30])


def test_a_program_is_let_in(stack, program, person, module_account):
    begun = begin(program)
    assert re.fullmatch("[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", begun["user_code"])
    assert begun["verification_uri"] == f"{stack.console_url}/device"
    assert begun["verification_uri_complete"].endswith(f"/device?code={begun['user_code']}")
    assert_error(ask(program, begun), 400, "authorization_pending")
    assert_error(ask(program, begun), 400, "slow_down")
    shown = person.browser.get(f"/v1/devices/{begun['user_code']}").json()
    assert shown["client_name"] == "laptop" and shown["address"] == program.address
    assert person.browser.post(f"/v1/devices/{begun['user_code'].lower()}", {"approve": True}).status == 204
    given = ask(program, begun)
    assert given.status == 200, given
    key = given.json()
    assert key["token_type"] == "Bearer" and key["key"]["name"] == "sandlot on laptop" and key["key"]["expires_at"]
    me = Api(stack, key["access_token"]).get("/v1/me").json()
    assert me["user"]["name"] == module_account.user
    (entry,) = module_account.api.get(f"/v1/audit?resource={key['key']['id']}").json()["items"]
    assert (entry["action"], entry["actor"]["user"]) == ("key.create", module_account.user)
    # Once, and the code is of no use any more.
    assert_error(ask(program, begun), 400, "expired_token")
    assert_error(person.browser.get(f"/v1/devices/{begun['user_code']}"), 404, "not_found")


def test_a_program_is_refused(program, person):
    begun = begin(program)
    assert person.browser.post(f"/v1/devices/{begun['user_code']}", {"approve": False}).status == 204
    assert_error(ask(program, begun), 400, "access_denied")
    assert_error(person.browser.post(f"/v1/devices/{begun['user_code']}", {"approve": True}), 404, "not_found")


def test_a_key_is_given_once(stack, program, person):
    begun = begin(program)
    person.browser.post(f"/v1/devices/{begun['user_code']}", {"approve": True})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(program, begun).status, range(8)))
    assert sorted(answers) == [200] + [400] * 7


def test_it_comes_to_nothing_in_time(stack, program, person):
    begun = begin(program)
    stack.query("UPDATE device_logins SET expires_at_ms = 1 WHERE id = %s", begun["device_code"][:30])
    assert_error(person.browser.post(f"/v1/devices/{begun['user_code']}", {"approve": True}), 404, "not_found")
    assert_error(ask(program, begun), 400, "expired_token")


def test_a_confirmation_ends_with_the_credentials_it_was_made_with(stack, program, other_account):
    owner = Person(stack, other_account.user)
    begun = begin(program)
    assert owner.browser.post(f"/v1/devices/{begun['user_code']}", {"approve": True}).status == 204
    stack.ctl("user", "reset", owner.name)
    assert_error(ask(program, begun), 400, "expired_token")


def test_only_people_confirm(stack, program, person, module_account):
    begun = begin(program)
    path = f"/v1/devices/{begun['user_code']}"
    api = module_account.api
    assert_error(api.get(path), 403, "insufficient_scope")
    assert_error(api.post(path, {"approve": True}), 403, "insufficient_scope")
    assert_error(program.post(path, {"approve": True}), 401, "unauthorized")
    # A page of another site cannot, with the cookie of who is signed in.
    for headers in ({"Sandlot-Console": None}, {"Origin": "https://evil.example.com"}, {"Sec-Fetch-Site": "cross-site"}):
        assert_error(person.browser.post(path, {"approve": True}, headers=headers), 401, "unauthorized")
    assert_error(ask(program, begun), 400, "authorization_pending")


def test_wrong_secrets_learn_nothing(program, person):
    begun = begin(program)
    person.browser.post(f"/v1/devices/{begun['user_code']}", {"approve": True})
    other = begun["device_code"][:31] + secrets.token_urlsafe(32)
    for code in (other, "dvc_x", begun["user_code"], "x" * 256):
        assert_error(program.post("/v1/device/token", {"device_code": code}), 400, "expired_token")
    assert ask(program, begun).status == 200


@pytest.mark.parametrize("body, field", [
    ({}, "/client_name"), ({"client_name": ""}, "/client_name"), ({"client_name": "x" * 41}, "/client_name"),
    ({"client_name": "a\u202eb"}, "/client_name"), ({"client_name": "a\nb"}, "/client_name"),
    ({"client_name": "a", "scope": "all"}, "/scope"),
])
def test_names_that_cannot_be_shown(program, body, field):
    refused = program.post("/v1/device/authorize", body)
    assert_error(refused, 422, "invalid_request")
    assert refused.json()["field"] == field


def fill(stack, subject, burst, interval_ms, free):
    stack.query("REPLACE INTO login_attempts (subject, due_at_ms) VALUES (%s, UNIX_TIMESTAMP() * 1000 + %s)",
                subject, (burst - free) * interval_ms)


def test_codes_are_not_guessed(stack, program, other_account):
    guesser = Person(stack, other_account.user)
    begun = begin(program)
    fill(stack, f"confirm {guesser.name}", 10, 30000, 2)
    # What is right costs nothing.
    for _ in range(4):
        assert guesser.browser.get(f"/v1/devices/{begun['user_code']}").status == 200
    for code in ("BCDF-GHJK", "none"):
        assert_error(guesser.browser.get(f"/v1/devices/{code}"), 404, "not_found")
    refused = guesser.browser.get(f"/v1/devices/{begun['user_code']}")
    assert_error(refused, 429, "rate_limited")
    assert int(refused.headers["Retry-After"]) >= 1


def test_an_address_begins_few(stack):
    program = Browser(stack, some_address())
    fill(stack, f"device {program.address}", 20, 15000, 2)
    begin(program)
    begin(program)
    assert_error(program.post("/v1/device/authorize", {"client_name": "x"}), 429, "rate_limited")
    begin(Browser(stack))
