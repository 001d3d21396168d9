# SPDX-License-Identifier: GPL-2.0-or-later
"""Sign-in by a header that a proxy in front sets: off unless configured, and from its addresses alone."""

import pytest

from client import assert_error
from console import Browser
from edge import process_settings

PROXY = "127.251.0.7"


@pytest.fixture(scope="module")
def proxied(stack):
    with process_settings(stack, "sandlot-api", login_header="X-Remote-User", login_header_from="127.251.0.0/24, 2001:db8::/64"):
        yield


def named(browser, name, **headers):
    return browser.request("POST", "/v1/login/header", headers={"X-Remote-User": name, **headers})


def test_it_is_off_unless_configured(stack, account):
    assert_error(named(Browser(stack, PROXY), account.user), 401, "invalid_credentials")


def test_whom_the_proxy_names_is_signed_in(stack, account, proxied):
    browser = Browser(stack, PROXY)
    assert browser.get("/v1/login").json()["header"] is False
    assert browser.get("/v1/login", headers={"X-Remote-User": account.user}).json()["header"] is True
    assert named(browser, account.user).status == 200
    me = browser.get("/v1/me").json()
    assert (me["user"]["name"], me["session"]["method"], me["password"]) == (account.user, "header", False)
    refused = browser.post("/v1/me/passkeys/begin", {"password": "a password"})
    assert_error(refused, 401, "invalid_credentials", "/password")
    assert refused.json()["message"].startswith("You have no password"), refused.body
    assert_error(browser.post("/v1/me/totp"), 422, "invalid_request")


def test_others_cannot_say_so(stack, account, proxied):
    for browser in (Browser(stack, "127.251.1.7"), Browser(stack)):
        assert browser.get("/v1/login", headers={"X-Remote-User": account.user}).json()["header"] is False
        assert_error(named(browser, account.user), 401, "invalid_credentials")
    forwarded = {"X-Forwarded-For": PROXY, "X-Real-IP": PROXY, "Forwarded": f"for={PROXY}"}
    assert_error(named(Browser(stack), account.user, **forwarded), 401, "invalid_credentials")
    # A header alone is no sign-in, and counts for no other path.
    assert_error(Browser(stack, PROXY).get("/v1/me", headers={"X-Remote-User": account.user}), 401, "unauthorized")


def test_who_is_not_let_in(stack, account, proxied):
    browser = Browser(stack, PROXY)
    for name in ("nobody-of-this-name", account.user + "@example.com", "Nobody", ""):
        assert_error(named(browser, name), 401, "invalid_credentials")
    for change in ({"Sandlot-Console": "0"}, {"Origin": "https://evil.example"}):
        assert_error(named(browser, account.user, **change), 401, "unauthorized")
    stack.ctl("user", "disable", account.user)
    try:
        assert_error(named(browser, account.user), 401, "invalid_credentials")
    finally:
        stack.ctl("user", "enable", account.user)
    assert browser.cookie is None
