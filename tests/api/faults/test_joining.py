# SPDX-License-Identifier: GPL-2.0-or-later
"""A bare machine becomes a host by one command, also after an interruption, and only with its own token."""

import json
import os
import secrets
import subprocess

import pytest

from bare_machine import SCRIPT, BareMachine
from client import Api, altered, assert_error
from faults import fault_points  # noqa: F401
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.hosts

PROGRAM = "sandlot-dispatcher"
# As scripts/lib/join.sh has them.
STEPS = ["secret of this machine", "front", "certificates", "settings", "packet filter and Incus", "storage pool",
         "project, and the front nodes' way to Incus", "firewall", "relay", "row of the host", "trial"]


@pytest.fixture(scope="module")
def machine(stack):
    one = BareMachine(stack)
    one.discard()
    yield one
    one.discard()


@pytest.fixture
def name(stack):
    """Of a host that is gone afterwards."""
    one = "h" + secrets.token_hex(4)
    yield one
    hosts = {host["name"]: host for host in stack.ctl("host", "list")["hosts"]}
    if hosts.get(one, {}).get("state") == "active":
        stack.ctl("host", "drain", one, "--stay")
    stack.ctl("host", "remove", one, check=False)


@pytest.fixture
def anonymous(stack):
    return Api(stack, None)


def host(stack, name):
    return next((one for one in stack.ctl("host", "list")["hosts"] if one["name"] == name), None)


def show(anonymous, secret, machine="a" * 64, offer=None, architecture=os.uname().machine):
    body = {"token": secret, "machine": machine, "architecture": architecture}
    return anonymous.post("/v1/host-joins", {**body, **({"offer": offer} if offer else {})})


def findings(stack):
    """What doctor finds about machines that join."""
    done = stack.ctl("doctor", check=False)
    return [one for one in json.loads(done.stdout)["findings"] if one["check"] == "join"]


def nothing_is_left(stack, name):
    """Of the trial: neither its instance nor its address."""
    held = stack.query("SELECT holder FROM host_addresses a JOIN hosts h ON h.id = a.host_id WHERE h.name = %s"
                       " AND holder LIKE 'join-%%'", name)
    assert list(held) == []


def use(stack, api, name):
    """A sandbox on that host, with a life."""
    others = [one["name"] for one in stack.ctl("host", "list")["hosts"] if one["name"] != name and one["state"] == "active"]
    for one in others:
        stack.ctl("host", "drain", one, "--stay")
    try:
        sandbox = Sandbox(api, api.create())
    finally:
        for one in others:
            stack.ctl("host", "activate", one)
    (row,) = stack.query("SELECT h.name FROM sandboxes s JOIN hosts h ON h.id = s.host_id WHERE s.id = %s", sandbox.id)
    assert row["name"] == name
    sandbox.data.check("echo kept >/dev/shm/kept")
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.check("cat /dev/shm/kept") == "kept\n"
    assert api.delete(sandbox.path).status == 204
    sandbox.wait_until_removed()


def test_one_command_killed_at_each_step(stack, machine, name, api):
    given = machine.token(name)
    token = given["token"]
    assert host(stack, name) is None
    for step in STEPS:
        machine.join_and_die_at(token, step)
    joined, said = machine.join(token)
    assert joined and f"Host {name} is active" in said, said
    one = host(stack, name)
    assert (one["state"], one["range"], one["url"]) == ("active", machine.range, f"https://{machine.address}:8443")
    nothing_is_left(stack, name)
    use(stack, api, name)
    assert findings(stack) == []
    joined, said = machine.join(token)
    assert joined and "is active already" in said, said
    (row,) = stack.query("SELECT state, sealed FROM host_joins WHERE name = %s", name)
    assert row == {"state": "active", "sealed": None}, "what the machine was given is kept nowhere"
    actions = [json.loads(line)["action"] for line in stack.ctl("audit", "--resource", name, check=False).stdout.splitlines()]
    assert {"host.token", "host.join"} <= set(actions)
    # The token was this machine's: no other one gets anything by it.
    machine.file("machine").write_text("b" * 64, encoding="ascii")
    joined, said = machine.join(token)
    assert not joined and "Another machine has used the token" in said, said


def test_a_dispatcher_that_dies_over_a_trial(stack, machine, name, api, fault_points):
    token = machine.token(name)["token"]
    for point in ("join.taken", "join.tried", "join.finishing"):
        fault_points.arm(point, "kill", PROGRAM)
    joined, said = machine.join(token)
    assert joined, said
    nothing_is_left(stack, name)
    use(stack, api, name)


def test_another_certificate_is_told_nothing(stack, machine, name):
    token = machine.token(name)["token"]
    joined, said = machine.join(machine.with_pin_of_another(token))
    assert not joined and "another certificate" in said, said
    (row,) = stack.query("SELECT state FROM host_joins WHERE name = %s", name)
    assert row["state"] == "waiting", "its token was not shown"


def test_what_is_no_token(machine):
    joined, said = machine.join("bm9uZQ==")
    assert not joined and "this is not a token" in said, said


