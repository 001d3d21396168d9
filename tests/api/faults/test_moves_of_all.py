# SPDX-License-Identifier: GPL-2.0-or-later
"""A host is emptied of all that it has: checkpoints, volumes and the sandboxes that have them, sources of
templates, and what runs; whoever dies over it."""

import secrets

import pytest

import events
from client import assert_error
from faults import InBackground, fault_points, settled_row, wrong_counters  # noqa: F401
from stack import wait_until
from tenant import Sandbox, checkpoint_instance, checkpoint_of
from test_moves import hosts  # noqa: F401 (a fixture)
from volumes import Volume

pytestmark = pytest.mark.hosts

PROGRAM = "sandlot-dispatcher"
STEPS = ["moving.begun", "moving.copied", "moving.arriving", "moving.arrived", "moving.cleared"]


def no_moves(stack):
    wait_until(lambda: not stack.query("SELECT id FROM moves WHERE state <> 'failed'"), 90, "the end of all moves", 0.1)


def restored(api, checkpoint, **fields):
    answer = api.post("/v1/sandboxes", {"snapshot_id": checkpoint["id"], **fields})
    assert answer.status == 201, answer
    return Sandbox(api, answer.json())


def drain(stack, *options):
    return stack.ctl("host", "drain", "other", "--wait", *options)


def why(left, id):
    return {row["id"]: row["why"] for row in left["sandboxes"]}.get(id)


def is_there_once(hosts, sandbox):
    row = settled_row(hosts.stack, sandbox.id)
    wait_until(lambda: hosts.having(row["instance_name"]) == [hosts.of(sandbox)], 60, "one instance of it, where its row is")
    wait_until(lambda: not wrong_counters(hosts.stack.query), 10, "counters that are right")


def has_volume(hosts, name, volume):
    urls = hosts.incus(name).request("GET", f"/1.0/storage-pools/{pool_of(hosts, name)}/volumes/custom")
    return f"vol-{volume.id.removeprefix('vol_')}" in {url.split("?")[0].rsplit("/", 1)[1] for url in urls}


def pool_of(hosts, name):
    (row,) = hosts.stack.query("SELECT pool FROM hosts WHERE name = %s", name)
    return row["pool"]


# --- checkpoints ---


@pytest.mark.short
@pytest.mark.parametrize("memory", [False, True])
def test_checkpoints_go_also_those_whose_sandbox_is_gone(hosts, api, stack, memory):
    sandbox = hosts.make(api, "other")
    sandbox.data.check("echo kept >on_disk; echo kept >/dev/shm/in_memory; sync")
    checkpoint = checkpoint_of(sandbox, memory=memory)
    assert api.delete(sandbox.path).status == 204
    sandbox.wait_until_removed()
    left = drain(stack)
    assert why(left, checkpoint["id"]) is None
    assert hosts.host_of("checkpoints", checkpoint["id"]) == "local"
    assert hosts.having(checkpoint_instance(checkpoint)) == ["local"]
    again = restored(api, checkpoint)
    assert hosts.of(again) == "local"
    assert again.data.check("cat on_disk") == "kept\n"
    if memory:
        assert again.show()["resumed_from"] == "memory"
        assert again.data.check("cat /dev/shm/in_memory") == "kept\n"
    assert api.delete(f"/v1/checkpoints/{checkpoint['id']}").status == 204
    wait_until(lambda: hosts.having(checkpoint_instance(checkpoint)) == [], 60, "no instance of it anywhere")


@pytest.mark.parametrize("point", STEPS)
def test_a_dispatcher_killed_at_each_step_of_a_checkpoint(hosts, api, stack, fault_points, point):
    sandbox = hosts.make(api, "other")
    sandbox.data.check("echo kept >/dev/shm/in_memory")
    checkpoint = checkpoint_of(sandbox, memory=True)
    assert api.delete(sandbox.path).status == 204
    sandbox.wait_until_removed()
    fault_points.arm(point, "kill", PROGRAM)
    drain(stack)
    wait_until(lambda: not (fault_points.directory / point).exists(), 30, f"a dispatcher at {point}")
    no_moves(stack)
    assert hosts.having(checkpoint_instance(checkpoint)) == [hosts.host_of("checkpoints", checkpoint["id"])] == ["local"]
    again = restored(api, checkpoint)
    assert again.data.check("cat /dev/shm/in_memory") == "kept\n"


