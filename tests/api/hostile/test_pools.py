# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes and clients that keep workers waiting: no more than a share of a pool is theirs."""

import base64
import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import threading
import time

import pytest

from client import Origin, assert_error
from edge import RawConnection
from false_agent import replace_agent
from faults import InBackground
from pools import shares, workers_of
from stack import wait_until
from tenant import Sandbox
from volumes import OCTETS, Volume

PORT = 3000
PUBLIC = [{"port": PORT, "protocol": "http", "public": True}]
WAKES = {"on_timeout": "pause", "auto_resume": True}
FILES_SHARE = 4  # of the set-up's eight workers


@pytest.fixture
def hostile(make_account):
    return make_account("pro")


@contextlib.contextmanager
def repeated(count, call):
    """call(index) again and again in so many threads; their answers in a list that grows."""
    over = threading.Event()
    answers, failures = [], []

    def work(index):
        while not over.is_set():
            try:
                answers.append(call(index))
            except OSError as failure:
                failures.append(failure)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures, failures[:3]


def mute_sandbox(account, **fields):
    sandbox = Sandbox.create(account.api, timeout=1800, exposed_ports=PUBLIC, **fields)
    return replace_agent(sandbox, "mute")


def statuses(answers):
    return {answer.status for answer in answers}


def is_asked_to_wait(answer):
    assert answer.status == 429 and int(answer.headers["Retry-After"]) > 0, answer
    assert answer.json()["error"] == "rate_limited", answer
    return True


# --- the gate ---

@pytest.mark.long
def test_a_mute_agent_does_not_hold_the_gate(hostile, bystander):
    sandbox = mute_sandbox(hostile)
    origin = sandbox.preview(PORT)
    with repeated(48, lambda _: origin.request("GET", "/")) as answers:
        wait_until(lambda: answers, 60, "answers of the mute sandbox")
        bystander.goes_on()
    assert statuses(answers) <= {502, 429}, statuses(answers)
    refused = [answer for answer in answers if answer.status == 502]
    assert refused and refused[-1].json()["error"] == "runtime_unavailable", refused[-1:]
    for answer in answers:
        assert answer.status == 502 or is_asked_to_wait(answer)


@pytest.mark.long
def test_what_a_mute_agent_did_is_forgotten_soon(hostile):
    """Refused from memory, and asked again after that."""
    sandbox = mute_sandbox(hostile)
    origin = sandbox.preview(PORT)
    assert origin.request("GET", "/").status == 502
    hostile.api.pause(sandbox.id)
    sandbox.stack.incus.write_file(
        sandbox.instance, "/usr/lib/sandlot/start-agent",
        b"#!/bin/sh\nexec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "
        b"/usr/lib/sandlot/sandlot-agent --guard\n")
    # Its memory has no working agent: it is started from its disk, by the dispatcher when the machine
    # is too busy to do it while the call waits.
    wait_until(lambda: sandbox.api.post(f"{sandbox.path}/resume").status == 200, 120, "the resume", 1)
    assert sandbox.resume()["resumed_from"] == "disk"
    sandbox.data.background("python3", "-m", "http.server", str(PORT))
    wait_until(lambda: origin.request("GET", "/").status == 200, 60, "the preview")


@pytest.mark.long
def test_mute_agents_do_not_hold_the_wake_pool(hostile, bystander):
    mute = [mute_sandbox(hostile, lifecycle=WAKES) for _ in range(5)]
    own = Sandbox.create(bystander.api, exposed_ports=PUBLIC, lifecycle=WAKES)
    own.data.background("python3", "-m", "http.server", str(PORT))
    wait_until(lambda: own.preview(PORT).request("GET", "/").status == 200, 30, "its server")
    for sandbox in [*mute, own]:
        sandbox.api.pause(sandbox.id)
    origins = [sandbox.preview(PORT) for sandbox in mute]
    with repeated(30, lambda index: origins[index % 5].request("GET", "/", timeout_s=120)) as answers:
        wait_until(lambda: any(row["state"] == "restoring" for row in
                               map(hostile.stack.row, (sandbox.id for sandbox in mute))),
                   30, "a hostile sandbox that is woken")
        for _ in range(3):
            assert own.preview(PORT).request("GET", "/", timeout_s=20).status == 200
            bystander.goes_on()
            own.api.pause(own.id)
    assert statuses(answers) <= {429, 502, 503}, statuses(answers)


# --- the API ---

