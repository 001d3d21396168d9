# SPDX-License-Identifier: GPL-2.0-or-later
"""Templates that teams build from checkpoints and images, their versions, and their end."""

import concurrent.futures
import secrets

import pytest

from client import Api, assert_error
from tenant import Sandbox
from faults import fault_points, settle  # noqa: F401
from leavings import deleted_after
from stack import wait_until

pytestmark = pytest.mark.parallel

IMAGE = "sandlot-default"


@pytest.fixture(autouse=True)
def nothing_is_left(stack):
    """What a test has built is removed, rows and sources."""
    with deleted_after(stack):
        yield


def checkpoint(sandbox, name="first"):
    response = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": name})
    assert response.status == 201, response
    return response.json()


def slug():
    return "t" + secrets.token_hex(5)


def create(api, name, **fields):
    response = api.post("/v1/templates", {"slug": name, **fields})
    assert response.status == 201, response
    return response.json()


def version(api, name, number, query=""):
    response = api.get(f"/v1/templates/{name}/versions/{number}{query}")
    assert response.status == 200, response
    return response.json()


def built(api, name, number, state="ready", query="", timeout_s=60):
    """The version once its build is over."""
    def over():
        shown = version(api, name, number, query)
        return shown if shown["state"] != "building" else None

    shown = wait_until(over, timeout_s, f"the build of {name}:{number}", 0.5)
    assert shown["state"] == state, (shown["state"], shown.get("log", shown))
    return shown


def sources(stack):
    return {name for name in stack.incus.names() if name.startswith(("tpl-", "try-"))}


def source_of(document):
    return "tpl-" + document["id"].removeprefix("tpv_")


def trial_of(document):
    return "try-" + document["id"].removeprefix("tpv_")


def test_from_a_checkpoint(sandbox, stack):
    api = sandbox.api
    sandbox.data.upload("/home/user/kept", b"one")
    first = checkpoint(sandbox)
    name = slug()
    made = create(api, name, checkpoint_id=first["id"])
    assert (made["slug"], made["team"], made["latest_version"]) == (name, first["team"], None)
    assert made["version"]["version"] == 1 and made["version"]["state"] == "building"
    assert made["version"]["runtime_baseline"] == {"cpu": first["cpu"], "memory_mb": first["memory_mb"]}
    # Neither the checkpoint nor the sandbox need to be there any more.
    assert api.delete(f"/v1/checkpoints/{first['id']}").status == 204
    api.destroy(sandbox.id)
    shown = built(api, name, 1)
    assert shown["checkpoint_id"] == first["id"] and shown["image"] is None and shown["finished_at"]
    lines = shown["log"].splitlines()
    assert first["id"] in lines[0] and "trial" in lines[1] and lines[-1].endswith("ready"), lines
    assert api.get(f"/v1/templates/{name}").json()["latest_version"] == 1
    restored = Sandbox.create(api, template=name)
    assert restored.data.read("/home/user/kept") == b"one"
    document = restored.document
    assert (document["template"], document["template_version"], document["snapshot_id"]) == (name, shown["id"], None)

    # The next version; the first one does not change.
    restored.data.upload("/home/user/kept", b"two")
    second = checkpoint(restored, "second")
    added = api.post(f"/v1/templates/{name}/versions", {"checkpoint_id": "second", "runtime_baseline": {"cpu": 2, "memory_mb": 768}})
    assert added.status == 201 and added.json()["version"] == 2, added
    assert version(api, name, 2)["checkpoint_id"] == second["id"], "found by its name"
    for wrong in ("no-such-checkpoint", "second:2", "ckp_x"):
        answer = api.post(f"/v1/templates/{name}/versions", {"checkpoint_id": wrong})
        assert_error(answer, 422, "invalid_request", "/checkpoint_id")
    assert api.get(f"/v1/templates/{name}").json()["latest_version"] in (1, 2)
    built(api, name, 2)
    assert [one["version"] for one in api.get(f"/v1/templates/{name}/versions").json()["versions"]] == [2, 1]
    newest, pinned = Sandbox.create(api, template=name), Sandbox.create(api, template=f"{name}:1")
    assert newest.data.read("/home/user/kept") == b"two" and pinned.data.read("/home/user/kept") == b"one"
    assert (newest.document["cpu"], newest.document["memory_mb"]) == (2, 768)
    assert version(api, name, shown["id"]) == shown, "by its id, and unchanged"
    assert trial_of(shown) not in sources(stack)


