# SPDX-License-Identifier: GPL-2.0-or-later
"""Data-plane tokens over their life, and the secret behind them, which nobody may find."""

import http.client
import json
import os
import pathlib
import time

import pytest

from client import assert_error
from dataplane import DataPlane, envelope
from keyring import KeyRing
from stack import wait_until
from search import file_holds, files_below, forms, search_database, search_incus

pytestmark = pytest.mark.parallel

JSON = {"Content-Type": "application/json"}
STREAM = {"Content-Type": "application/connect+json"}
OCTETS = {"Content-Type": "application/octet-stream"}

UNARY = [f"filesystem.Filesystem/{name}" for name in (
    "Stat", "MakeDir", "Move", "ListDir", "Remove", "CreateWatcher", "GetWatcherEvents",
    "RemoveWatcher")] + [f"process.Process/{name}" for name in (
        "List", "SendInput", "CloseStdin", "SendSignal", "Update")]
STREAMS = ["filesystem.Filesystem/WatchDir", "process.Process/Start", "process.Process/Connect",
           "process.Process/StreamInput"]

CALLS = [
    ("GET", "/files?path=/etc/passwd", None, {}),
    ("HEAD", "/files?path=/etc/passwd", None, {}),
    ("POST", "/files?path=/tmp/refused", b"x", OCTETS),
    ("POST", "/files/compose", b'{"source_paths":["/tmp/none"],"destination":"/tmp/y"}', JSON),
    ("GET", "/metrics", None, {}),
    ("GET", "/envs", None, {}),
    ("POST", "/exec", b'{"cmd":"id"}', JSON),
    ("GET", "/no/such/path", None, {}),
    *[("POST", f"/{name}", b'{"path":"/tmp/none"}', JSON) for name in UNARY],
    *[("POST", f"/{name}", envelope({"path": "/tmp/none", "process": {"cmd": "/bin/true"}}), STREAM)
      for name in STREAMS],
]


def every_answer(origin, headers):
    for method, path, body, more in CALLS:
        yield (method, path), origin.request(method, path, body, {**headers, **more}, timeout_s=20)


@pytest.fixture(scope="module")
def ring(stack):
    return KeyRing(stack)


def test_every_call_takes_the_token_of_its_sandbox_only(shared_sandbox, ring, sandbox):
    data = shared_sandbox.data
    origin = data.origin
    later = int(time.time()) + 600
    assert origin.request("GET", "/metrics", headers=data.headers()).status == 200
    forged = ring.token(shared_sandbox.id, later)
    assert origin.request("GET", "/metrics", headers={"X-Access-Token": forged}).status == 200
    for token in (
        None,
        sandbox.data.token,
        ring.token(sandbox.id, later),
        ring.token(shared_sandbox.id, int(time.time()) - 1),
        shared_sandbox.api.key,
        ring.agent_secret(shared_sandbox.stack.row(shared_sandbox.id)),
    ):
        headers = [{}] if token is None else [
            {"X-Access-Token": token}, {"Authorization": f"Bearer {token}"}]
        for one in headers:
            for call, answer in every_answer(origin, one):
                assert answer.status == 401, (call, one, answer)
                if call[0] != "HEAD":
                    assert_error(answer, 401, "unauthorized")
    assert data.download("/tmp/refused").status == 404


def test_connect_refreshes(sandbox, stack):
    first = sandbox.data
    time.sleep(2.1)  # ends come in steps
    session = sandbox.api.resume(sandbox.id)["session"]
    assert session["expires_at"] >= sandbox.document["session"]["expires_at"]
    second = DataPlane(stack, session)
    assert first.check("echo 1") == second.check("echo 1") == "1\n"


def test_an_expiry_is_kept_to(sandbox, ring, stack):
    ends = int(time.time()) + 3
    data = DataPlane(stack, sandbox.document["session"])
    data.token = ring.token(sandbox.id, ends)
    assert data.request("GET", "/metrics").status == 200
    # What was opened in time goes on; nothing new begins.
    with data.start("/bin/sh", "-c", "sleep 5; echo done") as stream:
        next(stream)
        wait_until(lambda: data.request("GET", "/metrics").status == 401, 8, "the end of the token")
        assert ends <= time.time() + 1
        assert any("data" in message["event"] for message in stream)
    assert {answer.status for _, answer in every_answer(data.origin, data.headers())} == {401}


def test_a_destroy_revokes_at_once(sandbox, ring):
    data = sandbox.data
    forged = ring.token(sandbox.id, int(time.time()) + 600)
    assert data.request("GET", "/metrics").status == 200
    sandbox.api.destroy(sandbox.id)
    wait_until(lambda: data.request("GET", "/metrics").status != 200, 3, "the refusal")
    for token in (data.token, forged):
        answers = list(every_answer(data.origin, {"X-Access-Token": token}))
        assert {answer.status for _, answer in answers} <= {401, 404}, answers
    assert_error(data.request("GET", "/metrics"), answers[0][1].status, "unauthorized"
                 if answers[0][1].status == 401 else "not_found")


