# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls of E2B's Python package over the library that it is made with: connections are kept for 300 s, and
written to without a look whether the server has closed them."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import time

import httpx
import pytest

from client import address_of

pytestmark = pytest.mark.parallel

KEEP = httpx.Limits(max_keepalive_connections=20, max_connections=2000, keepalive_expiry=300)


class Call:
    def __init__(self, method, url, **options):
        self.method, self.url = method, url
        self.options = {**options, "headers": {"User-Agent": "e2b-python-sdk/2.34.0", **options.get("headers", {})}}


@pytest.fixture
def names(monkeypatch):
    """The names of the stack, which not every resolver knows."""
    resolve = socket.getaddrinfo

    def named(host, *rest, **more):  # bytes from anyio, text from the socket module
        return resolve(address_of(host.decode() if isinstance(host, bytes) else host), *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", named)


class Pause:
    def __init__(self, seconds):
        self.seconds = seconds


def messages(body):
    while body:
        flags, size = struct.unpack(">BI", body[:5])
        yield flags, json.loads(body[5:5 + size] or b"{}")
        body = body[5 + size:]


def started(command):
    message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", command]}}).encode()
    return struct.pack(">BI", 0, len(message)) + message


def conversation(stack, key, pause_s):
    """Yields what is to be done, and is sent the answers."""
    api, headers = stack.base_url, {"X-API-KEY": key}
    made = yield Call("POST", f"{api}/sandboxes", headers=headers, json={
        "templateID": "base", "timeout": 600, "metadata": {"a": "b"}, "envVars": {"GREETING": "hello", "log-level.x%%": "3"}, "secure": True})
    assert made.status_code == 201, made.text
    sandbox = made.json()
    data = f"https://49983-{sandbox['sandboxID']}.{sandbox['domain']}"
    token = {"X-Access-Token": sandbox["envdAccessToken"]}

    def run(command):
        return Call("POST", f"{data}/process.Process/Start", content=started(command),
                    headers={**token, "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"})

    def end_of(answer):
        assert answer.status_code == 200, answer.text
        events = [message["event"] for flags, message in messages(answer.content) if not flags & 2]
        (end,) = (event["end"] for event in events if "end" in event)
        return end.get("exitCode", 0), [event["data"] for event in events if "data" in event]

    status, output = end_of((yield run("echo $GREETING")))
    assert (status, len(output)) == (0, 1) and output[0]["stdout"] == "aGVsbG8K"
    assert end_of((yield run("printenv log-level.x%%")))[1][0]["stdout"] == "Mwo="
    status, _ = end_of((yield run("exit 3")))
    assert status == 3
    written = yield Call("POST", f"{data}/files?path=/home/user/f&username=user", headers=token, files={"file": ("f", b"kept")})
    assert written.status_code == 200 and written.json()[0]["path"] == "/home/user/f", written.text
    yield Pause(pause_s)
    status, _ = end_of((yield run("true")))
    assert status == 0
    read = yield Call("GET", f"{data}/files?path=/home/user/f&username=user", headers=token)
    assert (read.status_code, read.content) == (200, b"kept")
    listed = yield Call("GET", f"{api}/v2/sandboxes?state=running&metadata=a%3Db", headers=headers)
    assert [one["sandboxID"] for one in listed.json()] == [sandbox["sandboxID"]]
    paused = yield Call("POST", f"{api}/sandboxes/{sandbox['sandboxID']}/pause", headers=headers, json={})
    assert paused.status_code == 204, paused.text
    connected = yield Call("POST", f"{api}/sandboxes/{sandbox['sandboxID']}/connect", headers=headers, json={"timeout": 600})
    assert connected.status_code == 201 and connected.json()["envdAccessToken"] == sandbox["envdAccessToken"]
    assert end_of((yield run("cat f")))[1][0]["stdout"] == "a2VwdA=="
    killed = yield Call("DELETE", f"{api}/sandboxes/{sandbox['sandboxID']}", headers=headers)
    assert killed.status_code == 204, killed.text
    gone = yield Call("GET", f"{data}/health")
    assert gone.status_code == 502


def talk(steps, context, http2):
    with httpx.Client(verify=context, http2=http2, limits=KEEP, timeout=180) as client, contextlib.suppress(StopIteration):
        step = next(steps)
        while True:
            if isinstance(step, Pause):
                step = steps.send(time.sleep(step.seconds))
            else:
                step = steps.send(client.request(step.method, step.url, **step.options))


async def talk_async(steps, context, http2):
    async with httpx.AsyncClient(verify=context, http2=http2, limits=KEEP, timeout=180) as client:
        with contextlib.suppress(StopIteration):
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    step = steps.send(await asyncio.sleep(step.seconds))
                else:
                    step = steps.send(await client.request(step.method, step.url, **step.options))


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("pause_s", [0, pytest.param(75, marks=pytest.mark.long)])
def test_the_calls_of_the_package(stack, account, http2, pause_s):
    talk(conversation(stack, account.key_document("write")["e2b_key"], pause_s), ssl.create_default_context(cafile=stack.ca_file), http2)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("http2", [False, True])
@pytest.mark.parametrize("pause_s", [0, pytest.param(75, marks=pytest.mark.long)])
def test_the_calls_of_the_package_at_once(stack, account, http2, pause_s):
    steps = conversation(stack, account.key_document("write")["e2b_key"], pause_s)
    asyncio.run(talk_async(steps, ssl.create_default_context(cafile=stack.ca_file), http2))
