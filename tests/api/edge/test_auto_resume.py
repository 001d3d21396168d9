# SPDX-License-Identifier: GPL-2.0-or-later
"""A request wakes a paused sandbox when auto_resume says so and the request is authorised."""

import threading
import time

import pytest

from client import Origin, assert_error
from tenant import Sandbox
from dataplane import DataPlane
from faults import InBackground, fault_points  # noqa: F401

pytestmark = pytest.mark.parallel

PORTS = [
    {"port": 3000, "protocol": "http", "public": True},
    {"port": 3001, "protocol": "http", "public": False},
]
WAKING = {"lifecycle": {"on_timeout": "pause", "auto_resume": True}, "exposed_ports": PORTS}


@pytest.fixture
def paused(make_sandbox):
    """A sandbox with auto_resume, a counting process and two servers, paused."""
    sandbox = make_sandbox(**WAKING)
    counter = sandbox.put_guest("counter.py")
    server = sandbox.put_guest("preview_server.py")
    sandbox.count_pid = sandbox.data.background("python3", counter, "/tmp/count")
    for port in ("3000", "3001"):
        sandbox.data.background("python3", server, "127.0.0.1", port)
        sandbox.data.check(f"until curl -so /dev/null 127.0.0.1:{port}; do sleep 0.05; done")
    sandbox.pause()
    return sandbox


def resumes(sandbox):
    rows = sandbox.stack.query(
        "SELECT COUNT(*) AS n FROM operations WHERE sandbox_id = %s AND kind = 'resume'", sandbox.id
    )
    return rows[0]["n"]


def assert_woken_once(sandbox):
    shown = sandbox.show()
    assert shown["state"] == "ready"
    assert shown["resumed_from"] == "memory"
    assert shown["deadline"] is not None
    assert resumes(sandbox) == 1
    assert int(sandbox.data.read("/tmp/count").split()[0]) == sandbox.count_pid


@pytest.mark.long
def test_a_file_request_wakes(paused):
    response = paused.data.download("/etc/passwd")
    assert response.status == 200, response
    assert_woken_once(paused)


def test_a_process_request_wakes(paused):
    assert paused.data.check("echo awake") == "awake\n"
    assert_woken_once(paused)


def test_an_upload_wakes_and_arrives_whole(paused):
    content = bytes(range(256)) * (1 << 14)
    pieces = [content[start : start + 65536] for start in range(0, len(content), 65536)]
    assert paused.data.upload_octets("/home/user/large", iter(pieces)).status == 200
    assert paused.data.read("/home/user/large") == content
    assert_woken_once(paused)


def test_a_public_preview_wakes(paused):
    response = paused.preview(3000).request("GET", "/after/sleep")
    assert response.status == 200, response
    assert response.json()["path"] == "/after/sleep"
    assert_woken_once(paused)


def test_a_private_preview_wakes_with_the_token_only(paused):
    assert_error(paused.preview(3001).request("GET", "/"), 401, "unauthorized")
    assert paused.show()["state"] == "stopped"
    token = {"X-Access-Token": paused.data.token}
    assert paused.preview(3001).request("GET", "/", headers=token).status == 200
    assert_woken_once(paused)


def test_junk_never_wakes(paused, make_sandbox):
    other = make_sandbox()
    strangers = [None, "", "junk", paused.data.token[:-1], other.data.token, paused.api.key]
    for token in strangers:
        data = DataPlane(paused.stack, paused.document["session"])
        data.token = token
        assert_error(data.download("/etc/passwd"), 401, "unauthorized")
        assert_error(data.call("process.Process/List", {}), 401, "unauthorized")
        headers = {"X-Access-Token": token} if token else {}
        private = paused.preview(3001).request("GET", "/", headers=headers)
        assert_error(private, 401, "unauthorized")
    assert paused.preview(4000).request("GET", "/").status == 404
    assert paused.data.request("POST", "/init", b"{}").status == 404
    paused.data.origin.request("GET", "/health")
    time.sleep(0.5)
    assert paused.show()["state"] == "stopped"
    assert resumes(paused) == 0


