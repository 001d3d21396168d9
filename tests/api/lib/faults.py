# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers stopped or killed at named steps, and what must hold when the dust has settled.

The steps are those of fcgi/base/fault_points.def; programs know them only when they were
configured with --enable-fault-points.
"""

import os
import pathlib
import signal
import threading
import time

import pytest

from stack import wait_until

STABLE = ("ready", "stopped", "destroyed")


class FaultPoints:
    def __init__(self, stack):
        self.stack = stack
        self.directory = stack.run_dir / "faults"
        program = pathlib.Path(f"/proc/{stack.processes('sandlot-api')[0]}/exe")
        self.available = b"create.inserting" in program.read_bytes()
        self.directory.mkdir(exist_ok=True)
        self.directory.chmod(0o777)
        self.clear()

    def clear(self):
        """Disarm everything and let everyone go on."""
        for path in self.directory.iterdir():
            path.unlink(missing_ok=True)

    def arm(self, point, action="wait", program=""):
        """The next worker that comes by waits there, or is killed."""
        draft = self.directory / f".{point}"
        draft.write_text(f"{action} {program}\n", encoding="utf-8")
        draft.chmod(0o666)
        draft.rename(self.directory / point)

    def _taken(self, point):
        return [path for path in self.directory.glob(f"{point}.*") if path.name[len(point) + 1 :].isdigit()]

    def reached(self, point, timeout_s=15):
        """Wait until a worker is there; its pid."""
        (path,) = wait_until(lambda: self._taken(point), timeout_s, f"a worker at {point}", 0.002)
        return int(path.name.rsplit(".", 1)[1])

    def release(self, point):
        for path in self._taken(point):
            path.unlink()

    def kill(self, point):
        """End the worker that waits there as a crash does."""
        pid = self.reached(point)
        os.kill(pid, signal.SIGKILL)
        self.release(point)
        return pid


@pytest.fixture
def waiting(stack):
    """An instance of the default size waits, and Incus has nothing to do for the pool."""
    def ready():
        return stack.query("SELECT 1 FROM warm_instances WHERE state = 'ready' LIMIT 1")

    wait_until(ready, 120, "a waiting instance", 0.2)


@pytest.fixture
def fault_points(stack):
    points = FaultPoints(stack)
    if not points.available:
        pytest.skip("the programs were built without --enable-fault-points")
    yield points
    points.clear()


class InBackground(threading.Thread):
    """A call that is under way while the test goes on."""

    def __init__(self, call, *arguments, **options):
        super().__init__(daemon=True)
        self.call = lambda: call(*arguments, **options)
        self.answer = None
        self.start()

    def run(self):
        self.answer = self.call()

    def result(self, timeout_s=90):
        self.join(timeout_s)
        assert not self.is_alive(), "the call is still under way"
        return self.answer


# --- what must hold ---


def instances(stack):
    """Sandboxes and waiting instances by name: their status."""
    listed = stack.incus.request("GET", "/1.0/instances?recursion=1")
    return {one["name"]: one["status"] for one in listed if one["name"].startswith(("sbx-", "warm-"))}


def wrong_counters(query):
    """What hosts and teams count of their sandboxes, and is not so."""
    hosts = """
        SELECT CONCAT('host ', h.name) AS owner, h.sandboxes, h.used_vcpus, h.used_memory_mb, 0 AS stopped,
            COUNT(s.id) AS n, COALESCE(SUM(s.cpu), 0) AS cpu, COALESCE(SUM(s.memory_mb), 0) AS mb, 0 AS stops
        FROM hosts h LEFT JOIN sandboxes s ON s.host_id = h.id AND s.reserved > 0 GROUP BY h.id"""
    teams = """
        SELECT CONCAT('team ', t.slug) AS owner, t.used_sandboxes, t.used_vcpus, t.used_memory_mb,
            t.stopped_sandboxes AS stopped, COUNT(IF(s.reserved = 1, 1, NULL)) AS n,
            COALESCE(SUM(IF(s.reserved = 1, s.cpu, 0)), 0) AS cpu,
            COALESCE(SUM(IF(s.reserved = 1, s.memory_mb, 0)), 0) AS mb,
            COUNT(IF(s.state = 'stopped' AND s.reserved = 0, 1, NULL)) AS stops
        FROM teams t LEFT JOIN sandboxes s ON s.team_id = t.id GROUP BY t.id"""
    found = []
    for row in query(hosts) + query(teams):
        owner, *numbers = row.values()
        if [int(one) for one in numbers[:4]] != [int(one) for one in numbers[4:]]:
            found.append(f"{owner} counts {numbers[:4]} and has {numbers[4:]}")
    return found


def violations(stack):
    """Every broken rule of the moment, as sentences; none when nothing is in flight."""
    there = instances(stack)
    with stack.snapshot() as query:
        return broken_rules(there, query)


def broken_rules(there, query):
    found = []
    rows = query("SELECT * FROM sandboxes WHERE state <> 'destroyed' OR reserved <> 0")
    warm = {row["instance_name"]: row for row in query("SELECT * FROM warm_instances")}
    for row in rows:
        name = f"{row['id']} ({row['instance_name']}) is {row['state']}"
        if row["state"] not in STABLE or row["operation_id"]:
            found.append(f"{name} with the operation {row['operation_id']}")
            continue
        if row["reserved"] != (row["state"] == "ready"):
            found.append(f"{name} and its reservation is {row['reserved']}")
        if (row["deadline_at_ms"] is not None) != (row["state"] == "ready"):
            found.append(f"{name} and its deadline is {row['deadline_at_ms']}")
        wanted = {"ready": "Running", "stopped": "Stopped"}.get(row["state"])
        status = there.get(row["instance_name"])
        if status != wanted:
            found.append(f"{name}, its instance is {status}")
    for operation in query("SELECT * FROM operations WHERE state = 'running'"):
        found.append(f"the {operation['kind']} {operation['id']} runs on")
    holders = {row["instance_name"] for row in rows if row["state"] != "destroyed"} | set(warm)
    for name in set(there) - holders:
        found.append(f"instance {name} belongs to nobody")
    for name, row in warm.items():
        if row["state"] == "ready" and there.get(name) != "Running":
            found.append(f"waiting instance {name} is {there.get(name)}")
    held = {row["holder"] for row in query("SELECT holder FROM host_addresses WHERE holder IS NOT NULL")}
    holders |= {row["instance_name"] for row in query("SELECT instance_name FROM keepers")}
    for name in held ^ holders:
        found.append(f"{name} holds an address without use, or uses one without holding it")
    for name in set(holders) & set(held):
        addresses = query("SELECT address FROM host_addresses WHERE holder = %s", name)
        if len(addresses) != 1:
            found.append(f"{name} holds {len(addresses)} addresses")
    found += wrong_counters(query)
    for row in query("SELECT sandbox_id FROM sandbox_sizes"):
        found.append(f"Incus was not told the size of {row['sandbox_id']}")
    for row in query("SELECT id, state FROM volumes WHERE state NOT IN ('ready', 'deleted')"):
        found.append(f"volume {row['id']} is {row['state']}")
    return found


def settle(stack):
    """Wait until all rules hold; for what leases have to run out first, and sweeps to follow. Beside other tests, some
    rule is broken at most times: there, wait until each rule that was broken at first was seen to hold."""
    first, last = set(violations(stack)), []

    def quiet():
        last[:] = violations(stack)
        first.intersection_update(last)
        return not (first if "PYTEST_XDIST_WORKER" in os.environ else last)

    try:
        wait_until(quiet, 3 * stack.lease_s + 60, "all rules holding", 0.2)
    except AssertionError:
        raise AssertionError("\n".join(last)) from None


@pytest.fixture(autouse=True)
def quiet(stack):
    """For modules that import it: each test begins and ends with everything at rest."""
    settle(stack)
    yield
    settle(stack)


def take_over(stack, sandbox_id, for_s):
    """Another process has taken the sandbox's operation over, as after a jump of the clock. It dies, and its lease ends."""
    stack.query("UPDATE operations SET lease_owner = 'another', lease_until_ms = %s WHERE sandbox_id = %s AND state = 'running'",
                int((time.time() + for_s) * 1000), sandbox_id)


def until_host_is_asked(stack, create):
    """Until a host sizes what create() makes: after sandlot-limits hung, its firewall leaves it alone for a while."""
    def asked():
        sandbox = create()
        found = stack.query("SELECT 1 FROM sandbox_sizes WHERE sandbox_id = %s", sandbox.id)
        sandbox.api.destroy(sandbox.id)
        return found

    wait_until(asked, 60, "the host's program being asked again", 1)


def settled_row(stack, sandbox_id):
    def stable():
        row = stack.row(sandbox_id)
        return row if row["state"] in STABLE and not row["operation_id"] else None

    return wait_until(stable, 3 * stack.lease_s + 60, f"{sandbox_id} coming to rest", 0.1)


def quota_in_use(api):
    return api.get("/v1/sandbox_limits").json()["quota"]["usage"]["sandboxes"]
