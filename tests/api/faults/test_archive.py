# SPDX-License-Identifier: GPL-2.0-or-later
"""Paused sandboxes in storage off their hosts, with their memory: they come back from there, whoever dies over
it, and nothing is left there of what has gone on."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from archive import Folder, Swift, archive_settings, row_of, until_archived, until_nothing_is_left
from client import assert_error
from doctor import doctor
from faults import fault_points, wrong_counters  # noqa: F401
from stack import wait_until
from tenant import Sandbox, checkpoint_of

pytestmark = pytest.mark.long

CANARY = "kept where nobody else can read it"


@pytest.fixture(scope="module", params=["folder", pytest.param("bucket", marks=pytest.mark.long)])
def storage(request, stack):
    folder = stack.root / "archive-of-a-test"
    if folder.exists():  # of a run that was killed
        shutil.rmtree(folder)
    if request.param == "folder":
        made = Folder(folder)
    else:
        folder.mkdir()
        made = Swift(folder)
    yield made
    made.close()
    if folder.exists():
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def archive(storage, stack):
    """What is paused is archived a second later."""
    with archive_settings(stack, archive_after_s=1, **storage.settings):
        yield storage
        wait_until(lambda: not stack.query("SELECT id FROM archives"), 60, "nothing in the archive")
        assert storage.keys() == []


@pytest.fixture
def sandbox(api):
    """With something in its memory and on its disk."""
    made = Sandbox.create(api)
    made.data.check(f"echo '{CANARY}' >/dev/shm/kept; echo '{CANARY}' >kept; sync")
    return made


def lose_instance(sandbox):
    """As its host's disk does that breaks."""
    sandbox.stack.incus.request("DELETE", f"/1.0/instances/{sandbox.instance}")
    wait_until(lambda: not sandbox.stack.incus.exists(sandbox.instance), 30, "no instance of it")


def is_as_it_was(sandbox):
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.check("cat /dev/shm/kept kept") == f"{CANARY}\n{CANARY}\n"


def test_it_comes_back_from_there_with_its_memory(archive, sandbox, stack):
    boot_id = sandbox.boot_id()
    address = sandbox.address
    sandbox.pause()
    row = until_archived(stack, sandbox.id)
    assert archive.keys() == [row["object_key"]]
    stored = archive.read(row["object_key"])
    assert len(stored) == row["stored_bytes"] > row["plain_bytes"] > 0
    assert CANARY.encode() not in stored and b"backup/index.yaml" not in stored
    lose_instance(sandbox)
    is_as_it_was(sandbox)
    assert (sandbox.boot_id(), sandbox.address) == (boot_id, address)
    until_nothing_is_left(stack, sandbox.id)
    wait_until(lambda: archive.keys() == [], 30, "no object of what has gone on")
    sandbox.pause()
    assert until_archived(stack, sandbox.id)["object_key"] != row["object_key"]
    is_as_it_was(sandbox)
    wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")


def test_what_is_deleted_leaves_nothing_there(archive, sandbox, stack):
    sandbox.pause()
    until_archived(stack, sandbox.id)
    assert sandbox.api.delete(sandbox.path).status == 204
    until_nothing_is_left(stack, sandbox.id)
    assert archive.keys() == []


def test_a_damaged_copy_is_refused(archive, sandbox, stack):
    sandbox.pause()
    key = until_archived(stack, sandbox.id)["object_key"]
    lose_instance(sandbox)
    stored = archive.read(key)
    middle = len(stored) // 2
    for damaged in (stored[:middle] + bytes([stored[middle] ^ 1]) + stored[middle + 1 :], stored[:middle], stored[:-1],
                    b"something else"):
        archive.write(key, damaged)
        refused = sandbox.api.post(f"{sandbox.path}/resume", {})
        assert_error(refused, 409, "sandbox_not_startable")
        assert "archived copy" in refused.json()["message"] and "damaged" in refused.json()["message"]
        assert sandbox.show()["state"] == "stopped"
        assert not stack.incus.exists(sandbox.instance), "nothing of it is taken in"
    archive.write(key, stored)
    is_as_it_was(sandbox)