@pytest.mark.long
def test_creates_with_a_mute_agent_do_not_hold_the_api(hostile, bystander):
    sandbox = mute_sandbox(hostile)
    answer = hostile.api.post(f"/v1/sandboxes/{sandbox.id}/checkpoints", {"name": "mute"})
    assert answer.status == 201, answer
    body = {"template": answer.json()["id"]}
    with repeated(16, lambda _: hostile.api.post("/v1/sandboxes", body, timeout_s=120)) as answers:
        time.sleep(2)  # for its share of the workers to be at work
        bystander.goes_on()
    for answer in answers:
        assert answer.status == 503 or is_asked_to_wait(answer)
    refused = hostile.api.post(f"{sandbox.path}/rollback", {"checkpoint": body["template"]})
    assert refused.status == 503 and int(refused.headers["Retry-After"]) > 0, refused
    assert sandbox.show()["state"] == "ready", "nothing of it was removed"


def test_a_burst_of_one_team_is_served_to_its_end(hostile):
    """Calls that are over soon wait for their turn: nobody is refused for being many at once."""
    made = []
    threads = [threading.Thread(target=lambda: made.append(hostile.api.post("/v1/sandboxes", {})))
               for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status for answer in made] == [201] * 24, made


@pytest.mark.parallel
@pytest.mark.parametrize("answer", ["302", *(pytest.param(answer, marks=pytest.mark.long) for answer in ("204", "text")), "garbage"])
def test_a_wrong_answer_of_an_agent_is_no_failure_of_ours(hostile, answer):
    sandbox = Sandbox.create(hostile.api, exposed_ports=PUBLIC)
    replace_agent(sandbox, answer)
    for path in ("ports", "services"):
        assert_error(hostile.api.get(f"{sandbox.path}/{path}"), 503, "runtime_unavailable")
    assert sandbox.preview(PORT).request("GET", "/").status == 503


def refusals_in_logs(stack):
    return sum(path.read_bytes().count(b"cannot decide about a request") for path in (stack.root / "log").glob("*.log"))


def test_wrong_answers_of_an_agent_fill_no_log(hostile, stack):
    """Each worker of the gate writes a line a second at most."""
    sandbox = Sandbox.create(hostile.api, exposed_ports=PUBLIC)
    replace_agent(sandbox, "text")
    before = refusals_in_logs(stack)
    answers = [sandbox.preview(PORT).request("GET", "/") for _ in range(200)]
    assert statuses(answers) == {503}
    assert 0 < refusals_in_logs(stack) - before < 100


@pytest.mark.parallel
@pytest.mark.parametrize("answer", ["drip", *(pytest.param(answer, marks=pytest.mark.long) for answer in ("headers", "chunks")), "sizes"])
def test_an_answer_without_an_end_costs_as_much_as_none(hostile, answer):
    """A byte at a time, lines of a header, chunks, and sizes of chunks that are none."""
    sandbox = Sandbox.create(hostile.api, exposed_ports=PUBLIC)
    replace_agent(sandbox, answer)
    visit = InBackground(sandbox.preview(PORT).request, "GET", "/", timeout_s=20)
    for refused in [InBackground(hostile.api.request, "GET", f"{sandbox.path}/{path}", timeout_s=20)
                    for path in ("ports", "logs", "services")]:
        assert_error(refused.result(), 503, "runtime_unavailable")
    assert visit.result().status in (502, 503)
    assert hostile.api.request("POST", f"{sandbox.path}/pause", {}, timeout_s=20).status == 200


# --- files ---

class Trickle:
    """An upload of a byte a second."""

    def __init__(self, api, volume, name, media_type=OCTETS, key=None):
        self.connection = RawConnection(Origin(api.stack.ca_file, api.stack.base_url), timeout_s=120)
        authorization = f"Authorization: Bearer {key}\r\n" if key else ""
        self.connection.send((f"PUT {volume.address}/files?path=/{name} HTTP/1.1\r\n"
                              f"Host: {self.connection.socket.server_hostname}\r\n{authorization}"
                              f"Content-Type: {media_type}\r\nContent-Length: 10000000\r\n\r\n").encode())
        self.answer = None
        self.over = threading.Event()
        self.threads = [threading.Thread(target=work) for work in (self._send, self._read)]
        for thread in self.threads:
            thread.start()

    def _send(self):
        while not self.over.wait(1):
            self.connection.send(b"x")

    def _read(self):
        with contextlib.suppress(AssertionError, OSError):
            self.answer = self.connection.answer()
        self.over.set()

    def end(self):
        self.over.set()
        with contextlib.suppress(OSError):
            self.connection.socket.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.connection.close()


@contextlib.contextmanager
def trickles(api, volume, count, **options):
    started = [Trickle(api, volume, f"slow{index}", **options) for index in range(count)]
    try:
        yield started
    finally:
        for one in started:
            one.end()


