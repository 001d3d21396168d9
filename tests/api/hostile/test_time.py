# SPDX-License-Identifier: GPL-2.0-or-later
"""Every call ends, whatever an agent or a name server does; and nobody else waits for it."""

import contextlib
import http.client
import json
import secrets

import pytest

from client import assert_error
from stack import wait_until
from tenant import Sandbox
from test_pools import PUBLIC, agent_says, is_asked_to_wait, repeated

PATIENCE_S = 60  # of a client; far above the deadlines, far below what these loops took without one
PORTS = [{"port": 3000 + number, "protocol": "http", "public": True} for number in range(100)]


@pytest.fixture
def hostile(make_account):
    return make_account("pro")


@pytest.fixture
def silent_names(internet):
    """A tag; names below <tag>.dead.test get no answer at all."""
    tag = secrets.token_hex(4)
    internet.publish({f"*.{tag}.dead.test": {"drop": True}, f"*.{tag}.example": {"A": [["203.0.113.11", 60]]}})
    return tag


# --- agents ---

def install(sandbox, answer):
    """Put another program into the agent's place. The answer to this call may end with the agent."""
    program = sandbox.put_guest("false_agent.py")
    with contextlib.suppress(http.client.HTTPException, OSError):
        sandbox.data.run("python3", program, "install", answer, user="root")
    return sandbox


def mute_sandbox(account):
    sandbox = install(Sandbox.create(account.api, timeout=1800), "mute")
    wait_until(lambda: agent_says(sandbox) == b"", 60, "the mute agent")
    return sandbox


def late_sandbox(account, **fields):
    sandbox = install(Sandbox.create(account.api, timeout=1800, **fields), "late")
    wait_until(lambda: (account.api.get(f"{sandbox.path}/logs").json().get("logs") or [{}])[-1].get("command") == "x",
               60, "the false agent")
    return sandbox


@pytest.mark.parallel
def test_a_log_that_never_ends_is_given_up(hostile):
    sandbox = late_sandbox(hostile)
    answer = hostile.api.request("GET", f"/v2/sandboxes/{sandbox.id}/logs?search=zzz", timeout_s=PATIENCE_S)
    assert answer.status == 503 and "whole log" in answer.json()["message"], answer


@pytest.mark.parallel
def test_a_hundred_ports_have_one_deadline(hostile):
    sandbox = late_sandbox(hostile, exposed_ports=PORTS)
    answer = hostile.api.request("GET", f"{sandbox.path}/ports", timeout_s=PATIENCE_S)
    assert_error(answer, 503, "runtime_unavailable")


@pytest.mark.parallel
@pytest.mark.parametrize("answer", ["dribble", "headers", "chunks"])
def test_an_answer_without_an_end_costs_no_more_than_none(hostile, answer):
    sandbox = install(Sandbox.create(hostile.api, timeout=1800, exposed_ports=PUBLIC), answer)
    wait_until(lambda: hostile.api.get(f"{sandbox.path}/ports").status == 503, 60, "the false agent")
    for path in (f"{sandbox.path}/ports", f"{sandbox.path}/logs"):
        assert_error(hostile.api.request("GET", path, timeout_s=PATIENCE_S), 503, "runtime_unavailable")


def test_an_agent_that_is_stopped_is_known(hostile):
    """Its kernel still takes connections: calls end all the same, and go on when it does."""
    sandbox = Sandbox.create(hostile.api, timeout=1800)
    pids = sandbox.data.check("grep -lx sandlot-agent /proc/[0-9]*/comm", user="root").split()
    pid = min(int(path.split("/")[2]) for path in pids)
    sandbox.data.check(f"(sleep 1; kill -STOP {pid}; sleep 20; kill -CONT {pid}) >/dev/null 2>&1 &", user="root")

    body = json.dumps({"cmd": "/bin/true"})

    def run():
        return sandbox.data.request("POST", "/exec", body, {"Content-Type": "application/json"}, timeout_s=PATIENCE_S)

    answer = wait_until(lambda: (answer := run()).status == 502 and answer, PATIENCE_S, "the refusal", 1)
    assert_error(answer, 502, "runtime_unavailable")
    wait_until(lambda: run().status == 200, PATIENCE_S, "the agent that goes on", 1)


