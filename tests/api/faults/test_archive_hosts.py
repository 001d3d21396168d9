# SPDX-License-Identifier: GPL-2.0-or-later
"""A host is lost, and what the archive has of it goes on elsewhere."""

import contextlib
import secrets
import time

import pytest

from archive import Folder, archive_settings, until_archived
from client import assert_error
from faults import fault_points, wrong_counters  # noqa: F401
from stack import wait_until
from tenant import Sandbox, checkpoint_instance, checkpoint_of
from test_archive_checkpoints import delete
from two_hosts import TwoHosts

pytestmark = pytest.mark.hosts


@pytest.fixture
def hosts(stack):
    both = TwoHosts.up(stack)
    yield both
    both.found_again()
    both.take("other")


@pytest.fixture
def archive(stack):
    folder = Folder(stack.root / "archive-of-a-test")
    with archive_settings(stack, archive_after_s=1, **folder.settings):
        yield folder
    folder.close()


def keep(sandbox):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "0.0.0.0", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    sandbox.data.check("echo in memory >/dev/shm/kept; echo on disk >kept")


@pytest.mark.parametrize("point", [None, "archive.promised", "archive.taken"])
def test_what_is_archived_outlives_its_host(hosts, archive, api, stack, request, point):
    ports = {"exposed_ports": [{"port": 3000}]}
    asked, woken = hosts.make(api, "other", **ports), hosts.make(api, "other", lifecycle={"on_timeout": "pause", "auto_resume": True}, **ports)
    runs = hosts.make(api, "other")
    for one in (asked, woken):
        keep(one)
        one.pause()
        until_archived(stack, one.id)
    instances = {one.id: one.instance for one in (asked, woken)}
    addresses = {one.id: one.address for one in (asked, woken)}
    fail_at = request.getfixturevalue("fault_points") if point else None
    with hosts.cut():
        hosts.becomes("down")
        loss = stack.ctl("host", "lost", "other", "--yes", "--powered-off")
        assert loss["archived"] >= 2 and loss["sandboxes"] >= 1
        again = stack.ctl("host", "lost", "other", "--yes", "--powered-off")
        assert (again["sandboxes"], again["checkpoints"]) == (0, 0), "said again, nothing changes"
        assert_error(api.post(f"{runs.path}/resume", {}), 409, "sandbox_not_startable")
        assert asked.show()["state"] == "stopped" and "cleanup_at" not in asked.show()
        if point:
            fail_at.arm(point, "kill", "sandlot-api")
            api.post(f"{asked.path}/resume", {})
        assert asked.resume()["resumed_from"] == "memory"
        wait_until(lambda: woken.preview(3000).request("GET", "/").status == 200, 60, "a preview that wakes it")
        for one in (asked, woken):
            assert hosts.of(one) == "local" and one.address == addresses[one.id]
            assert one.preview(3000).request("GET", "/").status == 200, "its server runs on"
        assert asked.data.check("cat /dev/shm/kept kept") == "in memory\non disk\n"
        wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")
        wait_until(lambda: archive.keys() == [], 60, "an archive without what goes on")
        stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
    for instance in instances.values():
        wait_until(lambda i=instance: hosts.having(i) == ["local"], 90, "one instance of it, when the host is back")
    assert asked.data.check("cat /dev/shm/kept") == "in memory\n"


def test_no_host_has_room(hosts, archive, api, stack):
    sandbox = hosts.make(api, "other")
    sandbox.pause()
    until_archived(stack, sandbox.id)
    with hosts.cut():
        hosts.becomes("down")
        stack.ctl("host", "drain", "local", "--stay")
        stack.ctl("host", "lost", "other", "--yes", "--powered-off")
        assert_error(api.post(f"{sandbox.path}/resume", {}), 503, "no_capacity")
        stack.ctl("host", "activate", "local")
        assert sandbox.resume()["resumed_from"] == "memory"
        assert hosts.of(sandbox) == "local"
        stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")


def test_a_warning_is_taken_back_for_what_is_archived(hosts, archive, api, stack):
    """The plan keeps the sandbox again. The loss of the host is no reason to delete it: the archive has all data."""
    sandbox = hosts.make(api, "other")
    sandbox.pause()
    until_archived(stack, sandbox.id)
    with hosts.cut():
        hosts.becomes("down")
        stack.ctl("host", "lost", "other", "--yes", "--powered-off")
        stack.query("UPDATE sandboxes SET version = UUID_SHORT(), cleanup_at_ms = %s WHERE id = %s",
                    int((time.time() + 86400) * 1000), sandbox.id)
        assert "cleanup_at" in sandbox.show()
        wait_until(lambda: "cleanup_at" not in sandbox.show(), 3 * stack.lease_s + 10, "the warning taken back")
        assert sandbox.resume()["resumed_from"] == "memory"
        stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")


