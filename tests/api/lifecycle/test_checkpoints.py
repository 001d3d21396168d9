# SPDX-License-Identifier: GPL-2.0-or-later
"""Checkpoints: copies of a running sandbox's disk, and sandboxes made from them."""

import concurrent.futures
import hashlib
import secrets
import time

import pytest

from client import Api, assert_error
from tenant import Sandbox
from dataplane import DataPlane
from faults import InBackground, fault_points, instances, quota_in_use, settle, settled_row, take_over  # noqa: F401
from leavings import no_checkpoint_is_left  # noqa: F401
from stack import wait_until

pytestmark = pytest.mark.parallel

NO_CHECKPOINT = "ckp_01kamqm3d7e9r5t2y8w4q6z1xc"


def checkpoint(sandbox, name="first", **options):
    response = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": name} if name else {}, **options)
    assert response.status == 201, response
    return response.json()


def listed(api, query="", name=None):
    response = api.get(f"/v1/checkpoints{f'?name={name}' if name else query}")
    assert response.status == 200, response
    return response.json()["checkpoints"]


def copies(stack):
    """Instances that keep the disk of a checkpoint."""
    return {name for name in stack.incus.names() if name.startswith("ckp-")}


def copy_of(document):
    return "ckp-" + document["id"].removeprefix("ckp_")


# --- making ---


def test_what_is_written_is_in_it_and_the_sandbox_runs_on(sandbox, stack):
    boot_id = sandbox.boot_id()
    sandbox.data.check(
        "head -c 20000000 /dev/urandom >big; sha256sum <big >sum; mkdir -p a/b; ln -s ../sum a/link; chmod 640 a/b/../../big;"
        "python3 - <<'END'\n"
        "import mmap, os\n"
        "fd = os.open('mapped', os.O_RDWR | os.O_CREAT); os.truncate(fd, 8192)\n"
        "memory = mmap.mmap(fd, 8192); memory[4000:4005] = b'dirty'\nEND"
    )
    made = checkpoint(sandbox, "before.migration_1")
    shown = sandbox.show()
    assert made["name"] == "before.migration_1"
    assert (made["sandbox_id"], made["team"]) == (sandbox.id, shown["team"])
    for member in ("template", "template_version", "cpu", "memory_mb", "disk_gb"):
        assert made[member] == shown[member], member
    assert 19 <= made["size_mb"] < 60, "what was written, and not the template"
    assert shown["state"] == "ready"
    assert sandbox.boot_id() == boot_id
    assert sandbox.api.get(f"/v1/checkpoints/{made['id']}").json() == made
    assert listed(sandbox.api) == [made]
    sandbox.data.check("rm -r big a; echo later >later")

    restored = Sandbox.create(sandbox.api, template=made["id"])
    assert restored.document["snapshot_id"] == made["id"]
    assert restored.document["template_version"] == made["template_version"]
    assert restored.data.check("sha256sum <big | diff - sum && stat -c %a big && readlink a/link") == "640\n../sum\n"
    assert restored.data.check("dd if=mapped bs=1 skip=4000 count=5 status=none") == "dirty"
    assert restored.data.check("ls later 2>/dev/null || echo none") == "none\n"
    assert sandbox.data.check("cat later; ls big 2>/dev/null || true") == "later\n", "the original is as it was"


def test_a_sandbox_answers_and_writes_while_it_is_checkpointed(sandbox, stack, fault_points):
    fault_points.arm("checkpoint.begun", "wait", "sandlot-api")
    making = InBackground(sandbox.api.post, f"{sandbox.path}/checkpoints", {"name": "held"})
    fault_points.reached("checkpoint.begun")
    assert sandbox.show()["state"] == "checkpointing"
    assert [one["id"] for one in sandbox.api.list("?query[state][]=checkpointing")] == [sandbox.id]
    assert [one["id"] for one in sandbox.api.list("?query[state][]=running")] == [sandbox.id]
    assert listed(sandbox.api) == [], "not before it is whole"
    assert sandbox.data.check("echo written >while; cat while") == "written\n"
    assert sandbox.data.request("GET", "/health").status == 204, "502 would mean that it does not run"
    assert sandbox.resume()["state"] == "checkpointing", "it runs: a session is given at once"
    patched = sandbox.api.request("PATCH", sandbox.path, {"timeout": 1234})
    assert patched.json()["timeout"] == 1234
    fault_points.release("checkpoint.begun")
    assert making.result().status == 201
    shown = sandbox.show()
    assert (shown["state"], shown["timeout"], shown["deadline"]) == ("ready", 1234, patched.json()["deadline"])


