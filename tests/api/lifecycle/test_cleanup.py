# SPDX-License-Identifier: GPL-2.0-or-later
"""Clean-up: what a plan does not keep goes, and says so in its record long before."""

import datetime
import time

import pytest

from client import assert_error
from tenant import Sandbox
from faults import instances, settle, settled_row
from stack import wait_until

DAY_S = 86400


@pytest.fixture
def warning(set_plan):
    """The plan basic keeps paused sandboxes for ten days and warns for two."""
    set_plan("basic", stopped_days=10, cleanup_warning_hours=48)


def sweeps(stack, condition, what):
    """The dispatcher sweeps once in a lease."""
    return wait_until(condition, 3 * stack.lease_s + 10, what, 0.2)


def age(stack, sandbox, days):
    """Stopped so long ago."""
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), stopped_at_ms = %s WHERE id = %s", int((time.time() - days * DAY_S) * 1000), sandbox.id)


def in_days(text):
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (at - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / DAY_S


def warned(sandbox):
    return sandbox.show().get("cleanup_at")


@pytest.mark.long
def test_a_stopped_sandbox_is_warned_of_and_then_removed(sandbox, stack, warning):
    sandbox.pause()
    instance = sandbox.instance
    age(stack, sandbox, 7.9)
    time.sleep(1.5 * stack.lease_s)
    assert "cleanup_at" not in sandbox.show(), "two days before its end and not earlier"
    age(stack, sandbox, 8.5)
    at = sweeps(stack, lambda: warned(sandbox), "the warning")
    assert in_days(at) == pytest.approx(2, abs=0.01), "the warning always stands for its whole time"
    assert sandbox.api.list()[0]["cleanup_at"] == at
    time.sleep(1.5 * stack.lease_s)
    assert warned(sandbox) == at
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), cleanup_at_ms = %s WHERE id = %s", int(time.time() * 1000), sandbox.id)
    # Whatever the warning says, it is old enough only two days later.
    age(stack, sandbox, 8.5)
    sweeps(stack, lambda: warned(sandbox) and in_days(warned(sandbox)) > 1.4, "the time of its age")
    age(stack, sandbox, 10.1)
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), cleanup_at_ms = %s WHERE id = %s", int(time.time() * 1000), sandbox.id)
    sweeps(stack, lambda: sandbox.api.get(sandbox.path).status == 404, "the removal")
    assert settled_row(stack, sandbox.id)["state"] == "destroyed"
    settle(stack)
    assert instance not in instances(stack)


@pytest.mark.long
def test_a_resume_takes_the_warning_back(sandbox, stack, warning):
    sandbox.data.upload("/home/user/kept", b"kept")
    sandbox.pause()
    age(stack, sandbox, 30)
    at = sweeps(stack, lambda: warned(sandbox), "the warning")
    assert in_days(at) == pytest.approx(2, abs=0.01), "however old it is already"
    assert "cleanup_at" not in sandbox.resume()
    assert sandbox.data.read("/home/user/kept") == b"kept"
    assert "cleanup_at" not in sandbox.pause(), "it begins anew with each stop"
    time.sleep(1.5 * stack.lease_s)
    assert "cleanup_at" not in sandbox.show()


@pytest.mark.faults
def test_another_plan_takes_the_warning_back(account, sandbox, stack, warning):
    sandbox.pause()
    age(stack, sandbox, 9)
    sweeps(stack, lambda: warned(sandbox), "the warning")
    stack.ctl("team", "set-plan", account.team, "enterprise")
    sweeps(stack, lambda: not warned(sandbox), "the warning taken back")
    assert sandbox.resume()["state"] == "ready"


@pytest.mark.faults
def test_a_plan_without_an_age_keeps_for_ever(sandbox, stack, set_plan):
    set_plan("basic", stopped_days=0)
    sandbox.pause()
    age(stack, sandbox, 5000)
    time.sleep(1.5 * stack.lease_s)
    assert "cleanup_at" not in sandbox.show()


@pytest.mark.long
def test_more_stopped_sandboxes_than_the_plan_keeps(account, stack, set_plan):
    """No pause is refused and nothing goes unannounced: the first to be stopped are warned of, and
    nothing new is made meanwhile."""
    set_plan("basic", stopped_sandboxes=1, cleanup_warning_hours=48)
    first, second, third = (Sandbox.create(account.api, auto_pause=True) for _ in range(3))
    for sandbox in (first, second, third):
        assert sandbox.pause()["state"] == "stopped"
    refused = assert_error(account.api.post("/v1/sandboxes", {}), 422, "stopped_quota_exceeded")
    assert "paused" in refused["message"] and (refused["limit"], refused["used"]) == (1, 3)
    sweeps(stack, lambda: warned(first) and warned(second), "the warnings")
    assert in_days(warned(first)) == pytest.approx(2, abs=0.01)
    assert not warned(third)
    # A place becomes free: one warning is enough.
    third.api.destroy(third.id)
    sweeps(stack, lambda: not warned(second), "the warning taken back")
    assert warned(first)
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), cleanup_at_ms = %s WHERE id = %s", int(time.time() * 1000), first.id)
    sweeps(stack, lambda: account.api.get(first.path).status == 404, "the removal of the first")
    assert second.show()["state"] == "stopped" and not warned(second)
    assert Sandbox.create(account.api).show()["state"] == "ready"


@pytest.mark.faults
def test_the_last_resume_wins_over_the_removal(sandbox, stack, warning):
    """The time has come and the sandbox runs: it stays."""
    sandbox.pause()
    age(stack, sandbox, 30)
    sweeps(stack, lambda: warned(sandbox), "the warning")
    sandbox.resume()
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), cleanup_at_ms = 1 WHERE id = %s", sandbox.id)
    time.sleep(1.5 * stack.lease_s)
    assert sandbox.show()["state"] == "ready"


@pytest.mark.long
def test_a_checkpoint_is_warned_of_and_then_removed(sandbox, stack, set_plan):
    set_plan("basic", checkpoint_days=10, cleanup_warning_hours=48)
    made = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "old"})
    assert made.status == 201, made
    path, key = f"/v1/checkpoints/{made.json()['id']}", made.json()["id"]
    assert "cleanup_at" not in made.json()
    stack.query("UPDATE checkpoints SET created_at_ms = %s WHERE id = %s", int((time.time() - 11 * DAY_S) * 1000), key)
    at = sweeps(stack, lambda: sandbox.api.get(path).json().get("cleanup_at"), "the warning")
    assert in_days(at) == pytest.approx(2, abs=0.01)
    assert [one["cleanup_at"] for one in sandbox.api.get("/v1/checkpoints").json()["checkpoints"]] == [at]
    stack.query("UPDATE checkpoints SET cleanup_at_ms = %s WHERE id = %s", int(time.time() * 1000), key)
    sweeps(stack, lambda: sandbox.api.get(path).status == 404, "the removal")
    assert sandbox.data.check("echo runs on") == "runs on\n"
