# SPDX-License-Identifier: GPL-2.0-or-later
"""Checkpoints in the archive: with their memory and without, beside what is made from them, whoever dies over it."""

import pytest

from archive import Folder, archive_settings, row_of, until_archived, until_nothing_is_left
from faults import fault_points  # noqa: F401
from stack import wait_until
from tenant import Sandbox, checkpoint_instance, checkpoint_of
from test_archive import archive  # noqa: F401 (a fixture)


@pytest.fixture(scope="module")
def storage(stack):
    folder = Folder(stack.root / "archive-of-a-test")
    yield folder
    folder.close()


def delete(api, *checkpoints):
    for one in checkpoints:
        assert api.delete(f"/v1/checkpoints/{one['id']}").status == 204


def lose_instance(stack, checkpoint):
    """As its host's disk does that breaks."""
    stack.incus.request("DELETE", f"/1.0/instances/{checkpoint_instance(checkpoint)}")


def restored(api, checkpoint):
    return Sandbox.create(api, snapshot_id=checkpoint["id"])


@pytest.mark.long
@pytest.mark.parametrize("memory", [False, True])
def test_its_host_fetches_what_it_has_lost(archive, api, stack, memory):
    sandbox = Sandbox.create(api)
    sandbox.data.check("echo on disk >kept; echo in memory >/dev/shm/kept; sync")
    pid = sandbox.data.background("sleep", "3000")
    checkpoint = checkpoint_of(sandbox, memory=memory)
    assert api.delete(sandbox.path).status == 204
    row = until_archived(stack, checkpoint["id"])
    assert archive.keys() == [row["object_key"]] and row["object_key"].startswith("checkpoints/")
    shown = stack.ctl("status")["archive"]
    assert (shown["checkpoints"], shown["sandboxes"], shown["copies"]) == (1, 0, 1)
    lose_instance(stack, checkpoint)
    wait_until(lambda: stack.incus.exists(checkpoint_instance(checkpoint)) and not stack.query("SELECT id FROM moves"), 120,
               "the checkpoint on its host again")
    made = restored(api, checkpoint)
    assert made.data.check("cat kept") == "on disk\n"
    if memory:
        assert made.show()["resumed_from"] == "memory"
        assert made.data.check(f"cat /dev/shm/kept /proc/{pid}/comm") == "in memory\nsleep\n"
    delete(api, checkpoint)
    until_nothing_is_left(stack, checkpoint["id"])
    assert archive.keys() == []
    wait_until(lambda: not stack.incus.exists(checkpoint_instance(checkpoint)), 60, "no instance of it")
    assert made.data.check("cat kept") == "on disk\n"


@pytest.mark.parametrize("point", ["archive.begun", "archive.sent", "archive.verified", "archive.removed"])
def test_a_dispatcher_is_killed_at_each_step(archive, api, stack, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    checkpoint = checkpoint_of(Sandbox.create(api))
    row = until_archived(stack, checkpoint["id"])
    assert archive.keys() == [row["object_key"]], "nothing is left of the first attempt"
    delete(api, checkpoint)
    until_nothing_is_left(stack, checkpoint["id"])
    assert archive.keys() == []
    assert not (fault_points.directory / point).exists(), "a dispatcher has come by there"


@pytest.mark.long
def test_nothing_waits_for_its_copy(storage, api, stack):
    """A sandbox is made from it meanwhile, and a delete ends it."""
    with archive_settings(stack, archive_after_s=1, archive_kib_s=2048, **storage.settings):
        sandbox = Sandbox.create(api)
        sandbox.data.check("echo on disk >kept; sync")
        checkpoint = checkpoint_of(sandbox)
        wait_until(lambda: (row := row_of(stack, checkpoint["id"])) and row["upload"], 60, "a copy being written")
        assert restored(api, checkpoint).data.check("cat kept") == "on disk\n"
        assert row_of(stack, checkpoint["id"])["state"] == "storing"
        delete(api, checkpoint)
        until_nothing_is_left(stack, checkpoint["id"])
        wait_until(lambda: storage.keys() == [], 60, "nothing of it in the storage")
        wait_until(lambda: not stack.incus.exists(checkpoint_instance(checkpoint)), 60, "no instance of it")


@pytest.mark.long
def test_each_team_has_its_turn(storage, account, other_account, stack):
    """Whoever has many checkpoints keeps nobody's sandboxes waiting."""
    with archive_settings(stack, archive_after_s=86400, **storage.settings):
        much = Sandbox.create(account.api)
        many = [checkpoint_of(much) for _ in range(6)]
        one = Sandbox.create(other_account.api)
        one.pause()
    with archive_settings(stack, archive_after_s=1, **storage.settings):
        stack.query("UPDATE checkpoints SET archived = 0 WHERE archived = 2 AND sandbox_id = %s", much.id)
        begun = [until_archived(stack, one_id)["created_at_ms"] for one_id in (*(each["id"] for each in many), one.id)]
        assert begun[-1] < max(begun[:-1]), "who has one does not wait for whoever has six"
        delete(account.api, *many)
        assert other_account.api.delete(one.path).status == 204
        wait_until(lambda: not stack.query("SELECT id FROM archives"), 60, "nothing in the archive")
    assert storage.keys() == []
