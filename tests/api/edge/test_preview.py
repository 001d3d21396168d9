# SPDX-License-Identifier: GPL-2.0-or-later
"""Previews: the user's own servers inside a sandbox, reached from outside."""

import hashlib
import http.cookies
import os
import threading
import time
import urllib.parse

import pytest
import websocket

from client import Origin, assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel

LOOPBACK, ANY, PRIVATE = 3000, 3001, 3002  # 3002 is exposed with public: false


def serve(sandbox, address, port):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, address, str(port))
    sandbox.data.check(f"until curl -so /dev/null 127.0.0.1:{port}; do sleep 0.05; done")


@pytest.fixture(scope="module")
def served(shared_sandbox):
    serve(shared_sandbox, "127.0.0.1", LOOPBACK)
    serve(shared_sandbox, "0.0.0.0", ANY)
    serve(shared_sandbox, "127.0.0.1", PRIVATE)
    return shared_sandbox


@pytest.fixture(params=[LOOPBACK, ANY], ids=["127.0.0.1", "0.0.0.0"])
def preview(served, request):
    return served.preview(request.param)


def test_get(preview):
    response = preview.request("GET", "/some/path?a=1&b=%2F", headers={"X-Mine": "yes"})
    assert response.status == 200, response
    seen = response.json()
    assert seen["method"] == "GET"
    assert seen["path"] == "/some/path?a=1&b=%2F"
    assert seen["headers"]["x-mine"] == "yes"
    assert seen["headers"]["host"].split(":")[0] == preview.host


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods(preview, method):
    assert preview.request(method, "/x").json()["method"] == method


def test_an_upload_with_a_length(preview):
    content = os.urandom(8 << 20)
    answer = preview.request("POST", "/digest", content).json()
    assert answer == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_an_upload_without_a_length(preview):
    pieces = [os.urandom(1 << 16) for _ in range(64)]
    answer = preview.request("POST", "/digest", iter(pieces)).json()
    content = b"".join(pieces)
    assert answer == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_server_sent_events_arrive_one_by_one(preview):
    connection, response = preview.open("GET", "/events")
    arrivals = []
    while piece := response.read1(65536):
        arrivals.append((time.monotonic(), piece))
    connection.close()
    assert b"".join(piece for _, piece in arrivals) == b"".join(b"data: %d\n\n" % n for n in range(5))
    assert len(arrivals) == 5, arrivals
    gaps = [after[0] - before[0] for before, after in zip(arrivals, arrivals[1:])]
    assert min(gaps) > 0.25, gaps


def test_websocket(preview):
    client = websocket.create_connection(
        f"wss://{preview.host}:{preview.port}/socket", socket=preview.tls_socket(10), timeout=10
    )
    for message in ("hello", "ä" * 200, "x" * 20000):
        client.send(message)
        assert client.recv() == message
    client.send_binary(b"\0\1\2")
    assert client.recv() == b"\0\1\2"
    time.sleep(1.2)
    client.send("after a pause of silence")
    assert client.recv() == "after a pause of silence"
    client.close()