def test_a_create_waits_for_a_checkpoint_that_goes(hosts, api, stack, fault_points):
    """Its host takes nothing new, and the other one has it in a moment."""
    sandbox = hosts.make(api, "other")
    sandbox.data.check("echo kept >on_disk; sync")
    checkpoint = checkpoint_of(sandbox)
    fault_points.arm("moving.copied", "wait", PROGRAM)
    draining = InBackground(drain, stack)
    fault_points.reached("moving.copied", 60)
    creating = InBackground(restored, api, checkpoint)
    fault_points.release("moving.copied")
    made = creating.result()
    assert hosts.of(made) == "local" and made.data.check("cat on_disk") == "kept\n"
    draining.result()


def test_a_delete_of_a_checkpoint_wins(hosts, api, stack, fault_points):
    checkpoint = checkpoint_of(hosts.make(api, "other"))
    fault_points.arm("moving.copied", "wait", PROGRAM)
    draining = InBackground(drain, stack)
    fault_points.reached("moving.copied", 60)
    assert api.delete(f"/v1/checkpoints/{checkpoint['id']}").status == 204
    assert_error(api.get(f"/v1/checkpoints/{checkpoint['id']}"), 404, "not_found")
    fault_points.release("moving.copied")
    draining.result()
    no_moves(stack)
    wait_until(lambda: hosts.having(checkpoint_instance(checkpoint)) == [], 60, "no instance of it anywhere")


# --- volumes ---


@pytest.fixture
def with_volumes(hosts, api, stack):
    """Two volumes on the other host, which two sandboxes share, both stopped."""
    hosts.take("other")
    one, two = Volume(api), Volume(api)
    hosts.take("local", "other")
    both = hosts.make(api, "other", volume_mounts={"/one": one.name, "/two": two.name})
    also = hosts.make(api, "other", volume_mounts={"/one": one.name})
    both.data.check("echo one >/one/file; echo two >/two/file; echo on disk >kept; id -u >/one/who; sync")
    assert also.data.check("cat /one/file") == "one\n"
    wait_until(lambda: one.get("/file").status == 200, 90, "its file through the keeper", 1)
    for sandbox in (both, also):
        assert sandbox.pause()["state"] == "stopped"
    return one, two, both, also


def are_there(hosts, with_volumes, name="local"):
    one, two, both, also = with_volumes
    no_moves(hosts.stack)
    for volume in (one, two):
        assert hosts.host_of("volumes", volume.id) == name
        assert [host for host in ("local", "other") if has_volume(hosts, host, volume)] == [name]
    assert one.read("/file") == b"one\n" and two.read("/file") == b"two\n"
    for sandbox in (both, also):
        is_there_once(hosts, sandbox)
        sandbox.resume()
        assert hosts.of(sandbox) == name
    assert both.data.check("cat /one/file /two/file kept") == "one\ntwo\non disk\n"
    both.data.check("echo more >>/one/file && test \"$(stat -c %u /one/file)\" = \"$(cat /one/who)\"")
    assert also.data.check("cat /one/file") == "one\nmore\n"


@pytest.mark.long
@pytest.mark.short
def test_volumes_go_and_their_sandboxes_follow(hosts, with_volumes, stack):
    left = drain(stack)
    assert not {row["id"] for row in left["sandboxes"]} & {one.id for one in with_volumes}
    are_there(hosts, with_volumes)


@pytest.mark.parametrize("point", STEPS + ["move.copied", "move.finished"])
def test_a_dispatcher_killed_at_each_step_of_volumes(hosts, with_volumes, stack, fault_points, point):
    fault_points.arm(point, "kill", PROGRAM)
    drain(stack)
    wait_until(lambda: not (fault_points.directory / point).exists(), 30, f"a dispatcher at {point}")
    are_there(hosts, with_volumes)


def test_a_volume_with_a_writer_stays(hosts, with_volumes, stack):
    one, two, both, also = with_volumes
    also.resume()
    left = drain(stack)
    assert "running" in why(left, one.id) and why(left, also.id)
    assert hosts.host_of("volumes", one.id) == hosts.host_of("volumes", two.id) == "other"
    also.pause()
    wait_until(lambda: hosts.of(also) == "local", 120, "it going when nothing runs any more")
    are_there(hosts, with_volumes)


