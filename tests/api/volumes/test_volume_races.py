# SPDX-License-Identifier: GPL-2.0-or-later
"""A volume's files changed from outside while a sandbox starts with it, and everything that is killed
between two steps of it."""

import contextlib
import os
import secrets
import signal
import threading
import time

import pytest

from client import assert_error
from tenant import Sandbox
from faults import InBackground, fault_points, settle  # noqa: F401
from stack import wait_until
from test_volume_files import CHANGES
from volumes import OCTETS, Volume

pytestmark = pytest.mark.parallel


@pytest.fixture
def volume(api):
    return Volume(api)


def keeper(stack):
    rows = stack.query("SELECT k.instance_name FROM keepers k JOIN hosts h ON h.id = k.host_id WHERE h.state = 'active'")
    return rows[0]["instance_name"] if rows else None


def keeper_pid(stack):
    return stack.incus.request("GET", f"/1.0/instances/{keeper(stack)}/state")["pid"]


def seen(sandbox):
    return sandbox.data.check("ls -A /data").split()


# --- a write and an attach at once ---


def race(account, times):
    """Whichever comes first, a change that succeeds is there when the sandbox starts, and one that
    does not never comes. Who has come first waits a little longer the next time, so that the two go
    on meeting."""
    outcomes = set()
    write_waits_s = 0
    for n in range(times):
        volume = Volume(account.api)
        start = threading.Barrier(2)

        def write(volume=volume, n=n, start=start, wait_s=max(0, write_waits_s)):
            start.wait()
            time.sleep(wait_s)
            if n % 2:
                return volume.put(f"/{n}", b"x")
            return volume.put_octets(f"/{n}", secrets.token_bytes(50_000))

        writing = InBackground(write)
        start.wait()
        time.sleep(max(0, -write_waits_s))
        sandbox = Sandbox.create(account.api, volume_mounts=volume.mounts())
        first = seen(sandbox)
        answer = writing.result()
        if answer.status == 201:
            assert first == [str(n)], "it landed before the start"
        else:
            assert_error(answer, 409, "volume_attached")
            assert first == []
        assert seen(sandbox) == first
        outcomes.add(answer.status)
        write_waits_s += 0.005 if answer.status == 201 else -0.005
        account.api.destroy(sandbox.id)
        assert volume.api.delete(volume.address).status == 204
    return outcomes


def test_a_write_and_an_attach(make_account):
    race(make_account("pro"), 3)


@pytest.mark.alone
@pytest.mark.faults
def test_a_write_and_an_attach_a_hundred_times(make_account):
    assert race(make_account("pro"), 100) == {201, 409}, "both came first now and then"


def upload(volume, path):
    """An upload under way: send(bytes) or, to end it, send(None), which gives the status."""
    connection = volume.api.origin.connect()
    connection.putrequest("PUT", f"{volume.address}/files?path={path}")
    connection.putheader("Authorization", f"Bearer {volume.api.key}")
    connection.putheader("Content-Type", OCTETS)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()

    def send(data):
        connection.send(b"%x\r\n%s\r\n" % (len(data or b""), data or b""))
        return connection.getresponse().status if data is None else None

    return send


def test_an_upload_that_a_sandbox_overtakes(api, volume, make_sandbox):
    volume.write("/file", b"old")
    send = upload(volume, "/file")
    send(bytes(3_000_000))
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    assert seen(sandbox) == ["file"], "nothing unfinished is seen"
    send(bytes(100_000))
    assert send(None) == 409
    assert sandbox.data.check("cat /data/file; ls -A /data") == "oldfile\n"
    api.destroy(sandbox.id)
    send = upload(volume, "/file")
    send(b"new")
    assert send(None) == 200 and volume.read("/file") == b"new"


@pytest.mark.long
def test_a_stopped_sandbox_resumes_against_an_upload(volume, make_sandbox):
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    sandbox.pause()
    send = upload(volume, "/late")
    send(b"some")
    sandbox.resume()
    assert send(None) == 409
    assert seen(sandbox) == []


