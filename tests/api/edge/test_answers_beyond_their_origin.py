# SPDX-License-Identifier: GPL-2.0-or-later
"""Effects of a preview's answer beyond its own origin: the table of doc/explanation/security-model.md, header by header."""

import base64
import re

import pytest

from client import Origin, assert_error
from false_agent import replace_agent
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel

LOOPBACK, ANY = 3000, 3001

# As doc/explanation/security-model.md says: header, value as it is sent, value as it arrives (None: it does not).
DROPPED = [
    ("Clear-Site-Data", '"cookies", "storage"'),
    ("Alt-Svc", 'h3="elsewhere.example:443"; ma=86400; persist=1'),
    ("NEL", '{"report_to":"all","max_age":86400,"include_subdomains":true,"success_fraction":1}'),
    ("Report-To", '{"group":"all","max_age":86400,"endpoints":[{"url":"https://elsewhere.example/"}]}'),
    ("Public-Key-Pins", 'pin-sha256="AAAA"; max-age=86400; includeSubDomains'),
    ("Public-Key-Pins-Report-Only", 'pin-sha256="AAAA"; max-age=86400'),
    ("Expect-CT", 'max-age=86400, report-uri="https://elsewhere.example/"'),
    ("Sec-Session-Registration", '(ES256);path="/register"'),
    ("Secure-Session-Registration", '(ES256);path="/register"'),
    ("Proxy-Authenticate", 'Basic realm="the network"'),
    ("Proxy-Authentication-Info", "nextnonce=1"),
    ("X-Accel-Redirect", "/_sandlot/error/500"),
    ("X-Accel-Buffering", "yes"),
    ("X-Accel-Limit-Rate", "1"),
    ("X-Accel-Charset", "utf-7"),
    ("X-Accel-Expires", "3600"),
]
KEPT = [
    ("Access-Control-Allow-Origin", "*"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Link", "</app.css>; rel=preload; as=style"),
    ("Location", "https://elsewhere.example/"),
    ("Refresh", "5; url=https://elsewhere.example/"),
    ("Reporting-Endpoints", 'own="https://elsewhere.example/"'),
    ("Service-Worker-Allowed", "/"),
    ("Strict-Transport-Security", "max-age=60; includeSubDomains"),
    ("WWW-Authenticate", 'Basic realm="the application"'),
]


@pytest.fixture(scope="module")
def served(shared_sandbox):
    program = shared_sandbox.put_guest("raw_server.py")
    for address, port in (("127.0.0.1", LOOPBACK), ("0.0.0.0", ANY)):
        shared_sandbox.data.background("python3", program, address, str(port))
        wait_until(lambda: shared_sandbox.preview(port).request("GET", "/").status == 200, 30, "the server")
    return shared_sandbox


@pytest.fixture(params=[LOOPBACK, ANY], ids=["loopback", "all addresses"])
def preview(served, request):
    return served.preview(request.param)


def answer(preview, *lines, status="200 OK"):
    head = "\r\n".join((f"HTTP/1.1 {status}", *lines, "Content-Length: 2", "Connection: close", "", ""))
    sent = base64.b64encode(head.encode() + b"ok").decode()
    return preview.request("GET", "/", headers={"X-Answer": sent})


def test_headers_that_reach_further_are_dropped(preview):
    seen = answer(preview, *(f"{name}: {value}" for name, value in DROPPED))
    assert seen.status == 200 and seen.body == b"ok", seen
    assert [name for name, _ in DROPPED if name in seen.headers] == []


def test_what_is_of_the_origin_alone_is_kept(preview):
    seen = answer(preview, *(f"{name}: {value}" for name, value in KEPT))
    assert {name: seen.headers[name] for name, _ in KEPT} == dict(KEPT)


def test_no_page_shares_its_window_with_another_preview(preview):
    for lines in ((), ("Origin-Agent-Cluster: ?0",)):
        assert answer(preview, *lines).headers.get_all("Origin-Agent-Cluster") == ["?1"]


def test_cookies_are_for_their_host(preview):
    host = preview.host
    parent = host.partition(".")[2]
    cookies = [f"a=1; Domain={parent}", f"b=2; domain=.{parent}; Path=/", f"c=3; DOMAIN = {parent}",
               f"d=4; Domain={parent}; Domain={parent}", f"e=5;Secure;Domain=  {parent}  ;HttpOnly",
               "f=6; Path=/x; SameSite=Strict", "__Host-g=7; Secure; Path=/"]
    seen = answer(preview, *(f"Set-Cookie: {cookie}" for cookie in cookies)).headers.get_all("Set-Cookie")
    assert len(seen) == len(cookies)
    for cookie in seen:
        assert not re.search(r"domain\s*=\s*[^\s;]", cookie, re.IGNORECASE), cookie
    assert seen[5:] == cookies[5:]


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified", "401 Unauthorized", "407 Proxy Authentication Required",
                                    "421 Misdirected Request", "425 Too Early", "451 No", "500 Wrong", "599 Unknown"])
def test_statuses_are_the_applications_own(preview, status):
    assert answer(preview, status=status).status == int(status[:3])