def test_it_is_quick(sandbox):
    """Copy-on-write: what the disk holds does not matter. The bound is generous."""
    sandbox.data.check("head -c 100000000 /dev/zero | tr '\\0' x >big; sync")
    made, times = [], []
    for i in range(2):
        began = time.monotonic()
        made.append(checkpoint(sandbox, f"c{i}"))
        times.append(time.monotonic() - began)
    began = time.monotonic()
    restored = Sandbox.create(sandbox.api, snapshot_id=made[-1]["id"])
    restore_s = time.monotonic() - began
    print(f"checkpoint {[round(s, 3) for s in times]} s, restore {restore_s:.3f} s, {made[-1]['size_mb']} MB")
    assert restored.data.check("wc -c <big") == "100000000\n"
    assert min(times) < 5 and restore_s < 20
    assert all(95 <= one["size_mb"] < 165 for one in made), made


NAMES = ["", "-a", ".a", "_a", "a b", "a/b", "ä", "a" * 64, "a\n"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names(shared_sandbox, name):
    response = shared_sandbox.api.post(f"{shared_sandbox.path}/checkpoints", {"name": name})
    body = assert_error(response, 422, "invalid_request", "/name")
    assert "63" in body["message"]


def test_bodies(shared_sandbox):
    path = f"{shared_sandbox.path}/checkpoints"
    assert_error(shared_sandbox.api.post(path, {"name": 1}), 422, "invalid_request", "/name")
    body = assert_error(shared_sandbox.api.post(path, {"name": "a", "nam": "b"}), 422, "invalid_request", "/nam")
    assert "name" in body["message"]


@pytest.mark.long
def test_a_name_that_is_given_again_has_versions(sandbox, make_sandbox):
    name, api = "a" * 63, sandbox.api
    first = checkpoint(sandbox, name)
    sandbox.data.check("echo second >~/which")
    second = checkpoint(sandbox, name)
    third = checkpoint(make_sandbox(), name)
    assert [one["version"] for one in (first, second, third)] == [1, 2, 3], "of the team, not of the sandbox"
    assert [one["version"] for one in listed(api, name=name)] == [3, 2, 1]
    assert listed(api, name="b") == [] and [one["id"] for one in listed(api, name=first["id"])] == [first["id"]]
    assert api.delete(f"/v1/checkpoints/{third['id']}").status == 204
    for of, made in ({"snapshot_id": name}, second), ({"template": name}, second), ({"snapshot_id": f"{name}:1"}, first), (
            {"snapshot_id": f"{second['team']}/{name}:latest"}, second):
        one = Sandbox.create(api, **of)
        assert one.document["snapshot_id"] == made["id"], of
        assert (b"second" in one.data.bash("cat ~/which").stdout) == (made is second)
        api.destroy(one.id)
    assert checkpoint(sandbox, name)["version"] == 4, "no number is given twice"
    for missing in ("b", f"{name}:3", f"{name}:0", f"other/{name}"):
        assert_error(api.post("/v1/sandboxes", {"snapshot_id": missing}), 422, "template_not_found", "/snapshot_id")


def test_a_name_is_made_for_one_without(sandbox):
    made = checkpoint(sandbox, None)
    assert made["name"] == f"checkpoint-{made['id'].removeprefix('ckp_')}" and made["version"] == 1
    assert listed(sandbox.api, name=made["name"]) == [made]


def test_a_stopped_sandbox_is_not_running(sandbox):
    sandbox.pause()
    body = assert_error(sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "a"}), 409, "sandbox_not_running")
    assert "paused" in body["message"]
    assert listed(sandbox.api) == []


def test_checkpoints_of_one_sandbox_at_once(sandbox, stack):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: checkpoint(sandbox, f"c{i}"), range(4)))
    assert {one["id"] for one in listed(sandbox.api)} == {one["id"] for one in made}
    assert {copy_of(one) for one in made} <= copies(stack)
    assert sandbox.show()["state"] == "ready"