def test_whoever_needs_a_volume_has_it_while_it_is_copied(hosts, with_volumes, stack, fault_points):
    """What it writes is in no copy, and so no copy counts."""
    one, two, both, also = with_volumes
    fault_points.arm("moving.copied", "wait", PROGRAM)
    stack.ctl("host", "drain", "other")
    fault_points.reached("moving.copied", 60)
    also.resume()
    assert hosts.of(also) == "other"
    also.data.check("echo later >/one/later; sync")
    also.pause()
    fault_points.clear()
    wait_until(lambda: stack.query("SELECT 1 FROM moves WHERE state = 'failed' AND last_error LIKE '%%meanwhile%%'"), 60,
               "the copies being given up")
    stack.query("UPDATE moves SET finished_at_ms = 0")
    drain(stack)
    assert one.read("/later") == b"later\n"
    are_there(hosts, with_volumes)


def test_a_change_of_files_from_outside_while_it_is_copied(hosts, with_volumes, stack, fault_points):
    one = with_volumes[0]
    fault_points.arm("moving.copied", "wait", PROGRAM)
    stack.ctl("host", "drain", "other")
    fault_points.reached("moving.copied", 60)
    one.write("/changed", b"changed")
    fault_points.clear()
    wait_until(lambda: stack.query("SELECT 1 FROM moves WHERE state = 'failed' AND last_error LIKE '%%meanwhile%%'"), 60,
               "the copies being given up")
    stack.query("UPDATE moves SET finished_at_ms = 0")
    drain(stack)
    no_moves(stack)
    assert hosts.host_of("volumes", one.id) == "local" and one.read("/changed") == b"changed"


def test_a_resume_follows_its_volumes(hosts, with_volumes, stack, fault_points):
    one, two, both, also = with_volumes
    fault_points.arm("move.begun", "wait", PROGRAM)
    stack.ctl("host", "drain", "other")
    fault_points.reached("move.begun", 60)
    assert hosts.host_of("volumes", one.id) == "local"
    resuming = [InBackground(sandbox.resume) for sandbox in (both, also)]
    fault_points.release("move.begun")
    for one in resuming:
        one.result()
    assert hosts.of(both) == hosts.of(also) == "local"


# --- templates ---


def test_a_template_that_only_this_host_has(hosts, api, stack, fault_points):
    sandbox = hosts.make(api, "other")
    sandbox.data.check("echo of the template >of_template; sync")
    checkpoint = checkpoint_of(sandbox)
    slug = "t" + secrets.token_hex(4)
    answer = api.post("/v1/templates", {"slug": slug, "checkpoint_id": checkpoint["id"]})
    assert answer.status in (201, 202), answer
    version = stack.query("SELECT v.id FROM template_versions v JOIN templates t ON t.id = v.template_id WHERE t.slug = %s",
                          slug)[0]["id"]
    wait_until(lambda: stack.query("SELECT state FROM template_versions WHERE id = %s", version)[0]["state"] == "ready",
               90, "the template")
    source = "tpl-" + version.removeprefix("tpv_")
    assert hosts.having(source) == ["other"]
    fault_points.arm("moving.copied", "kill", PROGRAM)
    left = drain(stack)
    assert why(left, version) is None
    no_moves(stack)
    assert hosts.having(source) == ["local", "other"]
    made = Sandbox.create(api, template=slug)
    assert hosts.of(made) == "local" and made.data.check("cat of_template") == "of the template\n"


# --- what runs ---


@pytest.fixture
def running(hosts, api):
    sandbox = hosts.make(api, "other", exposed_ports=[{"port": 3000}], timeout=1800)
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "0.0.0.0", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    sandbox.data.check("echo in memory >/dev/shm/kept; echo on disk >kept")
    return sandbox


def goes_on(hosts, sandbox, name="local"):
    wait_until(lambda: sandbox.show()["state"] == "ready", 60, "it running")
    no_moves(hosts.stack)
    assert hosts.of(sandbox) == name
    assert sandbox.show()["resumed_from"] == "memory"
    assert sandbox.data.check("cat /dev/shm/kept kept") == "in memory\non disk\n"
    assert sandbox.preview(3000).request("GET", "/").status == 200, "its server runs on"
    is_there_once(hosts, sandbox)


