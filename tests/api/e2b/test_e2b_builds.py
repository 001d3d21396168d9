# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds of templates with E2B's package as it was published, and the calls behind it by themselves."""

import datetime
import secrets
import uuid

import pytest

from client import Api, altered
from leavings import deleted_after
from stack import wait_until
from test_e2b_calls import Calls, assert_refused, call  # noqa: F401 (a fixture)
from tenant import Sandbox
from test_e2b_client import environment, run

pytestmark = pytest.mark.parallel

HASH = "ab" * 32
ECR = "123456789012.dkr.ecr.us-east-1.amazonaws.com/a:1"


@pytest.fixture(autouse=True)
def nothing_is_left(stack):
    """What a test has built is removed, rows and sources."""
    with deleted_after(stack):
        yield


@pytest.fixture
def files(tmp_path):
    (tmp_path / "app/deep").mkdir(parents=True)
    (tmp_path / "app/main.sh").write_text("echo from main\n")
    (tmp_path / "app/deep/data.txt").write_text("data\n")
    (tmp_path / "one.txt").write_text("one\n")
    return tmp_path


def name():
    return "b" + secrets.token_hex(5)


def build(installed, stack, account, part, client, files):
    more = {"CLIENT": client, "NAME": name(), "FILES": str(files)}
    done = run(["node", "build.mjs", part], installed, {**environment(stack, account), **more})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("client", ["e2b", *(pytest.param(one, marks=pytest.mark.long)
                                             for one in ("e2b-2.49", "e2b-2.45", "e2b-2.39"))])
def test_builds_with_the_package(installed, stack, account, files, client):
    build(installed, stack, account, "built", client, files)
    assert account.api.list() == [], "no sandbox of a build stays"


@pytest.mark.long
def test_a_dockerfile_with_the_package(installed, stack, account, files):
    build(installed, stack, account, "dockerfile", "e2b", files)


def test_failures_reach_the_package(installed, stack, account, files):
    build(installed, stack, account, "failures", "e2b", files)
    wait_until(lambda: account.api.list() == [], 60, "the end of the sandboxes of builds")


DOCKERFILE = """FROM e2bdev/base
ENV GREETING=hello
WORKDIR /app
RUN echo "$GREETING" >said
COPY one.txt sub/
"""


