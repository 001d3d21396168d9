# SPDX-License-Identifier: GPL-2.0-or-later
"""Forks and checkpoints with memory: sandboxes that go on where another is."""

import contextlib
import json
import pathlib
import re
import secrets
import threading
import time

import pytest

from client import assert_error
from tenant import Sandbox
from dataplane import DataPlane
from faults import InBackground, fault_points, quota_in_use, settle, take_over  # noqa: F401
from stack import wait_until

pytestmark = pytest.mark.parallel

COUNTER = (  # counts in its memory, a hundred times a second, and says how far it is
    "import http.server, os, threading, time\n"
    "said = os.urandom(8).hex(); count = 0\n"
    "class Answer(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(200); self.end_headers(); self.wfile.write(f'{said} {count}'.encode())\n"
    "    def log_message(self, *_): pass\n"
    "threading.Thread(target=http.server.HTTPServer(('', 8111), Answer).serve_forever, daemon=True).start()\n"
    "open('/tmp/counts', 'w').close()\n"
    "while True:\n"
    "    count += 1; time.sleep(0.01)\n")


def start_counter(sandbox):
    sandbox.data.upload("/tmp/counter.py", COUNTER.encode())
    sandbox.data.background("/usr/bin/setsid", "/bin/sh", "-c", "exec python3 /tmp/counter.py </dev/null >/dev/null 2>&1")
    wait_until(lambda: sandbox.data.bash("test -e /tmp/counts").exit_code == 0, 60, "the counter")


def counter(sandbox):
    """What it said at its start, and how far it is."""
    said, count = sandbox.data.check("curl -s http://127.0.0.1:8111/").split()
    return said, int(count)


def opened(api, document):
    """A sandbox that came without a session."""
    session = api.post(f"/v1/sandboxes/{document['id']}/sessions", {}).json()["session"]
    return Sandbox(api, {**document, "session": session})


def fork(sandbox, count=1, **fields):
    response = sandbox.api.post(f"{sandbox.path}/fork", {"count": count, **fields})
    assert response.status == 201, response
    made = [opened(sandbox.api, one["sandbox"]) for one in response.json()["forks"]]
    for one in made:  # on a busy machine they are answered before they are started
        wait_until(lambda one=one: one.show()["state"] == "ready", 3 * sandbox.stack.lease_s + 90, "the fork")
    return made


def addresses(sandbox):
    return sandbox.data.check("python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
                              " s.connect(('192.0.2.1', 9)); print(s.getsockname()[0])\"").strip()


def assert_no_copy_is_left(stack, sandbox):
    """Neither the copy that a fork makes for itself, nor anything of it beside the original."""
    wait_until(lambda: not stack.query(
        "SELECT 1 FROM checkpoints WHERE sandbox_id = %s AND state IN ('creating', 'forking', 'deleting')", sandbox.id),
        90, "the end of the copy")
    names = {row["instance_name"] for row in stack.query(
        "SELECT instance_name FROM checkpoints WHERE sandbox_id = %s AND state = 'deleted'", sandbox.id)}
    assert not names & set(stack.incus.names())
    assert stack.incus.request("GET", f"/1.0/instances/{sandbox.instance}/snapshots") == []
    images = stack.incus_dir.glob(f"storage-pools/*/sandlot-images/*{sandbox.instance}.fork-*")
    assert not list(images), "the memory that its forks shared"


def test_a_running_one_goes_on_and_so_do_its_forks(sandbox, stack):
    start_counter(sandbox)
    sandbox.data.check("echo here >~/disk")
    said, before = counter(sandbox)
    forks = fork(sandbox, 2, timeout=1200)
    assert counter(sandbox)[0] == said and sandbox.show()["state"] == "ready"
    everyone = [sandbox, *forks]
    for one in forks:
        shown = one.show()
        assert (shown["state"], shown["resumed_from"], shown["timeout"]) == ("ready", "memory", 1200)
        assert (shown["forked_from"], shown["snapshot_id"]) == (sandbox.id, None)
        said_there, count = counter(one)
        assert said_there == said and count >= before, "it went on in its memory"
        assert one.data.check("cat ~/disk; echo $SANDLOT_SANDBOX_ID") == f"here\n{one.id}\n"
        one.data.check(f"echo {one.id} >~/disk")
    assert sandbox.data.check("cat ~/disk") == "here\n", "the disks are their own"
    assert [addresses(one) for one in everyone] == [one.address for one in everyone]
    assert len({one.address for one in everyone}) == 3
    assert len({one.document["data_plane_url"] for one in everyone}) == 3
    assert_no_copy_is_left(stack, sandbox)