def test_what_is_archived_stays_stored_when_its_host_is_lost_in_a_resume(hosts, archive, api, stack):
    sandbox = hosts.make(api, "other")
    sandbox.pause()
    until_archived(stack, sandbox.id)
    with hosts.cut():
        hosts.becomes("down")
        stack.query("INSERT INTO operations (id, sandbox_id, kind, state, incarnation, lease_owner, lease_until_ms, attempts,"
                    " created_at_ms) SELECT CONCAT('opr_', SUBSTRING(id, 5)), id, 'resume', 'running', incarnation, 'test',"
                    " UNIX_TIMESTAMP() * 1000 + 3600000, 1, created_at_ms FROM sandboxes WHERE id = %s", sandbox.id)
        stack.query("UPDATE sandboxes SET state = 'restoring', operation_id = CONCAT('opr_', SUBSTRING(id, 5))"
                    " WHERE id = %s", sandbox.id)
        stack.ctl("host", "lost", "other", "--yes", "--powered-off")
        assert sandbox.show()["state"] == "stopped"
        (stored,) = stack.query("SELECT kind FROM usage_intervals WHERE sandbox_id = %s AND ended_at_ms IS NULL", sandbox.id)
        assert stored["kind"] == "storage"
        stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")


def test_what_is_in_the_archive_alone_moves_without_a_copy(hosts, stack, api):
    folder = Folder(stack.root / "archive-of-a-test")
    with archive_settings(stack, archive_after_s=1, archive_evict_percent=1, **folder.settings):
        sandbox = hosts.make(api, "other")
        keep(sandbox)
        sandbox.pause()
        wait_until(lambda: stack.query("SELECT id FROM archives WHERE current_of = %s AND evicted_at_ms > 0", sandbox.id), 120,
                   "the host to delete its copy")
        stack.ctl("sandbox", "move", sandbox.id, "local")
        assert hosts.of(sandbox) == "local" and hosts.having(sandbox.instance) == []
        assert sandbox.resume()["resumed_from"] == "memory"
        assert hosts.having(sandbox.instance) == ["local"]
        assert sandbox.data.check("cat /dev/shm/kept kept") == "in memory\non disk\n"
        wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")
    folder.close()


# --- checkpoints ---


def until_stored(stack, *checkpoints):
    """Of sandboxes that run nothing is in the archive."""
    for one in checkpoints:
        wait_until(lambda one=one: stack.query("SELECT id FROM archives WHERE current_of = %s AND state = 'whole'", one["id"]),
                   300, "the checkpoint being in the archive")


def restored(api, checkpoint):
    """As a client does that is told to try again."""
    last = []

    def made():
        last[:] = [api.post("/v1/sandboxes", {"snapshot_id": checkpoint["id"]})]
        if last[0].status != 201:
            assert_error(last[0], 503, "no_capacity")
        return last[0].status == 201

    wait_until(made, 120, "a sandbox made from it")
    return Sandbox(api, last[0].json())


def no_moves(stack):
    wait_until(lambda: not stack.query("SELECT id FROM moves WHERE state <> 'failed'"), 120, "the end of all moves")


@pytest.fixture
def kept(hosts, archive, api, stack):
    """Checkpoints of the other host that the archive has: without memory, and with it. Whose sandbox is gone."""
    sandbox = hosts.make(api, "other", exposed_ports=[{"port": 3000}])
    keep(sandbox)
    sandbox.data.check("sync")
    made = checkpoint_of(sandbox), checkpoint_of(sandbox, memory=True)
    until_stored(stack, *made)
    assert api.delete(sandbox.path).status == 204
    sandbox.wait_until_removed()
    return made


@pytest.fixture
def losing(hosts, stack):
    """The other host is lost while this holds."""
    @contextlib.contextmanager
    def lost():
        with hosts.cut():
            hosts.becomes("down")
            yield stack.ctl("host", "lost", "other", "--yes", "--powered-off")
            stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
    return lost


