# SPDX-License-Identifier: GPL-2.0-or-later
"""Volumes: their records, and what sandboxes make of them."""

import secrets
import threading

import pytest

from client import Api, assert_error
from tenant import Sandbox
from faults import InBackground
from stack import wait_until

pytestmark = pytest.mark.parallel


def volume_name():
    return "v" + secrets.token_hex(4)


@pytest.fixture
def volume(api):
    return api.create_volume(name=volume_name())


def path_of(volume):
    return f"/v1/volumes/{volume['id']}"


def instance_of(volume):
    return "vol-" + volume["id"][4:]


def is_on_host(stack, volume):
    pool = stack.query("SELECT pool FROM hosts LIMIT 1")[0]["pool"]
    path = f"/1.0/storage-pools/{pool}/volumes/custom/{instance_of(volume)}"
    return stack.incus.raw("GET", path)[0] == 200


def attached(api, volume):
    response = api.get(path_of(volume))
    assert response.status == 200, response
    return response.json()["attached_to"]


# --- the record ---


def test_a_volume_from_its_create_to_its_end(api, account, stack):
    made = api.create_volume(name="models")
    assert made["name"] == "models" and made["team"] == account.team
    assert made["size_gb"] == 5 and made["attached_to"] == []
    assert is_on_host(stack, made)
    assert api.get(path_of(made)).json() == made
    assert api.get("/v1/volumes").json() == {"volumes": [made]}
    assert api.delete(path_of(made)).status == 204
    assert_error(api.get(path_of(made)), 404, "not_found")
    assert_error(api.delete(path_of(made)), 404, "not_found")
    assert api.get("/v1/volumes").json() == {"volumes": []}
    assert not is_on_host(stack, made)
    again = api.create_volume(name="models")
    assert again["id"] != made["id"], "the name is free again"


def test_names_are_unique_in_a_team(api, account, other_account):
    name = volume_name()
    api.create_volume(name=name)
    assert_error(api.post("/v1/volumes", {"name": name}), 409, "name_taken", "/name")
    other_account.api.create_volume(name=name)
    api.create_volume(name=name, team=account.make_team())


def test_one_of_many_creates_of_a_name_wins(api):
    name = volume_name()
    calls = [InBackground(api.post, "/v1/volumes", {"name": name}) for _ in range(6)]
    statuses = sorted(call.result().status for call in calls)
    assert statuses == [201] + [409] * 5


@pytest.mark.parametrize("body, field", [
    ({}, "/name"),
    ({"name": ""}, "/name"),
    ({"name": "-a"}, "/name"),
    ({"name": "A"}, "/name"),
    ({"name": "vol_b"}, "/name"),
    ({"name": "\u00e9"}, "/name"),
    ({"name": "a" * 64}, "/name"),
    ({"name": 1}, "/name"),
    ({"name": None}, "/name"),
    ({"name": "a", "size_gb": 1}, "/size_gb"),
    ({"name": "a", "team": ""}, "/team"),
])
def test_bodies_that_are_refused(module_account, body, field):
    assert_error(module_account.api.post("/v1/volumes", body), 422, "invalid_request", field)


@pytest.mark.parametrize("name", ["a", "0", "a-", "a--b", "a" * 63])
def test_names_that_are_taken(api, name):
    assert api.create_volume(name=name)["name"] == name


def test_no_body(api):
    assert_error(api.post("/v1/volumes"), 422, "invalid_request")


def test_the_plan_bounds_how_many(api, small_plan):
    calls = [InBackground(api.post, "/v1/volumes", {"name": volume_name()}) for _ in range(5)]
    answers = [call.result() for call in calls]
    refused = [answer for answer in answers if answer.status != 201]
    assert len(refused) == 3
    for answer in refused:
        body = assert_error(answer, 422, "volume_quota_exceeded")
        assert "2 volumes" in body["message"] and (body["limit"], body["used"]) == (2, 2)
    made = [answer.json() for answer in answers if answer.status == 201]
    assert {volume["size_gb"] for volume in made} == {1}
    assert api.delete(path_of(made[0])).status == 204
    api.create_volume(name=volume_name())