@pytest.mark.long
def test_a_paused_one_stays_paused(sandbox, stack):
    start_counter(sandbox)
    said, _ = counter(sandbox)
    sandbox.pause()
    (made,) = fork(sandbox)
    assert counter(made)[0] == said
    shown = sandbox.show()
    assert shown["state"] == "stopped" and shown["deadline"] is None
    assert sandbox.resume()["resumed_from"] == "memory"
    assert counter(sandbox)[0] == said
    assert_no_copy_is_left(stack, sandbox)


@pytest.mark.long
def test_one_behind_the_other(sandbox, stack):
    """Incus removes the folder of an instance's snapshots with the last of them, while the next is on its way."""
    folder = stack.instance_dir(sandbox.instance)
    folder = folder.parents[1] / "containers-snapshots" / folder.name
    ended = threading.Event()

    def remove_it():
        while not ended.wait(0.002):
            with contextlib.suppress(OSError):
                folder.rmdir()

    removing = threading.Thread(target=remove_it)
    removing.start()
    try:
        for _ in range(3):
            made, = fork(sandbox)
            sandbox.api.destroy(made.id)
    finally:
        ended.set()
        removing.join()


@pytest.mark.long
def test_a_fork_is_a_sandbox_like_others(sandbox):
    start_counter(sandbox)
    (made,) = fork(sandbox)
    said, _ = counter(made)
    made.pause()
    assert made.resume()["resumed_from"] == "memory"
    assert counter(made)[0] == said
    (second,) = fork(made)
    assert counter(second)[0] == said and second.show()["forked_from"] == made.id


def test_its_secrets_are_its_own(sandbox):
    (made,) = fork(sandbox)
    foreign = DataPlane(sandbox.stack, {**made.document["session"],
                                        "access_token": sandbox.document["session"]["access_token"]})
    assert foreign.request("GET", "/files?path=/etc/hostname").status in (401, 403)
    assert made.data.check("echo works") == "works\n"
    assert sandbox.data.check("echo works") == "works\n"


def test_what_is_inherited(make_account):
    api = make_account("pro").api
    original = Sandbox.create(
        api, metadata={"a": "b"}, envs={"SHARED": "secret"}, timeout=900,
        lifecycle={"on_timeout": "pause", "auto_resume": True}, exposed_ports=[{"port": 3000, "public": True}])
    (made,) = fork(original)
    shown, of = made.show(), original.show()
    for member in ("metadata", "timeout", "lifecycle", "exposed_ports", "cpu", "memory_mb", "disk_gb", "template_version"):
        assert shown[member] == of[member], member
    assert made.data.check("echo $SHARED") == "secret\n"


def test_quota_is_taken_for_each(account, stack, own_plan):
    stack.ctl("team", "set-plan", account.team, "enterprise")
    own_plan(account, sandboxes=3)
    original = Sandbox.create(account.api)
    answer = account.api.post(f"{original.path}/fork", {"count": 4})
    assert answer.status == 201, answer
    forks = answer.json()["forks"]
    assert ["sandbox" in one for one in forks] == [True, True, False, False]
    for one in forks[2:]:
        assert one["error"]["error"] == "sandbox_quota_exceeded" and "quota" in one["error"]
    assert quota_in_use(account.api) == 3
    assert_error(account.api.post(f"{original.path}/fork", {}), 422, "sandbox_quota_exceeded")
    assert quota_in_use(account.api) == 3


@pytest.mark.parametrize("body, field", [({"count": 0}, "/count"), ({"count": 101}, "/count"), ({"count": "1"}, "/count"),
                                         ({"timeout": 0}, "/timeout"), ({"cont": 1}, "/cont")])
def test_bodies(shared_sandbox, body, field):
    assert_error(shared_sandbox.api.post(f"{shared_sandbox.path}/fork", body), 422, "invalid_request", field)


def test_one_that_has_no_memory(sandbox):
    sandbox.api.post(f"{sandbox.path}/pause", {"memory": False})
    assert_error(sandbox.api.post(f"{sandbox.path}/fork", {}), 409, "memory_not_kept")
    assert sandbox.show()["state"] == "stopped"