def test_a_slug_means_the_newest_ready_version(sandbox, stack, fault_points):
    made = checkpoint(sandbox)
    name = slug()
    create(sandbox.api, name, checkpoint_id=made["id"])
    assert_error(sandbox.api.post("/v1/sandboxes", {"template": slug()}), 422, "template_not_found", "/template")
    built(sandbox.api, name, 1)
    fault_points.arm("build.copied", "wait", "sandlot-dispatcher")
    assert sandbox.api.post(f"/v1/templates/{name}/versions", {"checkpoint_id": made["id"]}).status == 201
    fault_points.reached("build.copied")
    assert version(sandbox.api, name, 2)["state"] == "building"
    assert Sandbox.create(sandbox.api, template=name).document["template_version"] == version(sandbox.api, name, 1)["id"]
    assert_error(sandbox.api.post("/v1/sandboxes", {"template": f"{name}:2"}), 422, "template_not_found", "/template")
    fault_points.release("build.copied")
    built(sandbox.api, name, 2)


def test_from_an_image(account, stack):
    name = slug()
    body = {"slug": name, "image": IMAGE}
    stack.ctl("image", "disallow", IMAGE, check=False)
    refused = assert_error(account.api.post("/v1/templates", body), 422, "invalid_request", "/image")
    assert "image allow" in refused["message"]
    for other in ("no-such-image", "ä", " ", "a" * 255):
        answer = account.api.post("/v1/templates", {**body, "image": other})
        assert assert_error(answer, 422, "invalid_request", "/image")["message"] == refused["message"]
    stack.ctl("image", "allow", IMAGE)
    try:
        assert IMAGE in [row["name"] for row in stack.ctl("image", "list")["images"]]
        made = create(account.api, name, image=IMAGE, runtime_baseline={"cpu": 1, "memory_mb": 640})
        shown = built(account.api, name, 1)
        assert (shown["image"], shown["checkpoint_id"]) == (IMAGE, None)
        sandbox = Sandbox.create(account.api, template=made["id"])
        assert sandbox.document["memory_mb"] == 640
        assert sandbox.data.check("echo works") == "works\n"
    finally:
        stack.ctl("image", "disallow", IMAGE)
    assert_error(account.api.post(f"/v1/templates/{name}/versions", {"image": IMAGE}), 422, "invalid_request", "/image")
    assert Sandbox.create(account.api, template=name).document["template"] == name


def test_an_image_that_is_not_there(account, stack):
    missing = "gone-" + secrets.token_hex(4)
    stack.ctl("image", "allow", missing)
    name = slug()
    try:
        create(account.api, name, image=missing)
        shown = built(account.api, name, 1, "failed")
        assert "error:" in shown["log"] and shown["log"].splitlines()[-1].endswith("failed"), shown
        assert account.api.get(f"/v1/templates/{name}").json()["latest_version"] is None
        assert_error(account.api.post("/v1/sandboxes", {"template": name}), 422, "template_not_found", "/template")
        assert source_of(shown) not in sources(stack)
        assert account.api.delete(f"/v1/templates/{name}").status == 204
    finally:
        stack.ctl("image", "disallow", missing)


@pytest.mark.faults  # a quarter of a minute of waiting
def test_a_disk_that_does_not_start_an_agent_fails(sandbox):
    """The trial finds it, and not the first user."""
    sandbox.data.check("sudo mv /usr/lib/sandlot/sandlot-agent /usr/lib/sandlot/away")
    made = checkpoint(sandbox)
    name = slug()
    create(sandbox.api, name, checkpoint_id=made["id"])
    shown = built(sandbox.api, name, 1, "failed")
    assert "agent" in shown["log"], shown


