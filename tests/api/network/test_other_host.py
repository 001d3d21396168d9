# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes on another machine than nginx and the workers: a stack of two hosts (scripts/test --hosts 2)."""

import http.client
import random
import socket
import ssl
import subprocess
import urllib.parse

import pytest
import websocket

from false_agent import replace_agent
from stack import wait_until
from tenant import Sandbox

pytestmark = [pytest.mark.parallel, pytest.mark.hosts, pytest.mark.short]


@pytest.fixture(autouse=True)
def other(stack):
    return urllib.parse.urlsplit(stack.other_relay)


def serve(sandbox, address):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, address, "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    return sandbox.preview(3000)


def test_a_life_on_the_other_host(make_sandbox, stack):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}])
    host = stack.query("SELECT h.name FROM hosts h JOIN sandboxes s ON s.host_id = h.id WHERE s.id = %s", sandbox.id)
    assert host == [{"name": "other"}]
    sandbox.data.check("echo kept >/dev/shm/kept")
    sandbox.data.upload_octets("/home/user/large", b"x" * (20 << 20))
    assert sandbox.data.check("stat -c %s /home/user/large").strip() == str(20 << 20)
    assert len(sandbox.data.read("/home/user/large")) == 20 << 20
    assert serve(sandbox, "127.0.0.1").request("GET", "/").status == 200
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.check("cat /dev/shm/kept") == "kept\n"
    assert sandbox.preview(3000).request("GET", "/").status == 200
    assert sandbox.api.delete(sandbox.path).status == 204
    sandbox.wait_until_removed()


def test_another_size_is_set_on_the_other_host(make_account, stack):
    wait_until(lambda: stack.query("SELECT 1 FROM warm_instances w JOIN hosts h ON h.id = w.host_id"
                                   " WHERE w.state = 'ready' AND h.state = 'active'"), 120, "a waiting instance", 0.2)
    size = {"cpu": 2, "memory_mb": random.randrange(1024, 8192, 128)}
    sandbox = Sandbox.create(make_account("enterprise").api, **size)
    assert sandbox.data.check("nproc; free -m | awk '/^Mem:/ { print $2 }'").split() == ["2", str(size["memory_mb"])]
    log = (stack.root / "other" / "log" / "limits.log").read_text(encoding="utf-8")
    assert f"set the size of an instance instance={sandbox.instance} " in log


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_websockets(make_sandbox, address):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}])
    preview = serve(sandbox, address)
    client = websocket.create_connection(f"wss://{preview.host}:{preview.port}/socket",
                                         socket=preview.tls_socket(10), timeout=10)
    for message in ("hello", "x" * 20000):
        client.send(message)
        assert client.recv() == message
    client.close()


def test_its_addresses_are_reached_from_their_host_alone(sandbox, stack, other):
    """A front that sends packets there itself, by the way that there is, meets the packet filter."""
    assert sandbox.data.check("echo reached") == "reached\n"
    address = stack.row(sandbox.id)["address"]
    text = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
    subprocess.run(["ip", "route", "replace", f"{text}/32", "via", other.hostname], check=True)
    try:
        for port in (49983, 49984, 22):
            with pytest.raises(OSError):
                socket.create_connection((text, port), 2).close()
    finally:
        subprocess.run(["ip", "route", "delete", f"{text}/32"], check=True)


def ask_relay(stack, other, to, certificate=None, name="other.host.sandlot"):
    """The status of an answer; 0 when the handshake fails."""
    credentials = stack.root / "etc" / "relay"
    context = ssl.create_default_context(cafile=credentials / "ca.pem")
    if certificate:
        context.load_cert_chain(certificate)
    with socket.create_connection((other.hostname, other.port), 10) as plain:
        with context.wrap_socket(plain, server_hostname=name) as connection:
            connection.sendall(f"GET /health HTTP/1.1\r\nHost: x\r\nX-Sandlot-To: {to}\r\n"
                               "Connection: close\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status


def test_no_agent_answers_for_another(sandbox, other_account):
    """A worker keeps its connection to the relay for the agents of all tenants, and nginx passes bytes after an
    interim answer on as they are."""
    sandbox.data.check("echo mine")
    attacker = replace_agent(Sandbox.create(other_account.api, timeout=600), "second")
    for _ in range(40):  # each worker has a connection of its own
        attacker.api.get(f"{attacker.path}/logs")
        answered = sandbox.api.get(f"{sandbox.path}/logs")
        assert answered.status == 200, answered
        assert b"mine" in answered.body and b"forged" not in answered.body, answered.body


def test_the_relay_lets_fronts_in_and_no_one_else(sandbox, stack, other):
    address = stack.row(sandbox.id)["address"]
    to = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0)) + ":49983"
    front = stack.root / "etc" / "relay" / "front.pem"
    assert ask_relay(stack, other, to, front) == 204
    assert ask_relay(stack, other, to) == 400
    assert ask_relay(stack, other, to, stack.root / "other" / "relay" / "host.pem") == 400
    for elsewhere in ("127.0.0.1:22", f"{other.hostname}:8443", "169.254.0.1:53"):
        assert ask_relay(stack, other, elsewhere, front) == 403
    with pytest.raises(ssl.SSLCertVerificationError):
        ask_relay(stack, other, to, front, "local.host.sandlot")
