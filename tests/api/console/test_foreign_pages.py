# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of another origin cannot use the cookie of one who has signed in, nor sign somebody in."""

import json

import pytest

from client import Origin, assert_error
from console import COOKIE, Browser, Person

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def person(stack, module_account):
    return Person(stack, module_account.user)


@pytest.mark.parametrize("change", [
    {"Sandlot-Console": None},
    {"Sandlot-Console": "0"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sandlot-Console": None, "Origin": None, "Sec-Fetch-Site": None},
], ids=str)
def test_what_a_page_of_another_origin_sends_does_not_count(stack, person, change):
    for method, path, body in (("GET", "/v1/me", None), ("POST", "/v1/volumes", {"name": "x"}),
                               ("POST", "/v1/logout", None), ("DELETE", "/v1/keys/key_01kamqg0v5r8e1m4c2y7z9t3wn", None)):
        assert_error(person.browser.request(method, path, body, headers=change), 401, "unauthorized")
    login = {"name": person.name, "password": person.password}
    assert_error(Browser(stack).post("/v1/login", login, headers=change), 401, "unauthorized")
    assert person.browser.get("/v1/me").status == 200
    assert person.browser.get("/v1/volumes").json()["volumes"] == []


def test_a_preview_is_another_origin(stack, person):
    """It is below the same domain, so that browsers call it the same site."""
    origin = f"https://p3000-{'a' * 26}.{stack.data_plane_host}"
    assert_error(person.browser.get("/v1/me", headers={"Origin": origin}), 401, "unauthorized")


def test_a_form_cannot_send_it(person):
    """What a browser sends of itself: the cookie, and a body of a form's type."""
    headers = {"Cookie": f"{COOKIE}={person.browser.cookie}", "Content-Type": "text/plain"}
    assert_error(person.browser.raw("POST", "/v1/volumes", json.dumps({"name": "x"}), headers), 401, "unauthorized")


def test_no_preflight_is_answered(person):
    """A foreign page that would send the header has to ask first."""
    response = person.browser.raw("OPTIONS", "/v1/volumes", None, {
        "Origin": "https://evil.example", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "sandlot-console"})
    assert response.status >= 400
    assert not [name for name in response.headers if name.lower().startswith("access-control-")]


def test_the_cookie_counts_at_the_consoles_host_alone(stack, person):
    headers = person.browser.headers()
    for host in (stack.base_url, f"https://p3000-{'a' * 26}.{stack.data_plane_host}"):
        assert Origin(stack.ca_file, host).request("GET", "/v1/me", headers=headers).status in (401, 404)
    # Nor does a header of the client's stand in for what nginx says.
    forged = headers | {"Sandlot-Console-Host": "1", "SANDLOT_CONSOLE": "1"}
    assert Origin(stack.ca_file, stack.base_url).request("GET", "/sandboxes", headers=forged).status == 401


def test_a_key_needs_none_of_this(module_account, person):
    headers = {"Authorization": f"Bearer {module_account.api.key}"}
    assert person.browser.raw("GET", "/v1/me", None, headers).json()["key"] is not None
    # And goes before a cookie.
    both = person.browser.headers() | headers
    assert person.browser.raw("GET", "/v1/me", None, both).json()["session"] is None


def test_only_the_consoles_own_page_lets_the_browser_download(person):
    volume = person.browser.post("/v1/volumes", {"name": "saved"}).json()
    path = f"/v1/volumes/{volume['id']}/files"
    assert person.browser.request("PUT", path, {"path": "/a.html", "content_b64": "PGI+"}).status == 201
    sent = {"Sandlot-Console": None, "Origin": None}
    saved = person.browser.get(f"{path}?path=/a.html&download=1", headers=sent)
    assert (saved.status, saved.body) == (200, b"<b>"), saved.body
    assert saved.headers["Content-Type"] == "application/octet-stream"
    assert saved.headers["Content-Disposition"] == "attachment" and saved.headers["X-Content-Type-Options"] == "nosniff"
    for site in ("cross-site", "same-site", "none", None):
        refused = person.browser.get(f"{path}?path=/a.html&download=1", headers={**sent, "Sec-Fetch-Site": site})
        assert_error(refused, 401, "unauthorized")
    assert_error(person.browser.get(f"{path}?path=/a.html", headers=sent), 401, "unauthorized")
    assert_error(person.browser.request("DELETE", f"/v1/volumes/{volume['id']}?download=1", headers=sent), 401, "unauthorized")
    assert person.browser.request("DELETE", f"/v1/volumes/{volume['id']}").status == 204


def test_an_answer_is_no_page(person):
    """Files of volumes come from the console's origin too: a browser runs nothing of them."""
    answer = person.browser.get("/v1/me")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"
    assert answer.headers["Cache-Control"] == "no-store"