@pytest.mark.long
def test_trickling_uploads_do_not_stop_the_files_of_others(hostile, bystander):
    volume, own = Volume(hostile.api), Volume(bystander.api)
    own.write("/note", b"kept")
    with trickles(hostile.api, volume, 8, key=hostile.api.key) as slow:
        wait_until(lambda: shares(hostile.stack, "files") >= FILES_SHARE, 30, "uploads at work")
        for _ in range(3):
            assert own.read("/note") == b"kept"
            assert own.names() == ["note"]
            own.write("/note", b"kept")
        bystander.goes_on()
        # Each one ends: cut because it is slow, or refused while others have the team's share.
        wait_until(lambda: all(one.answer for one in slow), 90, "the ends of the uploads")
    ends = {one.answer.status for one in slow}
    assert {408} <= ends <= {408, 429}, [one.answer for one in slow]
    for one in slow:
        body = json.loads(one.answer.body)
        assert body["error"] == ("invalid_request" if one.answer.status == 408 else "rate_limited")
        assert not one.connection.is_open or one.answer.headers.get("connection") == "close"
    assert volume.names() == []


def test_pauses_of_several_teams_take_no_worker_that_a_create_needs(make_account, bystander):
    """Their memory is written by workers of a pool of their own."""
    sandboxes = [Sandbox.create(make_account("pro").api) for _ in range(4)]
    for sandbox in sandboxes:
        sandbox.data.background("python3", "-c", "held = bytearray(b'x') * (200 << 20); import time; time.sleep(1000)")
    with concurrent.futures.ThreadPoolExecutor(len(sandboxes)) as several:
        pauses = [several.submit(sandbox.pause) for sandbox in sandboxes]
        wait_until(lambda: shares(bystander.stack, "pauses") >= 2, 60, "pauses at work")
        busy = shares(bystander.stack, "api")
        bystander.create()
        for pause in pauses:
            assert pause.result()["state"] == "stopped"
    assert busy == 0


@pytest.mark.parallel
def test_bodies_of_strangers_are_not_waited_for(hostile):
    """JSON is read by the worker too: not before it is known who asks."""
    volume = Volume(hostile.api)
    with trickles(hostile.api, volume, 8, media_type="application/json") as slow:
        wait_until(lambda: all(one.answer for one in slow), 15, "the refusals")
    assert {one.answer.status for one in slow} == {401}


@pytest.mark.long
def test_a_body_that_comes_steadily_may_take_its_time(hostile):
    """Longer than the grace, and faster than the least speed."""
    volume = Volume(hostile.api)

    def pieces():
        for _ in range(15):
            yield b"x" * 4096
            time.sleep(1)

    answer = hostile.api.request("PUT", f"{volume.address}/files?path=/steady", pieces(),
                                 {"Content-Type": OCTETS}, timeout_s=120)
    assert answer.status == 201, answer
    assert len(volume.read("/steady")) == 15 * 4096


def test_killed_workers_leave_no_share_behind(hostile):
    volume = Volume(hostile.api)
    content = base64.b64encode(b"in").decode()
    before = workers_of(hostile.stack, "files")
    with trickles(hostile.api, volume, FILES_SHARE, key=hostile.api.key):
        wait_until(lambda: shares(hostile.stack, "files") == FILES_SHARE, 30, "uploads")
        for pid in before:
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(workers_of(hostile.stack, "files") - before) == len(before), 30, "new workers")
    # Three are at work again, so the fourth of them is free.
    with trickles(hostile.api, volume, FILES_SHARE - 1, key=hostile.api.key):
        wait_until(lambda: shares(hostile.stack, "files") == FILES_SHARE - 1, 30, "uploads at work")
        answer = hostile.api.request("PUT", f"{volume.address}/files",
                                     {"path": "/note", "content_b64": content})
        assert answer.status in (200, 201), answer


@pytest.mark.parallel
def test_a_change_writes_no_index_that_stays_as_it_is(hostile):
    """Or each small change writes up to 64 rows."""
    api, stack = hostile.api, hostile.stack
    sandbox = api.create(metadata={"a": "1", "b": "2"})

    def index():
        return {row["name"]: row["value"] for row in stack.query(
            "SELECT CAST(name AS CHAR) AS name, CAST(value AS CHAR) AS value FROM sandbox_metadata WHERE sandbox_id = %s",
            sandbox["id"])}

    stack.query("UPDATE sandbox_metadata SET value = 'kept' WHERE sandbox_id = %s AND name = 'b'", sandbox["id"])
    for change in ({"timeout": 1000}, {"metadata": {"a": "1"}}):
        assert api.request("PATCH", f"/v1/sandboxes/{sandbox['id']}", change).status == 200
        assert index() == {"a": "1", "b": "kept"}
    assert api.request("PATCH", f"/v1/sandboxes/{sandbox['id']}", {"metadata": {"a": None, "c": "3"}}).status == 200
    assert index() == {"b": "2", "c": "3"}