@pytest.mark.parametrize("point", ["files.admitted", "files.opened"])
@pytest.mark.parametrize("change", CHANGES[:5])
def test_a_change_that_was_allowed_too_early(api, fault_points, volume, make_sandbox, point, change):
    volume.write("/there", b"x")
    fault_points.arm(point)
    changing = InBackground(change, volume)
    fault_points.reached(point)
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    fault_points.release(point)
    assert_error(changing.result(), 409, "volume_attached")
    assert seen(sandbox) == ["there"]


@pytest.mark.parametrize("point", ["files.admitted", "files.opened"])
def test_a_change_before_the_fence_is_raised(fault_points, volume, make_sandbox, point):
    """The sandbox has its row and waits; what was allowed before it may still be done, nothing new."""
    volume.write("/there", b"x")
    fault_points.arm(point)
    writing = InBackground(volume.put, "/early", b"x")
    fault_points.reached(point)
    fault_points.arm("volumes.locked")
    creating = InBackground(make_sandbox, volume_mounts=volume.mounts())
    fault_points.reached("volumes.locked")
    assert_error(volume.put("/new"), 409, "volume_attached")
    fault_points.release(point)
    assert writing.result().status == 201
    fault_points.release("volumes.locked")
    assert seen(creating.result()) == ["early", "there"]


def test_a_change_by_a_keeper_of_before(stack, fault_points, volume, make_sandbox):
    """Allowed, then the keeper is another process that knows no fence."""
    volume.write("/there", b"x")
    fault_points.arm("files.opened")
    writing = InBackground(volume.put, "/late", b"x")
    fault_points.reached("files.opened")
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    os.kill(keeper_pid(stack), signal.SIGKILL)
    assert volume.read("/there") == b"x", "one is made anew"
    fault_points.release("files.opened")
    assert writing.result().status == 503
    assert seen(sandbox) == ["there"]


@pytest.mark.parametrize("point", ["volumes.locked", "volumes.fenced"])
def test_a_create_killed_around_the_fence(api, stack, fault_points, volume, point):
    volume.write("/there", b"x")
    fault_points.arm(point, "kill", "sandlot-api")
    assert api.post("/v1/sandboxes", {"volume_mounts": volume.mounts()}).status >= 500
    wait_until(lambda: volume.put("/again", b"x").status in (200, 201), 3 * stack.lease_s + 20,
               "the volume being free again", 0.3)
    settle(stack)
    assert volume.names() == ["again", "there"]


@pytest.mark.parametrize("point", ["files.admitted", "files.opened", "files.changed"])
def test_a_writer_killed(api, fault_points, volume, make_sandbox, point):
    """It leaves no lock behind and no half of a file."""
    volume.write("/file", b"old")
    fault_points.arm(point, "kill", "sandlot-api")
    assert volume.put("/file", b"new").status >= 500
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    content = sandbox.data.check("cat /data/file; ls -A /data")
    assert content == ("newfile\n" if point == "files.changed" else "oldfile\n")
    api.destroy(sandbox.id)
    assert volume.put("/file", b"third").status == 200


# --- the keeper ---


@pytest.mark.alone
def test_a_keeper_that_was_stopped_or_removed(stack, volume):
    volume.write("/file", b"x")
    first = keeper(stack)
    os.kill(keeper_pid(stack), signal.SIGKILL)
    assert volume.read("/file") == b"x"
    second = keeper(stack)
    assert second != first and not stack.incus.exists(first)
    stack.incus.request("PUT", f"/1.0/instances/{second}/state", {"action": "stop", "force": True})
    stack.incus.request("DELETE", f"/1.0/instances/{second}")
    assert volume.put("/file", b"y").status == 200
    assert volume.read("/file") == b"y"