def test_pages(make_account):
    account = make_account("pro")
    api, team = account.api, account.make_team("pro")
    made = [api.create_volume(name=volume_name(), **({"team": team} if i % 2 else {}))["id"] for i in range(7)]
    seen, query = [], "/v1/volumes?limit=3"
    page = api.get(query).json()
    seen += [volume["id"] for volume in page["volumes"]]
    api.create_volume(name=volume_name())
    while "next_token" in page:
        page = api.get(f"{query}&next_token={page['next_token']}").json()
        seen += [volume["id"] for volume in page["volumes"]]
    assert seen == made[::-1]
    token = api.get(query).json()["next_token"]
    assert_error(api.get(f"/v1/volumes?limit=3&team={team}&next_token={token}"), 422, "invalid_next_token")
    assert_error(api.get(f"/v1/sandboxes?limit=3&next_token={token}"), 422, "invalid_next_token")
    assert_error(api.get("/v1/volumes?limit=0"), 422, "invalid_request", "limit")
    assert_error(api.get("/v1/volumes?limit=201"), 422, "invalid_request", "limit")
    only = api.get(f"/v1/volumes?team={team}").json()["volumes"]
    assert {volume["team"] for volume in only} == {team} and len(only) == 3


def test_nobody_else_sees_it(api, stack, account, other_account, volume):
    stranger = other_account.api
    assert_error(stranger.get(path_of(volume)), 404, "not_found")
    assert_error(stranger.delete(path_of(volume)), 404, "not_found")
    assert stranger.get("/v1/volumes").json() == {"volumes": []}
    assert_error(stranger.post("/v1/sandboxes", {"volume_mounts": {"/data": volume["name"]}}),
                 422, "volume_not_found", "/volume_mounts/~1data")
    assert_error(stranger.post("/v1/volumes", {"name": "a", "team": account.team}), 403, "team_forbidden")
    narrow = Api(stack, account.key("write", "--team", account.make_team()))
    assert_error(narrow.get(path_of(volume)), 404, "not_found")
    assert narrow.get("/v1/volumes").json() == {"volumes": []}


# --- in sandboxes ---


def test_what_one_sandbox_leaves_the_next_one_finds(api, make_sandbox, volume):
    sandbox = make_sandbox(volume_mounts={"/data": volume["name"]})
    assert sandbox.document["volume_mounts"] == {"/data": volume["name"]}
    assert sandbox.show()["volume_mounts"] == {"/data": volume["name"]}
    assert attached(api, volume) == [sandbox.id]
    assert api.get("/v1/volumes").json()["volumes"][0]["attached_to"] == [sandbox.id]
    assert sandbox.data.check("id -u; stat -c '%U:%G %a' /data; echo kept >/data/note") == "1000\nuser:user 755\n"
    sandbox.data.run("sh", "-c", "echo root >/data/by-root; chmod 600 /data/by-root", user="root")
    api.destroy(sandbox.id)
    assert attached(api, volume) == []
    other = make_sandbox(volume_mounts={"/mnt/other place": volume["name"]})
    assert other.data.check("cat '/mnt/other place/note'; ls '/mnt/other place'") == "kept\nby-root\nnote\n"


def test_the_size_is_enforced(api, small_plan, make_sandbox):
    small = api.create_volume(name=volume_name())
    sandbox = make_sandbox(volume_mounts={"/data": small["name"]})
    script = "head -c 1100M /dev/zero >/data/big; echo $?; stat -c %s /data/big"
    code, size = sandbox.data.bash(script).stdout.split()
    assert code != b"0" and int(size) <= 1024**3
    sandbox.data.check("rm /data/big; echo room >/data/small")


def test_no_way_around_the_size(sandbox):
    """Subvolumes and snapshots of btrfs would not count; neither would a request number whose upper
    half the kernel does not look at."""
    program = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = [ctypes.c_long] * 4
