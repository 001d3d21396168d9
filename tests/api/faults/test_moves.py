# SPDX-License-Identifier: GPL-2.0-or-later
"""A paused sandbox moves to another host: it is there once, with its memory, whoever dies over it."""

import json
import os
import re
import signal

import pytest

from client import assert_error
from faults import InBackground, fault_points, settled_row, wrong_counters  # noqa: F401
from stack import Daemon, wait_until
from two_hosts import TwoHosts

pytestmark = pytest.mark.hosts

PROGRAM = "sandlot-dispatcher"


@pytest.fixture
def hosts(stack):
    both = TwoHosts(stack)
    both.add_again("local")
    both.take("local", "other")
    yield both
    both.take("other")


@pytest.fixture
def paused(hosts, api):
    """On the other host, with something in its memory and on its disk."""
    sandbox = hosts.make(api, "other", exposed_ports=[{"port": 3000}])
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "0.0.0.0", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    sandbox.data.check("echo in memory >/dev/shm/kept; echo on disk >kept")
    assert sandbox.pause()["state"] == "stopped"
    return sandbox


def is_as_it_was(sandbox):
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.check("cat /dev/shm/kept kept") == "in memory\non disk\n"
    assert sandbox.preview(3000).request("GET", "/").status == 200, "its server runs on"


def is_there_once(hosts, sandbox):
    """And where its row says."""
    row = settled_row(hosts.stack, sandbox.id)
    wait_until(lambda: hosts.having(row["instance_name"]) == [hosts.of(sandbox)], 60, "one instance of it, where its row is")
    wait_until(lambda: not wrong_counters(hosts.stack.query), 10, "counters that are right")
    (held,) = hosts.stack.query("SELECT host_id, address FROM host_addresses WHERE holder = %s", row["instance_name"])
    assert (held["host_id"], held["address"]) == (row["host_id"], row["address"])


@pytest.mark.short
def test_it_moves_there_and_back(hosts, paused, stack):
    address = paused.address
    paused.resume()
    refused = hosts.move(paused, "local", check=False)
    assert refused.returncode and "it is running" in refused.stderr
    paused.pause()
    for name in ("local", "other"):
        assert hosts.move(paused, name)["host"] == name
        assert hosts.of(paused) == name
        is_there_once(hosts, paused)
        assert paused.show()["network"]["status"] == "pending", "the new host's firewall has not got the policy"
        is_as_it_was(paused)
        assert paused.show()["network"]["status"] == "applied"
        assert paused.address == address
        paused.data.check("curl -sS --max-time 20 -o /dev/null https://deb.debian.org/ || true")
        assert paused.pause()["state"] == "stopped"
    instance = paused.instance
    assert paused.api.delete(paused.path).status == 204
    paused.wait_until_removed()
    assert hosts.having(instance) == []
    assert any(row["action"] == "sandbox.move" for row in audit(stack, paused))


def audit(stack, sandbox):
    import json
    lines = stack.ctl("audit", "--resource", sandbox.id, check=False).stdout.splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.short
def test_what_is_refused(hosts, paused, api, stack):
    def refusal(sandbox, name):
        done = hosts.move(sandbox, name, check=False)
        assert done.returncode
        return done.stderr

    assert "already" in refusal(paused, "other")
    assert "no such host" in refusal(paused, "nowhere")
    hosts.take("other")
    assert "does not accept new sandboxes" in refusal(paused, "local")
    hosts.take("local", "other")
    stack.query("UPDATE hosts SET network = NULL WHERE name = 'local'")
    try:
        assert "--network" in refusal(paused, "local")
    finally:
        hosts.add_again("other")
        stack.query("UPDATE hosts l JOIN hosts o ON o.name = 'other' SET l.network = o.network WHERE l.name = 'local'")
    hosts.take("other")
    assert api.post("/v1/volumes", {"name": "data"}).status == 201
    with_volume = hosts.make(api, "other", volume_mounts={"/data": "data"})
    with_volume.pause()
    assert "volumes" in refusal(with_volume, "local")
    is_as_it_was(paused)