@pytest.mark.alone
def test_the_quota_is_exact(account, own_plan):
    sandboxes = [Sandbox.create(account.api) for _ in range(3)]
    own_plan(account, checkpoints=4)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # a team's half of the workers
        answers = list(pool.map(
            lambda i: account.api.post(f"{sandboxes[i % 3].path}/checkpoints", {"name": f"c{i}"}), range(9)))
    made = [answer for answer in answers if answer.status == 201]
    assert len(made) == 4, answers
    for answer in answers:
        if answer.status != 201:
            body = assert_error(answer, 422, "checkpoint_quota_exceeded")
            assert "checkpoint" in body["message"] and (body["limit"], body["used"]) == (4, 4)
    assert len(listed(account.api)) == 4
    assert account.api.delete(f"/v1/checkpoints/{made[0].json()['id']}").status == 204
    checkpoint(sandboxes[0], "again")
    assert account.api.post(f"{sandboxes[1].path}/checkpoints", {"name": "more"}).status == 422
    assert all(one.show()["state"] == "ready" for one in sandboxes)


# --- restoring ---


def test_the_ways_to_name_it(sandbox):
    sandbox.data.upload("/home/user/kept", b"kept")
    made = checkpoint(sandbox)
    for member in ("template", "template_id", "snapshot_id"):
        restored = Sandbox.create(sandbox.api, **{member: made["id"]})
        assert restored.data.read("/home/user/kept") == b"kept", member
        assert restored.document["snapshot_id"] == made["id"], member
        assert restored.document["template"] == made["template"], member
        sandbox.api.destroy(restored.id)


def test_a_restored_sandbox_is_a_new_one(sandbox, stack):
    """Its own route, address, secret and environment; nothing of the old session works."""
    old = Sandbox.create(sandbox.api, envs={"SECRET_OF_OLD": "do-not-keep", "BOTH": "old"})
    old.data.upload("/home/user/kept", b"kept")
    old.data.background("/bin/sleep", "1000")
    made = checkpoint(old)
    new = Sandbox.create(sandbox.api, snapshot_id=made["id"], envs={"BOTH": "new"})
    assert new.document["data_plane_url"] != old.document["data_plane_url"]
    assert new.data.check("echo ${SECRET_OF_OLD-none} $BOTH") == "none new\n"
    boot_id = "/proc/sys/kernel/random/boot_id"
    assert new.data.read(boot_id) != old.data.read(boot_id)
    assert new.data.check("hostname") == "sandbox\n", "of no instance, this one or another"
    assert new.data.check("pgrep -x sleep || echo none") == "none\n", "processes are no part of it"
    assert new.data.check("sudo grep -rl do-not-keep / --exclude-dir=proc --exclude-dir=sys 2>/dev/null || echo none") == "none\n"
    crossed = DataPlane(stack, new.document["session"])
    crossed.token = old.data.token
    assert_error(crossed.request("GET", "/files?path=/etc/passwd"), 401, "unauthorized")
    assert new.address != old.address
    old.api.destroy(old.id)
    assert new.data.read("/home/user/kept") == b"kept"


def test_it_outlives_its_sandbox_and_serves_several_at_once(sandbox, stack):
    content = secrets.token_bytes(3_000_000)
    sandbox.data.upload("/home/user/kept", content)
    made = checkpoint(sandbox)
    api = sandbox.api
    api.destroy(sandbox.id)
    assert api.get(f"/v1/checkpoints/{made['id']}").json() == made
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        restored = list(pool.map(lambda _: Sandbox.create(api, template=made["id"]), range(3)))
    sums = {one.data.check("sha256sum <kept").split()[0] for one in restored}
    assert sums == {hashlib.sha256(content).hexdigest()}
    for i, one in enumerate(restored):
        one.data.upload("/home/user/kept", str(i).encode())
    assert [one.data.read("/home/user/kept") for one in restored] == [b"0", b"1", b"2"]
    assert api.delete(f"/v1/checkpoints/{made['id']}").status == 204
    assert_error(api.get(f"/v1/checkpoints/{made['id']}"), 404, "not_found")
    assert_error(api.delete(f"/v1/checkpoints/{made['id']}"), 404, "not_found")
    assert_error(api.post("/v1/sandboxes", {"template": made["id"]}), 422, "template_not_found", "/template")
    wait_until(lambda: copy_of(made) not in copies(stack), 10, "the end of its disk")
    assert restored[0].data.read("/home/user/kept") == b"0"
    assert restored[0].pause()["state"] == "stopped"
    assert restored[0].resume()["resumed_from"] == "memory"