BAD = [
    ({}, "/slug"), ({"slug": "a"}, "/checkpoint_id"), ({"slug": "A", "image": IMAGE}, "/slug"),
    ({"slug": "-a", "image": IMAGE}, "/slug"), ({"slug": "a" * 64, "image": IMAGE}, "/slug"),
    ({"slug": "a", "image": IMAGE, "checkpoint_id": "ckp_x"}, "/image"),
    ({"slug": "a", "checkpoint_id": "ckp_x"}, "/checkpoint_id"),
    ({"slug": "a", "checkpoint_id": "ckp_01kamqm3d7e9r5t2y8w4q6z1xc"}, "/checkpoint_id"),
    ({"slug": "a", "image": IMAGE, "runtime_baselin": {}}, "/runtime_baselin"),
    ({"slug": "a", "image": IMAGE, "runtime_baseline": {"cpus": 1}}, "/runtime_baseline/cpus"),
]


@pytest.mark.parametrize("body, field", BAD, ids=range(len(BAD)))
def test_bodies(module_account, body, field):
    assert_error(module_account.api.post("/v1/templates", body), 422, "invalid_request", field)


def test_a_baseline_is_one_of_the_plan(sandbox):
    made = checkpoint(sandbox)
    for baseline, member in (({"cpu": 3}, "cpu"), ({"cpu": 8}, "cpu"), ({"memory_mb": 128}, "memory_mb"),
                             ({"memory_mb": 4096}, "memory_mb"), ({"memory_mb": 700}, "memory_mb")):
        answer = sandbox.api.post("/v1/templates", {"slug": slug(), "checkpoint_id": made["id"], "runtime_baseline": baseline})
        assert_error(answer, 422, "invalid_request", f"/runtime_baseline/{member}")


@pytest.mark.long
def test_a_slug_is_taken_once(sandbox, account):
    made = checkpoint(sandbox)
    name = slug()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(
            lambda _: sandbox.api.post("/v1/templates", {"slug": name, "checkpoint_id": made["id"]}), range(4)))
    assert sorted(answer.status for answer in answers) == [201, 409, 409, 409]
    for answer in answers:
        if answer.status == 409:
            assert_error(answer, 409, "name_taken", "/slug")
    # Versions asked for at once have numbers of their own.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        added = list(pool.map(
            lambda _: sandbox.api.post(f"/v1/templates/{name}/versions", {"checkpoint_id": made["id"]}), range(3)))
    assert sorted(answer.json()["version"] for answer in added) == [2, 3, 4]
    for number in range(1, 5):
        built(sandbox.api, name, number)
    # An own template hides the deployment's of the same slug.
    create(sandbox.api, "python", checkpoint_id=made["id"])
    assert sandbox.api.get("/v1/templates/python").json()["team"] == account.team