def test_a_resume_waits_for_a_move(hosts, paused, api, fault_points):
    fault_points.arm("move.copied", "wait", PROGRAM)
    moving = InBackground(hosts.move, paused, "local")
    fault_points.reached("move.copied", 60)
    assert paused.show()["state"] == "stopped", "whose host it is on is no concern of theirs"
    assert paused.id in {one["id"] for one in api.list("?query[state][]=stopped")}
    assert paused.id in {one["id"] for one in api.list("?query[state][]=paused")}
    assert paused.pause()["state"] == "stopped"
    resuming = InBackground(is_as_it_was, paused)
    fault_points.release("move.copied")
    resuming.result()
    assert moving.result()["host"] == "local"
    assert hosts.of(paused) == "local"
    is_there_once(hosts, paused)
    assert paused.data.check("echo goes on") == "goes on\n"


@pytest.mark.parametrize("point", ["move.begun", "move.copied"])
def test_a_delete_wins(hosts, paused, fault_points, point):
    instance = paused.instance
    fault_points.arm(point, "wait", PROGRAM)
    moving = InBackground(hosts.move, paused, "local", check=False)
    fault_points.reached(point, 60)
    assert paused.api.delete(paused.path).status == 204
    assert_error(paused.api.get(paused.path), 404, "not_found")
    fault_points.release(point)
    assert "deleted" in moving.result().stderr
    paused.wait_until_removed()
    wait_until(lambda: hosts.having(instance) == [], 60, "no instance of it anywhere")


@pytest.mark.parametrize("point", ["move.begun", "move.sent", "move.copied", "finishing", "move.finished", "move.removed"])
def test_a_dispatcher_killed_at_each_step(hosts, paused, fault_points, point):
    fault_points.arm(point, "kill", PROGRAM)
    assert hosts.move(paused, "local")["host"] == "local"
    wait_until(lambda: not (fault_points.directory / point).exists(), 10, f"a dispatcher at {point}")
    is_there_once(hosts, paused)
    is_as_it_was(paused)


@pytest.mark.parametrize("point", ["move.sent", "move.copied"])
def test_one_that_was_held_up_for_longer_than_its_lease(hosts, paused, fault_points, stack, point):
    """Another has ended the move meanwhile, or copies again what he thinks is there."""
    fault_points.arm(point, "wait", PROGRAM)
    moving = InBackground(hosts.move, paused, "local")
    held = fault_points.reached(point, 60)
    wait_until(lambda: holder_of(stack, paused.id) not in (None, held), 60, "another taking it over")
    fault_points.release(point)
    assert moving.result()["host"] == "local"
    is_there_once(hosts, paused)
    is_as_it_was(paused)


def test_a_dispatcher_killed_while_it_is_copied(hosts, paused, stack):
    moving = InBackground(hosts.move, paused, "local")
    wait_until(lambda: "local" in hosts.having(paused.instance), 30, "its copy", 0.005)
    os.kill(holder_of(stack, paused.id), signal.SIGKILL)
    assert moving.result()["host"] == "local"
    is_there_once(hosts, paused)
    is_as_it_was(paused)


def holder_of(stack, sandbox_id):
    (row,) = stack.query("SELECT lease_owner FROM operations WHERE sandbox_id = %s AND kind = 'move'", sandbox_id)
    return int(re.findall(r"\d+$", row["lease_owner"])[0]) if row["lease_owner"] else None


@pytest.mark.parametrize("to", ["local", "other"])
def test_an_incus_killed_while_it_is_copied(hosts, paused, stack, to):
    """The one of this machine, as receiver and as sender; whether the move fails then is no matter."""
    if to == "other":
        hosts.move(paused, "local")
    pid = int((stack.run_dir / "incusd.pid").read_text(encoding="ascii").split()[0])
    daemon = Daemon(stack, pid)
    moving = InBackground(hosts.move, paused, to, check=False)
    wait_until(lambda: to in hosts.having(paused.instance), 30, "its copy", 0.005)
    os.kill(daemon.pid, signal.SIGKILL)
    wait_until(daemon.is_gone, 10, "the end of Incus")
    daemon.start(hosts.incus("local").answers)
    moving.result()
    is_there_once(hosts, paused)
    is_as_it_was(paused)


