# SPDX-License-Identifier: GPL-2.0-or-later
"""A request to a paused sandbox that cannot be resumed says why, and the next one tries again. What
waits for a resume goes through as it was sent."""

import hashlib
import os

import pytest
import websocket

from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel

PORTS = [{"port": 3000, "protocol": "http", "public": True}]
WAKING = {"lifecycle": {"on_timeout": "pause", "auto_resume": True}, "exposed_ports": PORTS}
BROWSER = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture
def paused(make_sandbox):
    sandbox = make_sandbox(**WAKING)
    server = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", server, "127.0.0.1", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    sandbox.pause()
    return sandbox


def assert_wakes(sandbox):
    assert sandbox.data.download("/etc/passwd").status == 200
    assert sandbox.show()["state"] == "ready"


@pytest.mark.one_host
def test_an_instance_that_does_not_start(paused, stack):
    path = f"/1.0/instances/{paused.instance}"
    broken = {"type": "unix-char", "source": "/dev/there-is-no-such-device"}
    stack.incus.request("PATCH", path, {"devices": {"broken": broken}})
    message = assert_error(paused.data.download("/x"), 503, "runtime_unavailable")["message"]
    assert "could not be resumed" in message and "no-such-device" not in message
    seen = paused.preview(3000).request("GET", "/", headers=BROWSER)
    assert seen.status == 503 and b"could not be resumed" in seen.body, seen
    assert paused.show()["state"] == "stopped"
    document = stack.incus.instance(paused.instance)
    document["devices"].pop("broken")
    stack.incus.request("PUT", path, {name: document[name] for name in (
        "architecture", "config", "devices", "ephemeral", "profiles", "description", "stateful")})
    assert_wakes(paused)


@pytest.mark.alone
@pytest.mark.one_host
def test_a_host_without_room(paused, stack):
    (host,) = stack.query("SELECT id, memory_mb FROM hosts WHERE name = %s", "local")
    stack.query("UPDATE hosts SET memory_mb = 1 WHERE id = %s", host["id"])
    try:
        answer = paused.data.download("/x")
        assert_error(answer, 503, "no_capacity")
        assert answer.headers["Retry-After"]
        seen = paused.preview(3000).request("GET", "/", headers=BROWSER)
        assert seen.status == 503 and b"full at the moment" in seen.body, seen
        assert paused.show()["state"] == "stopped"
    finally:
        stack.query("UPDATE hosts SET memory_mb = %s WHERE id = %s", host["memory_mb"], host["id"])
    assert_wakes(paused)


@pytest.mark.alone
@pytest.mark.long
def test_a_runtime_daemon_that_is_away(paused, stack):
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        assert_error(paused.data.download("/x"), 503, "runtime_unavailable")
        seen = paused.preview(3000).request("GET", "/", headers=BROWSER)
        assert seen.status == 503 and b"</html>" in seen.body, seen
    finally:
        daemon.start(stack.incus.answers)
    wait_until(lambda: paused.data.download("/etc/passwd").status == 200, stack.lease_s + 30,
               "the sandbox awake")


def test_a_web_socket_is_held(paused):
    preview = paused.preview(3000)
    client = websocket.create_connection(
        f"wss://{preview.host}:{preview.port}/socket", socket=preview.tls_socket(60), timeout=60
    )
    client.send("are you there")
    assert client.recv() == "are you there"
    client.close()


def test_a_form_is_held_and_arrives_once(paused):
    content = os.urandom(5 << 20)
    answer = paused.preview(3000).request("POST", "/digest", content)
    assert answer.json() == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def test_an_upload_without_a_length_is_held(paused):
    pieces = [os.urandom(1 << 16) for _ in range(64)]
    answer = paused.preview(3000).request("POST", "/digest", iter(pieces))
    content = b"".join(pieces)
    assert answer.json() == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
