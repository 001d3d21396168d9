# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that does not answer: it is known, nobody waits for it, and it is there again with all that it had."""

import json
import time

import pytest

from client import assert_error
from events import until
from faults import wrong_counters
from stack import wait_until
from tenant import Sandbox
from two_hosts import TwoHosts

pytestmark = pytest.mark.hosts


@pytest.fixture
def hosts(stack):
    both = TwoHosts.up(stack)
    yield both
    both.take("other")


def serve(sandbox):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "0.0.0.0", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    preview = sandbox.preview(3000)
    assert preview.request("GET", "/").status == 200
    return preview


def is_away(answer):
    return answer.status == 503 and "does not answer" in answer.body.decode()


def refused(answer):
    """At once, in words of its own."""
    assert_error(answer, 503, "runtime_unavailable")
    assert "has not answered since" in answer.json()["message"], answer


def goes_on(sandbox):
    """What others do on a host that answers."""
    api = sandbox.api
    assert api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": False}).status == 200
    assert sandbox.data.check("echo goes on") == "goes on\n"
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.id in {one["id"] for one in api.list()}


@pytest.mark.short
def test_the_cable_of_a_host_is_cut(hosts, api, stack):
    away = hosts.make(api, "other", exposed_ports=[{"port": 3000}])
    doomed = hosts.make(api, "other")
    elsewhere = hosts.make(api, "local")
    preview = serve(away)
    away.data.check("echo kept >/dev/shm/kept")
    cut_at = time.monotonic()
    with hosts.cut():
        made = [Sandbox(api, api.create()) for _ in range(4)]
        assert {hosts.of(one) for one in made} == {"local"}
        hosts.becomes("down")
        for verb in ("resume", "pause", "resume", "checkpoints"):  # by whichever worker: none remembers better
            refused(api.post(f"{away.path}/{verb}", {}))
        print("down after", time.monotonic() - cut_at)
        wait_until(lambda: is_away(preview.request("GET", "/")), 10, "previews being refused")
        assert is_away(away.data.request("GET", "/files?path=/etc/hostname"))
        goes_on(elsewhere)
        assert hosts.of(Sandbox(api, api.create())) == "local"
        assert api.delete(doomed.path).status == 204
        assert any("host lost other" in one for one in stack.ctl("status")["problems"])
        back_at = time.monotonic()
    print("back after", time.monotonic() - back_at)
    wait_until(lambda: preview.request("GET", "/").status == 200, 10, "previews again")
    assert away.data.check("cat /dev/shm/kept") == "kept\n"
    assert away.pause()["state"] == "stopped"
    assert away.resume()["resumed_from"] == "memory"
    doomed.wait_until_removed()
    wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")


def test_incus_of_a_host_is_frozen(hosts, api, stack):
    """What runs there is reached all the while."""
    away = hosts.make(api, "other", exposed_ports=[{"port": 3000}])
    elsewhere = hosts.make(api, "local")
    preview = serve(away)
    with hosts.frozen("incusd"):
        made = Sandbox(api, api.create())
        hosts.becomes("silent")
        assert "relay answers" in stack.ctl("host", "lost", "other", "--yes", check=False).stderr
        assert preview.request("GET", "/").status == 200
        assert away.data.check("echo reached") == "reached\n"
        refused(api.post(f"{away.path}/pause", {}))
        refused(api.post(f"{away.path}/checkpoints", {"name": "away"}))
        goes_on(elsewhere)
        assert hosts.of(Sandbox(api, api.create())) == "local"
        assert made.data.check("echo made") == "made\n"
    wait_until(lambda: api.post(f"{away.path}/pause", {}).status == 200, 10, "a pause")
    assert away.resume()["resumed_from"] == "memory"


def test_all_of_a_host_is_frozen(hosts, api):
    """Connections are taken, by its kernel, and nothing follows."""
    away = hosts.make(api, "other", exposed_ports=[{"port": 3000}])
    preview = serve(away)
    with hosts.frozen("incusd", "relay"):
        hosts.becomes("down")
        wait_until(lambda: is_away(preview.request("GET", "/")), 10, "previews being refused")
    wait_until(lambda: preview.request("GET", "/").status == 200, 10, "previews again")


