# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes with the agent of the version before go on under the programs of this one, which do not renew it:
a sandbox keeps the agent of its image."""

import hashlib
import http.client
import secrets

import pytest

import version_before
from client import assert_error
from dataplane import DataPlane, collect
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.long

PROGRAM = "/usr/lib/sandlot/sandlot-agent"
SERVED = [{"port": 3000, "protocol": "http", "public": True}]
REACHED = ("203.0.113.7", 80)


@pytest.fixture(scope="module")
def team(make_module_account):
    return make_module_account("pro")


@pytest.fixture(scope="module")
def program():
    return version_before.agent().read_bytes()


@pytest.fixture(scope="module")
def template(stack, team, program):
    """One of before, which its owner did not build again."""
    maker = Sandbox.create(team.api, timeout=1800)
    maker.data.upload("/tmp/agent", program, user="root")
    maker.data.check(f"chmod 755 /tmp/agent && mv /tmp/agent {PROGRAM}", user="root")
    checkpoint = team.api.post(f"{maker.path}/checkpoints", {})
    assert checkpoint.status == 201, checkpoint
    slug = "t" + secrets.token_hex(5)
    assert team.api.post("/v1/templates", {"slug": slug, "checkpoint_id": checkpoint.json()["id"]}).status == 201
    version = wait_until(lambda: built(team.api, slug), 300, "the build of the template", 0.2)
    assert version["state"] == "ready", version
    team.api.destroy(maker.id)
    yield slug
    team.clean_up()
    assert team.api.delete(f"/v1/templates/{slug}").status == 204
    assert team.api.delete(f"/v1/checkpoints/{checkpoint.json()['id']}").status == 204


def built(api, slug):
    version = api.get(f"/v1/templates/{slug}/versions/1").json()
    return version if version["state"] != "building" else None


@pytest.fixture
def make_old(team, template, program):
    made = []

    def make(**fields):
        made.append(Sandbox.create(team.api, **{"timeout": 1800, **(fields if "snapshot_id" in fields else {"template": template, **fields})}))
        assert_old(made[-1], program)
        return made[-1]

    yield make
    for sandbox in made:
        assert team.api.delete(sandbox.path).status in (204, 404)


@pytest.fixture
def old(make_old):
    return make_old(exposed_ports=SERVED)


def assert_old(sandbox, program):
    """The guard and the agent that serves."""
    for line in sandbox.data.check("sha256sum $(pgrep -x sandlot-agent | sed 's|.*|/proc/&/exe|')", user="root").splitlines():
        assert line.split()[0] == hashlib.sha256(program).hexdigest()


def serve(sandbox):
    sandbox.data.background("python3", "-m", "http.server", "3000", "--directory", "/etc")
    wait_until(lambda: is_served(sandbox), 60, "the preview", 0.2)


def is_served(sandbox):
    return sandbox.preview(3000).request("GET", "/hostname").status == 200


def test_commands_files_and_streams(old):
    data = old.data
    answer = data.request("POST", "/exec", b'{"cmd": "echo out; exit 3"}', {"Content-Type": "application/json"})
    assert (answer.json()["exit_code"], answer.json()["stdout"]) == (3, "out\n")
    sent = secrets.token_bytes(3_000_000)
    data.upload("/home/user/sent", sent)
    assert data.read("/home/user/sent") == sent
    data.call("filesystem.Filesystem/MakeDir", {"path": "watched"})
    with data.watch("watched") as watching:
        data.upload("/home/user/watched/new", b"")
        assert next(watching)["filesystem"]["name"] == "new"
    stream, pid = data.echoing()
    data.type(pid, b"over a stream\n")
    assert stream.output() == b"over a stream\n"
    data.close_stdin(pid)
    assert collect(stream).exit_code == 0


def test_previews_tokens_and_what_is_set_later(old, team):
    serve(old)
    assert team.api.request("PUT", f"{old.path}/ports/3000", {"public": False}).status in (200, 201)
    wait_until(lambda: not is_served(old), 60, "the end of the public preview", 0.2)
    session = team.api.post(f"{old.path}/sessions", {}).json()["session"]
    assert DataPlane(old.stack, session).check("hostname") == "sandbox\n"
    wait_until(lambda: team.api.get(f"{old.path}/metrics").json()["points"], 90, "samples", 0.5)


def test_a_pause_keeps_what_runs(old, program):
    serve(old)
    stream, pid = old.data.echoing()
    assert old.pause()["state"] == "stopped"
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        next(stream)
    assert old.resume()["resumed_from"] == "memory"
    again = old.data.follow(pid)
    old.data.type(pid, b"still there\n")
    assert again.output() == b"still there\n"
    assert is_served(old)
    answer = old.api.post(f"{old.path}/pause", {"memory": False})
    assert answer.status == 200, answer
    assert old.resume()["resumed_from"] == "disk"
    assert old.data.check("echo of the disk") == "of the disk\n"
    assert_old(old, program)


def agent_pid(sandbox):
    """Of the one that serves; the guard is older."""
    return sandbox.data.bash("pgrep -n -x sandlot-agent").stdout


def test_a_killed_agent_is_followed_by_its_like(old, program):
    before = agent_pid(old)
    old.data.background("/bin/sh", "-c", "sleep 0.2; kill -KILL $(pgrep -n -x sandlot-agent)", user="root")
    wait_until(lambda: agent_pid_now(old) not in (None, before), 60, "the next agent", 0.2)
    assert_old(old, program)


def agent_pid_now(sandbox):
    try:
        return agent_pid(sandbox)
    except (AssertionError, EOFError, OSError, http.client.HTTPException):
        return None


def test_a_policy_is_put_in_force(make_old, internet):
    sandbox = make_old(allow_internet_access=False)
    reach = f"exec 3<>/dev/tcp/{REACHED[0]}/{REACHED[1]}"
    assert sandbox.data.bash(f"timeout 5 bash -c '{reach}'").exit_code != 0
    answer = sandbox.api.request("PUT", f"{sandbox.path}/network",
                                 {"allow_internet_access": False, "allow_out": [f"{REACHED[0]}:{REACHED[1]}"]})
    assert answer.status == 200 and answer.json()["status"] == "applied", answer
    assert sandbox.data.bash(f"timeout 30 bash -c '{reach}'").exit_code == 0


def test_a_checkpoint_of_its_disk(old, make_old, team):
    old.data.upload("/home/user/kept", b"kept")
    checkpoint = team.api.post(f"{old.path}/checkpoints", {})
    assert checkpoint.status == 201, checkpoint
    made = make_old(snapshot_id=checkpoint.json()["id"])
    assert made.data.read("/home/user/kept") == b"kept"
    assert team.api.delete(f"/v1/checkpoints/{checkpoint.json()['id']}").status == 204


def test_what_it_does_not_do_is_said(old):
    """It keeps no logs, and takes the secret of no fork; the sandbox goes on all the same."""
    said = assert_error(old.api.get(f"{old.path}/logs"), 501, "not_served")
    assert "is older and keeps no logs" in said["message"], said
    assert old.api.post(f"{old.path}/fork", {}).status == 503
    assert old.data.run("/bin/true").exit_code == 0
    assert [one["id"] for one in old.api.list()] == [old.id]