def test_many_requests_at_once(preview):
    statuses = []

    def get():
        statuses.append(preview.request("GET", "/").status)

    threads = [threading.Thread(target=get) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 32


def test_a_port_that_is_not_exposed(served):
    served.data.background("python3", "-m", "http.server", "--bind", "0.0.0.0", "4000")
    served.data.check("until curl -so /dev/null 127.0.0.1:4000; do sleep 0.05; done")
    assert_error(served.preview(4000).request("GET", "/"), 404, "not_found")
    for port in (49983, 49984, 0, 65536, "03000"):
        assert served.preview(port).request("GET", "/").status == 404, port


def test_no_listener_yet(served):
    response = served.preview(3009).request("GET", "/")
    assert response.status == 502, response
    assert response.json()["request_id"] == response.headers["X-Request-Id"]


def test_a_server_that_has_just_ended(make_sandbox):
    """What the gate let pass a moment ago leads nowhere: that is said, and not an empty answer."""
    ports = [{"port": port, "protocol": "http", "public": True} for port in range(3000, 3002)]
    sandbox = make_sandbox(exposed_ports=ports)
    for port in range(3000, 3002):
        pid = sandbox.data.background("python3", "-m", "http.server", "-b", "127.0.0.1", str(port))
        origin = sandbox.preview(port)
        wait_until(lambda: origin.request("GET", "/").status == 200, 30, "the server")
        sandbox.data.check(f"kill -9 {pid}; while kill -0 {pid} 2>&-; do sleep 0.01; done")
        assert_error(origin.request("GET", "/"), 502, "no_listener")
        page = origin.request("GET", "/", headers={"Accept": "text/html"})
        assert page.status == 502 and f"Nothing listens on port {port}".encode() in page.body, page


def test_no_such_sandbox(served):
    route = "a" * 26
    host = served.stack.data_plane_host
    for name in (f"p3000-{route}.{host}", f"{route}.{host}"):
        origin = Origin(served.stack.ca_file, f"https://{name}")
        response = origin.request("GET", "/", headers={"X-Access-Token": served.data.token})
        assert response.status in (401, 404), (name, response)


def test_a_private_port_needs_the_token(served):
    preview = served.preview(PRIVATE)
    assert_error(preview.request("GET", "/"), 401, "unauthorized")
    wrong = preview.request("GET", "/", headers={"X-Access-Token": "x" + served.data.token})
    assert_error(wrong, 401, "unauthorized")
    seen = preview.request("GET", "/", headers={"X-Access-Token": served.data.token})
    assert seen.status == 200, seen
    assert "x-access-token" not in seen.json()["headers"]


def test_a_private_port_in_a_browser(served):
    """The token once in the address becomes a cookie, and leaves the address."""
    preview = served.preview(PRIVATE)
    query = urllib.parse.urlencode({"a": "1", "access_token": served.data.token})
    redirect = preview.request("GET", f"/page?{query}")
    assert redirect.status in (302, 303, 307), redirect
    target = urllib.parse.urlsplit(redirect.headers["Location"])
    assert target.path == "/page"
    assert "access_token" not in target.query
    cookie = http.cookies.SimpleCookie(redirect.headers["Set-Cookie"])
    (name, morsel), *_ = cookie.items()
    assert morsel["httponly"] and morsel["secure"]
    seen = preview.request("GET", "/page", headers={"Cookie": f"{name}={morsel.value}; theirs=1"})
    assert seen.status == 200, seen
    assert served.data.token not in str(seen.json()), "the application never sees the token"
    assert "theirs=1" in seen.json()["headers"]["cookie"]
    # Applications have headers of this name too: it is theirs unless it has a token of ours.
    headers = {"Cookie": f"{name}={morsel.value}", "X-Access-Token": "eyJ.theirs"}
    seen = preview.request("GET", "/page", headers=headers)
    assert seen.status == 200, seen
    assert seen.json()["headers"]["x-access-token"] == "eyJ.theirs"


def test_a_sandbox_without_public_traffic(make_sandbox):
    sandbox = make_sandbox(
        allow_public_traffic=False,
        exposed_ports=[{"port": 3000, "protocol": "http", "public": True}],
    )
    serve(sandbox, "127.0.0.1", 3000)
    assert_error(sandbox.preview(3000).request("GET", "/"), 401, "unauthorized")
    token = {"X-Access-Token": sandbox.data.token}
    assert sandbox.preview(3000).request("GET", "/", headers=token).status == 200
    assert sandbox.api.get(f"{sandbox.path}/ports/3000").json()["gateway_status"] == "blocked"


def test_previews_of_a_paused_sandbox(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    serve(sandbox, "127.0.0.1", 3000)
    sandbox.pause()
    response = sandbox.preview(3000).request("GET", "/")
    assert_error(response, 503, "sandbox_not_running")
    sandbox.resume()
    wait_until(lambda: sandbox.preview(3000).request("GET", "/").status == 200, 5, "the preview again")


def test_a_preview_of_a_sandbox_that_was_paused_only_to_move(make_sandbox, stack):
    """It resumes on its new host by itself: its visitor waits, and need not resume it."""
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    sandbox.pause()
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), stop_reason = 'move' WHERE id = %s", sandbox.id)
    stack.query(
        "INSERT INTO moves (id, kind, team_id, group_id, state, asked, from_host_id, to_host_id, generation,"
        " deadline_at_ms, lease_owner, lease_until_ms, created_at_ms)"
        " SELECT id, 'sandbox', team_id, id, 'copying', 0, host_id, host_id, 1, 1, 'test', %s, 1 FROM sandboxes"
        " WHERE id = %s", int(time.time() * 1000) + 600000, sandbox.id)
    try:
        assert_error(sandbox.preview(3000).request("GET", "/"), 503, "sandbox_busy")
    finally:
        stack.query("DELETE FROM moves WHERE id = %s", sandbox.id)
    wait_until(lambda: sandbox.preview(3000).request("GET", "/").json()["error"] == "sandbox_not_running", 10,
               "the end of the move without a resume")