@pytest.mark.long
def test_the_command_line_builds_a_template(installed, stack, account, files):
    (files / "Dockerfile").write_text(DOCKERFILE)
    env = {**environment(stack, account), "HOME": str(files), "NODE_OPTIONS": f"--require {installed / 'local_names.cjs'}"}
    template = name()

    def e2b(*words, **options):
        done = run([installed / "node_modules/.bin/e2b", "template", *words], files, env, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    e2b("create", template, "--dockerfile", "Dockerfile", "--cpu-count", "1", "--memory-mb", "512",
        "--cmd", "echo $GREETING >/tmp/started; exec sleep 1000", "--ready-cmd", "test -s /tmp/started")
    assert template in e2b("list")
    sandbox = Sandbox.create(account.api, template=template)
    assert sandbox.data.check("cat /app/said /app/sub/one.txt") == "hello\none\n"
    sandbox.data.check("until test -s /tmp/started; do sleep 0.1; done")
    account.api.destroy(sandbox.id)
    e2b("delete", "--yes", template)
    assert template not in e2b("list")


def requested(call, **more):
    answer = call("POST", "/v3/templates", {"name": name(), **more})
    assert answer.status == 202, answer
    return answer.json()


def start(call, build, **body):
    return call("POST", f"/v2/templates/{build['templateID']}/builds/{build['buildID']}", body)


def status(call, build, query=""):
    answer = call("GET", f"/templates/{build['templateID']}/builds/{build['buildID']}/status{query}")
    assert answer.status == 200, answer
    return answer.json()


def test_the_operator_gives_a_template_for_an_image(call, account):
    build = requested(call)
    assert start(call, build, fromImage="given.example/base:1", steps=[]).status == 202
    wait_until(lambda: status(call, build)["status"] in ("ready", "error"), 120, "the build")
    assert status(call, build)["status"] == "ready", status(call, build)


def test_commands_have_the_user_the_folder_and_bash(call, account):
    """USER adds a user that does not exist."""
    build = requested(call)
    steps = [{"type": "USER", "args": ["new-one"]}, {"type": "WORKDIR", "args": ["/srv/deep/own"]},
             {"type": "RUN", "args": ["id -un >said; pwd >>said; echo ~ >>said"]}, {"type": "USER", "args": ["user"]},
             {"type": "USER", "args": ["new-one"]}]
    assert start(call, build, fromTemplate="base", steps=steps, startCmd="id -un >begun; exec sleep 1000",
                 readyCmd="[[ -s begun && -O begun ]]").status == 202
    wait_until(lambda: status(call, build)["status"] in ("ready", "error"), 120, "the build")
    assert status(call, build)["status"] == "ready", status(call, build)
    made = Sandbox.create(account.api, template=build["templateID"])
    assert made.data.check("cd /srv/deep/own; cat said begun; stat -c %U:%G .. .") == (
        "new-one\n/srv/deep/own\n/home/new-one\nnew-one\nnew-one:new-one\nnew-one:new-one\n")


def built(call, **body):
    build = requested(call)
    assert start(call, build, **body).status == 202
    wait_until(lambda: status(call, build)["status"] in ("ready", "error"), 120, "the build")
    assert status(call, build)["status"] == "ready", status(call, build)
    return build["templateID"]


@pytest.mark.long
@pytest.mark.parametrize("steps, folder", [
    ([{"type": "WORKDIR", "args": ["/srv/base"]}], "/srv/base"), ([], "/home/user")])
def test_the_start_command_of_the_base_keeps_its_place(call, account, steps, folder):
    base = built(call, fromTemplate="base", startCmd="echo $PWD $WORD >/tmp/where; exec sleep 1000", readyCmd="test -s /tmp/where",
                 steps=[*steps, {"type": "ENV", "args": ["WORD", "base"]}])
    template = built(call, fromTemplate=base, steps=[
        {"type": "WORKDIR", "args": ["/srv/own"]}, {"type": "ENV", "args": ["WORD", "own"]}, {"type": "RUN", "args": ["rm -f /tmp/where"]}])
    made = Sandbox.create(account.api, template=template)
    said = made.data.check("until test -s /tmp/where; do sleep 0.1; done; cat /tmp/where; echo $PWD $WORD")
    assert said == f"{folder} base\n/srv/own own\n"
    # In a version of /v1 it has the place of this version.
    slug = name()
    assert account.api.post("/v1/templates", {"slug": slug, "template": template, "steps": [
        {"type": "workdir", "path": "/srv/last"}, {"type": "run", "command": "rm -f /tmp/where"}]}).status == 201
    version = f"/v1/templates/{slug}/versions/1"
    wait_until(lambda: account.api.get(version).json()["state"] != "building", 120, "the build")
    assert account.api.get(version).json()["state"] == "ready"
    last = Sandbox.create(account.api, template=slug)
    assert last.data.check("until test -s /tmp/where; do sleep 0.1; done; cat /tmp/where") == "/srv/last own\n"


def test_a_build_waits_for_its_steps(call, account):
    build = requested(call, tags=["a"], memoryMB=512)
    assert str(uuid.UUID(build["buildID"])) == build["buildID"]
    assert build["tags"] == ["a"] and build["names"] == [f"{account.team}/{build['templateID']}"]
    assert status(call, build)["status"] == "waiting"
    for body, said in (
            ({}, "fromImage"), ({"fromTemplate": "base", "fromImage": "a"}, "fromTemplate"),
            ({"fromTemplate": "base", "steps": [{"type": "SHELL"}]}, "/steps/0/type"),
            ({"fromTemplate": "base", "steps": [{"type": "RUN"}]}, "/steps/0/args"),
            ({"fromTemplate": "base", "steps": [{"type": "RUN", "args": ["a", "b c"]}]}, "/steps/0/args"),
            ({"fromTemplate": "base", "steps": [{"type": "ENV", "args": ["A"]}]}, "/steps/0/args"),
            ({"fromTemplate": "base", "steps": [{"type": "COPY", "args": ["a", "/a"]}]}, "/steps/0/filesHash"),
            ({"fromTemplate": "base", "steps": [{"type": "COPY", "args": ["a", "/a"], "filesHash": HASH}]}, "/steps/0/filesHash"),
            ({"fromTemplate": "base", "steps": [{"type": "COPY", "args": ["../a", "/a"], "filesHash": HASH}]}, "/steps/0/args"),
            ({"fromTemplate": "base", "startCmd": 1}, "/startCmd")):
        assert_refused(start(call, build, **body), 400, said)
    assert status(call, build)["status"] == "waiting"
    assert start(call, build, fromTemplate="base").status == 202
    assert_refused(start(call, build, fromTemplate="base"), 400, "already")
    wait_until(lambda: status(call, build)["status"] == "ready", 120, "the build")
    lines = status(call, build)["logEntries"]
    assert status(call, build, f"?logsOffset={len(lines)}")["logEntries"] == []
    assert status(call, build, "?logsOffset=1&limit=1")["logEntries"] == lines[1:2]
    path = f"/templates/{build['templateID']}/builds/{build['buildID']}/logs"
    assert call("GET", path + "?direction=backward&limit=1").json()["logs"] == lines[-1:]
    assert_refused(call("GET", path + "?direction=sideways"), 400, "direction")
    shown = call("GET", f"/templates/{build['templateID']}").json()
    assert [one["status"] for one in shown["builds"]] == ["ready"]
    assert [one["buildID"] for one in call("GET", f"/templates/{build['templateID']}/tags").json()
            if one["tag"] == "a"] == [build["buildID"]]


def test_the_sandbox_of_a_build_is_in_no_list(call, account):
    """`e2b sandbox kill --all` would end the build."""
    build = requested(call, memoryMB=512)
    steps = [{"type": "RUN", "args": ["while [ ! -e /tmp/go ]; do sleep 0.1; done"], "force": True}]
    assert start(call, build, fromTemplate="base", steps=steps).status == 202
    working = wait_until(lambda: [one for one in account.api.list() if "template_build" in one["metadata"]], 60,
                         "the sandbox of the build")
    own = account.api.create(metadata={"template_build": "mine"})
    assert [one["metadata"] for one in call("GET", "/v2/sandboxes").json()] == [{"template_build": "mine"}]
    session = account.api.post(f"/v1/sandboxes/{working[0]['id']}/sessions").json()["session"]
    data = Sandbox(account.api, {**working[0], "session": session}).data
    data.check("touch /tmp/go")
    wait_until(lambda: status(call, build)["status"] == "ready", 120, "the build")
    account.api.destroy(own["id"])


def test_what_no_build_can_be(call, account):
    for body, code, said in (
            ({}, 400, "name"), ({"name": "-a"}, 400, "name"), ({"name": "a b"}, 400, "name"), ({"name": "a:b c"}, 400, "name"),
            ({"name": "tpl_a"}, 400, "name"), ({"name": "a", "tags": ["b c"]}, 400, "tags"), ({"name": "a", "tags": ["x" * 129]}, 400, "tags"), ({"name": "other-team/a"}, 400, "name"),
            ({"name": "a", "cpuCount": 1000}, 400, "cpuCount"), ({"name": "a", "memoryMB": 1}, 400, "memoryMB"),
            ({"name": "a", "minFreeDiskMb": 2 ** 30}, 400, "minFreeDiskMb")):
        assert_refused(call("POST", "/v3/templates", body), code, said)


@pytest.mark.long
def test_names_and_tags_as_they_write_them(call, account):
    given, slug = "My_" + secrets.token_hex(5), None
    tags = ["Latest", "1", "V" * 100, "FIRST", "latest"]
    build = call("POST", "/v2/templates", {"name": f"{given}:First", "tags": tags, "tomorrow": 1}).json()
    slug = given.lower()
    assert build["templateID"] == slug and build["tags"] == ["first", "latest", "1", "v" * 100], build
    assert start(call, build, fromTemplate="base").status == 202
    wait_until(lambda: status(call, build)["status"] == "ready", 120, "the build")
    newer = requested(call, name=given)
    assert start(call, newer, fromTemplate="base").status == 202
    wait_until(lambda: status(call, newer)["status"] == "ready", 120, "the second build")

    def assigned():
        return {one["tag"]: one["buildID"] for one in call("GET", f"/templates/{given}/tags").json()}

    assert assigned() == {"default": newer["buildID"], **dict.fromkeys(build["tags"], build["buildID"])}
    for tag, version in (("latest", 1), ("1", 1), ("First", 1), ("default", 2), ("2", 2)):
        made = call("POST", "/v2/sandboxes", {"templateID": f"{given}:{tag}"})
        assert made.status == 201, made
        (sandbox,) = account.api.list()
        shown = account.api.get(f"/v1/templates/{slug}/versions/{version}").json()
        assert sandbox["template_version"] == shown["id"], tag
        assert call("DELETE", f"/sandboxes/{made.json()['sandboxID']}").status == 204
    moved = call("POST", "/templates/tags", {"target": f"{given}:default", "tags": ["Latest"]})
    assert moved.json() == {"buildID": newer["buildID"], "tags": ["latest"]}
    for _ in range(2):  # a tag that is not assigned is no error
        assert call("DELETE", "/templates/tags", {"name": given, "tags": ["LATEST", "1", "latest"]}).status == 204
    assert set(assigned()) == {"default", "first", "v" * 100}
    assert_refused(call("DELETE", "/templates/tags", {"name": given, "tags": ["default"]}), 400, "default")


def ended(call, build, **body):
    assert start(call, build, fromTemplate="base", **body).status == 202
    wait_until(lambda: status(call, build)["status"] in ("ready", "error"), 120, "the end of the build")
    return status(call, build)


def test_env_knows_variables_and_no_commands(call, account):
    pairs = {"PATH": "${PATH}:/my/path", "WHO": "$USER_NAME", "LITERAL": "$(id) `id` \\$PATH a$5", "NONE": "<${NOT_SET}>",
             "OTHERWISE": "${NOT_SET:-other}", "GIVEN": "${USER_NAME:+given}"}
    build = requested(call)
    done = ended(call, build, steps=[
        {"type": "ENV", "args": ["USER_NAME", "ann"]}, {"type": "ENV", "args": [word for pair in pairs.items() for word in pair]},
        {"type": "RUN", "args": ["/usr/bin/env >/home/user/seen", "user"]}])
    assert done["status"] == "ready", done
    sandbox = Sandbox.create(account.api, template=build["templateID"])
    lines = sandbox.data.check("/usr/bin/env").splitlines()
    path = next(line for line in lines if line.startswith("PATH="))
    assert path.endswith("/bin:/my/path") and "$" not in path
    assert {"WHO=ann", "LITERAL=$(id) `id` $PATH a$5", "NONE=<>", "OTHERWISE=other", "GIVEN=given"} <= set(lines), lines


@pytest.mark.long
def test_a_start_command_that_fails_fails_the_build(call):
    for ready in ({}, {"readyCmd": "test -e /nothing"}):
        done = ended(call, requested(call), startCmd="echo boom; exit 3", **ready)
        assert done["status"] == "error", done
        assert "start command ended with status 3" in done["reason"]["message"] and "boom" in done["reason"]["message"], done
    assert ended(call, requested(call), startCmd="sleep 1000")["status"] == "ready"
    assert ended(call, requested(call), startCmd="true")["status"] == "ready"


def test_each_entry_of_a_log_has_its_time(call):
    """An error may have several lines: clients read each timestamp as a time."""
    step = {"type": "RUN", "args": ["printf 'one\\ntwo three\\n' >&2; exit 1"]}
    done = ended(call, requested(call), steps=[step])
    assert done["status"] == "error" and done["reason"]["message"].rstrip().endswith("one\ntwo three"), done
    for entry in done["logEntries"]:
        datetime.datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00"))
    (failure,) = [entry for entry in done["logEntries"] if entry["level"] == "error"]
    assert failure["message"].rstrip().endswith("one\ntwo three"), failure


def test_the_reason_names_the_step_and_an_unknown_user(call, account):
    build = requested(call)
    done = ended(call, build, steps=[{"type": "RUN", "args": ["true"]}, {"type": "RUN", "args": ["who: run am i", "ghost"]}])
    assert done["status"] == "error" and done["reason"] == {
        "message": "failed to run command 'who: run am i': command failed: unauthenticated: invalid username: 'ghost'",
        "step": "2", "logEntries": []}
    version = account.api.get(f"/v1/templates/{build['templateID']}/versions/1").json()
    assert "error: step 2 of 2: run who: run am i: the sandbox has no user 'ghost'" in version["log"], version


def test_a_login_of_a_cloud_ends_the_build_with_its_reason(call, account):
    build = requested(call)
    assert_refused(start(call, build, fromImage="node:22", fromImageRegistry={"type": "registry", "username": "a"}), 400,
                   "fromImageRegistry")
    assert_refused(start(call, build, fromImage="node:22", fromImageRegistry={"type": "gcp", "password": "a"}), 400,
                   "serviceAccountJson")
    assert_refused(start(call, build, fromImage="no image"), 400, "fromImage")
    aws = {"type": "aws", "awsAccessKeyId": "AKIDEXAMPLE", "awsSecretAccessKey": "a/b+c", "awsRegion": "us-east-1"}
    for image, changed, said in ((ECR, {"awsRegion": None}, "needs awsAccessKeyId"), (ECR, {"awsRegion": "example.com/"}, "us-east-1"),
                                 (ECR, {"awsAccessKeyId": "A\r\nB"}, "letters and digits"), ("ghcr.io/a/b", {}, "not of ghcr.io")):
        login = {name: value for name, value in {**aws, **changed}.items() if value}
        assert_refused(start(call, build, fromImage=image, fromImageRegistry=login), 400, said)
    assert_refused(start(call, build, fromImage="node:22", fromImageRegistry={"type": "azure"}), 501, "fromImageRegistry")
    wait_until(lambda: status(call, build)["status"] == "error", 60, "the end of the build")
    assert "type registry" in status(call, build)["reason"]["message"] and status(call, build)["reason"]["step"] == "base"


def test_unfinished_builds_have_a_bound(call, account, stack):
    for _ in range(20):
        requested(call)
    assert_refused(call("POST", "/v3/templates", {"name": name()}), 429, "wait until one has ended")
    stack.query("UPDATE template_recipes SET lease_until_ms = 0 WHERE state = 'waiting'")


def test_links(stack, call, account, other_account):
    build = requested(call)
    path = f"/templates/{build['templateID']}/files/"
    assert_refused(call("GET", path + "nonsense"), 400, "hash")
    link = call("GET", path + HASH)
    assert link.status == 201 and link.json()["present"] is False
    url = link.json()["url"].removeprefix(stack.base_url)
    again = call("GET", path + HASH).json()["url"].removeprefix(stack.base_url)
    assert url.split("?")[0] == again.split("?")[0], "one that nothing was written to is given again"
    origin = Api(stack, None).origin
    assert origin.request("PUT", url.split("?")[0], b"x", {}).status == 401
    assert origin.request("PUT", altered(url), b"x", {}).status == 401
    # Neither a key nor the link of another archive opens it.
    assert Calls(stack, account.key("write"))("PUT", url.split("?")[0], {}).status == 404
    other = call("GET", path + "cd" * 32).json()["url"].removeprefix(stack.base_url)
    assert origin.request("PUT", url.split("?")[0] + "?" + other.split("?")[1], b"x", {}).status == 403
    assert origin.request("GET", "/v1/sandboxes", None, {"X-API-Key": url.split("token=")[1]}).status == 403
    assert origin.request("PUT", url, b"octets", {}).status == 200
    assert_refused(origin.request("PUT", url, b"octets", {}), 400, "already")
    assert call("GET", path + HASH).json()["present"] is True
    stranger = Calls(stack, other_account.key("write"))
    assert_refused(stranger("GET", path + HASH), 404)
    assert_refused(stranger("GET", f"/templates/{build['templateID']}/builds/{build['buildID']}/status"), 404)
    assert_refused(start(stranger, build, fromTemplate="base"), 404)
    assert_refused(start(Calls(stack, account.key("read")), build, fromTemplate="base"), 403)
    stack.query("UPDATE template_recipes SET lease_until_ms = 0 WHERE state = 'waiting'")