def test_checkpoints_outlive_their_host_which_can_be_removed(hosts, kept, archive, api, stack):
    """What the archive has leaves the lost host by itself, and may go back to the machine when it is there again."""
    disk, memory = kept
    paused = hosts.make(api, "other")
    keep(paused)
    paused.pause()
    until_archived(stack, paused.id)
    options = hosts.options("other")
    fresh = hosts.make(api, "other")
    unlucky = checkpoint_of(fresh)
    with hosts.cut():
        hosts.becomes("down")
        loss = stack.ctl("host", "lost", "other", "--yes", "--powered-off")
        assert loss["archived_checkpoints"] >= 2 and loss["checkpoints"] >= 1
        assert_error(api.get(f"/v1/checkpoints/{unlucky['id']}"), 404, "not_found")
        from_disk, from_memory = restored(api, disk), restored(api, memory)
        assert from_disk.data.check("cat kept") == "on disk\n"
        assert from_memory.show()["resumed_from"] == "memory"
        assert from_memory.data.check("cat /dev/shm/kept kept") == "in memory\non disk\n"
        from_memory.data.check("curl -so /dev/null 127.0.0.1:3000")
        for one in (from_disk, from_memory):
            assert hosts.of(one) == "local"
        assert [hosts.host_of("checkpoints", one["id"]) for one in kept] == ["local", "local"]
        wait_until(lambda: hosts.of(paused) == "local", 60, "the paused sandbox leaving")
        assert api.delete(fresh.path).status == 204
        wait_until(lambda: stack.ctl("host", "remove", "other", check=False).returncode == 0, 120, "a host that can be removed")
    hosts.add("other", options)
    hosts.becomes("up")
    hosts.take("local", "other")
    for one in kept:
        wait_until(lambda one=one: hosts.having(checkpoint_instance(one)) == ["local"], 120, "one instance of it")
    copy = checkpoint_of(paused, memory=True)
    hosts.move(paused, "other")
    assert paused.resume()["resumed_from"] == "memory" and hosts.of(paused) == "other"
    assert paused.data.check("cat /dev/shm/kept") == "in memory\n"
    assert restored(api, copy).data.check("cat /dev/shm/kept") == "in memory\n"
    delete(api, disk, memory, copy)
    wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")
    wait_until(lambda: archive.keys() == [], 60, "an archive without what is deleted")


@pytest.mark.parametrize("point", ["moving.begun", "archive.fetching", "archive.taken", "moving.copied", "moving.arriving",
                                   "moving.arrived", "moving.cleared"])
def test_a_dispatcher_is_killed_over_a_checkpoint(hosts, kept, losing, api, stack, fault_points, point):
    disk, memory = kept
    with losing():
        fault_points.arm(point, "kill", "sandlot-dispatcher")
        made = restored(api, memory)
        wait_until(lambda: not (fault_points.directory / point).exists(), 60, f"a dispatcher at {point}")
        no_moves(stack)
        assert [hosts.host_of("checkpoints", one["id"]) for one in kept] == ["local", "local"]
        assert made.data.check("cat /dev/shm/kept kept") == "in memory\non disk\n"
        assert restored(api, disk).data.check("cat kept") == "on disk\n"
    for one in kept:
        wait_until(lambda one=one: hosts.having(checkpoint_instance(one)) == ["local"], 120, "one instance of it, when the host is back")
    delete(api, *kept)


def test_a_damaged_copy_of_a_checkpoint_is_refused(hosts, kept, losing, archive, api, stack):
    """And nothing that is left of an earlier life on the new host is taken for it."""
    disk, memory = kept
    (key,) = [row["object_key"] for row in stack.query("SELECT object_key FROM archives WHERE current_of = %s", disk["id"])]
    stored = archive.read(key)
    middle = len(stored) // 2
    archive.write(key, stored[:middle] + bytes([stored[middle] ^ 1]) + stored[middle + 1 :])
    with losing():
        def refused():
            answer = api.post("/v1/sandboxes", {"snapshot_id": disk["id"]})
            assert_error(answer, 503, "no_capacity")
            return "archived copy of the checkpoint is damaged" in answer.json()["message"]

        wait_until(refused, 120, "a refusal that says why")
        assert restored(api, memory).data.check("cat kept") == "on disk\n", "the other one is whole"
        assert hosts.host_of("checkpoints", disk["id"]) == "other"
        archive.write(key, stored)
        assert restored(api, disk).data.check("cat kept") == "on disk\n"
    delete(api, *kept)


def test_a_template_is_built_from_a_checkpoint_of_a_lost_host(hosts, kept, losing, api):
    slug = "t" + secrets.token_hex(6)
    with losing():
        answer = api.post("/v1/templates", {"slug": slug, "checkpoint_id": kept[0]["id"]})
        assert answer.status in (201, 202), answer
        wait_until(lambda: api.get(f"/v1/templates/{slug}").json()["latest_version"], 180, "the template")
        made = Sandbox.create(api, template=slug)
        assert made.data.check("cat kept") == "on disk\n"
    delete(api, *kept)


def test_no_host_has_room_for_a_checkpoint(hosts, kept, losing, api, stack):
    stack.ctl("host", "drain", "local", "--stay")
    with losing():
        answer = api.post("/v1/sandboxes", {"snapshot_id": kept[0]["id"]})
        assert_error(answer, 503, "no_capacity")
        assert "host of the checkpoint is lost" in answer.json()["message"]
        assert "2 checkpoints" in stack.ctl("host", "remove", "other", check=False).stderr
        stack.ctl("host", "activate", "local")
        assert restored(api, kept[0]).data.check("cat kept") == "on disk\n"
        no_moves(stack)
    delete(api, *kept)