def held_sum(sandbox, pid=None):
    """The sum of the memory that sum_memory.py holds; with a pid, the program adds it up again."""
    def read():
        answer = sandbox.data.download("/tmp/held")
        return answer.body.decode().split() if answer.status == 200 else None

    before = read()
    if pid:
        sandbox.data.check(f"kill -USR1 {pid}")
    wait_until(lambda: read() if pid is None else read() != before, 60, "the sum")
    return read()[1]


@pytest.mark.long
def test_every_byte_of_memory_is_kept(make_account):
    sandbox = Sandbox.create(make_account("pro").api, memory_mb=512)
    pid = sandbox.data.background("python3", sandbox.put_guest("sum_memory.py"), "200", "/tmp/held")
    held = held_sum(sandbox)
    for _ in range(3):
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
        sandbox.pause()  # at once
        assert sandbox.resume()["resumed_from"] == "memory"
        assert held_sum(sandbox, pid) == held
    sandbox.pause()
    sandbox.resume()
    (made,) = fork(sandbox)
    assert held_sum(made, pid) == held
    assert held_sum(sandbox, pid) == held


def groups_of(sandbox):
    """The containers whose control groups a process of the sandbox is in, in all hierarchies of the host."""
    root = pathlib.Path("/sys/fs/cgroup")
    group = (root if (root / "cgroup.controllers").exists() else root / "pids") / f"lxc.payload.sandlot_{sandbox.instance}"
    pid = next(pid for procs in group.rglob("cgroup.procs") for pid in procs.read_text(encoding="ascii").split())
    groups = pathlib.Path("/proc", pid, "cgroup").read_text(encoding="ascii")
    return set(re.findall(r"lxc\.payload\.sandlot_([^/\n]+)", groups))


def test_a_checkpoint_with_memory(make_account):
    sandbox = Sandbox.create(make_account("pro").api)
    start_counter(sandbox)
    said, before = counter(sandbox)
    answer = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "whole", "memory": True})
    assert answer.status == 201 and answer.json()["memory"] is True, answer
    made = answer.json()
    restored = Sandbox.create(sandbox.api, snapshot_id=made["id"])
    assert restored.document["resumed_from"] == "memory"
    assert counter(restored)[0] == said and counter(restored)[1] >= before
    assert groups_of(restored) == {restored.instance}
    assert_error(sandbox.api.post("/v1/sandboxes", {"snapshot_id": made["id"], "memory_mb": 1024}),
                 422, "invalid_request", "/memory_mb")
    assert sandbox.api.delete(f"/v1/checkpoints/{made['id']}").status == 204
    assert counter(restored)[0] == said


# --- crashes ---


def assert_at_rest(stack, sandbox):
    settle(stack)
    assert sandbox.show()["state"] == "ready"
    assert sandbox.data.check("echo works") == "works\n", "it goes on"


@pytest.mark.parametrize("point", ["checkpoint.begun", "copy.dumped", "checkpoint.copied", "fork.copied", "fork.begun",
                                   "fork.finished"])
def test_a_worker_killed_and_the_client_asks_again(sandbox, stack, fault_points, point):
    key = {"Idempotency-Key": secrets.token_urlsafe(24)}
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/fork", {}, headers=key).status >= 500
    # What a fork keeps for itself is kept for two minutes after its worker is gone.
    stack.query("UPDATE checkpoints SET lease_until_ms = 0 WHERE sandbox_id = %s AND state = 'forking'", sandbox.id)
    answers = []

    def again():
        answers.append(sandbox.api.post(f"{sandbox.path}/fork", {}, headers=key))
        settled = answers[-1].status == 201 or answers[-1].json()["error"] == "runtime_unavailable"
        return answers[-1] if settled else None

    answer = wait_until(again, 3 * stack.lease_s + 60, "an answer to the retry", 0.3)
    if point not in ("fork.begun", "fork.finished"):
        assert answer.status == 503, "no sandbox of it was made"
        answer = sandbox.api.post(f"{sandbox.path}/fork", {})
    assert answer.status == 201, answer
    assert_at_rest(stack, sandbox)
    assert len(sandbox.api.list()) == 2
    assert_no_copy_is_left(stack, sandbox)