@pytest.mark.alone
@pytest.mark.faults
def test_a_keeper_that_does_not_answer_keeps_no_sandbox_waiting(stack, api, volume):
    volume.write("/file", b"x")
    pid = keeper_pid(stack)
    os.kill(pid, signal.SIGSTOP)
    sandbox = Sandbox.create(api, volume_mounts=volume.mounts())
    assert seen(sandbox) == ["file"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    api.destroy(sandbox.id)
    assert volume.write("/file", b"y")["size"] == 1


@pytest.mark.parametrize("point", ["keeper.inserted", "keeper.started"])
def test_whoever_makes_a_keeper_is_killed(stack, fault_points, volume, point):
    volume.write("/file", b"x")
    os.kill(keeper_pid(stack), signal.SIGKILL)
    fault_points.arm(point, "kill", "sandlot-api")
    assert volume.put("/file", b"y").status >= 500
    half = keeper(stack)
    assert volume.put("/file", b"z").status == 200
    assert not stack.incus.exists(half) or keeper(stack) == half
    settle(stack)


@pytest.mark.alone
def test_many_need_a_keeper_at_once(stack, volume):
    volume.write("/file", b"x")
    os.kill(keeper_pid(stack), signal.SIGKILL)
    calls = [InBackground(volume.put, f"/{n}", b"x") for n in range(6)]
    assert [call.result().status for call in calls] == [201] * 6
    names = [name for name in stack.incus.names() if name.startswith("keeper-")]
    assert names == [keeper(stack)]


def test_a_volume_in_the_keeper_is_deleted(stack, api, volume):
    volume.write("/file", b"x")
    assert api.delete(volume.address).status == 204
    row = stack.query("SELECT state FROM volumes WHERE id = %s", volume.id)[0]
    assert row["state"] == "deleted"
    assert_error(volume.get("/file"), 404, "not_found")


# --- making and deleting ---


@pytest.mark.parametrize("point", ["volume.inserted", "volume.made"])
def test_a_create_of_a_volume_killed_and_asked_again(api, stack, fault_points, point):
    key, body = {"Idempotency-Key": secrets.token_urlsafe(12)}, {"name": "v" + secrets.token_hex(4)}
    fault_points.arm(point, "kill", "sandlot-api")
    assert api.post("/v1/volumes", body, headers=key).status >= 500
    answers = []

    def again():
        answers.append(api.post("/v1/volumes", body, headers=key))
        return answers[-1].status == 201

    wait_until(again, 3 * stack.lease_s + 20, "an answer to the retry", 0.3)
    assert [one["id"] for one in api.get("/v1/volumes").json()["volumes"]] == [answers[-1].json()["id"]]
    settle(stack)
    rows = stack.query("SELECT id FROM volumes WHERE name = %s AND state <> 'deleted'", body["name"])
    assert [row["id"] for row in rows] == [answers[-1].json()["id"]]


@pytest.mark.parametrize("point", ["volume.inserted", "volume.made"])
def test_a_create_of_a_volume_killed_for_good(api, stack, fault_points, point):
    name = "v" + secrets.token_hex(4)
    fault_points.arm(point, "kill", "sandlot-api")
    assert api.post("/v1/volumes", {"name": name}).status >= 500
    assert api.get("/v1/volumes").json()["volumes"] == []
    settle(stack)
    assert api.create_volume(name=name)["name"] == name


@pytest.mark.parametrize("point", ["volume.deleting", "volume.removed"])
def test_a_delete_of_a_volume_killed(api, stack, fault_points, volume, point):
    fault_points.arm(point, "kill", "sandlot-api")
    assert api.delete(volume.address).status >= 500
    assert_error(api.get(volume.address), 404, "not_found")
    api.create_volume(name=volume.name)
    settle(stack)
    pool = stack.query("SELECT pool FROM hosts LIMIT 1")[0]["pool"]
    path = f"/1.0/storage-pools/{pool}/volumes/custom/vol-{volume.id[4:]}"
    assert stack.incus.raw("GET", path)[0] == 404


@pytest.mark.alone
@pytest.mark.faults
def test_a_volume_that_nobody_uses_leaves_the_keeper(stack, api, volume):
    deleted = Volume(api)
    for one in (volume, deleted):
        one.write("/file", b"x")
    assert api.delete(deleted.address).status == 204
    stack.query("UPDATE volumes SET files_used_at_ms = 1 WHERE id IN (%s, %s)", volume.id, deleted.id)
    device = f"vol-{volume.id[4:]}"
    wait_until(lambda: device not in stack.incus.instance(keeper(stack))["devices"], 5 * stack.lease_s + 20,
               "the volume being taken out", 0.5)
    assert stack.query("SELECT files_used_at_ms FROM volumes WHERE id = %s", volume.id)[0]["files_used_at_ms"] == 0
    assert volume.read("/file") == b"x"


# --- everything that serves, restarted between any two steps ---

WORKERS = ("sandlot-api", "sandlot-gate", "sandlot-dispatcher")


def restart(stack, process, api, killed):
    """Kill it and wait until it is of use again. A keeper comes back when it is needed."""
    if process == "keeper":
        name = keeper(stack)
        if name not in killed:  # a dead one has no pid; 0 would be everyone here
            killed.add(name)
            os.kill(keeper_pid(stack), signal.SIGKILL)
    elif process in WORKERS:
        old = set(stack.processes(process))
        for pid in old:
            with contextlib.suppress(ProcessLookupError):  # it went with the one that had started it
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(set(stack.processes(process)) - old) >= len(old), 30, f"new {process}")
    else:
        daemon = stack.daemon(process)
        os.kill(daemon.pid, signal.SIGKILL)
        wait_until(daemon.is_gone, 30, f"the end of {process}")
        daemon.start(stack.database_answers if process == "database" else stack.incus.answers)
    wait_until(lambda: api.get("/v1/volumes").status == 200, 30, "the service")