def test_tokens_that_are_refused(stack, machine, name, anonymous):
    secret = machine.secret(machine.token(name)["token"])
    wrong = altered(secret)
    for one in (wrong, "jhn_", "x" * 78):
        assert_error(show(anonymous, one), 401, "unauthorized")
    taken = show(anonymous, secret)
    assert taken.status == 200 and taken.json()["state"] == "taken"
    assert set(taken.json()["files"]) == {"ca.pem", "host.pem", "incus-client.pem"}
    assert {"protected_networks_open", "dns_upstreams"} <= set(taken.json()["options"]), "which its firewall needs too"
    assert show(anonymous, secret).json()["files"] == taken.json()["files"], "its own machine may ask again"
    other = show(anonymous, secret, machine="b" * 64)
    assert_error(other, 401, "unauthorized")
    assert "Another machine" in other.json()["message"]
    newer = machine.secret(machine.token(name)["token"])
    assert_error(show(anonymous, secret), 401, "unauthorized")
    stack.query("UPDATE host_joins SET expires_at_ms = 1 WHERE name = %s", name)
    old = show(anonymous, newer)
    assert_error(old, 401, "unauthorized")
    assert f"sandlotctl host token {name}" in old.json()["message"]
    again = machine.secret(machine.token(name)["token"])
    stack.ctl("host", "remove", name)
    assert_error(show(anonymous, again), 401, "unauthorized")


def test_another_architecture_is_refused_before_the_token_is_used(stack, machine, name, anonymous):
    """By the machine's own word when it joins, and by its Incus' word when it is added by hand."""
    given = machine.token(name)
    secret, here = machine.secret(given["token"]), os.uname().machine
    assert {one["architecture"] for one in stack.ctl("host", "list")["hosts"]} == {here}
    refused = show(anonymous, secret, architecture="riscv64")
    assert_error(refused, 422, "invalid_request")
    message = refused.json()["message"]
    assert f"host {name} has riscv64 processors" in message and f"Use a machine with {here}" in message
    (row,) = stack.query("SELECT state FROM host_joins WHERE name = %s", name)
    assert row["state"] == "waiting", "another machine can still use the token"
    assert show(anonymous, secret).status == 200
    # The script prints the refusal of the API.
    stack.query("UPDATE hosts SET architecture = 'riscv64' WHERE name = 'other'")
    try:
        joined, said = machine.join(machine.token(name)["token"])
        assert not joined and "host other has riscv64" in said, said
        local = host(stack, "local")
        again = stack.ctl("host", "add", "local", "--url", local["url"], "--project", local["project"], "--pool", local["pool"],
                          "--range", local["range"], "--network", local["network"] or local["range"],
                          "--nic-prefix", local["nic_prefix"], "--vcpus", "1", "--memory-mb", str(local["memory_mb"]), check=False)
        assert again.returncode and "host other has riscv64" in again.stderr
        assert host(stack, "local")["vcpus"] == local["vcpus"], "nothing was stored"
    finally:
        stack.query("UPDATE hosts SET architecture = %s WHERE name = 'other'", here)


def test_the_token_is_no_argument(machine, name):
    given = machine.token(name)
    assert given["token"] not in given["command"]
    done = subprocess.run([SCRIPT, "--stack", machine.name, given["token"]], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and "standard input" in done.stderr


def test_what_a_token_is_not_made_for(stack, machine, name):
    def refusal(name, **options):
        done = machine.token(name, check=False, **options)
        assert done.returncode
        return done.stderr

    assert "exists already" in refusal("other")
    assert "lower-case" in refusal("No_Name")
    assert "overlaps" in refusal(name, range=host(stack, "other")["range"])
    assert "not within" in refusal(name, network="10.0.0.0/24")
    assert "--front" in refusal(name, front='x"y')


def test_a_machine_that_fronts_do_not_reach(stack, machine, name, anonymous):
    """It does not become active, doctor and status say why, and it can be given up."""
    secret = machine.secret(machine.token(name)["token"])
    assert show(anonymous, secret).status == 200
    (found,) = findings(stack)
    assert name in found["message"] and "is setting itself up" in found["message"]
    bad = {"url": "https://127.0.0.1:9", "server_cert": "none", "relay": "https://127.0.0.1:9", "vcpus": 1, "memory_mb": 64}
    assert_error(show(anonymous, secret, offer=bad), 422, "invalid_request")
    certificate = (stack.root / "tls" / "ca.pem").read_text(encoding="ascii")
    offered = show(anonymous, secret, offer={**bad, "server_cert": certificate})
    assert offered.status == 200 and offered.json()["state"] == "trial"
    wait_until(lambda: show(anonymous, secret).json()["failure"], 60, "a reason why it does not join")
    assert host(stack, name)["state"] == "joining"
    (found,) = findings(stack)
    assert "trial fails" in found["message"] and "cannot connect to Incus" in found["message"]
    assert any(name in one and "cannot connect to Incus" in one for one in stack.ctl("status")["problems"])
    refused = stack.ctl("host", "activate", name, check=False)
    assert refused.returncode and "is joining" in refused.stderr
    stack.ctl("host", "remove", name)
    assert host(stack, name) is None
    assert_error(show(anonymous, secret), 401, "unauthorized")