@pytest.mark.long
def test_volumes_are_no_part_of_it(api):
    for name in ("one", "other"):
        assert api.post("/v1/volumes", {"name": name}).status == 201
    try:
        sandbox = Sandbox.create(api, volume_mounts={"/data": "one"})
        sandbox.data.check("echo volume >/data/file; echo disk >/home/user/file")
        made = checkpoint(sandbox)
        without = Sandbox.create(api, template=made["id"])
        assert without.document["volume_mounts"] == {}
        assert without.data.check("cat file; sudo ls -A /data") == "disk\n", "an empty directory is left where it was mounted"
        mounted = Sandbox.create(api, template=made["id"], volume_mounts={"/data": "one", "/more": "other"})
        assert mounted.data.check("cat file /data/file; touch /more/file") == "disk\nvolume\n"
        again = checkpoint(mounted, "again")
        assert Sandbox.create(api, template=again["id"], volume_mounts={"/elsewhere": "one"}).data.check("cat /elsewhere/file") == "volume\n"
    finally:
        for one in api.list():
            api.destroy(one["id"])
        for volume in api.get("/v1/volumes").json()["volumes"]:
            wait_until(lambda v=volume: api.delete(f"/v1/volumes/{v['id']}").status in (204, 404), 20, "the volume's end", 0.2)


@pytest.mark.long
def test_size_of_a_checkpoint_of_a_restored_sandbox(sandbox):
    sandbox.data.check("head -c 30000000 /dev/urandom >first")
    first = checkpoint(sandbox)
    restored = Sandbox.create(sandbox.api, template=first["id"])
    restored.data.check("head -c 20000000 /dev/urandom >second")
    second = checkpoint(restored)
    assert 28 <= first["size_mb"] < 45 and 47 <= second["size_mb"] < 75, (first, second)
    assert sandbox.api.delete(f"/v1/checkpoints/{first['id']}").status == 204
    third = Sandbox.create(sandbox.api, template=second["id"])
    assert third.data.check("wc -c <first; wc -c <second") == "30000000\n20000000\n"


@pytest.mark.long
def test_size_and_shape(make_account):
    account = make_account("pro")
    sandbox = Sandbox.create(account.api, cpu=2, memory_mb=768)
    made = checkpoint(sandbox)
    assert (made["cpu"], made["memory_mb"], made["disk_gb"]) == (2, 768, 20)
    restored = Sandbox.create(account.api, template=made["id"])
    assert [restored.document[m] for m in ("cpu", "memory_mb", "disk_gb")] == [2, 768, 20]
    assert restored.data.check("nproc") == "2\n"
    other = Sandbox.create(account.api, template=made["id"], cpu=1, memory_mb=512)
    assert [other.document[m] for m in ("cpu", "memory_mb", "disk_gb")] == [1, 512, 20]


def test_a_disk_never_shrinks(make_account, stack):
    account = make_account("pro")
    made = checkpoint(Sandbox.create(account.api))
    stack.ctl("team", "set-plan", account.team, "basic")
    assert Sandbox.create(account.api, template=made["id"]).document["disk_gb"] == 20
    assert Sandbox.create(account.api).document["disk_gb"] == 10


def test_a_sandbox_is_restoring_while_it_is_made(sandbox, stack, fault_points):
    made = checkpoint(sandbox)
    fault_points.arm("create.started", "wait", "sandlot-api")
    making = InBackground(sandbox.api.post, "/v1/sandboxes", {"snapshot_id": made["id"]})
    fault_points.reached("create.started")
    (shown,) = [one for one in sandbox.api.list() if one["id"] != sandbox.id]
    assert (shown["state"], shown["snapshot_id"], shown["deadline"]) == ("restoring", made["id"], None)
    # Deleting now waits for the one that is being made.
    assert sandbox.api.delete(f"/v1/checkpoints/{made['id']}").status == 204
    assert_error(sandbox.api.post("/v1/sandboxes", {"snapshot_id": made["id"]}), 422, "template_not_found", "/snapshot_id")
    assert copy_of(made) in copies(stack)
    fault_points.release("create.started")
    answer = making.result()
    assert answer.status == 201 and answer.json()["state"] == "ready", answer
    wait_until(lambda: copy_of(made) not in copies(stack), 10, "the end of the checkpoint's disk")
    assert Sandbox(sandbox.api, answer.json()).data.check("echo works") == "works\n"


