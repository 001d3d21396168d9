# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults made for real: workers killed in the middle of their work, daemons stopped."""

import contextlib
import os
import signal
import time

import pytest

from client import assert_error
from killing import HolderKiller, cold_create, in_background, stopped
from tenant import Sandbox, checkpoint_of
from stack import wait_until


def settled(stack, sandbox_id):
    row = stack.row(sandbox_id)
    return row if row["state"] in ("ready", "stopped", "destroyed") and not row["operation_id"] else None


def assert_consistent(stack, row):
    """What the row says is what is there."""
    exists = stack.incus.exists(row["instance_name"])
    assert exists == (row["state"] != "destroyed"), row
    held = stack.query("SELECT 1 FROM host_addresses WHERE holder = %s", row["instance_name"])
    assert bool(held) == exists
    assert row["reserved"] == (row["state"] == "ready")
    left = stack.query(
        "SELECT * FROM operations WHERE sandbox_id = %s AND state = 'running'", row["id"]
    )
    assert not left


@pytest.mark.parallel  # a worker has one call at a time
def test_a_worker_killed_in_the_middle_of_a_create(make_account, stack):
    account = make_account("pro")
    body = cold_create(account)
    killer = HolderKiller(stack, account.team, "create")
    thread, answers = in_background(account.api.post, "/v1/sandboxes", body)
    sandbox_id = killer.kill()
    thread.join()
    assert answers[0].status >= 500, answers
    assert answers[0].json()["request_id"] == answers[0].headers["X-Request-Id"]
    row = wait_until(
        lambda: settled(stack, sandbox_id), stack.lease_s + 20, "the end of the create", 0.2
    )
    assert_consistent(stack, row)
    wait_until(
        lambda: len(set(stack.processes("sandlot-api")) - {killer.pid}) >= len(killer.workers),
        10,
        "a new worker",
    )
    assert account.api.create(**body)["state"] == "ready"


@pytest.mark.parallel
@pytest.mark.parametrize("kind", ["pause", pytest.param("resume", marks=pytest.mark.long)])
def test_a_worker_killed_in_the_middle_of_a_move(account, sandbox, stack, kind):
    sandbox.data.upload("/home/user/kept", b"kept")
    if kind == "resume":
        sandbox.pause()
    killer = HolderKiller(stack, account.team, kind)
    thread, answers = in_background(sandbox.api.post, f"{sandbox.path}/{kind}")
    killer.kill()
    thread.join()
    assert answers[0].status >= 500, answers
    row = wait_until(
        lambda: settled(stack, sandbox.id), stack.lease_s + 20, "the end of the move", 0.2
    )
    assert row["state"] in ("ready", "stopped")
    assert_consistent(stack, row)
    sandbox.resume()
    assert sandbox.data.read("/home/user/kept") == b"kept"


@pytest.mark.parallel
def test_a_delete_is_not_kept_waiting_by_a_dead_worker(account, sandbox, stack):
    killer = HolderKiller(stack, account.team, "pause")
    thread, _ = in_background(sandbox.api.post, f"{sandbox.path}/pause")
    killer.kill()
    thread.join()
    sandbox.api.destroy(sandbox.id)
    row = wait_until(lambda: settled(stack, sandbox.id), 15, "the end of the sandbox", 0.1)
    assert row["state"] == "destroyed"
    assert_consistent(stack, row)


def test_a_dispatcher_that_was_killed_is_replaced(make_sandbox, stack):
    before = stack.processes("sandlot-dispatcher")
    assert before, "a dispatcher is running"
    for pid in before:
        with contextlib.suppress(ProcessLookupError):  # those beside it end with it
            os.kill(pid, signal.SIGKILL)
    sandbox = make_sandbox(timeout=1)
    wait_until(lambda: sandbox.api.get(sandbox.path).status == 404, 20, "the deadline being acted on")
    assert not set(stack.processes("sandlot-dispatcher")) & set(before)


