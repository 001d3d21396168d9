# SPDX-License-Identifier: GPL-2.0-or-later
"""Template versions that are built from another one by steps."""

import base64
import io
import secrets
import tarfile

import pytest

from client import assert_error
from leavings import delete_recipe_files
from stack import wait_until
from tenant import Sandbox
from test_template_builds import built, create, nothing_is_left, slug  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel

HASH = "cd" * 32


@pytest.fixture(autouse=True)
def no_recipe_file_is_left(stack, nothing_is_left):  # noqa: F811
    yield
    delete_recipe_files(stack)


def archive(**files):
    """Names have two underscores for a slash."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def upload(api, content, name=HASH):
    answer = api.origin.request("PUT", f"/v1/template_files/{name}", content,
                                {"Authorization": f"Bearer {api.key}", "Content-Type": "application/octet-stream"})
    assert answer.status == 201 and answer.json() == {"hash": name, "size": len(content)}, answer


def test_steps_make_a_version(account, stack):
    api, name = account.api, slug()
    upload(api, archive(one=b"1", folder__two=b"2"))
    made = create(api, name, template=stack.template, tags=["v1"], runtime_baseline={"cpu": 1, "memory_mb": 384}, steps=[
        {"type": "env", "envs": {"WORD": "said", "QUOTED": "a 'b' \"c\" $d"}},
        {"type": "workdir", "path": "/opt/work"},
        {"type": "copy", "files": HASH, "source": "folder", "destination": "copied/"},
        {"type": "copy", "files": HASH, "source": "one", "destination": "/opt/first", "user": "root", "mode": "0600"},
        {"type": "run", "command": "echo \"$WORD\" >file; printf %s \"$QUOTED\" >quoted"},
        {"type": "user", "user": "root"},
        {"type": "run", "command": "id -u >root && pwd >>root"},
        {"type": "run", "command": "id -u >user", "user": "user"},
    ])
    assert made["version"]["state"] == "building"
    shown = built(api, name, 1, timeout_s=120)
    assert shown["base_version"].startswith("tpv_") and shown["checkpoint_id"] is None
    assert account.api.get(f"/v1/templates/{name}/versions/1").json()["tags"] == ["v1"]
    sandbox = Sandbox.create(api, template=f"{name}:v1")
    assert sandbox.document["memory_mb"] == 384
    said = sandbox.data.check("pwd; id -un; cat file copied/two root; echo; cat quoted; echo; echo $WORD; stat -c %a-%U /opt/first")
    assert said.splitlines() == ["/opt/work", "root", "said", "20", "/opt/work", "", "a 'b' \"c\" $d", "said", "600-root"]
    wait_until(lambda: len(api.list()) == 1, 60, "the end of the build's sandbox")
    log = shown["log"]
    assert "step 5 of 8: run" in log and log.splitlines()[-1].endswith("ready")
    # What the create says is before what the template says.
    other = Sandbox.create(api, template=name, envs={"WORD": "mine"})
    assert other.data.check("echo $WORD") == "mine\n"


# Write the shell again, as `cp` does, and take one's time.
REPLACES_THE_SHELL = """python3 -c "
import os, shutil, time
shutil.copy('/bin/sh', '/bin/new'); os.rename('/bin/new', '/bin/sh')
with open('/bin/sh', 'r+b'): time.sleep(2)" && echo done"""


def test_a_step_replaces_the_shell(account, stack):
    """The service looks at the step with this shell, and Linux starts no program that is open for writing."""
    name = slug()
    create(account.api, name, template=stack.template, steps=[{"type": "run", "command": REPLACES_THE_SHELL, "user": "root"}])
    assert "| done" in built(account.api, name, 1, timeout_s=120)["log"]


@pytest.mark.long
def test_what_a_step_writes_is_in_the_log_within_bounds(account, stack):
    name = slug()
    create(account.api, name, template=stack.template, steps=[
        {"type": "run", "command": "echo 'käse'; printf '\\377\\000x\\n'; seq 100000; printf '\\n%.0s' $(seq 20000)"},
        {"type": "run", "command": "echo last words >&2; exit 3"}])
    shown = built(account.api, name, 1, "failed", timeout_s=120)
    assert "| käse" in shown["log"] or "| k??se" in shown["log"]
    assert 200000 < len(shown["log"]) < 300000
    assert shown["log"].count("the log is full") == 1
    assert "step 2 of 2" in shown["log"] and "status 3" in shown["log"] and "last words" in shown["log"]
    wait_until(lambda: account.api.list() == [], 60, "the end of the build's sandbox")


