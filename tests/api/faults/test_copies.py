# SPDX-License-Identifier: GPL-2.0-or-later
"""Who waits until something is copied keeps nobody else waiting, and is answered as if nobody had handed him on."""

import json
import secrets

import pytest

from client import assert_error
from edge import process_settings
from faults import InBackground, fault_points, wrong_counters  # noqa: F401
from killing import stopped
from pools import shares
from stack import wait_until
from tenant import Sandbox, checkpoint_of
from test_archive_hosts import archive  # noqa: F401 (a fixture)
from two_hosts import TwoHosts

pytestmark = pytest.mark.hosts

MANY = 6  # the set-up's pools have eight workers, of which a team may have four


@pytest.fixture
def hosts(stack):
    both = TwoHosts.up(stack)
    both.take("local", "other")
    yield both
    both.found_again()
    both.take("other")


@pytest.fixture
def patient(stack):
    """Whoever waits for a copy does so for as long as the test takes."""
    with process_settings(stack, "sandlot-api", resume_wait_s=300):
        yield


def nobody_copies(stack):
    """Moves that are begun do not go on while this holds."""
    return stopped(stack.processes("sandlot-dispatcher"))


def paused_many(hosts, api, count):
    made = [hosts.make(api, "other") for _ in range(count)]
    for one in made:
        one.data.check("echo in memory >/dev/shm/kept")
        assert one.pause()["state"] == "stopped"
    return made


def goes_on(api, sandbox, waiting):
    """The team's other calls, those for which a worker of the pool api is needed among them, while all of those wait."""
    assert sandbox.show()["state"] == "ready"
    assert sandbox.id in {one["id"] for one in api.list()}
    assert api.get(f"{sandbox.path}/ports").status == 200
    Sandbox(api, api.create())
    made = api.post(f"{sandbox.path}/checkpoints", {"name": secrets.token_hex(4)})
    assert made.status == 201, made
    assert api.delete(f"/v1/checkpoints/{made.json()['id']}").status == 204
    assert sandbox.show()["state"] == "ready"
    assert all(one.is_alive() for one in waiting), [one.answer for one in waiting if not one.is_alive()]


def acts(stack, sandbox, action):
    rows = stack.query("SELECT result FROM audit_log WHERE resource = %s AND action = %s ORDER BY id", sandbox.id, action)
    return [row["result"] for row in rows]


@pytest.mark.long
@pytest.mark.short
def test_resumes_that_move_first_keep_no_call_of_the_team_waiting(hosts, api, stack, patient):
    runs = hosts.make(api, "local")
    many = paused_many(hosts, api, MANY)
    key = {"Idempotency-Key": secrets.token_hex(8)}
    with hosts.full("other"):
        with nobody_copies(stack):
            waiting = [InBackground(api.request, "POST", f"{one.path}/resume", {}, key if one is many[0] else None,
                                    timeout_s=290) for one in many]
            wait_until(lambda: shares(stack, "copies") >= MANY - 2, 60, "resumes that wait")
            wait_until(lambda: shares(stack, "api") == 0, 60, "no worker of the pool api that waits")
            goes_on(api, runs, waiting)
        answers = [one.result(280) for one in waiting]
    for one, answer in zip(many, answers):
        assert answer.status == 200 and answer.json()["sandbox"]["resumed_from"] == "memory", answer
        assert one.data.check("cat /dev/shm/kept") == "in memory\n"
        assert hosts.of(one) == "local"
    again = api.request("POST", f"{many[0].path}/resume", {}, key)
    assert again.status == 200 and again.headers["Idempotent-Replayed"] == "true"
    assert acts(stack, many[0], "sandbox.resume") == ["begun", "done"]
    wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")


def test_creates_whose_checkpoint_moves_first_keep_no_call_of_the_team_waiting(hosts, api, stack):
    runs = hosts.make(api, "local")
    checkpoints = [checkpoint_of(hosts.make(api, "other")) for _ in range(MANY)]
    with hosts.full("other"), nobody_copies(stack):
        # So large that nginx keeps it in a file.
        bodies = [json.dumps({"snapshot_id": one["id"]}).encode() + b" " * 300_000 for one in checkpoints]
        waiting = [InBackground(api.request, "POST", "/v1/sandboxes", one, {"Content-Type": "application/json"}, timeout_s=120)
                   for one in bodies]
        wait_until(lambda: shares(stack, "copies") >= MANY - 2, 60, "creates that wait")
        goes_on(api, runs, waiting)
    for one in waiting:
        answer = one.result(120)
        if answer.status != 201:  # it waits for 20 s
            assert_error(answer, 503, "no_capacity")


def test_who_cannot_go_anywhere_is_told_at_once(hosts, api, stack):
    """There is no host with room: nobody waits for one."""
    (paused,) = paused_many(hosts, api, 1)
    with hosts.full("other"), hosts.full("local"), nobody_copies(stack):
        assert_error(api.post(f"{paused.path}/resume", {}), 503, "no_capacity")
        assert_error(api.post("/v1/sandboxes", {}), 503, "no_capacity")
    assert paused.resume()["resumed_from"] == "memory"


# --- from the archive ---


def test_resumes_that_fetch_keep_no_call_of_the_team_waiting(hosts, archive, api, stack, fault_points):
    runs = hosts.make(api, "local")
    many = paused_many(hosts, api, MANY)
    for one in many:
        wait_until(lambda one=one: stack.query("SELECT id FROM archives WHERE current_of = %s AND state = 'whole'", one.id),
                   120, "the sandbox being in the archive")
    with hosts.cut():
        hosts.becomes("down")
        stack.ctl("host", "lost", "other", "--yes", "--powered-off")
        waiting = []
        for one in many[:MANY - 2]:
            fault_points.arm("archive.fetching", "wait", "sandlot-api")
            waiting.append(InBackground(api.request, "POST", f"{one.path}/resume", {}, timeout_s=290))
            wait_until(lambda: len(fault_points._taken("archive.fetching")) == len(waiting), 60, "one more that fetches")
        waiting += [InBackground(api.request, "POST", f"{one.path}/resume", {}, timeout_s=290) for one in many[MANY - 2:]]
        goes_on(api, runs, waiting)
        fault_points.release("archive.fetching")
        for one in waiting:
            one.result(290)
        # Those that were held up for longer than their lease are another's now.
        for one in many:
            wait_until(lambda one=one: api.post(f"{one.path}/resume", {}).status == 200, 120, "the sandbox running", 1)
            assert one.data.check("cat /dev/shm/kept") == "in memory\n"
        stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
