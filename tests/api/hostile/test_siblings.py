# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of one tenant's preview against the users of another's. All previews are of one site, so a
browser keeps neither cookies nor SameSite requests apart."""

import subprocess

import pytest
import websocket

from browser import CHROMIUM, Browser, url_of
from client import address_of, assert_error
from tenant import Sandbox

pytestmark = pytest.mark.parallel

PRIVATE = [{"port": 3000, "protocol": "http", "public": False}]
PUBLIC = [{"port": 3000, "protocol": "http", "public": True}]
COOKIE = "__Host-sandlot_access_token"


def serve(sandbox):
    domain = sandbox.stack.data_plane_host.partition(":")[0]
    program = sandbox.put_guest("sibling.py")
    sandbox.data.background("python3", program, "3000", domain)
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000/log; do sleep 0.05; done")
    return sandbox


@pytest.fixture(scope="module")
def victim(shared_sandbox_with_private_port):
    return serve(shared_sandbox_with_private_port)


@pytest.fixture(scope="module")
def shared_sandbox_with_private_port(module_account):
    sandbox = Sandbox.create(module_account.api, timeout=1800, exposed_ports=PRIVATE)
    yield sandbox
    module_account.api.destroy(sandbox.id)


@pytest.fixture
def attacker(other_account):
    return serve(Sandbox.create(other_account.api, exposed_ports=PUBLIC))


def log_of(sandbox):
    """What was asked of its application, but for what the browser asks of each site when it has time."""
    answer = sandbox.preview(3000).request("GET", "/log", headers={"X-Access-Token": sandbox.data.token})
    assert answer.status == 200, answer
    return [line for line in answer.body.decode().splitlines() if "/favicon.ico" not in line]


def ask(sandbox, method="GET", path="/x", **headers):
    lines = {name.replace("_", "-"): value for name, value in headers.items()}
    lines.setdefault("Cookie", f"{COOKIE}={sandbox.data.token}")
    return sandbox.preview(3000).request(method, path, headers=lines)


def origin_of(preview):
    return url_of(preview, "")


# --- the cookie ---


def test_the_cookie_is_of_one_host_alone(victim):
    token = victim.data.token
    redirect = victim.preview(3000).request("GET", f"/x?access_token={token}")
    assert redirect.status == 303
    name, _, rest = redirect.headers["Set-Cookie"].partition("=")
    value, *attributes = rest.split("; ")
    assert name == COOKIE
    assert value.startswith("slt_") and value != token, "a token of this port alone"
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]


def test_the_old_cookie_opens_nothing_and_stays_outside(victim):
    token = victim.data.token
    old = ask(victim, Cookie=f"sandlot_access_token={token}")
    assert_error(old, 401, "unauthorized")
    both = ask(victim, path="/both", Cookie=f"sandlot_access_token={token}; {COOKIE} = {token}; a=b")
    assert both.status == 200, both
    assert "GET /both a=b" in log_of(victim)
    assert token not in "".join(log_of(victim))


def curl(sandbox, jar, path):
    preview = sandbox.preview(3000)
    done = subprocess.run(
        ["curl", "-sS", "-L", "--cacert", str(sandbox.stack.ca_file), "--max-time", "30", "-b", jar, "-c", jar,
         "--resolve", f"{preview.host}:{preview.port}:{address_of(preview.host)}", url_of(preview, path)],
        capture_output=True, text=True, check=True)
    return done.stdout


def test_no_preview_sets_a_cookie_for_another(victim, attacker, tmp_path):
    """As a program with a cookie jar sees it."""
    jar = str(tmp_path / "jar")
    assert curl(attacker, jar, "/toss") == "tossed"
    assert "own=1" in curl(attacker, jar, "/x") or "own=1" in log_of(attacker)[-1]
    answer = curl(victim, jar, f"/jar?access_token={victim.data.token}")
    assert answer == "the application answers GET /jar"
    assert "GET /jar None" in log_of(victim), log_of(victim)
    assert curl(victim, jar, "/again") == "the application answers GET /again"


# --- requests that another page makes ---

SIBLING = {"Sec_Fetch_Site": "same-site"}
REFUSED = [
    ("POST", {**SIBLING, "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "empty"}),
    ("POST", {**SIBLING, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document", "Origin": "https://x.example"}),
    ("GET", {**SIBLING, "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"}),
    ("GET", {**SIBLING, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}),
    ("GET", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"}),
    ("POST", {"Origin": "https://x.example"}),
    ("POST", {"Origin": "null"}),
    ("POST", {"Referer": "https://x.example/page"}),
    ("DELETE", {"Origin": "https://x.example", "Accept": "text/html"}),
    ("GET", {"Referer": "https://x.example/page", "Accept": "image/*"}),
]
ALLOWED = [
    ("GET", {}),
    ("POST", {}),
    ("GET", {**SIBLING, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}),
    ("GET", {"Referer": "https://x.example/page", "Accept": "text/html,*/*;q=0.8"}),
    ("POST", {"Sec_Fetch_Site": "same-origin", "Origin": "null", "Sec_Fetch_Mode": "navigate"}),
    ("GET", {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}),
]


@pytest.mark.parametrize("method, headers", REFUSED)
def test_what_another_page_makes_is_refused(victim, method, headers):
    before = log_of(victim)
    assert ask(victim, method).status == 200, "the user's own, kept for a second"
    answer = ask(victim, method, **headers)
    assert answer.status == 403 and "another site" in answer.body.decode(), answer
    if answer.headers.get_content_type() == "application/json":
        assert_error(answer, 403, "forbidden")
    assert len(log_of(victim)) == len(before) + 1
    # With a token of its own a request needs no cookie.
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers["X-Access-Token"] = victim.data.token
    assert victim.preview(3000).request(method, "/x", headers=headers).status == 200


@pytest.mark.parametrize("method, headers", ALLOWED)
def test_own_pages_and_links_are_let_in(victim, method, headers):
    assert ask(victim, method, **headers).status == 200
    own = origin_of(victim.preview(3000))
    assert ask(victim, method, Origin=own).status == 200
    assert ask(victim, method, Referer=own + "/y").status == 200


def test_a_person_is_told(victim):
    answer = ask(victim, "POST", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document",
                 Accept="text/html")
    assert answer.status == 403
    assert "came from another site" in answer.body.decode()


def handshake(sandbox, headers, path="/socket"):
    preview = sandbox.preview(3000)
    socket = preview.tls_socket(20)
    try:
        client = websocket.create_connection(
            f"wss://{preview.host}:{preview.port}{path}", socket=socket, timeout=20, suppress_origin=True,
            header=[f"{name}: {value}" for name, value in headers.items()])
    except websocket.WebSocketBadStatusException as refused:
        return refused.status_code
    client.close()
    return 101


def test_web_sockets(victim, attacker):
    cookie = {"Cookie": f"{COOKIE}={victim.data.token}"}
    own, other = origin_of(victim.preview(3000)), origin_of(attacker.preview(3000))
    assert handshake(victim, cookie) == 101
    assert handshake(victim, {**cookie, "Origin": own}) == 101
    assert handshake(victim, {**cookie, "Origin": other}) == 403
    assert handshake(victim, {**cookie, "Origin": "null"}) == 403
    assert handshake(victim, {**cookie, "Origin": other, "Sec-Fetch-Site": "same-site",
                              "Sec-Fetch-Mode": "websocket"}) == 403
    token = {"X-Access-Token": victim.data.token, "Origin": other}
    assert handshake(victim, token) == 101
    assert handshake(victim, {**cookie, "Origin": other}, f"/socket?access_token={victim.data.token}") == 101
    assert handshake(victim, {"Origin": other}, f"/socket?access_token={victim.data.token}") == 101


# --- a real browser ---


@pytest.fixture
def browser(tmp_path, stack):
    if not CHROMIUM:
        pytest.skip("chromium is not installed")
    one = Browser(tmp_path, stack)
    yield one
    one.close()


def sign_in(browser, victim):
    browser.open(url_of(victim.preview(3000), f"/signed-in?access_token={victim.data.token}"))
    browser.wait_for("the application answers GET /signed-in")


def test_a_page_cannot_act_for_its_visitor(browser, victim, attacker):
    sign_in(browser, victim)
    before = log_of(victim)
    browser.open(url_of(attacker.preview(3000), f"/attack?{origin_of(victim.preview(3000))}"))
    browser.wait_for("done ", 40)
    assert "socket=closed" in browser.text(), browser.text()
    assert log_of(victim) == before, browser.text()
    # A link leads there all the same, and what the application's own pages do is let through.
    browser.open(url_of(attacker.preview(3000), f"/link?{url_of(victim.preview(3000), '/visited')}"))
    browser.wait_for("the application answers GET /visited")
    browser.open(url_of(victim.preview(3000), "/own"))
    browser.wait_for("done ", 40)
    assert "socket=open" in browser.text(), browser.text()
    done = "\n".join(log_of(victim)[len(before):])
    for act in ("POST /ATTACK-post", "GET /ATTACK-get", "PUT /ATTACK-put", "POST /ATTACK-form",
                "GET /ATTACK-image", "GET /socket"):
        assert act in done, (done, browser.text())


def test_a_page_cannot_lock_its_visitor_out(browser, victim, attacker):
    browser.open(url_of(attacker.preview(3000), "/toss"))
    browser.wait_for("tossed")
    sign_in(browser, victim)
    browser.open(url_of(victim.preview(3000), "/after"))
    browser.wait_for("the application answers GET /after")
    assert "GET /signed-in None" in log_of(victim) and "GET /after None" in log_of(victim), log_of(victim)
    assert "evil" not in "".join(log_of(victim))


def test_the_bystander_goes_on(bystander, victim):
    for _ in range(50):
        assert ask(victim, "POST", Sec_Fetch_Site="same-site").status == 403
    bystander.goes_on(pause=False)