def test_the_runtime_daemon_being_away(make_account, stack):
    account = make_account("pro")
    sandbox = Sandbox.create(account.api)
    body = cold_create(account)  # a hand-over asks the daemon nothing
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        started = time.monotonic()
        response = account.api.post("/v1/sandboxes", body)
        refusal = assert_error(response, 503, "runtime_unavailable")
        assert response.headers["Retry-After"]
        assert str(stack.incus_dir) not in refusal["message"]
        assert time.monotonic() - started < 10
        # What needs no daemon goes on.
        assert sandbox.show()["state"] == "ready"
        assert sandbox.data.check("echo goes on") == "goes on\n"
    finally:
        daemon.start(stack.incus.answers)
    made = account.api.create(**body)

    def only_these():
        rows = stack.query(
            "SELECT s.id FROM sandboxes s JOIN teams t ON t.id = s.team_id"
            " WHERE t.slug = %s AND s.state <> 'destroyed'",
            account.team,
        )
        return {row["id"] for row in rows} == {sandbox.id, made["id"]}

    wait_until(only_these, stack.lease_s + 20, "the failed create being undone", 0.2)


@pytest.mark.long
@pytest.mark.one_host
def test_a_rollback_waits_for_the_runtime_daemon(sandbox, stack):
    """Without it no start is tried: the memory of the checkpoint, and the sandbox, are not given up."""
    boot_id = sandbox.boot_id()
    assert sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "back", "memory": True}).status == 201
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        assert_error(sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": "back"}), 503, "runtime_unavailable")
        time.sleep(15)  # for more attempts than a rollback has
        assert sandbox.show()["state"] == "restoring"
    finally:
        daemon.start(stack.incus.answers)
    wait_until(lambda: sandbox.show()["state"] == "ready", stack.lease_s + 60, "the end of the rollback", 0.2)
    assert sandbox.show()["resumed_from"] == "memory"
    sandbox.resume()
    assert sandbox.boot_id() == boot_id


@pytest.mark.long
@pytest.mark.one_host
def test_a_rollback_with_a_slow_runtime_waits_for_its_agent(sandbox, stack):
    """The time for all waits for the agent begins when the agent starts, not when the rollback disconnects its clients."""
    checkpoint = checkpoint_of(sandbox)
    with stopped([stack.daemon("incusd").pid]):
        thread, answers = in_background(sandbox.api.post, f"{sandbox.path}/rollback", {"checkpoint": checkpoint["id"]})
        time.sleep(25)
    thread.join(120)
    assert answers and answers[0].status == 200, answers
    assert answers[0].json()["resumed_from"] == "disk"


def test_a_sandbox_deleted_while_the_runtime_is_away_goes_in_the_end(sandbox, stack):
    instance = sandbox.instance
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        sandbox.api.destroy(sandbox.id)
        assert_error(sandbox.api.get(sandbox.path), 404, "not_found")
        assert sandbox.data.call("process.Process/List", {}).status == 404
    finally:
        daemon.start(stack.incus.answers)
    row = wait_until(lambda: settled(stack, sandbox.id), stack.lease_s + 40, "the end of the row", 0.2)
    assert row["state"] == "destroyed"
    assert not stack.incus.exists(instance)


def test_an_instance_without_a_row_is_swept_away(sandbox, stack):
    """Someone restored an old database: the instance belongs to nobody."""
    instance = sandbox.instance
    stack.query("UPDATE host_addresses SET holder = NULL WHERE holder = %s", instance)
    for table, key, count in (("teams", "team_id", "used_sandboxes"), ("hosts", "host_id", "sandboxes")):
        stack.query(f"UPDATE {table} c JOIN sandboxes s ON s.{key} = c.id SET c.{count} = c.{count} - 1,"
                    " c.used_vcpus = c.used_vcpus - s.cpu, c.used_memory_mb = c.used_memory_mb - s.memory_mb"
                    " WHERE s.id = %s", sandbox.id)
    stack.query("DELETE FROM sandboxes WHERE id = %s", sandbox.id)
    wait_until(lambda: not stack.incus.exists(instance), 180, "the sweep", 0.5)


def test_the_database_being_away(account, sandbox, stack):
    daemon = stack.daemon("database")
    daemon.stop()
    try:
        assert_error(account.api.get("/v1/sandboxes"), 503, "runtime_unavailable")
        response = sandbox.data.download("/etc/passwd")
        assert response.status == 503, response
    finally:
        daemon.start(stack.database_answers)
    wait_until(lambda: account.api.get("/v1/sandboxes").status == 200, 30, "the database being back")
    assert sandbox.data.check("echo back") == "back\n"
    assert Sandbox.create(account.api).show()["state"] == "ready"