def test_deleting_while_the_copy_has_not_begun(sandbox, stack, fault_points):
    sandbox.data.upload("/home/user/kept", b"kept")
    made = checkpoint(sandbox)
    fault_points.arm("create.inserted", "wait", "sandlot-api")
    making = InBackground(sandbox.api.post, "/v1/sandboxes", {"template": made["id"]})
    fault_points.reached("create.inserted")
    assert sandbox.api.delete(f"/v1/checkpoints/{made['id']}").status == 204
    time.sleep(1.5)  # rounds of the dispatcher
    fault_points.release("create.inserted")
    answer = making.result()
    assert answer.status == 201, answer
    assert Sandbox(sandbox.api, answer.json()).data.read("/home/user/kept") == b"kept"


@pytest.mark.parametrize("member", ["template", "template_id", "snapshot_id"])
def test_what_is_no_checkpoint(api, member):
    for value in (NO_CHECKPOINT, "ckp_x", NO_CHECKPOINT.upper()):
        assert_error(api.post("/v1/sandboxes", {member: value}), 422, "template_not_found", f"/{member}")
    assert_error(api.post("/v1/sandboxes", {"snapshot_id": "python"}), 422, "template_not_found", "/snapshot_id")


# --- who sees them ---


def test_existence_never_leaks(sandbox, other_account, stack, account):
    made = checkpoint(sandbox)
    stranger = other_account.api
    for method in ("GET", "DELETE"):
        theirs = stranger.request(method, f"/v1/checkpoints/{made['id']}")
        none = stranger.request(method, f"/v1/checkpoints/{NO_CHECKPOINT}")
        bodies = [assert_error(one, 404, "not_found") for one in (theirs, none)]
        assert len({body["message"] for body in bodies}) == 1
        assert_error(stranger.request(method, "/v1/checkpoints/x"), 404, "not_found")
    for body in ({"template": made["id"]}, {"snapshot_id": made["id"]}):
        answers = [stranger.post("/v1/sandboxes", {key: value}) for key in body for value in (made["id"], NO_CHECKPOINT)]
        assert len({assert_error(one, 422, "template_not_found")["message"] for one in answers}) == 1
    assert listed(stranger) == [] == listed(stranger, f"?sandbox_id={sandbox.id}")
    assert_error(stranger.get(f"/v1/checkpoints?team={account.team}"), 403, "team_forbidden", "team")
    # Of the own user, but of another team than the one that is selected.
    second = account.make_team()
    assert_error(account.api.post("/v1/sandboxes", {"team": second, "template": made["id"]}), 422, "template_not_found", "/template")
    narrow = Api(stack, account.key("write", "--team", second))
    assert_error(narrow.get(f"/v1/checkpoints/{made['id']}"), 404, "not_found")
    assert listed(narrow) == []
    reader = Api(stack, account.key("read"))
    assert listed(reader) == [made]
    assert_error(reader.delete(f"/v1/checkpoints/{made['id']}"), 403, "insufficient_scope")


def test_pages(make_account):
    account = make_account()
    second = account.make_team()
    one, other = Sandbox.create(account.api), Sandbox.create(account.api, team=second)
    made = [checkpoint(one if i % 3 else other, f"c{i}") for i in range(5)]
    newest_first = [document["id"] for document in reversed(made)]

    def walk(query):
        found, token = [], ""
        while token is not None:
            page = account.api.get(f"/v1/checkpoints?limit=2{query}{token}").json()
            assert len(page["checkpoints"]) <= 2
            found += [document["id"] for document in page["checkpoints"]]
            token = f"&next_token={page['next_token']}" if "next_token" in page else None
        return found

    assert walk("") == newest_first
    assert walk(f"&team={second}") == [document["id"] for document in reversed(made) if document["team"] == second]
    assert walk(f"&sandbox_id={one.id}") == [document["id"] for document in reversed(made) if document["sandbox_id"] == one.id]
    token = account.api.get("/v1/checkpoints?limit=2").json()["next_token"]
    for query in (f"?sandbox_id={one.id}&", f"?team={second}&"):
        assert_error(account.api.get(f"/v1/checkpoints{query}next_token={token}"), 422, "invalid_next_token", "next_token")
    assert_error(account.api.get(f"/v1/sandboxes?next_token={token}"), 422, "invalid_next_token", "next_token")
    sandboxes = account.api.get("/v1/sandboxes?limit=1").json()["next_token"]
    assert_error(account.api.get(f"/v1/checkpoints?next_token={sandboxes}"), 422, "invalid_next_token", "next_token")
    assert_error(account.api.get("/v1/checkpoints?sandbox_id=x"), 422, "invalid_request", "sandbox_id")
    assert_error(account.api.get("/v1/checkpoints?limit=0"), 422, "invalid_request", "limit")