@pytest.mark.short
def test_what_runs_goes_only_if_that_is_said(hosts, running, stack):
    deadline = running.show()["deadline"]
    hold = running.api.request("PUT", f"{running.path}/hold", {"seconds": 3600}).json()["hold_until"]
    assert why(drain(stack), running.id) == "runs"
    assert hosts.of(running) == "other"
    left = drain(stack, "--move-running")
    assert why(left, running.id) is None
    assert running.show()["deadline"] == deadline
    goes_on(hosts, running)
    assert running.show()["hold_until"] == hold is not None
    told = {event["kind"]: event["data"] for event in events.page(running.api, f"limit=1000&sandbox_id={running.id}")["events"]}
    assert told["sandbox.paused"]["by"] == told["sandbox.resumed"]["by"] == "move", told


@pytest.mark.parametrize("point", ["moving.taken", "pause.stopped", "moving.paused", "move.copied", "move.finished",
                                   "moving.there", "resume.started", "resume.finished"])
def test_a_dispatcher_killed_at_each_step_of_one_that_runs(hosts, running, stack, fault_points, point):
    deadline = running.show()["deadline"]
    fault_points.arm(point, "kill", PROGRAM)
    drain(stack, "--move-running")
    wait_until(lambda: not (fault_points.directory / point).exists(), 30, f"a dispatcher at {point}")
    goes_on(hosts, running)
    assert running.show()["deadline"] == deadline


def test_the_pause_of_a_move_keeps_the_memory_when_its_dispatcher_dies(hosts, running, account, own_plan, stack, fault_points):
    """The team may save no memory, so a pause on request would lose it."""
    own_plan(account, paused_memory_gb=0)
    fault_points.arm("pause.begun", "kill", PROGRAM)
    drain(stack, "--move-running")
    wait_until(lambda: not (fault_points.directory / "pause.begun").exists(), 30, "a dispatcher at pause.begun")
    goes_on(hosts, running)


def test_a_sandbox_that_is_paused_only_to_move_does_not_count_as_paused(hosts, running, stack, fault_points):
    """Otherwise a team with as many paused sandboxes as its plan allows could create none meanwhile, and clean-up
    would announce the deletion of the oldest."""
    fault_points.arm("moving.paused", "wait", PROGRAM)
    stack.ctl("host", "drain", "other", "--move-running")
    fault_points.reached("moving.paused", 60)
    row = stack.row(running.id)
    (team,) = stack.query("SELECT stopped_sandboxes AS n FROM teams WHERE id = %s", row["team_id"])
    fault_points.release("moving.paused")
    assert (row["state"], row["reserved"], team["n"]) == ("stopped", 1, 0)
    goes_on(hosts, running)


def test_a_copy_that_a_dispatcher_holds_delays_a_move(hosts, running, stack, fault_points):
    """Without waiting for the end of the hold, the sandbox would have been paused for nothing."""
    fault_points.arm("moving.paused", "wait", PROGRAM)
    stack.ctl("host", "drain", "other", "--move-running")
    fault_points.reached("moving.paused", 60)
    stack.query("INSERT INTO leases (name, holder, until_ms) SELECT CONCAT('copy/', id, '/', %s), 'a test',"
                " UNIX_TIMESTAMP() * 1000 + 3000 FROM hosts WHERE name = 'local'", running.id)
    fault_points.release("moving.paused")
    goes_on(hosts, running)


def test_a_resume_waits_and_a_delete_wins(hosts, running, api, stack, fault_points):
    fault_points.arm("moving.paused", "wait", PROGRAM)
    stack.ctl("host", "drain", "other", "--move-running")
    fault_points.reached("moving.paused", 60)
    resuming = InBackground(running.resume)
    fault_points.release("moving.paused")
    assert resuming.result()["state"] == "ready"
    goes_on(hosts, running)
    hosts.take("local", "other")
    back = hosts.make(api, "other")
    fault_points.arm("moving.paused", "wait", PROGRAM)
    stack.ctl("host", "drain", "other", "--move-running")
    fault_points.reached("moving.paused", 60)
    instance = back.instance
    assert api.delete(back.path).status == 204
    fault_points.release("moving.paused")
    back.wait_until_removed()
    no_moves(stack)
    assert hosts.having(instance) == []


