# SPDX-License-Identifier: GPL-2.0-or-later
"""Open connections to a port of a sandbox end when the right to them ends."""

import contextlib

import pytest

from edge import RawConnection

pytestmark = pytest.mark.parallel

PORTS = (3000, 3001)
ADDRESSES = ("127.0.0.1", "0.0.0.0")  # behind the agent's relay, and without it
LINES_MOST = 600  # of ten a second; the connection ends long before
SERVER = """
import http.server, socketserver, sys, time
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer): pass
class Ticks(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.end_headers()
        while True: self.wfile.write(b"data: tick\\n\\n"); time.sleep(0.1)
Server((sys.argv[1], int(sys.argv[2])), Ticks).serve_forever()
"""


class Ticks:
    """An open preview that sends ten lines a second."""

    def __init__(self, sandbox, port, token=None):
        origin = sandbox.preview(port)
        self.connection = RawConnection(origin)
        header = f"X-Access-Token: {token}\r\n" if token else ""
        self.connection.send(f"GET / HTTP/1.1\r\nHost: {origin.host}\r\n{header}\r\n".encode())
        assert self.read().startswith(b"HTTP/1.1 200 "), self.connection.buffer

    def read(self):
        """The next bytes; none at the end of the connection."""
        with contextlib.suppress(ConnectionError):
            return self.connection.socket.recv(65536)
        return b""

    def ends(self):
        return any(not self.read() for _ in range(LINES_MOST))


def serve(sandbox, port, address):
    sandbox.data.background("python3", "-c", SERVER, address, str(port))
    sandbox.data.check(f"until (: </dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.05; done")


@pytest.fixture
def served(sandbox):
    """Two ports with servers; the first one is public."""
    for port, address in zip(PORTS, ADDRESSES):
        serve(sandbox, port, address)
        answer = sandbox.api.request("PUT", f"{sandbox.path}/ports/{port}", {"public": port == PORTS[0]})
        assert answer.status == 200, answer
    return sandbox


def withdraw(sandbox):
    assert sandbox.api.delete(f"{sandbox.path}/ports/{PORTS[0]}").status == 204


def make_private(sandbox):
    assert sandbox.api.request("PUT", f"{sandbox.path}/ports/{PORTS[0]}", {"public": False}).status == 200


def close_all(sandbox):
    answer = sandbox.api.request("PUT", f"{sandbox.path}/network", {"allow_public_traffic": False})
    assert answer.status in (200, 202), answer


def close_all_by_patch(sandbox):
    assert sandbox.api.request("PATCH", sandbox.path, {"allow_public_traffic": False}).status == 200


@pytest.mark.parametrize("act", [withdraw, pytest.param(make_private, marks=pytest.mark.long), close_all,
                                 pytest.param(close_all_by_patch, marks=pytest.mark.long)])
def test_connections_end_with_the_right_to_the_port(served, act):
    token = served.document["session"]["access_token"]
    open_one, other = Ticks(served, PORTS[0]), Ticks(served, PORTS[1], token)
    act(served)
    assert open_one.ends()
    assert served.preview(PORTS[0]).request("GET", "/").status in (401, 404)
    if act in (close_all, close_all_by_patch):
        assert other.ends()
    else:
        assert other.read(), "a connection to the other port stays"


def test_connections_end_when_one_of_all_ports_becomes_private(make_sandbox):
    sandbox = make_sandbox(expose_all_ports=True)
    serve(sandbox, PORTS[0], "0.0.0.0")
    open_one = Ticks(sandbox, PORTS[0])
    make_private(sandbox)
    assert open_one.ends()
    assert sandbox.preview(PORTS[0]).request("GET", "/").status == 401


def test_connections_end_with_the_sessions(served):
    answer = served.api.post(f"{served.path}/sessions", {"lifetime": "sandbox", "purpose": "previews"})
    open_one = Ticks(served, PORTS[1], answer.json()["session"]["access_token"])
    assert served.api.delete(f"{served.path}/sessions").status == 204
    assert open_one.ends()