def test_the_storage_is_away(archive, sandbox, api, stack):
    other = Sandbox.create(api)
    sandbox.pause()
    until_archived(stack, sandbox.id)
    lose_instance(sandbox)
    with archive.away():
        other.pause()
        wait_until(lambda: stack.ctl("status")["archive"]["failing"], 90, "a copy that fails")
        said = stack.ctl("status")["archive"]["last_error"]
        assert "the archive at" in said, said
        assert any(one["check"] == "archive" and one["state"] == "WRONG" for one in doctor(stack))
        answer = api.post(f"{sandbox.path}/resume", {})
        assert_error(answer, 503, "runtime_unavailable")
    wait_until(lambda: sandbox.show()["state"] in ("ready", "stopped") and not settled(stack, sandbox), 120, "the resume's end")
    if sandbox.show()["state"] == "stopped":
        is_as_it_was(sandbox)
    until_archived(stack, other.id)
    assert not stack.ctl("status")["archive"]["failing"]
    assert all(one["state"] == "ok" for one in doctor(stack) if one["check"] == "archive")


def settled(stack, sandbox):
    return stack.row(sandbox.id)["operation_id"]


def test_a_resume_goes_before_its_copy(storage, api, stack):
    """Whatever is on its way into the archive: the sandbox goes on at once, and nothing of it stays there."""
    with archive_settings(stack, archive_after_s=1, archive_kib_s=2048, **storage.settings):
        sandbox = Sandbox.create(api)
        sandbox.data.check(f"echo '{CANARY}' >/dev/shm/kept; echo '{CANARY}' >kept")
        sandbox.pause()
        wait_until(lambda: (row := row_of(stack, sandbox.id)) and row["upload"], 30, "a copy being written")
        is_as_it_was(sandbox)
        until_nothing_is_left(stack, sandbox.id)
        wait_until(lambda: storage.keys() == [], 60, "nothing of it in the storage")


def test_a_dispatcher_is_killed_over_a_copy(storage, api, stack):
    with archive_settings(stack, archive_after_s=1, archive_kib_s=8192, **storage.settings):
        sandbox = Sandbox.create(api)
        sandbox.data.check(f"echo '{CANARY}' >/dev/shm/kept; echo '{CANARY}' >kept")
        sandbox.pause()
        row = wait_until(lambda: (row := row_of(stack, sandbox.id)) and row["upload"] and row, 30, "a copy being written")
        pids = {int(number) for number in re.findall(r"\d+", row["lease_owner"])} & set(stack.processes("sandlot-dispatcher"))
        assert len(pids) == 1
        os.kill(pids.pop(), signal.SIGKILL)
        whole = until_archived(stack, sandbox.id)
        assert whole["attempts"] > 1
        assert storage.keys() == [whole["object_key"]], "nothing is left of the first attempt"
        lose_instance(sandbox)
        is_as_it_was(sandbox)
        until_nothing_is_left(stack, sandbox.id)


@pytest.mark.parametrize("point", ["archive.fetching", "archive.taken"])
def test_a_worker_is_killed_over_a_resume(archive, sandbox, stack, fault_points, point):
    sandbox.pause()
    until_archived(stack, sandbox.id)
    lose_instance(sandbox)
    fault_points.arm(point, "kill")
    sandbox.api.post(f"{sandbox.path}/resume", {})
    wait_until(lambda: sandbox.show()["state"] == "ready", 60, "the dispatcher having finished it")
    is_as_it_was(sandbox)