@pytest.mark.alone
@pytest.mark.faults
@pytest.mark.parametrize("process", [*WORKERS, "keeper", "database", "incusd"])
def test_a_restart_between_any_two_steps(api, stack, process):
    killed = {None}

    def restart_it():
        restart(stack, process, api, killed)

    def step(response, *statuses):
        assert response.status in (statuses or (200, 201, 204)), response
        restart_it()
        return response.json() if response.body else None

    made = step(api.post("/v1/volumes", {"name": "v" + secrets.token_hex(4)}))
    volume = Volume(api, document=made)
    step(volume.put("/before", b"one"))
    created = api.create(volume_mounts=volume.mounts(), timeout=900)
    sandbox = Sandbox(api, created)
    restart_it()
    step(volume.put("/during", b"x"), 409)
    assert sandbox.data.check("cat /data/before; echo two >/data/inside; sync") == "one"
    restart_it()
    checkpoint = step(api.post(f"{sandbox.path}/checkpoints", {"name": "one"}))
    assert step(api.post(f"{sandbox.path}/pause", {}))["state"] == "stopped"
    assert step(api.post(f"{sandbox.path}/resume", {}))["sandbox"]["resumed_from"] == "disk"
    step(api.delete(sandbox.path))
    restored = api.create(snapshot_id=checkpoint["id"], timeout=900)
    assert restored["snapshot_id"] == checkpoint["id"]
    restart_it()
    step(api.delete(f"/v1/checkpoints/{checkpoint['id']}"))
    step(api.delete(f"/v1/sandboxes/{restored['id']}"))
    wait_until(lambda: volume.put("/after", b"three").status == 201, 60, "the volume being free again", 0.3)
    restart_it()
    assert volume.names() == ["after", "before", "inside"]
    assert volume.read("/inside") == b"two\n"
    step(api.delete(volume.address))
    settle(stack)