def test_the_warm_pool_waits_for_no_host(hosts, stack):
    """The instances of a host that is away leave when it is back, and the pool of the other one is kept meanwhile."""
    def warm(condition):
        return stack.query("SELECT w.instance_name FROM warm_instances w JOIN hosts h ON h.id = w.host_id WHERE h.name = 'other'"
                           f" AND {condition}")

    hosts.take("other")
    wait_until(lambda: warm("w.state = 'ready'"), 120, "a warm instance there")
    hosts.take("local", "other")
    with hosts.cut():
        hosts.becomes("down")
        wait_until(lambda: warm("w.state = 'leaving'"), 60, "the instances leaving")
        started = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        stack.query("UPDATE warm_instances SET lease_until_ms = 0 WHERE state = 'leaving'")
        wait_until(lambda: not warm("w.lease_until_ms = 0"), 60, "a dispatcher that looks at them")
        time.sleep(1)
        assert not [line for line in stack.warnings(started) if "a job failed" in line and "warm pool" in line]
        assert warm("w.state = 'leaving'")
    hosts.becomes("up")
    wait_until(lambda: not warm("w.state = 'leaving'"), 2 * stack.lease_s + 60, "the instances gone")


def test_a_host_is_lost(hosts, account, api, stack):
    runs = hosts.make(api, "other")
    paused = hosts.make(api, "other")
    paused.pause()
    checkpoint = api.post(f"{runs.path}/checkpoints", {"name": "kept"}).json()
    elsewhere = hosts.make(api, "local")
    assert "answers" in stack.ctl("host", "lost", "other", "--yes", "--powered-off", check=False).stderr
    try:
        with hosts.cut():
            hosts.becomes("down")
            assert "--yes" in stack.ctl("host", "lost", "other", check=False).stderr
            loss = stack.ctl("host", "lost", "other", "--yes", "--powered-off")
            assert loss["sandboxes"] >= 2 and loss["checkpoints"] >= 1
            for one in (runs, paused):
                assert (one.show()["state"], one.show()["reason"]) == ("stopped", "host_lost")
                assert_error(api.post(f"{one.path}/resume", {}), 409, "sandbox_not_startable")
            assert api.get(f"/v1/checkpoints/{checkpoint['id']}").status == 404
            assert until(api, "sandbox.died", f"sandbox_id={runs.id}")["data"] == {"reason": "host_lost"}
            assert not wrong_counters(stack.query)
            assert any(row["action"] == "host.lost" for row in audit(stack))
            assert api.delete(paused.path).status == 204
            paused.wait_until_removed()
            goes_on(elsewhere)
            stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
    finally:
        hosts.found_again()
    (row,) = stack.query("SELECT state FROM sandboxes WHERE id = %s", runs.id)
    assert row["state"] == "stopped"


def test_a_create_on_a_lost_host_leaves_no_sandbox(hosts, api, stack):
    """The lost host had its checkpoint, and it has never run."""
    made = hosts.make(api, "other")
    try:
        with hosts.cut():
            hosts.becomes("down")
            stack.query("INSERT INTO operations (id, sandbox_id, kind, state, incarnation, lease_owner, lease_until_ms, attempts,"
                        " created_at_ms) SELECT CONCAT('opr_', SUBSTRING(id, 5)), id, 'create', 'running', incarnation, 'test',"
                        " UNIX_TIMESTAMP() * 1000 + 3600000, 1, created_at_ms FROM sandboxes WHERE id = %s", made.id)
            stack.query("UPDATE sandboxes SET state = 'restoring', operation_id = CONCAT('opr_', SUBSTRING(id, 5))"
                        " WHERE id = %s", made.id)
            stack.ctl("host", "lost", "other", "--yes", "--powered-off")
            state = lambda: stack.query("SELECT state FROM sandboxes WHERE id = %s", made.id)[0]["state"]
            assert state() == "restoring", "its create still runs"
            stack.query("UPDATE operations SET lease_until_ms = 1 WHERE sandbox_id = %s AND kind = 'create'", made.id)
            wait_until(lambda: state() in ("destroying", "destroyed"), 60, "the create being undone")
            assert_error(api.get(made.path), 404, "not_found")
            stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
    finally:
        hosts.found_again()
    made.wait_until_removed()
    assert not wrong_counters(stack.query)


def audit(stack):
    lines = stack.ctl("audit", "--action", "host.lost", check=False).stdout.splitlines()
    return [json.loads(line) for line in lines]