@pytest.mark.long
def test_a_build_ends_with_its_sandbox_or_its_version(account, stack):
    for way in ("sandbox", "version"):
        name = slug()
        create(account.api, name, template=stack.template, steps=[{"type": "run", "command": "sleep 500"}])
        sandbox = wait_until(lambda: next(iter(account.api.list()), None), 60, "the build's sandbox")
        wait_until(lambda: "step 1" in account.api.get(f"/v1/templates/{name}/versions/1").json()["log"], 60, "the step")
        if way == "sandbox":
            account.api.destroy(sandbox["id"])
            assert "has ended" in built(account.api, name, 1, "failed")["log"]
        else:
            assert account.api.delete(f"/v1/templates/{name}").status == 204
        wait_until(lambda: account.api.list() == [], 60, "the end of the build's sandbox")


@pytest.mark.parametrize("step, field", [
    ({"type": "run"}, "/steps/0/command"), ({"type": "run", "command": ""}, "/steps/0/command"),
    ({"type": "run", "command": "a", "path": "/a"}, "/steps/0/path"), ({"type": "shell"}, "/steps/0/type"),
    ({"type": "run", "command": "a", "user": "a b"}, "/steps/0/user"), ({"type": "user", "user": "-x"}, "/steps/0/user"),
    ({"type": "run", "command": "a", "user": "a:b"}, "/steps/0/user"), ({"command": "a"}, "/steps/0/type"),
    ({"type": "env", "envs": {}}, "/steps/0/envs"), ({"type": "env", "envs": {"A=B": "c"}}, "/steps/0/envs"),
    ({"type": "env", "envs": {"A": 1}}, "/steps/0/envs/A"), ({"type": "workdir"}, "/steps/0/path"),
    ({"type": "copy", "files": HASH, "source": "../a", "destination": "/a"}, "/steps/0/source"),
    ({"type": "copy", "files": HASH, "source": "/a", "destination": "/a"}, "/steps/0/source"),
    ({"type": "copy", "files": "XY" * 32, "source": "a", "destination": "/a"}, "/steps/0/files"),
    ({"type": "copy", "files": "00" * 32, "source": "a", "destination": "/a"}, "/steps/0/files"),
    ({"type": "copy", "files": HASH, "source": "a", "destination": "/a", "mode": "rwx"}, "/steps/0/mode"),
])
def test_steps_that_cannot_be(module_account, stack, step, field):
    body = {"slug": slug(), "template": stack.template, "steps": [step]}
    assert_error(module_account.api.post("/v1/templates", body), 422, "invalid_request", field)


def test_what_goes_with_what(account, stack):
    def refused(field, code="invalid_request", **body):
        assert_error(account.api.post("/v1/templates", {"slug": slug(), **body}), 422, code, field)

    refused("/template", template=stack.template, image="x")
    refused("/steps", image="x", steps=[])
    refused("/tags", image="x", tags=["a"])
    refused("/checkpoint_id", steps=[])
    refused("/template", "template_not_found", template="no-such-template")
    refused("/tags", template=stack.template, tags=["latest"])
    refused("/tags", template=stack.template, tags=["1"])
    refused("/steps", template=stack.template, steps=[{"type": "user", "user": "user"}] * 201)


def test_archives(account, other_account, stack):
    content = base64.b64encode(archive(a=b"b")).decode()
    path = f"/v1/template_files/{HASH}"
    assert account.api.request("PUT", path, {"content_b64": content}).status == 201
    assert account.api.request("PUT", path, {"content_b64": content}).status == 201
    kept = stack.query("SELECT f.id FROM recipe_files f JOIN teams t ON t.id = f.team_id WHERE t.slug = %s", account.team)
    assert len(kept) == 1, "the one before goes"
    copying = {"template": stack.template, "steps": [{"type": "copy", "files": HASH, "source": "a", "destination": "/a"}]}
    # A hash means something to its team alone.
    assert_error(other_account.api.post("/v1/templates", {"slug": slug(), **copying}), 422, "invalid_request", "/steps/0/files")
    for bad in ("short", "G" * 64, "a" * 65):
        assert_error(account.api.request("PUT", f"/v1/template_files/{bad}", {"content_b64": content}), 422, "invalid_request", "hash")
    assert_error(account.api.request("PUT", path, {"content_b64": "*"}), 422, "invalid_request", "/content_b64")
    too_large = account.api.origin.request("PUT", path, b"x", {
        "Authorization": f"Bearer {account.api.key}", "Content-Type": "application/octet-stream",
        "Content-Length": str(129 << 20)})
    assert too_large.status in (400, 413), too_large
    # The pieces of a chunked body can come together with the head: the answer is the same.
    chunked = account.api.request("PUT", path, iter([archive(a=b"b")]), {"Content-Type": "application/octet-stream"})
    assert_error(chunked, 422, "invalid_request", "Content-Length")


def test_an_archive_that_is_none(account, stack):
    upload(account.api, secrets.token_bytes(1000))
    name = slug()
    create(account.api, name, template=stack.template,
           steps=[{"type": "copy", "files": HASH, "source": "a", "destination": "/a"}])
    assert "step 1 of 1: copy /a: the command ended with status" in built(account.api, name, 1, "failed", timeout_s=120)["log"]