def test_many_requests_wake_it_once(paused):
    answers = []

    def ask(number):
        if number % 2:
            answers.append(paused.preview(3000).request("GET", "/").status)
        else:
            answers.append(paused.data.download("/etc/passwd").status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 40, {status: answers.count(status) for status in answers}
    assert_woken_once(paused)


@pytest.mark.long
def test_a_sleeper_does_not_delay_others(paused, make_sandbox):
    """While some requests wait for a resume, those of a running sandbox go through."""
    other = make_sandbox()
    waking = [threading.Thread(target=lambda: paused.data.download("/etc/passwd")) for _ in range(12)]
    for thread in waking:
        thread.start()
    served = 0
    while all(thread.is_alive() for thread in waking):
        assert other.data.download("/etc/passwd").status == 200
        served += 1
    for thread in waking:
        thread.join()
    assert served > 2, "they wait for the resume too"


@pytest.mark.long
def test_it_is_paused_and_woken_again_and_again(make_sandbox):
    sandbox = make_sandbox(timeout=600, **WAKING)
    for number in range(3):
        sandbox.pause()
        assert sandbox.data.check(f"echo {number}") == f"{number}\n"
    assert resumes(sandbox) == 3


@pytest.mark.parametrize("kind", ["data", "preview"])
def test_a_request_whose_token_ends_while_it_waits(make_sandbox, fault_points, kind):
    """The end of the tokens also ends all connections. The request would get its connection after that."""
    sandbox = make_sandbox(**WAKING)
    server = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", server, "127.0.0.1", "3001")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3001; do sleep 0.05; done")
    sandbox.pause()
    token = {"X-Access-Token": sandbox.data.token}
    fault_points.arm("resume.agent", "wait", "sandlot-gate")
    if kind == "data":
        waking = InBackground(sandbox.data.download, "/etc/passwd")
    else:
        waking = InBackground(sandbox.preview(3001).request, "GET", "/", headers=token)
    fault_points.reached("resume.agent")
    assert sandbox.api.delete(f"{sandbox.path}/sessions").status == 204
    fault_points.release("resume.agent")
    assert_error(waking.result(), 401, "unauthorized")
    assert sandbox.show()["state"] == "ready"


def test_a_woken_sandbox_has_a_fresh_deadline(make_sandbox):
    sandbox = make_sandbox(timeout=100, **WAKING)
    before = sandbox.stack.row(sandbox.id)["deadline_at_ms"]
    sandbox.pause()
    time.sleep(1)
    assert sandbox.data.check("echo x") == "x\n"
    row = sandbox.stack.row(sandbox.id)
    assert row["deadline_at_ms"] > before
    assert abs(row["deadline_at_ms"] / 1000 - time.time() - 100) < 30


def test_without_auto_resume(make_sandbox):
    sandbox = make_sandbox(exposed_ports=PORTS, auto_pause=True)
    sandbox.pause()
    answer = assert_error(sandbox.data.download("/etc/passwd"), 409, "sandbox_not_running")
    assert "resume" in answer["message"]
    assert_error(sandbox.data.call("process.Process/List", {}), 409, "sandbox_not_running")
    assert_error(sandbox.preview(3000).request("GET", "/"), 503, "sandbox_not_running")
    assert_error(sandbox.preview(3001).request("GET", "/"), 401, "unauthorized")
    stranger = DataPlane(sandbox.stack, sandbox.document["session"])
    stranger.token = None
    assert_error(stranger.download("/etc/passwd"), 401, "unauthorized")
    assert sandbox.show()["state"] == "stopped"
    assert resumes(sandbox) == 0


def test_waking_respects_the_quota(account, own_plan):
    own_plan(account, sandboxes=1)
    sleeper = Sandbox.create(account.api, **WAKING)
    sleeper.pause()
    Sandbox.create(account.api)
    response = sleeper.data.download("/etc/passwd")
    assert response.status in (422, 503), response
    quota = assert_error(response, response.status, "sandbox_quota_exceeded")["quota"]
    assert quota["limits"]["sandboxes"] == quota["usage"]["sandboxes"] == 1
    route = sleeper.document["data_plane_url"].removeprefix("https://").split(".")[0]
    theirs = Origin(sleeper.stack.ca_file, f"https://49983-{route}.{sleeper.stack.data_plane_host}")
    refused = theirs.request("GET", "/files?path=/etc/passwd", headers={"X-Access-Token": sleeper.data.token})
    assert (refused.status, refused.json()["code"]) == (429, 429), "E2B's clients take 429 for a limit of the team"
    assert int(refused.headers["Retry-After"]) > 0
    assert sleeper.show()["state"] == "stopped"