os.makedirs("/home/user/there", exist_ok=True)
here = os.open("/home/user", os.O_RDONLY)
for number in (0x5000940e, 0x50009401, 0x50009418, 0x50009417):
    for high in (0, 1 << 32, 0xffffffff << 32):
        argument = ctypes.create_string_buffer(struct.pack("q", here) + b"sub", 4096)
        result = libc.syscall(16, here, ctypes.c_long(number | high).value, ctypes.addressof(argument))
        print(result, ctypes.get_errno())
"""
    sandbox.data.upload("/tmp/around.py", program.encode())
    assert set(sandbox.data.check("python3 /tmp/around.py").split("\n")) == {"-1 1", ""}


def test_two_sandboxes_write_one_volume(api, make_sandbox, volume):
    mounts = {"/data": volume["name"]}
    pair = [make_sandbox(volume_mounts=mounts) for _ in range(2)]
    assert attached(api, volume) == sorted(sandbox.id for sandbox in pair)
    script = "for i in $(seq 300); do echo {0} >>/data/log; done; echo {0} >/data/{0}"
    writers = [threading.Thread(target=sandbox.data.check, args=(script.format(n),))
               for n, sandbox in enumerate(pair)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    for sandbox in pair:
        assert sandbox.data.check("sort /data/log | uniq -c | tr -s ' '; cat /data/0 /data/1") == " 300 0\n 300 1\n0\n1\n"
    assert pair[0].data.check("cd /data && exec 3>lock && flock -n 3 && echo locked") == "locked\n"


def test_several_volumes_and_one_twice(api, make_sandbox):
    one, two = (api.create_volume(name=volume_name()) for _ in range(2))
    mounts = {"/data/one": one["name"], "/data/two": two["name"], "/home/user/one": one["name"]}
    sandbox = make_sandbox(volume_mounts=mounts)
    assert sandbox.document["volume_mounts"] == mounts
    sandbox.data.check("echo 1 >/data/one/x; echo 2 >/data/two/x")
    assert sandbox.data.check("cat /home/user/one/x /data/two/x") == "1\n2\n"
    assert attached(api, one) == attached(api, two) == [sandbox.id]


def test_a_cold_create_mounts_too(make_account):
    """In a size that no instance waits in, and with none waiting at all."""
    account = make_account("pro")
    volume = account.api.create_volume(name=volume_name())
    made = [Sandbox.create(account.api, cpu=2, memory_mb=768, volume_mounts={"/data": volume["name"]})
            for _ in range(2)]
    for n, sandbox in enumerate(made):
        sandbox.data.check(f"echo {n} >/data/{n}")
    assert made[0].data.check("cat /data/*") == "0\n1\n"


# --- pause, resume, destroy ---


def test_a_pause_keeps_the_disk_and_the_volume(api, make_sandbox, volume):
    sandbox = make_sandbox(volume_mounts={"/data": volume["name"]})
    sandbox.data.check("echo here >/data/note; echo disk >/home/user/note; sync")
    sandbox.data.background("sleep", "1000")
    paused = sandbox.pause()
    assert paused["state"] == "stopped" and paused["volume_mounts"] == {"/data": volume["name"]}
    assert attached(api, volume) == [sandbox.id]
    assert_error(api.delete(path_of(volume)), 409, "volume_attached")
    resumed = sandbox.resume()
    assert resumed["resumed_from"] == "disk"
    assert sandbox.data.check("cat /data/note /home/user/note; pgrep -x sleep || echo none") == "here\ndisk\nnone\n"
    sandbox.data.check("mountpoint -q /data && echo again >>/data/note")
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "disk"
    assert sandbox.data.check("cat /data/note") == "here\nagain\n"


def test_a_checkpoint_with_memory_is_refused_with_the_reason(api, make_sandbox, volume):
    sandbox = make_sandbox(volume_mounts={"/data": volume["name"]})
    refused = assert_error(api.post(f"{sandbox.path}/checkpoints", {"memory": True}), 409, "memory_not_kept")
    assert refused["message"] == "A checkpoint of a sandbox with volumes cannot have its memory."


@pytest.mark.long
def test_what_another_sandbox_wrote_while_it_was_paused(make_sandbox, volume):
    mounts = {"/data": volume["name"]}
    first = make_sandbox(volume_mounts=mounts)
    first.data.check("echo one >/data/note")
    first.pause()
    second = make_sandbox(volume_mounts=mounts)
    second.data.check("echo two >/data/note")
    first.resume()
    assert first.data.check("cat /data/note") == "two\n"


def test_a_volume_names_its_sandboxes(api, make_sandbox, volume):
    mounts = {"/data": volume["name"]}
    named, plain = make_sandbox(volume_mounts=mounts, name="builder"), make_sandbox(volume_mounts=mounts)
    shown = api.get(path_of(volume)).json()
    names = dict(zip(shown["attached_to"], shown["attached_names"], strict=True))
    assert names == {named.id: "builder", plain.id: plain.id}
    assert api.get("/v1/volumes").json()["volumes"][0] == shown
    api.destroy(plain.id)
    assert "builder" in assert_error(api.delete(path_of(volume)), 409, "volume_attached")["message"]


@pytest.mark.long
def test_delete_while_attached(api, make_sandbox, volume):
    pair = [make_sandbox(volume_mounts={"/data": volume["name"]}) for _ in range(2)]
    message = assert_error(api.delete(path_of(volume)), 409, "volume_attached")["message"]
    assert any(sandbox.id in message for sandbox in pair)
    api.destroy(pair[0].id)
    pair[1].pause()
    assert_error(api.delete(path_of(volume)), 409, "volume_attached")
    api.destroy(pair[1].id)
    assert api.delete(path_of(volume)).status == 204


@pytest.mark.long
def test_a_create_and_a_delete_at_once(api, stack, volume):
    """One of the two wins, and nothing is left over either way."""
    for _ in range(6):
        volume = api.create_volume(name=volume_name())
        create = InBackground(api.post, "/v1/sandboxes", {"volume_mounts": {"/data": volume["name"]}})
        delete = InBackground(api.delete, path_of(volume))
        made, deleted = create.result(), delete.result()
        if made.status == 201:
            assert_error(deleted, 409, "volume_attached")
            assert Sandbox(api, made.json()).data.check("mountpoint /data") != ""
            api.destroy(made.json()["id"])
        else:
            assert_error(made, 422, "volume_not_found")
            assert deleted.status == 204


def test_a_sandbox_whose_create_fails_lets_go(api, stack, account, volume):
    """A quota refusal comes before anything is attached; so does an unknown volume beside a known one."""
    mounts = {"/a": volume["name"], "/b": "nothing-of-this-name"}
    assert_error(api.post("/v1/sandboxes", {"volume_mounts": mounts}), 422, "volume_not_found",
                 "/volume_mounts/~1b")
    assert attached(api, volume) == []
    assert api.delete(path_of(volume)).status == 204


# --- what the sweep finds ---


@pytest.mark.faults
def test_a_volume_that_belongs_to_nobody_is_removed(stack):
    pool = stack.query("SELECT pool FROM hosts LIMIT 1")[0]["pool"]
    stray = {"id": "vol_" + "0" * 26}
    stack.incus.request("POST", f"/1.0/storage-pools/{pool}/volumes/custom",
                        {"name": instance_of(stray), "type": "custom", "content_type": "filesystem"})
    wait_until(lambda: not is_on_host(stack, stray), 5 * stack.lease_s + 30, "the stray volume being swept", 0.5)


def test_a_row_that_nobody_finished_is_undone(stack, api, account):
    """As a worker leaves it that died between the row and the volume; its name is free again."""
    name = volume_name()
    volume = api.create_volume(name=name)
    stack.query("UPDATE volumes SET state = 'creating', visible = 0, lease_until_ms = 1 WHERE id = %s", volume["id"])
    wait_until(lambda: not is_on_host(stack, volume), 15, "the volume being undone", 0.1)
    wait_until(lambda: api.post("/v1/volumes", {"name": name}).status == 201, 15, "the name being free")