# --- storage is recorded ---


def test_storage_counts_from_when_it_is_there_to_when_it_is_deleted(account, stack):
    sandbox = Sandbox.create(account.api)
    sandbox.data.check("head -c 30000000 /dev/urandom >big")
    made = checkpoint(sandbox)
    sandbox.api.destroy(sandbox.id)
    time.sleep(1)
    assert account.api.delete(f"/v1/checkpoints/{made['id']}").status == 204
    rows = stack.query("SELECT * FROM usage_intervals WHERE sandbox_id = %s", made["id"])
    assert len(rows) == 1
    assert (rows[0]["kind"], rows[0]["size_mb"]) == ("snapshot", made["size_mb"])
    span_s = (rows[0]["ended_at_ms"] - rows[0]["started_at_ms"]) / 1000
    assert 1 <= span_s < 60
    storage = account.api.get(f"/v1/usage?team={account.team}").json()["storage"]
    assert storage["checkpoints"]["checkpoints"] == 1
    assert storage["checkpoints"]["seconds"] == pytest.approx(span_s)
    assert storage["checkpoints"]["gb_seconds"] == pytest.approx(span_s * made["size_mb"] / 1024)
    assert storage["gb_seconds"] == pytest.approx(storage["checkpoints"]["gb_seconds"]), "it was never stopped"
    assert storage["sizes"] == []


# --- races ---


def test_a_pause_waits_for_a_checkpoint(sandbox, fault_points):
    fault_points.arm("checkpoint.begun", "wait", "sandlot-api")
    making = InBackground(sandbox.api.post, f"{sandbox.path}/checkpoints", {"name": "a"})
    fault_points.reached("checkpoint.begun")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    time.sleep(0.5)
    assert pausing.is_alive() and sandbox.show()["state"] == "checkpointing"
    fault_points.release("checkpoint.begun")
    assert making.result().status == 201
    assert pausing.result().json()["state"] == "stopped"


def test_a_checkpoint_waits_for_a_pause_and_is_refused(sandbox, fault_points):
    fault_points.arm("pause.begun", "wait", "sandlot-api")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached("pause.begun")
    making = InBackground(sandbox.api.post, f"{sandbox.path}/checkpoints", {"name": "a"})
    time.sleep(0.5)
    assert making.is_alive()
    fault_points.release("pause.begun")
    assert pausing.result().status == 200
    assert_error(making.result(), 409, "sandbox_not_running")


def test_a_checkpoint_waits_for_a_sandbox_that_was_paused_only_to_move(sandbox, stack):
    sandbox.pause()
    stack.query(
        "INSERT INTO moves (id, kind, team_id, group_id, state, asked, from_host_id, to_host_id, generation,"
        " deadline_at_ms, lease_owner, lease_until_ms, created_at_ms)"
        " SELECT id, 'sandbox', team_id, id, 'copying', 0, host_id, host_id, 1, 1, 'test', %s, 1 FROM sandboxes"
        " WHERE id = %s", int(time.time() * 1000) + 600000, sandbox.id)
    try:
        making = InBackground(sandbox.api.post, f"{sandbox.path}/checkpoints", {"name": "a"})
        time.sleep(0.5)
        assert making.is_alive(), making.answer
    finally:
        stack.query("DELETE FROM moves WHERE id = %s", sandbox.id)
    assert_error(making.result(), 409, "sandbox_not_running")
    assert listed(sandbox.api) == []


