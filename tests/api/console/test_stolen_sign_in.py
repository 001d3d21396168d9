# SPDX-License-Identifier: GPL-2.0-or-later
"""A key that a sign-in makes without the password ends with the sign-in; with the password, it stays."""

import subprocess

import pytest

from client import Api, assert_error
from console import Browser

pytestmark = pytest.mark.parallel


def make(browser, **body):
    answer = browser.post("/v1/keys", {"scopes": ["write"], **body})
    assert answer.status == 201, answer
    return answer.json()


def works(stack, key):
    status = Api(stack, key).get("/v1/teams").status
    assert status in (200, 401)
    return status == 200


def let_in(person, **body):
    """A program that waits is let in, and gets its key."""
    program = Browser(person.browser.stack)
    begun = program.post("/v1/device/authorize", {"client_name": "a laptop"}).json()
    assert person.browser.post(f"/v1/devices/{begun['user_code']}", {"approve": True, **body}).status == 204
    return program.post("/v1/device/token", {"device_code": begun["device_code"]})


def test_a_key_ends_with_the_sign_in_that_made_it(stack, person):
    bound, own = make(person.browser), make(person.browser, password=person.password)
    assert (bound["ends_with_session"], own["ends_with_session"]) == (True, False)
    # A key that such a key makes ends with it too.
    child = Api(stack, bound["key"]).post("/v1/keys", {"scopes": ["read"]}).json()
    assert child["ends_with_session"] is True
    assert all(works(stack, one["key"]) for one in (bound, own, child))
    assert person.browser.post("/v1/logout").status == 204
    assert [works(stack, one["key"]) for one in (bound, child, own)] == [False, False, True]


def test_a_new_password_ends_keys_of_other_sign_ins(stack, person):
    thief = Browser(stack)
    assert thief.sign_in(person.name, person.password).status == 200
    stolen, mine = make(thief), make(person.browser)
    changed = person.browser.request("PUT", "/v1/me/password", {"old": person.password, "new": "another long password 9"})
    assert changed.status == 204, changed
    assert (works(stack, stolen["key"]), works(stack, mine["key"])) == (False, True)


def test_a_program_that_was_let_in_ends_too(stack, person):
    bound = let_in(person).json()["access_token"]
    own = let_in(person, password=person.password).json()["access_token"]
    assert works(stack, bound) and works(stack, own)
    assert person.browser.post("/v1/logout").status == 204
    assert (works(stack, bound), works(stack, own)) == (False, True)


def test_an_ssh_key_ends_with_the_sign_in_that_added_it(stack, person, tmp_path):
    keys = Api(stack, make(person.browser, password=person.password)["key"])

    def add(name, **body):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
        text = (tmp_path / f"{name}.pub").read_text(encoding="ascii").strip()
        answer = person.browser.post("/v1/ssh_keys", {"public_key": text, "name": name, **body})
        assert answer.status == 201, answer

    def names():
        return {one["name"] for one in keys.get("/v1/ssh_keys").json()["ssh_keys"]}

    add("stolen")
    add("own", password=person.password)
    assert names() == {"stolen", "own"}
    assert person.browser.post("/v1/logout").status == 204
    assert names() == {"own"}


def test_a_wrong_password_makes_nothing(person, account):
    before = len(account.api.get("/v1/keys").json()["keys"])
    assert_error(person.browser.post("/v1/keys", {"scopes": ["read"], "password": "wrong"}), 401, "invalid_credentials", "/password")
    assert_error(account.api.post("/v1/keys", {"scopes": ["read"], "password": "any"}), 422, "invalid_request", "/password")
    assert len(account.api.get("/v1/keys").json()["keys"]) == before