@pytest.mark.long
def test_deleting_names_who_uses_it(sandbox, stack):
    api = sandbox.api
    made = checkpoint(sandbox)
    name = slug()
    create(api, name, checkpoint_id=made["id"])
    one = built(api, name, 1)
    assert api.post(f"/v1/templates/{name}/versions", {"checkpoint_id": made["id"]}).status == 201
    two = built(api, name, 2)
    user = Sandbox.create(api, template=f"{name}:1")
    kept = checkpoint(user, "kept")
    for path in (f"/v1/templates/{name}", f"/v1/templates/{name}/versions/1", f"/v1/templates/{name}/versions/{one['id']}"):
        message = assert_error(api.delete(path), 409, "template_in_use")["message"]
        assert user.id in message and kept["id"] in message, message
    theirs = api.origin.request("DELETE", f"/templates/{name}", headers={"X-API-Key": api.key})
    assert (theirs.status, theirs.json()["code"]) == (400, 400), "as E2B's service answers"
    assert version(api, name, 2)["state"] == "ready", "all or nothing"
    assert api.delete(f"/v1/templates/{name}/versions/2").status == 204
    assert_error(api.get(f"/v1/templates/{name}/versions/2"), 404, "not_found")
    assert_error(api.delete(f"/v1/templates/{name}/versions/2"), 404, "not_found")
    assert api.get(f"/v1/templates/{name}").json()["latest_version"] == 1
    assert_error(api.post("/v1/sandboxes", {"template": f"{name}:2"}), 422, "template_not_found", "/template")
    wait_until(lambda: source_of(two) not in sources(stack), 20, "the end of the second version's source")
    wait_until(lambda: not stack.query("SELECT at_byte FROM template_logs WHERE template_version_id = %s", two["id"]),
               20, "the end of the second version's log")
    user.pause()
    assert user.id in assert_error(api.delete(f"/v1/templates/{name}"), 409, "template_in_use")["message"], "paused ones too"
    api.destroy(user.id)
    message = assert_error(api.delete(f"/v1/templates/{name}"), 409, "template_in_use")["message"]
    assert user.id not in message and kept["id"] in message, "a deleted sandbox only remembers it"
    assert api.delete(f"/v1/checkpoints/{kept['id']}").status == 204
    assert api.delete(f"/v1/templates/{name}").status == 204
    assert_error(api.get(f"/v1/templates/{name}"), 404, "not_found")
    wait_until(lambda: source_of(one) not in sources(stack), 20, "the end of the first version's source")
    # The slug is free, and what is made under it is another template.
    again = create(api, name, checkpoint_id=made["id"])
    assert again["version"]["version"] == 1 and again["version"]["id"] not in (one["id"], two["id"])


@pytest.mark.long
def test_numbers_are_not_used_again(sandbox):
    made = checkpoint(sandbox)
    name = slug()
    create(sandbox.api, name, checkpoint_id=made["id"])
    assert sandbox.api.post(f"/v1/templates/{name}/versions", {"checkpoint_id": made["id"]}).status == 201
    assert sandbox.api.delete(f"/v1/templates/{name}/versions/2").status == 204, "while it is being built"
    added = sandbox.api.post(f"/v1/templates/{name}/versions", {"checkpoint_id": made["id"]})
    assert added.json()["version"] == 3
    built(sandbox.api, name, 3)


def test_who_sees_and_changes_them(sandbox, account, other_account, stack):
    made = checkpoint(sandbox)
    name = slug()
    create(sandbox.api, name, checkpoint_id=made["id"])
    built(sandbox.api, name, 1)
    stranger = other_account.api
    for method, path in (("GET", f"/v1/templates/{name}"), ("DELETE", f"/v1/templates/{name}"),
                         ("GET", f"/v1/templates/{name}/versions/1"), ("DELETE", f"/v1/templates/{name}/versions/1")):
        theirs, none = stranger.request(method, path), stranger.request(method, path.replace(name, slug()))
        assert assert_error(theirs, 404, "not_found")["message"] == assert_error(none, 404, "not_found")["message"]
    other = checkpoint(Sandbox.create(stranger))
    assert_error(stranger.post(f"/v1/templates/{name}/versions", {"checkpoint_id": other["id"]}), 404, "not_found")
    assert_error(stranger.post("/v1/templates", {"slug": slug(), "checkpoint_id": made["id"]}), 422, "invalid_request", "/checkpoint_id")
    assert_error(stranger.post("/v1/templates", {"slug": slug(), "team": account.team, "checkpoint_id": made["id"]}), 403, "team_forbidden", "/team")
    create(stranger, name, checkpoint_id=other["id"])
    second = account.make_team()
    assert_error(account.api.post("/v1/templates", {"slug": slug(), "team": second, "checkpoint_id": made["id"]}), 422, "invalid_request", "/checkpoint_id")
    reader = Api(stack, account.key("read"))
    assert version(reader, name, 1)["state"] == "ready"
    assert_error(reader.delete(f"/v1/templates/{name}"), 403, "insufficient_scope")
    # The deployment's belong to nobody else.
    assert version(stranger, stack.template, 1)["image"] is None
    for path in (f"/v1/templates/{stack.template}", f"/v1/templates/{stack.template}/versions/1"):
        assert_error(stranger.delete(path), 403, "team_forbidden")
    assert_error(stranger.post(f"/v1/templates/{stack.template}/versions", {"checkpoint_id": other["id"]}), 404, "not_found")
    for number in ("0", "x", "1.0", "99", "tpv_01kamqh2w8x4yt9nq3v7c5e0rb"):
        assert_error(reader.get(f"/v1/templates/{name}/versions/{number}"), 404, "not_found")