@pytest.mark.parametrize("point", ["checkpoint.begun", "checkpoint.copied", "finishing"])
def test_a_delete_wins_over_a_checkpoint(sandbox, stack, fault_points, point):
    fault_points.arm(point, "wait", "sandlot-api")
    making = InBackground(sandbox.api.post, f"{sandbox.path}/checkpoints", {"name": "a"})
    fault_points.reached(point)
    deleting = InBackground(sandbox.api.delete, sandbox.path)
    if point != "finishing":  # there the row is locked, and the delete comes after
        assert deleting.result().status == 204
    fault_points.release(point)
    assert deleting.result().status == 204
    answer = making.result()
    if point == "finishing":
        assert answer.status == 201 and len(listed(sandbox.api)) == 1
    else:
        assert_error(answer, 404, "not_found")
        assert listed(sandbox.api) == []
        wait_until(lambda: not copies_of(stack, sandbox), 15, "the end of the copy")
    settle(stack)


def copies_of(stack, sandbox):
    rows = stack.query("SELECT instance_name FROM checkpoints WHERE sandbox_id = %s", sandbox.id)
    return copies(stack) & {row["instance_name"] for row in rows}


def test_a_deadline_in_a_checkpoint_is_acted_on_after_it(make_sandbox, stack, fault_points):
    sandbox = make_sandbox(timeout=2, auto_pause=True)
    fault_points.arm("checkpoint.begun", "wait", "sandlot-api")
    making = InBackground(sandbox.api.post, f"{sandbox.path}/checkpoints", {"name": "a"})
    fault_points.reached("checkpoint.begun")
    time.sleep(2.5)
    assert sandbox.show()["state"] == "checkpointing"
    fault_points.release("checkpoint.begun")
    assert making.result().status == 201
    wait_until(lambda: sandbox.show()["state"] == "stopped", 15, "the pause at the deadline")


# --- crashes ---


def assert_nothing_is_left(sandbox, stack):
    settle(stack)
    assert sandbox.show()["state"] == "ready"
    assert sandbox.data.check("echo works") == "works\n"
    wait_until(
        lambda: not stack.query("SELECT 1 FROM checkpoints WHERE sandbox_id = %s AND state IN ('creating', 'deleting')",
                                sandbox.id),
        stack.lease_s + 20, "the checkpoints coming to rest")
    ready = stack.query("SELECT instance_name FROM checkpoints WHERE sandbox_id = %s AND state = 'ready'", sandbox.id)
    assert copies_of(stack, sandbox) == {row["instance_name"] for row in ready}
    open_intervals = stack.query(
        "SELECT sandbox_id FROM usage_intervals WHERE kind = 'snapshot' AND ended_at_ms IS NULL AND sandbox_id IN"
        " (SELECT id FROM checkpoints WHERE sandbox_id = %s)", sandbox.id)
    assert len(open_intervals) == len(ready)
    assert quota_in_use(sandbox.api) == len([one for one in sandbox.api.list() if one["state"] == "ready"])
    return ready


@pytest.mark.parametrize("point", ["checkpoint.begun", "checkpoint.copied", "finishing", "checkpoint.finished"])
def test_a_worker_killed_in_a_checkpoint(sandbox, stack, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "a"}).status >= 500
    ready = assert_nothing_is_left(sandbox, stack)
    assert len(ready) == (point == "checkpoint.finished") == len(listed(sandbox.api))
    checkpoint(sandbox, "b")


@pytest.mark.parametrize("point", ["checkpoint.begun", "checkpoint.copied", "finishing", "checkpoint.finished"])
def test_a_worker_killed_in_a_checkpoint_and_the_client_asks_again(sandbox, stack, fault_points, point):
    key = {"Idempotency-Key": secrets.token_urlsafe(24)}
    body = {"name": "a"}
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/checkpoints", body, headers=key).status >= 500
    answers = []

    def again():
        answers.append(sandbox.api.post(f"{sandbox.path}/checkpoints", body, headers=key))
        return answers[-1] if answers[-1].status == 201 else None

    made = wait_until(again, 2 * stack.lease_s + 15, f"an answer to the retry, not {answers}", 0.3).json()
    assert len(assert_nothing_is_left(sandbox, stack)) == 1
    assert listed(sandbox.api) == [made]