def test_what_a_move_has_left_is_never_taken_for_the_sandbox(hosts, paused, fault_points):
    """It comes back to where an older one of its name still is, and whoever was to remove that one wakes up."""
    fault_points.arm("move.finished", "wait", PROGRAM)
    hosts.move(paused, "local")
    fault_points.reached("move.finished")
    assert hosts.having(paused.instance) == ["local", "other"]
    is_as_it_was(paused)
    paused.data.check("echo newer >>/dev/shm/kept; echo newer >>kept")
    paused.pause()
    hosts.move(paused, "other")
    fault_points.release("move.finished")
    is_there_once(hosts, paused)
    assert hosts.of(paused) == "other"
    assert paused.resume()["resumed_from"] == "memory"
    assert paused.data.check("cat /dev/shm/kept kept") == "in memory\nnewer\non disk\nnewer\n"


def test_the_other_host_goes_away_meanwhile(hosts, paused, fault_points, api):
    """Of a move that cannot be ended nothing is left, and the sandbox is where it was."""
    fault_points.arm("move.begun", "wait", PROGRAM)
    back = hosts.make(api, "local")
    back.pause()
    moving = InBackground(hosts.move, back, "other", check=False)
    fault_points.reached("move.begun")
    with hosts.cut():
        hosts.becomes("down")
        fault_points.release("move.begun")
        assert "stays on its host" in moving.result().stderr
        assert back.resume()["resumed_from"] == "memory"
    is_there_once(hosts, back)
    is_as_it_was(paused)


# --- a host that is emptied ---


def test_a_host_that_drains_gives_away_what_is_paused(hosts, paused, api, stack):
    others = [hosts.make(api, "other") for _ in range(3)]
    runs = others.pop()
    for one in others:
        one.pause()
    assert api.request("PATCH", runs.path, {"name": "runs-on-other"}).status == 200
    try:
        drained = stack.ctl("host", "drain", "other", "--wait", check=False)
        left = json.loads(drained.stdout)
        assert {row["name"]: (row["id"], row["why"]) for row in left["sandboxes"]}["runs-on-other"] == (runs.id, "runs")
        assert drained.stderr.splitlines()[-1] == "host other: objects that still have to move: 0"
        assert not {paused.id, *(one.id for one in others)} & {row["id"] for row in left["sandboxes"]}
        for one in (paused, *others):
            assert hosts.of(one) == "local"
            is_there_once(hosts, one)
        assert runs.pause()["state"] == "stopped"
        wait_until(lambda: hosts.of(runs) == "local", 60, "what is paused now going as well")
        assert "drain it first" in stack.ctl("host", "remove", "local", check=False).stderr
    finally:
        hosts.take("local", "other")
    is_as_it_was(paused)
    assert runs.resume()["resumed_from"] == "memory"


def test_a_drain_says_why_something_stays(hosts, paused, stack):
    hosts.take("other")
    try:
        left = stack.ctl("host", "drain", "other", "--wait")
        assert {row["id"]: row["why"] for row in left["sandboxes"]}[paused.id] == "no other host has room for it"
        staying = stack.ctl("host", "drain", "other", "--stay")
        assert not staying["empty"] and paused.id in {row["id"] for row in staying["sandboxes"]}
    finally:
        hosts.take("local", "other")
    assert hosts.of(paused) == "other"
    is_as_it_was(paused)


@pytest.mark.short
def test_a_resume_on_a_full_host_goes_to_another(hosts, paused, stack):
    (row,) = stack.query("SELECT memory_mb, used_memory_mb FROM hosts WHERE name = 'other'")
    stack.query("UPDATE hosts SET memory_mb = used_memory_mb * 100 DIV memory_overcommit WHERE name = 'other'")
    try:
        is_as_it_was(paused)
    finally:
        stack.query("UPDATE hosts SET memory_mb = %s WHERE name = 'other'", row["memory_mb"])
    assert hosts.of(paused) == "local"
    is_there_once(hosts, paused)