def test_sandlotctl_deletes(stack, sandbox):
    failed = stack.ctl("template", "delete", stack.template, check=False)
    assert failed.returncode == 1 and "is used by" in failed.stderr, failed.stderr
    made = checkpoint(sandbox)
    name = slug()
    create(sandbox.api, name, checkpoint_id=made["id"])
    built(sandbox.api, name, 1)
    assert stack.ctl("template", "delete", name, check=False).returncode == 1, "it is not the deployment's"
    stack.ctl("template", "delete", f"{name}:1", "--team", made["team"])
    assert_error(sandbox.api.get(f"/v1/templates/{name}"), 404, "not_found")


# --- crashes and races ---


@pytest.mark.parametrize("point", ["build.taken", "build.copied", "build.tried", "build.finishing"])
def test_a_dispatcher_killed_in_a_build(sandbox, stack, fault_points, point):
    sandbox.data.upload("/home/user/kept", b"kept")
    made = checkpoint(sandbox)
    name = slug()
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    create(sandbox.api, name, checkpoint_id=made["id"])
    wait_until(lambda: not (fault_points.directory / point).exists(), 20, f"a dispatcher at {point}")
    shown = built(sandbox.api, name, 1, timeout_s=stack.lease_s + 30)
    assert Sandbox.create(sandbox.api, template=name).data.read("/home/user/kept") == b"kept"
    settle(stack)
    assert source_of(shown) in sources(stack)
    assert trial_of(shown) not in sources(stack)


def test_a_version_deleted_while_it_is_built(sandbox, stack, fault_points):
    made = checkpoint(sandbox)
    name = slug()
    fault_points.arm("build.copied", "wait", "sandlot-dispatcher")
    document = create(sandbox.api, name, checkpoint_id=made["id"])
    fault_points.reached("build.copied")
    assert sandbox.api.delete(f"/v1/templates/{name}/versions/1").status == 204
    fault_points.release("build.copied")
    wait_until(lambda: source_of(document["version"]) not in sources(stack), stack.lease_s + 20, "the end of the source")
    settle(stack)


def test_a_create_that_meets_a_deletion(sandbox, stack, fault_points):
    """Whoever is first: the version is refused to be deleted, or the sandbox is refused."""
    made = checkpoint(sandbox)
    name = slug()
    create(sandbox.api, name, checkpoint_id=made["id"])
    built(sandbox.api, name, 1)
    fault_points.arm("create.planned", "wait", "sandlot-api")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        creating = pool.submit(sandbox.api.post, "/v1/sandboxes", {"template": name})
        fault_points.reached("create.planned")
        assert sandbox.api.delete(f"/v1/templates/{name}/versions/1").status == 204
        fault_points.release("create.planned")
        answer = creating.result()
    assert answer.status in (422, 503), answer
    settle(stack)
    assert [one["id"] for one in sandbox.api.list()] == [sandbox.id]


@pytest.mark.parametrize("point", ["build.removed"])
def test_a_dispatcher_killed_while_it_removes_a_version(sandbox, stack, fault_points, point):
    made = checkpoint(sandbox)
    name = slug()
    create(sandbox.api, name, checkpoint_id=made["id"])
    shown = built(sandbox.api, name, 1)
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    assert sandbox.api.delete(f"/v1/templates/{name}").status == 204
    wait_until(
        lambda: stack.query("SELECT state FROM template_versions WHERE id = %s", shown["id"])[0]["state"] == "deleted",
        stack.lease_s + 20, "the end of the version", 0.2)
    assert source_of(shown) not in sources(stack)
    assert not stack.query("SELECT 1 FROM template_sources WHERE template_version_id = %s", shown["id"])