def test_who_pauses_it_meanwhile_has_it_paused(hosts, running, stack, fault_points):
    assert running.api.request("PUT", f"{running.path}/hold", {"seconds": 3600}).status == 200
    fault_points.arm("moving.paused", "wait", PROGRAM)
    stack.ctl("host", "drain", "other", "--move-running")
    fault_points.reached("moving.paused", 60)
    paused = running.pause()
    assert (paused["state"], paused["hold_until"]) == ("stopped", None)
    fault_points.release("moving.paused")
    wait_until(lambda: hosts.of(running) == "local", 60, "it going as what is paused does")
    no_moves(stack)
    assert running.show()["state"] == "stopped"
    assert running.resume()["resumed_from"] == "memory"
    goes_on(hosts, running)


def test_the_quota_of_one_that_moves_is_kept(hosts, running, stack, fault_points, account):
    """Nobody of the team gets what it takes, while it is paused for a moment or moving."""
    usage = lambda: account.api.get("/v1/sandbox_limits").json()["quota"]["usage"]["sandboxes"]  # noqa: E731
    before = usage()
    for point in ("moving.paused", "move.copied", "moving.there"):
        fault_points.arm(point, "wait", PROGRAM)
    stack.ctl("host", "drain", "other", "--move-running")
    for point in ("moving.paused", "move.copied", "moving.there"):
        fault_points.reached(point, 60)
        assert usage() == before and not wrong_counters(stack.query)
        fault_points.release(point)
    goes_on(hosts, running)
    assert usage() == before


@pytest.mark.parametrize("point", ["moving.paused", "move.copied"])
def test_the_quota_of_one_that_is_paused_meanwhile_is_free(hosts, running, stack, fault_points, account, point):
    usage = lambda: account.api.get("/v1/sandbox_limits").json()["quota"]["usage"]["sandboxes"]  # noqa: E731
    before = usage()
    fault_points.arm(point, "wait", PROGRAM)
    stack.ctl("host", "drain", "other", "--move-running")
    fault_points.reached(point, 60)
    pausing = InBackground(running.pause)
    wait_until(lambda: not stack.query("SELECT id FROM moves WHERE id = %s", running.id), 30, "its move being given up")
    fault_points.release(point)
    assert pausing.result()["state"] == "stopped"
    wait_until(lambda: usage() == before - 1, 60, "its quota being free")
    no_moves(stack)
    assert running.resume()["resumed_from"] == "memory"
    assert usage() == before
    is_there_once(hosts, running)


@pytest.fixture
def running_with_volumes(hosts, with_volumes):
    one, two, both, also = with_volumes
    for sandbox in (both, also):
        sandbox.resume()
    return with_volumes


def run_there(hosts, with_volumes, name="local"):
    one, two, both, also = with_volumes
    for sandbox in (both, also):
        wait_until(lambda sandbox=sandbox: hosts.of(sandbox) == name and sandbox.show()["state"] == "ready", 120, "it running")
    no_moves(hosts.stack)
    for volume in (one, two):
        assert hosts.host_of("volumes", volume.id) == name
        assert [host for host in ("local", "other") if has_volume(hosts, host, volume)] == [name]
    assert both.data.check("cat /one/file /two/file kept") == "one\ntwo\non disk\n"
    also.data.check("echo more >>/one/file")
    assert both.data.check("cat /one/file") == "one\nmore\n"
    for sandbox in (both, also):
        is_there_once(hosts, sandbox)


def test_what_runs_with_volumes_goes_with_them(hosts, running_with_volumes, stack):
    one, two, both, also = running_with_volumes
    deadlines = [sandbox.show()["deadline"] for sandbox in (both, also)]
    assert why(drain(stack), both.id)
    assert hosts.of(both) == hosts.of(also) == "other"
    left = drain(stack, "--move-running")
    assert not {row["id"] for row in left["sandboxes"]} & {thing.id for thing in running_with_volumes}, left
    run_there(hosts, running_with_volumes)
    assert [sandbox.show()["deadline"] for sandbox in (both, also)] == deadlines


