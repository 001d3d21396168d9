# SPDX-License-Identifier: GPL-2.0-or-later
"""The console's host as a browser at it: a cookie, the header of its pages, and their origin."""

import base64
import hashlib
import hmac
import http.cookies
import json
import secrets
import struct
import time

import contract
from client import Origin, Response

COOKIE = "__Host-sandlot_session"


def some_address():
    """Of a browser that nobody else is."""
    return f"127.{1 + secrets.randbelow(250)}.{secrets.randbelow(250)}.{1 + secrets.randbelow(250)}"


class Browser:
    def __init__(self, stack, address=None):
        self.stack = stack
        self.origin = Origin(stack.ca_file, stack.console_url)
        self.address = address or some_address()
        self.cookie = None
        self.set_cookie = None
        self.others = {"theme": "dark"}

    def raw(self, method, path, body=None, headers=None):
        """Nothing beside these headers."""
        connection = self.origin.connect(60, self.address)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return Response(response, response.read())
        finally:
            connection.close()

    def headers(self):
        sent = {"Sandlot-Console": "1", "Origin": self.stack.console_url, "Sec-Fetch-Site": "same-origin",
                "User-Agent": "Mozilla/5.0 (a test)"}
        cookies = self.others | ({COOKIE: self.cookie} if self.cookie else {})
        return sent | {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}

    def request(self, method, path, body=None, headers=None):
        sent = self.headers()
        if body is not None:
            body = json.dumps(body)
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        response = self.raw(method, path, body, {name: value for name, value in sent.items() if value is not None})
        contract.check(method, path, response)
        self._keep(response)
        return response

    def _keep(self, response):
        for given in response.headers.get_all("Set-Cookie", []):
            ((name, morsel),) = http.cookies.SimpleCookie(given).items()
            if name == COOKIE:
                self.set_cookie = given
                self.cookie = morsel.value or None
            else:
                self.others[name] = morsel.value

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.request("POST", path, body, **options)

    def delete(self, path, body=None):
        return self.request("DELETE", path, body)

    def sign_in(self, name, password, code=None):
        body = {"name": name, "password": password}
        return self.post("/v1/login", body | {"code": code} if code else body)


class Person:
    """A user who has accepted an invite, with a browser that is signed in."""

    def __init__(self, stack, name):
        self.stack = stack
        self.name = name
        self.password = secrets.token_urlsafe(12)
        self.browser = Browser(stack)
        response = self.browser.post("/v1/invites/accept", {"token": invite(stack, name), "password": self.password})
        assert response.status == 200, response
        assert response.json()["user"]["name"] == name

    def another_browser(self, code=None):
        browser = Browser(self.stack)
        response = browser.sign_in(self.name, self.password, code)
        assert response.status == 200, response
        return browser


def invite(stack, name, verb="invite"):
    link = stack.ctl("user", verb, name)["link"]
    page, _, token = link.partition("#")
    assert page == stack.console_url + "/invite", link
    return token


def code_of(secret, step=0):
    """What an authenticator application shows (RFC 6238); step: of how many times thirty seconds later."""
    mac = hmac.digest(base64.b32decode(secret), struct.pack(">Q", int(time.time()) // 30 + step), hashlib.sha1)
    at = mac[-1] & 15
    return f"{(struct.unpack('>I', mac[at:at + 4])[0] & 0x7FFFFFFF) % 10**6:06}"