# --- the agent's own secret ---


def guest_processes(stack, instance):
    """Pids, as the host has them, of all processes of a sandbox."""
    init = stack.incus.request("GET", f"/1.0/instances/{instance}/state")["pid"]
    space = os.readlink(f"/proc/{init}/ns/pid")
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "ns" / "pid") == space:
                found.append(entry)
        except OSError:
            continue
    return found


def memory_of(process):
    """All that is mapped and readable."""
    with open(process / "maps", encoding="utf-8") as maps, open(process / "mem", "rb", 0) as memory:
        for line in maps:
            words = line.split()
            if "r" not in words[1] or words[-1] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                continue
            first, last = (int(word, 16) for word in words[0].split("-"))
            try:
                memory.seek(first)
                yield memory.read(last - first)
            except (OSError, ValueError):
                continue


def holders(stack, instance, needles):
    """Where in the processes of a sandbox one of the needles is."""
    found = []
    processes = guest_processes(stack, instance)
    names = [(process / "comm").read_text(encoding="utf-8").strip() for process in processes]
    assert "sandlot-agent" in names and "sleep" in names, names
    for process, name in zip(processes, names):
        for part in ("environ", "cmdline"):
            if any(needle in (process / part).read_bytes() for needle in needles):
                found.append(f"{name} {part}")
        if any(needle in piece for piece in memory_of(process) for needle in needles):
            found.append(f"{name} memory")
    return found


def ask_agent(sandbox, path, secret, method="GET", body=None):
    connection = http.client.HTTPConnection(sandbox.address, 49983, timeout=10)
    connection.request(method, path, body, {"X-Sandlot-Agent-Secret": secret})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


@pytest.mark.one_host
def test_the_agents_secret_is_nowhere(sandbox, ring, stack):
    secret = ring.agent_secret(stack.row(sandbox.id))
    started = stack.query("SELECT created_at_ms FROM sandboxes WHERE id = %s",
                          sandbox.id)[0]["created_at_ms"] / 1000 - 3600  # it may have waited
    assert ask_agent(sandbox, "/internal/ports/1", secret) == 200, "this is the secret"
    assert ask_agent(sandbox, "/internal/ports/1", "00" * 32) == 401
    data = sandbox.data
    canary = "canary" + "0123456789abcdef" * 2
    data.background("/bin/sleep", "1000", envs={"CANARY": canary})
    data.upload("fresh", b"x")
    for call, answer in every_answer(data.origin, data.headers()):
        assert not any(needle in answer.body + str(answer.headers).encode()
                       for needle in forms(secret)), call
    needles = forms(secret) | {bytes.fromhex(secret)}
    assert "sleep environ" in holders(stack, sandbox.instance, {canary.encode()}), "the search works"
    wait_until(lambda: not holders(stack, sandbox.instance, needles), 5,
               "the secret being in no process")
    # What is older than the sandbox came with the template.
    root = stack.instance_dir(sandbox.instance)
    touched = [path for path in files_below(root, set()) if path.lstat().st_ctime > started]
    assert any(path.name == "fresh" for path in touched), "the search works"
    assert not [path for path in touched if file_holds(path, needles)]
    search_database(stack, needles)
    search_incus(stack, needles, sandbox.instance)

    sandbox.pause()
    state = list(files_below(root / "state", set()))
    assert any(file_holds(path, {canary.encode()}) for path in state), "the search works"
    assert not [path for path in state if file_holds(path, needles)]
    sandbox.resume()
    sandbox.data.check("true")
    logs = [*files_below(stack.root / "log", set()), *files_below(stack.root / "nginx", set())]
    assert logs and not [path for path in logs if file_holds(path, needles)]


@pytest.mark.one_host
def test_nobody_inside_can_use_it(sandbox, ring, stack):
    """Not even with the secret in hand: the control plane's own calls are for peers outside."""
    secret = ring.agent_secret(stack.row(sandbox.id))
    own = sandbox.address
    for host in ("127.0.0.1", own):
        for method, path in (("POST", "/init"), ("POST", "/internal/hang-up"),
                             ("GET", "/internal/ports/1")):
            status = sandbox.data.check(
                f"curl -s -o /dev/null -w '%{{http_code}}' -X {method} -d '{{}}'"
                f" -H 'X-Sandlot-Agent-Secret: {secret}' http://{host}:49983{path}")
            assert status == "404", (host, path, status)
        status = sandbox.data.check(
            f"curl -s -o /dev/null -w '%{{http_code}}' 'http://{host}:49983/files?path=/root'")
        assert status == "401"
    body = json.dumps({"secret": "ab" * 32}).encode()
    assert ask_agent(sandbox, "/init", secret, "POST", body) == 400, "it cannot be changed"
    assert ask_agent(sandbox, "/internal/ports/1", secret) == 200