HINTS = "HTTP/1.1 103 Early Hints\r\nLink: </app.css>; rel=preload\r\n\r\n"
ANSWERS_THAT_ARE_NONE = ["220 mail.example ESMTP\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "<p>no head</p>", "HTTP/1.1 OK\r\n\r\n",
                         HINTS, ""]


def raw(origin, text, *lines, path="/"):
    """The bytes of an answer over HTTP/1.1, to the end of its connection."""
    sent = base64.b64encode(text.encode()).decode()
    head = (f"GET {path} HTTP/1.1", f"Host: {origin.host}", f"X-Answer: {sent}", *(lines or ["Connection: close"]), "", "")
    with origin.tls_socket() as sock:
        sock.sendall("\r\n".join(head).encode())
        return b"".join(iter(lambda: sock.recv(65536), b""))


@pytest.mark.parametrize("interim", [HINTS, "HTTP/1.1 100 Continue\r\n\r\n" + HINTS, "HTTP/1.1 102 Processing\r\n\r\n"])
def test_only_the_last_answer_arrives(preview, interim):
    seen = raw(preview, interim + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    assert seen.startswith(b"HTTP/1.1 200 OK\r\n") and seen.count(b"HTTP/1.1") == 1 and seen.endswith(b"\r\n\r\nok")


@pytest.mark.parametrize("text", ANSWERS_THAT_ARE_NONE, ids=repr)
def test_an_answer_that_is_no_http_is_refused_in_words(preview, text):
    sent = base64.b64encode(text.encode()).decode()
    refused = preview.request("GET", "/", headers={"X-Answer": sent})
    assert_error(refused, 502, "no_answer")
    assert "not HTTP" in refused.json()["message"]
    page = preview.request("GET", "/", headers={"X-Answer": sent, "Accept": "text/html"})
    assert page.status == 502 and b"No answer in HTTP" in page.body


def test_a_server_on_all_addresses_gets_no_request_from_loopback(served):
    """The server would take such requests for local ones."""
    program = "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n def do_GET(self):\n" \
              "  self.send_response(200); self.end_headers(); self.wfile.write(self.client_address[0].encode())\n" \
              "h.HTTPServer(('0.0.0.0', 3002), H).serve_forever()"
    served.api.request("PUT", f"{served.path}/ports/3002", {"public": True})
    served.data.background("python3", "-c", program)
    preview = served.preview(3002)
    wait_until(lambda: preview.request("GET", "/").status == 200, 30, "the server")
    assert preview.request("GET", "/").body == served.data.check("hostname -I").split()[0].encode()


def test_a_data_plane_sets_no_cookie(stack, served):
    """Whoever is root in a sandbox can answer in the place of its agent."""
    origin = Origin(stack.ca_file, served.document["data_plane_url"])
    seen = origin.request("GET", "/files?path=/etc/hostname", headers={"X-Access-Token": served.data.token})
    assert seen.status == 200 and "Set-Cookie" not in seen.headers


# --- root in the place of the agent, whose relay the honest servers above stand behind ---

UPGRADE = ("Connection: upgrade", "Upgrade: websocket")
OTHER = 'HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Domain=other\r\nClear-Site-Data: "*"\r\nContent-Length: 2\r\n\r\nok'
HIDING = [f"HTTP/1.1 {status} No\r\nContent-Length: {len(OTHER)}\r\n\r\n{OTHER}" for status in ("000", "099", "100", "102", "103", "199")]
UNASKED = f"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: {len(OTHER)}\r\n\r\n{OTHER}"
NO_HTTP = [blank + OTHER for blank in ("\r\n", "\n", " ", "\t", "X\r\n")]


@pytest.fixture(scope="module")
def told(module_account):
    ports = [{"port": 3000, "public": True}]
    return replace_agent(Sandbox.create(module_account.api, timeout=1800, exposed_ports=ports), "told")


@pytest.fixture(params=["preview", "data plane"])
def root(told, request):
    """Sends a request to the root of a sandbox, with the answer that it wants."""
    if request.param == "preview":
        return lambda text, *lines: raw(told.preview(3000), text, *lines)
    return lambda text, *lines: raw(told.data.origin, text, f"X-Access-Token: {told.data.token}", *(lines or ["Connection: close"]),
                                    path="/files?path=/etc/hostname")


def test_root_answers(root):
    assert root("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").endswith(b"\r\n\r\nok")


@pytest.mark.parametrize("lines", [(), UPGRADE], ids=["", "upgrade"])
@pytest.mark.parametrize("text", [*HIDING, *NO_HTTP], ids=lambda text: repr(text[:12]))
def test_no_answer_hides_in_another(root, text, lines):
    """A browser would take the body, or bytes that are no HTTP to nginx, for an answer with all its headers."""
    seen = root(text, *lines)
    assert b"Set-Cookie" not in seen and b"Clear-Site-Data" not in seen, seen


def test_nothing_is_switched_to_unasked(root):
    seen = root(UNASKED)
    assert b"Set-Cookie" not in seen and b"Clear-Site-Data" not in seen, seen


def test_a_data_plane_switches_to_nothing(told):
    seen = raw(told.data.origin, UNASKED, f"X-Access-Token: {told.data.token}", *UPGRADE, path="/files?path=/etc/hostname")
    assert not seen.startswith(b"HTTP/1.1 101") and b"Set-Cookie" not in seen, seen