@pytest.mark.parametrize("point", ["pause.stopped", "moving.volumes", "moving.copied", "moving.arrived", "move.finished",
                                   "moving.there", "resume.started"])
def test_a_dispatcher_killed_at_each_step_of_one_with_volumes(hosts, running_with_volumes, stack, fault_points, point):
    fault_points.arm(point, "kill", PROGRAM)
    drain(stack, "--move-running")
    wait_until(lambda: not (fault_points.directory / point).exists(), 60, f"a dispatcher at {point}")
    run_there(hosts, running_with_volumes)


# --- a host that is full ---


@pytest.fixture
def full(hosts):
    with hosts.full("other"):
        yield


def test_a_resume_on_a_full_host_takes_its_volumes_along(hosts, with_volumes):
    one, two, both, also = with_volumes
    with hosts.full("other"):
        assert both.resume()["state"] == "ready"
    assert hosts.of(both) == "local"
    assert both.data.check("cat /one/file /two/file kept") == "one\ntwo\non disk\n"
    assert also.resume()["state"] == "ready", "it follows"
    run_there(hosts, with_volumes)


def test_volumes_that_somebody_uses_stay_on_a_full_host(hosts, with_volumes, api, stack, request):
    one, two, both, also = with_volumes
    also.resume()
    request.getfixturevalue("full")
    answer = api.post(f"{both.path}/resume", {})
    said = assert_error(answer, 503, "no_capacity")["message"]
    assert "volumes cannot move to another host: A running sandbox has mounted the volume" in said and int(answer.headers["Retry-After"]) > 0
    assert also.pause()["state"] == "stopped"
    assert both.resume()["state"] == "ready"
    assert hosts.of(both) == hosts.host_of("volumes", one.id) == "local"


def test_a_create_from_a_checkpoint_of_a_full_host(hosts, api, stack, request):
    sandbox = hosts.make(api, "other")
    sandbox.data.check("echo kept >on_disk; sync")
    checkpoint = checkpoint_of(sandbox)
    request.getfixturevalue("full")
    made = restored(api, checkpoint)
    assert hosts.of(made) == hosts.host_of("checkpoints", checkpoint["id"]) == "local"
    assert made.data.check("cat on_disk") == "kept\n"
    no_moves(stack)
    assert hosts.having(checkpoint_instance(checkpoint)) == ["local"]


def test_a_create_with_no_room_anywhere_says_so(hosts, api, stack, full):
    sandbox = hosts.make(api, "local")
    checkpoint = checkpoint_of(sandbox)
    with hosts.full("local"):
        answer = api.post("/v1/sandboxes", {"snapshot_id": checkpoint["id"]})
        assert_error(answer, 503, "no_capacity")
        assert int(answer.headers["Retry-After"]) > 0


# --- tenants beside each other, and the end ---


def test_one_team_with_much_keeps_no_other_waiting(hosts, api, stack, other_account):
    """Of two that wait, the one with little is not behind all that the other has."""
    much = hosts.make(api, "other")
    checkpoints = [checkpoint_of(much) for _ in range(6)]
    little = hosts.make(other_account.api, "other")
    one = checkpoint_of(little)
    assert api.delete(much.path).status == 204 and other_account.api.delete(little.path).status == 204
    stack.ctl("host", "drain", "other")
    wait_until(lambda: hosts.host_of("checkpoints", one["id"]) == "local", 120, "that of the other team")
    left = [c for c in checkpoints if hosts.host_of("checkpoints", c["id"]) == "other"]
    assert len(left) >= 1, "it did not wait for all of them"
    no_moves(stack)


@pytest.mark.short
def test_a_drained_host_is_empty_and_can_be_removed(hosts, running, with_volumes, stack, api):
    checkpoint = checkpoint_of(running, memory=True)
    status = stack.ctl("status")
    assert "moves" in status
    left = drain(stack, "--move-running")
    assert left["empty"], left
    refused = stack.ctl("host", "remove", "local", check=False)
    assert "drain it first" in refused.stderr
    goes_on(hosts, running)
    are_there(hosts, with_volumes)
    assert restored(api, checkpoint).data.check("cat /dev/shm/kept") == "in memory\n"