@pytest.mark.parametrize("is_ready", [False, True], ids=["given up", "given up after its row was ready"])
def test_a_checkpoint_that_another_process_has_given_up_is_not_answered(sandbox, stack, fault_points, is_ready):
    fault_points.arm("checkpoint.copied", "wait", "sandlot-api")
    making = InBackground(sandbox.api.post, f"{sandbox.path}/checkpoints", {"name": "a"})
    fault_points.reached("checkpoint.copied")
    if is_ready:
        now_ms = int(time.time() * 1000)
        stack.query("INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb, size_mb,"
                    " started_at_ms) SELECT id, 0, team_id, 'snapshot', 0, 0, 0, 1, %s FROM checkpoints WHERE sandbox_id = %s",
                    now_ms, sandbox.id)
        stack.query("UPDATE checkpoints SET state = 'ready' WHERE sandbox_id = %s", sandbox.id)
        stack.query("UPDATE operations SET state = 'failed', finished_at_ms = %s WHERE sandbox_id = %s AND state = 'running'",
                    now_ms, sandbox.id)
        stack.query("UPDATE sandboxes SET version = UUID_SHORT(), state = 'ready', operation_id = NULL WHERE id = %s", sandbox.id)
    else:
        take_over(stack, sandbox.id, 0)
        assert settled_row(stack, sandbox.id)["state"] == "ready"
    fault_points.release("checkpoint.copied")
    assert_error(making.result(), 409, "sandbox_busy")
    settle(stack)
    assert assert_nothing_is_left(sandbox, stack) == ()
    assert listed(sandbox.api) == []


def test_a_dispatcher_killed_while_it_undoes_a_checkpoint(sandbox, stack, fault_points):
    fault_points.arm("checkpoint.copied", "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "a"}).status >= 500
    fault_points.arm("finishing", "kill", "sandlot-dispatcher")
    wait_until(lambda: not (fault_points.directory / "finishing").exists(), stack.lease_s + 10, "the take-over")
    fault_points.arm("checkpoint.removed", "kill", "sandlot-dispatcher")
    wait_until(lambda: not (fault_points.directory / "checkpoint.removed").exists(), 2 * stack.lease_s + 10, "the removal")
    settle(stack)
    assert assert_nothing_is_left(sandbox, stack) == ()


@pytest.mark.parametrize("point", ["checkpoint.deleting", "checkpoint.removed"])
def test_a_worker_killed_while_it_deletes_a_checkpoint(sandbox, stack, fault_points, point):
    made = checkpoint(sandbox)
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.delete(f"/v1/checkpoints/{made['id']}").status >= 500
    assert_error(sandbox.api.get(f"/v1/checkpoints/{made['id']}"), 404, "not_found")
    assert assert_nothing_is_left(sandbox, stack) == ()
    checkpoint(sandbox, "first")


@pytest.mark.parametrize("point", ["create.inserted", "create.started", "create.agent", "finishing"])
def test_a_worker_killed_in_a_restore(sandbox, stack, fault_points, point):
    made = checkpoint(sandbox)
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post("/v1/sandboxes", {"template": made["id"]}).status >= 500
    settle(stack)
    assert [one["id"] for one in sandbox.api.list()] == [sandbox.id]
    assert quota_in_use(sandbox.api) == 1
    assert copies_of(stack, sandbox) == {copy_of(made)}
    assert Sandbox.create(sandbox.api, template=made["id"]).data.check("echo works") == "works\n"


@pytest.mark.faults
def test_the_sweep_resolves_what_does_not_match(sandbox, stack):
    """A copy without a row, and a row without its copy."""
    made = checkpoint(sandbox)
    stray = "ckp-" + secrets.token_hex(13)
    stack.incus.request("POST", "/1.0/instances", {
        "name": stray, "source": {"type": "copy", "source": copy_of(made), "instance_only": True},
        "profiles": ["sandlot"]})
    stack.incus.request("DELETE", f"/1.0/instances/{copy_of(made)}")
    wait_until(lambda: listed(sandbox.api) == [], 2 * stack.lease_s + 20, "the end of the row without its copy", 0.5)
    wait_until(lambda: stray not in copies(stack), 4 * stack.lease_s + 20, "the end of the stray copy", 0.5)
    assert instances(stack)[sandbox.instance] == "Running"