def test_a_fork_of_a_mute_sandbox_is_refused_before_it_is_made(hostile):
    sandbox = mute_sandbox(hostile)
    answer = hostile.api.post(f"{sandbox.path}/fork", {"count": 2}, timeout_s=PATIENCE_S)
    assert_error(answer, 503, "runtime_unavailable")
    assert "a fork needs it" in answer.json()["message"], answer
    assert [one["id"] for one in hostile.api.list()] == [sandbox.id]


@pytest.mark.long
def test_a_checkpoint_that_does_not_start_is_remembered(hostile, bystander):
    sandbox = mute_sandbox(hostile)
    answer = hostile.api.post(f"{sandbox.path}/checkpoints", {"name": "mute"})
    assert answer.status == 201, answer
    body = {"template": answer.json()["id"]}
    for _ in range(2):
        assert_error(hostile.api.post("/v1/sandboxes", body, timeout_s=PATIENCE_S), 503, "runtime_unavailable")
    answer = hostile.api.post("/v1/sandboxes", body, timeout_s=PATIENCE_S)
    assert_error(answer, 503, "runtime_unavailable")
    assert body["template"] in answer.json()["message"] and "twice" in answer.json()["message"] and int(answer.headers["Retry-After"]) > 0, answer
    # What else there is to start from goes on, for this team and for others.
    assert hostile.api.post("/v1/sandboxes", {}).status == 201
    bystander.create()


# --- names ---

def put_policy(api, sandbox, name):
    return api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": True, "deny_out": [name]},
                       timeout_s=PATIENCE_S)


def test_denied_names_without_an_answer_keep_no_other_policy_waiting(hostile, bystander, silent_names):
    """Each of the hostile calls waits a second for its name. Where they were served one after the
    other, each of the neighbour's would come behind six of them."""
    theirs = [Sandbox.create(hostile.api, timeout=900) for _ in range(2)]
    own = Sandbox.create(bystander.api, timeout=900)

    def deny(index):
        return put_policy(hostile.api, theirs[index % 2], f"n{secrets.token_hex(4)}.{silent_names}.dead.test")

    with repeated(6, deny) as answers:
        wait_until(lambda: len(answers) >= 3, 60, "the first hostile policies")
        before = len(answers)
        for number in range(10):
            answer = put_policy(bystander.api, own, f"v{number}.{silent_names}.example")
            assert answer.status == 200 and answer.json()["status"] == "applied", answer
        among = len(answers) - before
        bystander.goes_on(rounds=1, pause=False)
    assert among < 30, f"{among} hostile policies were served between ten of the neighbour's"
    assert {answer.status for answer in answers} <= {200, 202, 429}, answers
    assert all(is_asked_to_wait(answer) for answer in answers if answer.status == 429)


@pytest.mark.long
def test_lookups_of_silent_names_leave_room_for_others(hostile, bystander, silent_names):
    flood = (
        "import socket, struct, time\n"
        "def ask(s, n):\n"
        f"    name = b''.join(bytes([len(p)]) + p for p in [b'n%d' % n, b'{silent_names}', b'dead', b'test']) + b'\\0'\n"
        "    s.sendto(struct.pack('>HHHHHH', n & 65535, 256, 1, 0, 0, 0) + name + b'\\0\\1\\0\\1', ('169.254.0.1', 53))\n"
        "socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(64)]\n"
        "base = int(time.time() * 1000) * 1000\n"
        "for turn in range(100000):\n"
        "    for i, s in enumerate(socks): ask(s, base + turn * 64 + i)\n"
        "    time.sleep(1)\n")
    for _ in range(18):
        sandbox = Sandbox.create(hostile.api, timeout=900)
        sandbox.data.upload("/tmp/flood.py", flood.encode())
        sandbox.data.background("python3", "/tmp/flood.py")
    own = Sandbox.create(bystander.api, timeout=900)
    for number in range(20):
        result = own.data.run("getent", "ahostsv4", f"v{number}.{silent_names}.example")
        assert result.exit_code == 0 and b"203.0.113.11" in result.stdout, (number, result)