@pytest.mark.parametrize("point", ["archive.begun", "archive.sent", "archive.verified", "archive.removed"])
def test_a_dispatcher_is_killed_at_each_step(archive, sandbox, stack, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    sandbox.pause()
    until_archived(stack, sandbox.id)
    lose_instance(sandbox)
    is_as_it_was(sandbox)
    until_nothing_is_left(stack, sandbox.id)
    wait_until(lambda: archive.keys() == [], 60, "nothing left in the storage")
    assert not (fault_points.directory / point).exists(), "a dispatcher has come by there"


def test_each_team_has_its_turn(storage, account, other_account, stack):
    many = [Sandbox.create(account.api) for _ in range(6)]
    one = Sandbox.create(other_account.api)
    with archive_settings(stack, archive_after_s=86400, **storage.settings):
        for sandbox in (*many, one):
            sandbox.pause()
    with archive_settings(stack, archive_after_s=1, **storage.settings):
        begun = [until_archived(stack, sandbox.id)["created_at_ms"] for sandbox in (*many, one)]
        assert begun[-1] < max(begun[:-1]), "who has one does not wait for whoever has six"
        for sandbox in (*many, one):
            sandbox.api.delete(sandbox.path)
        wait_until(lambda: not stack.query("SELECT id FROM archives"), 60, "nothing in the archive")
    assert storage.keys() == []


def test_the_storage_is_compared_with_the_rows(storage, api, stack):
    """What no row knows goes when it is old, and a copy that is gone is made again."""
    with archive_settings(stack, archive_after_s=1, archive_sweep_s=10, **storage.settings):
        sandbox = Sandbox.create(api)
        sandbox.pause()
        first = until_archived(stack, sandbox.id)["object_key"]
        storage.remove(first)
        wait_until(lambda: (row := row_of(stack, sandbox.id)) and row["state"] == "whole" and row["object_key"] != first, 300,
                   "another copy")
        if isinstance(storage, Folder):
            for key, age_s in (("sandboxes/old", 2 * 86400), ("sandboxes/old.1-2.partial", 2 * 86400), ("sandboxes/new", 60)):
                storage.write(key, b"of nobody")
                os.utime(storage.path / key, (time.time() - age_s,) * 2)
            wait_until(lambda: not any("old" in key for key in storage.keys()), 60, "nothing that no row knows")
            assert "sandboxes/new" in storage.keys(), "it may be of a row that is not there yet"
            storage.remove("sandboxes/new")
        assert api.delete(sandbox.path).status == 204
        until_nothing_is_left(stack, sandbox.id)
    assert storage.keys() == []


def test_the_bucket_is_full_or_refuses(storage, api, stack):
    if isinstance(storage, Folder):
        pytest.skip("a folder is full as any disk is, and has no credentials")
    with archive_settings(stack, archive_after_s=1, **storage.settings):
        sandbox = Sandbox.create(api)
        with storage.full():
            sandbox.pause()
            said = wait_until(lambda: stack.ctl("status")["archive"]["last_error"], 90, "a copy that fails")
            assert "507" in said, said
        until_archived(stack, sandbox.id)
        assert not stack.ctl("status")["archive"]["last_error"]
        other = Sandbox.create(api)
        storage.write_credentials("not-this-one")
        other.pause()
        said = wait_until(lambda: stack.ctl("status")["archive"]["last_error"], 90, "a copy that fails")
        assert "403" in said and "SignatureDoesNotMatch" in said and "not-this-one" not in said, said
        refused = [one for one in doctor(stack) if one["check"] == "archive" and "403" in one["message"]]
        assert any("archive_credentials_file" in one["advice"] for one in refused), refused
        storage.write_credentials(storage.SECRET)
        until_archived(stack, other.id)
        for one in (sandbox, other):
            assert api.delete(one.path).status == 204
        wait_until(lambda: not stack.query("SELECT id FROM archives"), 60, "nothing in the archive")


def test_what_cannot_be_archived_is_left_alone(archive, account, stack):
    assert account.api.post("/v1/volumes", {"name": "data"}).status == 201
    sandbox = Sandbox.create(account.api, volume_mounts={"/data": "data"})
    sandbox.pause()
    wait_until(lambda: stack.row(sandbox.id)["archived"] == 2, 30, "the dispatcher having looked at it")
    assert not row_of(stack, sandbox.id)
    assert sandbox.resume()["resumed_from"] == "disk"


# --- hosts keep what they have room for ---


def until_evicted(stack, *sandboxes):
    for sandbox in sandboxes:
        wait_until(lambda one=sandbox: (row := row_of(stack, one.id)) and row["evicted_at_ms"], 120, "the host to delete its copy")
        assert not stack.incus.exists(sandbox.instance)


@pytest.fixture
def full(storage, stack):
    """What is in the archive is a lot for the pools."""
    with archive_settings(stack, archive_after_s=1, archive_evict_percent=1, **storage.settings):
        yield storage


def test_a_pool_that_fills_keeps_nothing_that_is_archived(full, sandbox, stack):
    boot_id, room = sandbox.boot_id(), "SELECT promised_gb FROM host_pools"
    sandbox.pause()
    promised = stack.query(room)
    until_evicted(stack, sandbox)
    assert sandbox.show()["state"] == "stopped"
    assert stack.ctl("status")["archive"]["evicted"] == 1
    assert stack.query(room) == promised, "its room is its own"
    is_as_it_was(sandbox)
    assert sandbox.boot_id() == boot_id
    until_nothing_is_left(stack, sandbox.id)
    wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")


def test_a_backup_names_what_only_the_archive_has(full, sandbox, stack, tmp_path):
    """It is no fault of the backup."""
    sandbox.pause()
    until_evicted(stack, sandbox)
    done = subprocess.run([*stack.ctl_command, "--json", "backup", str(tmp_path / "one"), "--without-keys", "--sandbox", sandbox.id],
                          capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    assert {"id": sandbox.id, "reason": "only the archive has its disk"} in json.loads(done.stdout)["left_out"]


def test_what_is_on_no_host_can_be_copied_and_deleted(full, sandbox, api, stack):
    deleted = Sandbox.create(api)
    for one in (sandbox, deleted):
        one.pause()
    until_evicted(stack, sandbox, deleted)
    checkpoint = checkpoint_of(sandbox, memory=True)
    other = Sandbox.create(api, snapshot_id=checkpoint["id"])
    assert other.data.check("cat /dev/shm/kept kept") == f"{CANARY}\n{CANARY}\n"
    until_evicted(stack, sandbox)
    for one in (deleted, sandbox):
        assert api.delete(one.path).status == 204
        until_nothing_is_left(stack, one.id)
    assert api.delete(f"/v1/checkpoints/{checkpoint['id']}").status == 204
    wait_until(lambda: full.keys() == [], 60, "nothing of it in the storage")


@pytest.mark.parametrize("point", ["archive.evicting", "archive.evicted"])
def test_a_dispatcher_is_killed_over_a_pool_that_fills(full, sandbox, stack, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    sandbox.pause()
    wait_until(lambda: not (fault_points.directory / point).exists(), 120, "a dispatcher having come by there")
    is_as_it_was(sandbox)
    sandbox.pause()
    until_evicted(stack, sandbox)
    is_as_it_was(sandbox)


def test_who_has_most_gives_first_and_nothing_without_the_storage(storage, account, other_account, stack):
    many, one = [Sandbox.create(account.api) for _ in range(2)], Sandbox.create(other_account.api)
    with archive_settings(stack, archive_after_s=1, **storage.settings):
        for sandbox in (one, *many):
            sandbox.pause()
            until_archived(stack, sandbox.id)
    started = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    with storage.away(), archive_settings(stack, archive_after_s=86400, archive_evict_percent=1, **storage.settings):
        said = ("pools that fill", "whose storage pool is filling")
        wait_until(lambda: any(words in line for line in stack.warnings(started) for words in said), 60,
                   "a dispatcher that would remove one")
        assert all(stack.incus.exists(sandbox.instance) for sandbox in (one, *many))
    with archive_settings(stack, archive_after_s=1, archive_evict_percent=1, **storage.settings):
        until_evicted(stack, one, *many)
        evicted = [row_of(stack, sandbox.id)["evicted_at_ms"] for sandbox in (*many, one)]
        assert evicted == sorted(evicted), "the oldest of who has two, and who has one last"
        for sandbox in (one, *many):
            assert sandbox.api.delete(sandbox.path).status == 204
        wait_until(lambda: not stack.query("SELECT id FROM archives"), 60, "nothing in the archive")