@pytest.mark.parametrize("point", ["create.started", "create.network", "finishing", "create.finished", "checkpoint.removed"])
def test_a_dispatcher_killed_and_the_fork_is_made(sandbox, stack, fault_points, point):
    start_counter(sandbox)
    said, before = counter(sandbox)
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    (made,) = fork(sandbox)
    assert counter(made)[0] == said and counter(made)[1] >= before
    assert_at_rest(stack, sandbox)
    assert len(sandbox.api.list()) == 2
    assert_no_copy_is_left(stack, sandbox)


def test_a_fork_that_another_dispatcher_has_taken_over_keeps_its_instance(sandbox, stack, fault_points):
    start_counter(sandbox)
    said, before = counter(sandbox)
    fault_points.arm("create.started", "wait", "sandlot-dispatcher")
    forking = InBackground(fork, sandbox)
    fault_points.reached("create.started", 60)
    (row,) = stack.query("SELECT id, instance_name FROM sandboxes WHERE forked_from = %s", sandbox.id)
    take_over(stack, row["id"], 20)
    fault_points.release("create.started")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        assert stack.incus.exists(row["instance_name"]), "it belongs to the other dispatcher"
        time.sleep(0.2)
    (made,) = forking.result(3 * stack.lease_s + 120)
    assert counter(made)[0] == said and counter(made)[1] >= before
    assert_at_rest(stack, sandbox)
    assert_no_copy_is_left(stack, sandbox)


TALKS = (  # to itself over two TCP connections, and says after each word how far it is and whether the second one is open
    "import os, socket, time\n"
    "def pair(address):\n"
    "    listener = socket.create_server((address, 0)); one = socket.create_connection(listener.getsockname())\n"
    "    return one, listener.accept()[0]\n"
    "own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); own.connect(('192.0.2.1', 9))\n"
    "inside, outside = pair('127.0.0.1'), pair(own.getsockname()[0])\n"
    "inside[0].sendall(b'waits'); count = 0\n"
    "while True:\n"
    "    inside[0].sendall(b'x'); assert inside[1].recv(1); count += 1\n"
    "    try: outside[0].sendall(b'x'); state = 'open' if outside[1].recv(1) else 'ended'\n"
    "    except OSError: state = 'ended'\n"
    "    open('/tmp/new', 'w').write(f'{count} {state}'); os.rename('/tmp/new', '/tmp/state'); time.sleep(0.02)\n")


def assert_talks(sandbox, expected):
    def state():
        count, state = sandbox.data.check("cat /tmp/state").split()
        return int(count), state

    before, _ = state()
    wait_until(lambda: state()[0] > before, 60, "a word more over the loopback interface")
    assert state()[1] == expected


def test_connections_on_loopback_are_kept_and_others_end(sandbox):
    """In forks and in what is made from a checkpoint. The original keeps both kinds, also over a pause."""
    sandbox.data.upload("/tmp/talks.py", TALKS.encode())
    sandbox.data.background("/usr/bin/setsid", "/bin/sh", "-c", "exec python3 /tmp/talks.py </dev/null >/dev/null 2>&1")
    wait_until(lambda: sandbox.data.bash("test -e /tmp/state").exit_code == 0, 60, "the first word")
    assert_talks(sandbox, "open")
    made = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "talking", "memory": True}).json()
    copies = [*fork(sandbox), Sandbox.create(sandbox.api, snapshot_id=made["id"])]
    for copy in copies:
        assert_talks(copy, "ended")
    assert_talks(sandbox, "open")
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    assert_talks(sandbox, "open")


@pytest.mark.long
def test_a_command_continues_without_its_client(sandbox):
    """POST /exec ends a command whose client goes away. The client of the original is in no fork."""
    command = json.dumps({"cmd": "exec sleep 54321", "timeout": 600}).encode()
    waiting = InBackground(sandbox.data.request, "POST", "/exec", command, {"Content-Type": "application/json"})
    pid = wait_until(lambda: sandbox.data.run("pgrep", "-xf", "sleep 54321").stdout.strip(), 30, "the command").decode()
    (copy,) = fork(sandbox)
    time.sleep(2)
    copy.data.check(f"test -d /proc/{pid}")
    sandbox.data.check(f"kill {pid}")
    assert waiting.result().json()["signal"] == "SIGTERM"
