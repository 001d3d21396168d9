# SPDX-License-Identifier: GPL-2.0-or-later
"""The edge: pages for people, decisions that are kept for a second, what junk costs, reloads."""

import base64
import contextlib
import hashlib
import http.client
import os
import re
import signal
import ssl
import subprocess
import threading
import time

import pytest

import edge
from client import Origin, address_of, assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel

BROWSER = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}
POLL = {"X-Sandlot-Poll": "1", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
PORTS = [
    {"port": 3000, "protocol": "http", "public": True},
    {"port": 3001, "protocol": "http", "public": False},
]


@pytest.fixture
def exposing(make_sandbox):
    return make_sandbox(exposed_ports=PORTS)


def serve(sandbox, port=3000, address="0.0.0.0"):
    program = sandbox.put_guest("preview_server.py")
    pid = sandbox.data.background("python3", program, address, str(port))
    sandbox.data.check(f"until curl -so /dev/null 127.0.0.1:{port}; do sleep 0.05; done")
    return pid


def page(origin, path="/", **headers):
    return origin.request("GET", path, headers={**BROWSER, **headers})


def assert_page(response, status, *texts):
    assert response.status == status, response
    assert response.headers.get_content_type() == "text/html", response.headers.items()
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    text = response.body.decode()
    for one in (response.headers["X-Request-Id"], "prefers-color-scheme: dark", *texts):
        assert one in text, one
    assert_self_contained(text, response.headers["Content-Security-Policy"])
    return text


def assert_self_contained(text, policy):
    """Nothing is loaded from anywhere, and what is inline is what the policy lets run."""
    assert "default-src 'none'" in policy and "unsafe" not in policy, policy
    assert not re.search(r"(src|href)\s*=|@import|url\(", text), text
    for kind in ("style", "script"):
        for inline in re.findall(f"<{kind}>(.*?)</{kind}>", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy, (kind, policy)


# --- pages ---


def test_pages_say_what_is_the_matter(stack, exposing):
    assert_page(page(exposing.preview(3000)), 502, "Nothing listens on port 3000", "<script>")
    assert_page(page(exposing.preview(3001)), 401, "Port 3001 is private", "/connect")
    wrong = page(exposing.preview(3001), **{"X-Access-Token": "slt_wrong"})
    assert_page(wrong, 401, "access token is not valid")
    assert_page(page(exposing.preview(4000)), 404, "Port 4000 is not exposed", "/ports/4000")
    nobody = Origin(stack.ca_file, f"https://p3000-{'a' * 26}.{stack.data_plane_host}")
    text = assert_page(page(nobody), 404, "no such sandbox")
    assert "<script" not in text, "only a page that waits has a script"
    exposing.pause()
    assert_page(page(exposing.preview(3000)), 503, "is paused", f"{stack.base_url}/v1/sandboxes")


@pytest.mark.parametrize("name", ["zzz", "p3000-short", "p0-" + "a" * 26])
def test_a_mistyped_address_has_a_page_too(stack, name):
    origin = Origin(stack.ca_file, f"https://{name}.{stack.data_plane_host}")
    assert_page(page(origin), 404, "no such sandbox")
    assert_error(origin.request("GET", "/"), 404, "not_found")
    assert_error(origin.request("GET", "/", headers=POLL), 404, "not_found")
    data = Origin(stack.ca_file, f"https://{'a' * 26}.{stack.data_plane_host}")
    assert_error(page(data), 401, "unauthorized")


@pytest.mark.parametrize(
    "headers, is_page",
    [
        ({}, False),
        ({"Accept": "*/*"}, False),
        ({"Accept": "application/json"}, False),
        ({"Accept": "application/json, text/html;q=0.5"}, False),
        ({"Accept": "text/html;q=0"}, False),
        ({"Accept": "text/html, application/json;q=0.9"}, True),
        (BROWSER, True),
        ({**BROWSER, "Sec-Fetch-Dest": "iframe"}, True),
        ({**BROWSER, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, False),
        ({**BROWSER, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, False),
    ],
)
def test_programs_get_json(shared_sandbox, headers, is_page):
    response = shared_sandbox.preview(4001).request("GET", "/", headers=headers)
    if is_page:
        assert_page(response, 404)
    else:
        assert_error(response, 404, "not_found")


def test_pages_repeat_nothing_unescaped(shared_sandbox):
    preview = shared_sandbox.preview(4001)
    response = page(preview, "/<script>alert(1)</script>?a=%3Cb%3E", Referer="<img>")
    assert b"alert(1)" not in response.body and b"<img" not in response.body


def test_the_waiting_page_is_told_when_the_server_is_up(exposing):
    preview = exposing.preview(3000)
    assert preview.request("GET", "/x", headers=POLL).status == 502
    serve(exposing)
    wait_until(lambda: preview.request("GET", "/x", headers=POLL).status == 204, 3, "the server")


def test_polls_wake_nothing(make_sandbox):
    sandbox = make_sandbox(
        exposed_ports=PORTS, lifecycle={"on_timeout": "pause", "auto_resume": True}
    )
    serve(sandbox)
    sandbox.pause()
    for _ in range(5):
        answer = sandbox.preview(3000).request("GET", "/", headers=POLL)
        assert_error(answer, 503, "sandbox_not_running")
    assert sandbox.show()["state"] == "stopped"
    assert page(sandbox.preview(3000)).status == 200, "a person's visit wakes it"


# --- decisions that are kept ---


def questions(stack):
    """How often the gates have asked the database for a sandbox, by what they count of themselves."""
    address = ("127.0.0.1", int(stack.settings["metrics_port"]))
    with contextlib.closing(http.client.HTTPConnection(*address, timeout=20)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    found = re.search(r'^sandlot_statements_total\{statement="gate\.get"\} (\d+)', text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def statements_of(stack, act):
    """Statements that act() costs a gate."""
    before = questions(stack)
    act()
    return questions(stack) - before


@pytest.mark.alone
def test_a_busy_preview_asks_once_a_second(exposing, stack):
    serve(exposing)
    preview = exposing.preview(3000)

    def visit():
        for _ in range(400):
            assert preview.request("GET", "/").status == 200

    assert statements_of(stack, visit) < 150


@pytest.mark.alone
def test_what_would_fill_the_cache_is_not_kept(exposing, stack):
    """Public ports let any token in, and it is part of the key."""
    serve(exposing)
    preview = exposing.preview(3000)

    def visit(token):
        for _ in range(120):
            assert preview.request("GET", "/", headers={"E2b-Traffic-Access-Token": token}).status == 200

    asked_each_time = statements_of(stack, lambda: visit("x" * 257))
    assert asked_each_time >= 120
    assert statements_of(stack, lambda: visit("x" * 256)) < asked_each_time / 2


def test_nothing_of_a_destroyed_sandbox_survives_a_second(exposing):
    serve(exposing)
    assert exposing.preview(3000).request("GET", "/").status == 200
    assert exposing.data.download("/etc/passwd").status == 200
    exposing.api.destroy(exposing.id)
    time.sleep(1.05)
    assert_error(exposing.preview(3000).request("GET", "/"), 404, "not_found")
    assert_error(exposing.data.download("/etc/passwd"), 404, "not_found")


def test_a_withdrawn_port_is_closed_within_a_second(exposing):
    serve(exposing)
    assert exposing.preview(3000).request("GET", "/").status == 200
    body = {"protocol": "http", "public": False}
    assert exposing.api.request("PUT", f"{exposing.path}/ports/3000", body).status == 200
    time.sleep(1.05)
    assert_error(exposing.preview(3000).request("GET", "/"), 401, "unauthorized")


def test_a_pass_is_nobody_elses(exposing):
    serve(exposing, 3001)
    preview = exposing.preview(3001)
    token = {"X-Access-Token": exposing.data.token}
    for _ in range(5):
        assert preview.request("GET", "/", headers=token).status == 200
        assert_error(preview.request("GET", "/"), 401, "unauthorized")
        cookie = {"Cookie": "__Host-sandlot_access_token=x"}
        assert_error(preview.request("GET", "/", headers=cookie), 401, "unauthorized")


# --- junk ---


@pytest.mark.alone
def test_junk_hosts_cost_no_query(stack):
    names = ["zzz", "p0-" + "a" * 26, "p123456-" + "a" * 26, "p99999-" + "a" * 26, "A1" * 13, "a" * 25]

    def knock():
        for number in range(300):
            name = names[number % len(names)]
            origin = Origin(stack.ca_file, f"https://{name}.{stack.data_plane_host}")
            assert origin.request("GET", "/").status == 404

    assert statements_of(stack, knock) < 150


@pytest.mark.alone
def test_junk_tokens_cost_no_query(stack, shared_sandbox):
    good = shared_sandbox.data.token
    tokens = ["junk", "slt_" + "A" * 80, good[:-2] + ("BA" if good.endswith("AA") else "AA"), "x" * 3000, good + "A", good[::-1]]

    def knock():
        for number in range(300):
            headers = {"X-Access-Token": tokens[number % len(tokens)]}
            answer = shared_sandbox.data.origin.request("GET", "/files?path=/x", headers=headers)
            assert answer.status == 401

    assert statements_of(stack, knock) < 150


@pytest.mark.alone
def test_an_unknown_route_costs_one_query(stack):
    def knock():
        for number in range(300):
            route = "".join("abcdefghij"[int(d)] for d in f"{number:026d}")
            origin = Origin(stack.ca_file, f"https://p3000-{route}.{stack.data_plane_host}")
            assert origin.request("GET", "/").status == 404

    assert 150 < statements_of(stack, knock) < 450


def test_header_floods_are_refused(shared_sandbox):
    preview = shared_sandbox.preview(3009)
    many = {f"X-Flood-{number}": "y" * 60 for number in range(2000)}
    try:
        status = preview.request("GET", "/", headers=many).status
    except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
        status = 431
    assert status == 431
    large = preview.request("GET", "/", headers={"X-Large": "y" * 40000})
    assert_error(large, 431, "invalid_request")


def test_slow_clients_hold_nobody_up(exposing):
    """A hundred that never end their header, and one that does."""
    serve(exposing)
    preview = exposing.preview(3000)
    slow = [preview.tls_socket() for _ in range(100)]
    try:
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: " + preview.host.encode() + b"\r\nX-Slow: ")
        assert preview.request("GET", "/").status == 200
        for one in slow:  # none has been cut off
            one.sendall(b"1\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"
    finally:
        for one in slow:
            one.close()


@pytest.mark.alone
def test_who_guesses_is_not_looked_at_for_a_while(stack, exposing):
    serve(exposing)
    host = exposing.data.origin
    with edge.process_settings(stack, "sandlot-gate", gate_refusal_rate=2):
        wait_until(lambda: exposing.preview(3000).request("GET", "/").status == 200, 5, "the gate")

        def guess():
            headers = {"X-Access-Token": "slt_guess"}
            return [host.request("GET", "/files?path=/x", headers=headers) for _ in range(300)]

        answers = []
        started = time.monotonic()
        cost = statements_of(stack, lambda: answers.extend(guess()))
        taken_s = time.monotonic() - started
        assert_error(answers[0], 401, "unauthorized")
        refused = [answer for answer in answers if answer.status == 429]
        assert_error(refused[-1], 429, "rate_limited")
        assert int(refused[-1].headers["Retry-After"]) >= 1
        # Each worker counts by itself: twice the rate at once, and then the rate.
        looked_at = len(answers) - len(refused)
        workers = len(stack.processes("sandlot-gate"))
        assert looked_at <= workers * (2 * 2 + 2 * taken_s + 1), (looked_at, taken_s)
        assert cost <= 3 * looked_at + 100, (cost, looked_at)
        seen = page(exposing.preview(4000))
        if seen.status != 404:  # from a worker that has not refused enough yet
            assert_page(seen, 429, "Too many requests")
        # Who holds a token is let in all the while, and what is guessed with it counts for its sandbox.
        token = {"X-Access-Token": exposing.data.token}
        for _ in range(20):
            host.request("GET", "/files?path=/x", headers={"X-Access-Token": "slt_guess"})
            assert host.request("GET", "/files?path=/etc/passwd", headers=token).status == 200
            assert exposing.preview(3000).request("GET", "/", headers=token).status == 200
            assert exposing.preview(3001).request("GET", f"/?access_token={exposing.data.token}").status == 303
        answers = [exposing.preview(4000).request("GET", "/", headers=token).status for _ in range(100)]
        assert set(answers) == {404, 429} and answers[-1] == 429, answers
        wait_until(lambda: exposing.preview(3000).request("GET", "/").status == 200, 20,
                   "being let in again")
    wait_until(lambda: exposing.preview(3000).request("GET", "/").status == 200, 5, "the gate")


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.parametrize("setting", ["handshake_timeout_s", "header_timeout_s"])
def test_a_slow_header_is_cut_off(stack, shared_sandbox, setting):
    """Bytes that go on coming do not help, in the first request of a connection and in the next one."""
    with edge.settings(stack, **{setting: 1}):
        connection = edge.RawConnection(shared_sandbox.preview(3009), timeout_s=5)
        if setting == "header_timeout_s":
            connection.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.answer().status
        connection.socket.settimeout(0.2)
        connection.send(b"GET / HTTP/1.1\r\nHost: x\r\n")

        def is_cut_off():
            connection.send(b"X-Slow: 1\r\n")
            try:
                return connection.answer() is None
            except edge.NoAnswer:
                return False

        wait_until(is_cut_off, 10, "the end of the connection")


@pytest.mark.alone
def test_a_slow_api_body_is_cut_off(stack, api):
    with edge.settings(stack, header_timeout_s=1):
        connection = edge.RawConnection(api.origin)
        connection.send(f"POST /v1/volumes HTTP/1.1\r\nHost: {api.origin.host}\r\n"
                        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode())
        started = time.monotonic()
        answer = connection.answer("POST")
        assert answer is None or answer.status == 408, answer
        assert time.monotonic() - started < 10


@pytest.mark.alone
@pytest.mark.parametrize("limit_kib", [8, 32])
def test_the_longest_header_line_is_a_setting(stack, shared_sandbox, limit_kib):
    with edge.settings(stack, header_line_max_kib=limit_kib):
        preview = shared_sandbox.preview(3009)
        fits = {"X-Large": "y" * (limit_kib * 1024 - 100)}
        assert preview.request("GET", "/", headers=fits).status == 502, "asked the gate"
        large = preview.request("GET", "/", headers={"X-Large": "y" * (limit_kib * 1024 + 100)})
        assert_error(large, 431, "invalid_request")


@pytest.mark.alone
@pytest.mark.parametrize("setting", ["address_connections", "preview_connections"])
def test_requests_in_progress_are_limited(stack, exposing, setting):
    serve(exposing)
    preview = exposing.preview(3000)
    with edge.settings(stack, **{setting: 16}):
        held = [preview.open("GET", "/events") for _ in range(16)]
        try:
            refused = preview.request("GET", "/")
            assert_error(refused, 429, "rate_limited")
            assert_page(page(preview), 429, "Too many requests")
            if setting == "preview_connections":
                assert exposing.data.check("echo free").strip() == "free"
        finally:
            for connection, _ in held:
                connection.close()
        wait_until(lambda: preview.request("GET", "/").status == 200, 5, "room again")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_versions(stack, version):
    origin = Origin(stack.ca_file, stack.base_url)
    origin.context.minimum_version = origin.context.maximum_version = version
    response = origin.request("GET", "/")
    assert response.headers["Strict-Transport-Security"].startswith("max-age=")


def test_old_tls_is_refused(stack):
    origin = Origin(stack.ca_file, stack.base_url)
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"{address_of(origin.host)}:{origin.port}", "-tls1_1",
         "-cipher", "ALL:@SECLEVEL=0"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False,
    )
    assert done.returncode != 0 and "alert protocol version" in done.stderr, done.stderr


def test_request_ids_go_end_to_end(exposing):
    serve(exposing)
    sent = {"X-Request-Id": "mine"}
    seen = exposing.preview(3000).request("GET", "/", headers=sent).json()["headers"]
    identifiers = [seen["x-request-id"]]
    link = f"/x?access_token={exposing.data.token}&signature=v1_secret"
    for origin in (exposing.preview(3001), exposing.preview(4000), exposing.data.origin):
        answer = origin.request("GET", link, headers={**sent, "Referer": f"https://x{link}"})
        identifiers.append(answer.headers["X-Request-Id"])
        assert answer.status == 303 or answer.json()["request_id"] == identifiers[-1], answer
    assert all(re.fullmatch(r"[0-9]{13}-[0-9]+-[0-9]+", one) for one in identifiers), identifiers
    assert len(set(identifiers)) == len(identifiers), identifiers
    log = exposing.stack.root / "log" / "sandlot-access.log"
    for identifier in identifiers:
        wait_until(lambda: identifier in log.read_text(encoding="utf-8", errors="replace"), 10, "the access log's line")
    for path in log.parent.glob("*.log"):
        text = path.read_text(encoding="utf-8", errors="replace")
        assert exposing.data.token not in text and "v1_secret" not in text, path


# --- reload ---


def reload_nginx(stack):
    pid = int((stack.run_dir / "nginx-master.pid").read_text(encoding="utf-8"))
    children = children_of(pid)
    os.kill(pid, signal.SIGHUP)
    wait_until(lambda: children_of(pid) - children, 10, "new workers of nginx")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
        return set(text.read().split())


@pytest.mark.alone
def test_a_reload_drops_no_stream(exposing):
    serve(exposing)
    with exposing.data.start("/bin/sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.4; done") as stream:
        first = next(stream)
        assert "start" in first["event"]
        events = []
        reader = threading.Thread(target=lambda: events.extend(stream))
        reader.start()
        reload_nginx(exposing.stack)
        assert exposing.preview(3000).request("GET", "/").status == 200
        reader.join(timeout=30)
    text = b"".join(base64.b64decode(e["event"]["data"].get("stdout", "")) for e in events if "data" in e["event"])
    assert text == b"1\n2\n3\n4\n5\n6\n"
    assert "end" in events[-1]["event"]


# --- what a browser is told ---


def test_what_is_shown_in_a_browser_runs_nothing(exposing):
    """A file of a sandbox on the data plane's own origin."""
    exposing.data.upload("/tmp/x.html", b"<script>document.title='ran'</script>")
    answers = [exposing.data.download("/tmp/x.html"), exposing.data.download("/tmp/none"),
               exposing.data.request("GET", "/metrics")]
    for answer in answers:
        assert answer.headers.get_all("X-Content-Type-Options") == ["nosniff"]
        (policy,) = answer.headers.get_all("Content-Security-Policy")
        assert "default-src 'none'" in policy and "sandbox" in policy.split("; "), policy


# --- other ways to speak ---


def curl(origin, path, *options):
    """HTTP/2, which Python's own client does not speak."""
    done = subprocess.run(
        ["curl", "-sS", "--http2", "--cacert", str(origin.ca_file), "--max-time", "30", "--connect-to",
         f"::{address_of(origin.host)}:{origin.port}", "-w", "\n%{http_version} %{http_code}",
         *options, f"https://{origin.host}:{origin.port}{path}"],
        capture_output=True, check=True,
    )
    body, _, trailer = done.stdout.rpartition(b"\n")
    return body, trailer.decode().split()


def test_http2(exposing, tmp_path):
    serve(exposing)
    preview = exposing.preview(3000)
    preview.ca_file = exposing.stack.ca_file
    body, answer = curl(preview, "/events")
    assert answer == ["2", "200"] and body.count(b"data: ") == 5
    content = os.urandom(3 << 20)
    upload = tmp_path / "upload"
    upload.write_bytes(content)
    body, answer = curl(preview, "/digest", "--data-binary", f"@{upload}")
    assert answer == ["2", "200"] and hashlib.sha256(content).hexdigest().encode() in body


def test_grpc_web(exposing):
    """Frames with the trailers as the last of them, each passed on when it comes."""
    program = exposing.put_guest("grpc_web_server.py")
    exposing.data.background("python3", program, "3000")
    exposing.data.check("until (echo > /dev/tcp/127.0.0.1/3000) 2>/dev/null; do sleep 0.05; done")
    headers = {"Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1", "TE": "trailers"}
    connection, response = exposing.preview(3000).open("POST", "/echo.Echo/Say", b"\0\0\0\0\2hi", headers)
    assert response.headers["Content-Type"] == "application/grpc-web+proto"
    arrivals = []
    while piece := response.read1(65536):
        arrivals.append((time.monotonic(), piece))
    connection.close()
    assert b"".join(piece for _, piece in arrivals) == b"\0\0\0\0\2hi" * 3 + b"\x80\0\0\0\x10grpc-status: 0\r\n"
    assert arrivals[-1][0] - arrivals[0][0] > 0.5


def test_a_long_poll_is_held(exposing):
    exposing.data.background(
        "python3", "-c",
        "import socket,time\ns=socket.create_server(('0.0.0.0',3000))\n"
        "while 1:\n c,_=s.accept(); c.recv(9999)\n if c.getpeername(): time.sleep(3)\n"
        " c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nnews'); c.close()",
    )
    wait_until(
        lambda: exposing.preview(3000).request("GET", "/", headers=POLL).status == 204, 5, "the server"
    )
    started = time.monotonic()
    assert exposing.preview(3000).request("GET", "/").body == b"news"
    assert time.monotonic() - started > 2.9


def test_cross_origin_rules_are_the_applications(exposing):
    serve(exposing)
    preview = exposing.preview(3000)
    asking = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "PUT",
              "Access-Control-Request-Headers": "x-mine"}
    answer = preview.request("OPTIONS", "/x", headers=asking)
    assert answer.status == 204, answer
    assert answer.headers.get_all("Access-Control-Allow-Origin") == ["https://elsewhere.example"]
    assert answer.headers.get_all("Access-Control-Allow-Headers") == ["X-Mine"]
    # What the application does not say is not said for it.
    seen = preview.request("GET", "/x", headers={"Origin": "https://elsewhere.example"})
    assert seen.status == 200 and seen.json()["headers"]["origin"] == "https://elsewhere.example"
    assert not [name for name in seen.headers if name.lower().startswith("access-control-")]


def test_a_socket_with_the_token_in_its_address(exposing):
    """A WebSocket cannot follow a redirect; the token lets it in and stays outside."""
    serve(exposing, 3001)
    preview = exposing.preview(3001)
    with preview.tls_socket(10) as connection:
        connection.sendall(
            f"GET /socket?access_token={exposing.data.token} HTTP/1.1\r\nHost: {preview.host}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        connection.settimeout(10)
        assert connection.recv(64).startswith(b"HTTP/1.1 101 ")
