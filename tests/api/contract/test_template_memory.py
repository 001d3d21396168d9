# SPDX-License-Identifier: GPL-2.0-or-later
"""Template versions whose start command already runs in the memory that a create continues with."""

import os
import time

import pytest

from client import assert_error
from edge import process_settings
from faults import InBackground
from tenant import Sandbox
from stack import wait_until
from test_template_builds import built, create, nothing_is_left, slug  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel

SERVER = (  # says when and as whom it began, and what its agent says now
    "import http.server, os, urllib.request\n"
    "said = os.urandom(8).hex()\n"
    "class Answer(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        envs = urllib.request.urlopen('http://localhost:49983/envs').read()\n"
    "        self.send_response(200); self.end_headers(); self.wfile.write(said.encode() + b' ' + envs)\n"
    "    def log_message(self, *_): pass\n"
    "server = http.server.HTTPServer(('', 8222), Answer)\n"
    "open('/tmp/serves', 'w').close()\n"
    "server.serve_forever()\n")
STEPS = [{"type": "user", "user": "root"},
         {"type": "run", "command": "echo uninitialized >/etc/machine-id"},
         {"type": "run", "command": "cat >/opt/server.py <<'END'\n" + SERVER + "END"},
         {"type": "user", "user": "user"}]
START = {"start_command": "sleep 1; exec python3 /opt/server.py", "ready_command": "test -e /tmp/serves"}


def made(api, stack, **fields):
    name = slug()
    create(api, name, **{"template": stack.template, "steps": STEPS, "runtime_baseline": {"cpu": 1, "memory_mb": 384},
                         **START, **fields})
    return name, built(api, name, 1, timeout_s=180)


def asked(sandbox):
    """What the server said, from the first call after the create."""
    return sandbox.data.check("curl -s http://127.0.0.1:8222/")


def damage(stack, name):
    for part in (stack.instance_dir(name) / "sandlot-memory").glob("pages-*.img"):
        os.truncate(part, part.stat().st_size // 2)


def lose(stack, name):
    stack.incus.request("DELETE", f"/1.0/instances/{name}")


def dismiss_warm(stack, version):
    """Those that were started before from the memory, and wait."""
    rows = "FROM warm_instances WHERE template_version_id = %s"
    stack.query(f"UPDATE warm_instances SET state = 'leaving', lease_until_ms = 0 WHERE template_version_id = %s", version["id"])
    wait_until(lambda: not stack.query(f"SELECT 1 {rows} AND state <> 'starting'", version["id"]), 60, "the end of the warm instances")


def kept(stack, version):
    return stack.query("SELECT c.* FROM template_versions v JOIN checkpoints c ON c.id = v.memory_id WHERE v.id = %s",
                       version["id"])


def assert_nothing_of_it(stack, checkpoint):
    wait_until(lambda: stack.query("SELECT 1 FROM checkpoints WHERE id = %s AND state = 'deleted'", checkpoint["id"]),
               60, "the end of the memory")
    assert not stack.query("SELECT 1 FROM memory_images WHERE id = %s", checkpoint["id"])
    assert checkpoint["instance_name"] not in stack.incus.names()


def test_the_server_is_up_when_the_create_answers(account, stack):
    api = account.api
    name, version = made(api, stack, tags=["v1"])
    assert version["start"] == "memory"
    assert version["log"].splitlines()[-1].endswith("ready")
    wait_until(lambda: api.list() == [], 60, "the end of the build's sandboxes")
    one, two = (Sandbox.create(api, template=name, envs={"WORD": word}) for word in ("first", "second"))
    said = [asked(one), asked(two)]
    assert said[0].split()[0] == said[1].split()[0], "both go on with one memory"
    assert '"first"' in said[0] and '"second"' in said[1], "a restored program asks for the variables"
    for sandbox, word in ((one, "first"), (two, "second")):
        assert sandbox.document["resumed_from"] == "memory" and sandbox.document["snapshot_id"] is None
        assert sandbox.document["template"] == name
        assert sandbox.data.check("echo $WORD; id -un; ls -A /var/tmp") == f"{word}\nuser\n"
    for path in ("/etc/machine-id", "/run/e2b/.E2B_SANDBOX_ID"):
        assert one.data.read(path) != two.data.read(path)
    assert one.address != two.address
    # It is a sandbox like any other.
    assert one.pause()["state"] == "stopped"
    one.resume()
    assert asked(one) == said[0]
    assert api.get("/v1/checkpoints").json()["checkpoints"] == []
    tagged = Sandbox.create(api, template=f"{name}:v1")
    assert asked(tagged).split()[0] == said[0].split()[0]


@pytest.mark.long
def test_teams_with_smaller_disks_continue_the_memory_too(make_account, stack):
    """Templates of the deployment are built on the largest plan."""
    account = make_account("enterprise")
    name, version = made(account.api, stack)
    assert version["start"] == "memory"
    wait_until(lambda: account.api.list() == [], 60, "the end of the build's sandboxes")
    stack.ctl("team", "set-plan", account.team, "basic")
    sandbox = Sandbox.create(account.api, template=name)
    assert sandbox.document["resumed_from"] == "memory", sandbox.document
    assert sandbox.document["disk_gb"] == account.api.get("/v1/sandbox_limits").json()["disk_gb"]
    assert asked(sandbox)


@pytest.fixture
def large_warm_pool(stack):
    """The warm pool counts the whole memory of an instance from memory: more than the tests' usual pool has."""
    with process_settings(stack, "sandlot-dispatcher", warm_memory_percent=15):
        yield


@pytest.mark.alone
@pytest.mark.usefixtures("large_warm_pool")
def test_a_warm_instance_has_continued_the_memory(make_account, stack):
    """The dispatcher starts one in advance after some creates. It becomes as new as one that is started for the create."""
    api = make_account("pro").api
    # The pool has an equal part for each team that made sandboxes of templates lately: the teams of tests before this one
    # would leave less than a memory for each.
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), snapshot_id = id WHERE visible = 0")
    name, version = made(api, stack)
    rows = "FROM warm_instances WHERE template_version_id = %s AND state = 'ready'"
    first = Sandbox.create(api, template=name)
    said = asked(first).split()[0]
    seen = [first]
    wait_until(lambda: stack.query(f"SELECT 1 {rows}", version["id"]), 120, "a warm instance")
    sandbox = Sandbox.create(api, template=name, envs={"WORD": "one"})
    (row,) = stack.query("SELECT instance_name FROM sandboxes WHERE id = %s", sandbox.id)
    assert row["instance_name"].startswith("warm-") and sandbox.document["resumed_from"] == "memory"
    assert asked(sandbox).split()[0] == said and '"one"' in asked(sandbox)
    assert sandbox.data.check("echo $WORD") == "one\n"
    seen.append(sandbox)
    for path in ("/etc/machine-id", "/run/e2b/.E2B_SANDBOX_ID"):
        assert len({sandbox.data.read(path) for sandbox in seen}) == len(seen)
    assert seen[1].pause()["state"] == "stopped"
    seen[1].resume()
    assert asked(seen[1]).split()[0] == said
    # Another size, or volumes, need the command, and take no instance that has the memory.
    wait_until(lambda: stack.query(f"SELECT 1 {rows}", version["id"]), 120, "a warm instance")
    other = Sandbox.create(api, template=name, memory_mb=512)
    assert other.document["resumed_from"] is None and asked(other).split()[0] != said
    assert len(stack.query(f"SELECT 1 {rows}", version["id"])) <= 2


@pytest.mark.long
def test_what_does_not_fit_the_memory_runs_the_command(make_account, stack):
    api = make_account("pro").api
    name, version = made(api, stack)
    checkpoint = kept(stack, version)[0]
    assert checkpoint["state"] == "kept" and checkpoint["name"] is None
    words = asked(Sandbox.create(api, template=name)).split()[0]
    other = Sandbox.create(api, template=name, memory_mb=512)
    assert other.document["resumed_from"] is None and asked(other).split()[0] != words
    for harm in (damage, lose):
        harm(stack, checkpoint["instance_name"])
        dismiss_warm(stack, version)
        other = Sandbox.create(api, template=name)
        assert other.document["resumed_from"] is None and asked(other).split()[0] != words


@pytest.mark.long
def test_memory_counts_and_goes_with_its_version(account, stack, own_plan):
    api = account.api
    stack.ctl("team", "set-plan", account.team, "enterprise")
    name, version = made(api, stack)
    checkpoint = kept(stack, version)[0]
    assert stack.query("SELECT size_mb FROM memory_images WHERE id = %s", checkpoint["id"]) == [{"size_mb": 384}]
    assert_error(api.delete(f"/v1/checkpoints/{checkpoint['id']}"), 404, "not_found")
    assert_error(api.post("/v1/sandboxes", {"template": checkpoint["id"]}), 422, "template_not_found", "/template")
    # Without room for more memory, the next version runs its command.
    own_plan(account, paused_memory_gb=0)
    api.post(f"/v1/templates/{name}/versions", {"template": stack.template, "steps": STEPS, **START})
    second = built(api, name, 2, timeout_s=180)
    assert second["start"] == "command" and "0 MiB of memory" in second["log"]
    assert asked(Sandbox.create(api, template=name))
    assert asked(Sandbox.create(api, template=f"{name}:1"))
    for sandbox in api.list():
        api.destroy(sandbox["id"])
    wait_until(lambda: api.delete(f"/v1/templates/{name}").status == 204, 60, "the end of the sandboxes")
    assert_nothing_of_it(stack, checkpoint)


@pytest.mark.long
def test_equal_versions_share_their_memory(account, stack):
    """Equal versions share one memory: it counts once, and is deleted with the last version."""
    api = account.api
    name, first = made(api, stack)
    checkpoint = kept(stack, first)[0]
    words = asked(Sandbox.create(api, template=name)).split()[0]
    api.post(f"/v1/templates/{name}/versions", {"template": stack.template, "steps": STEPS,
                                                "runtime_baseline": {"cpu": 1, "memory_mb": 384}, **START})
    second = built(api, name, 2, timeout_s=60)
    assert second["start"] == "memory" and "nothing has changed since version 1" in second["log"]
    assert kept(stack, second)[0]["id"] == checkpoint["id"]
    for sandbox in api.list():
        api.destroy(sandbox["id"])
    wait_until(lambda: api.delete(f"/v1/templates/{name}/versions/1").status == 204, 60, "the end of its sandboxes")
    wait_until(lambda: f"tpl-{first['id'][4:]}" not in stack.incus.names(), 60, "the end of its files")
    sandbox = Sandbox.create(api, template=name)
    assert sandbox.document["resumed_from"] == "memory" and asked(sandbox).split()[0] == words
    api.destroy(sandbox.id)
    assert stack.query("SELECT size_mb FROM memory_images WHERE id = %s", checkpoint["id"])
    wait_until(lambda: api.delete(f"/v1/templates/{name}").status == 204, 60, "the end of the sandbox")
    assert_nothing_of_it(stack, checkpoint)


def test_a_start_command_that_fails_fails_the_build(account, stack):
    name = slug()
    create(account.api, name, template=stack.template, start_command="echo no such thing; exit 4",
           ready_command="test -e /tmp/never")
    failed = built(account.api, name, 1, "failed", timeout_s=120)
    assert "status 4" in failed["log"] and "no such thing" in failed["log"] and failed["start"] is None


@pytest.mark.long
def test_a_version_is_deleted_while_its_memory_is_kept(account, stack):
    api, name = account.api, slug()
    # The second start is slower than the first one.
    create(api, name, template=stack.template, start_command="test -e /home/user/once && sleep 500; touch /home/user/once; "
           "touch /home/user/up; exec sleep 1000", ready_command="test -e /home/user/up; rm -f /home/user/up")
    wait_until(lambda: "save its memory" in api.get(f"/v1/templates/{name}/versions/1").json()["log"], 120, "the second start")
    wait_until(lambda: [one for one in api.list() if one["template"] == name], 60, "its sandbox")
    assert api.delete(f"/v1/templates/{name}").status == 204
    wait_until(lambda: api.list() == [], 60, "the end of the build's sandbox")


@pytest.mark.long
def test_a_create_waits_for_the_ready_command_for_a_bounded_time(make_account, stack):
    """It succeeds at the size of the build alone. A start command that fails ends the wait."""
    api, size = make_account("pro").api, "grep -q '^MemTotal: *393216 ' /proc/meminfo"
    runs, fails = (made(api, stack, steps=[], start_command=start, ready_command=size)[0]
                   for start in ("exec sleep 1000", f"{size} && exec sleep 1000; exit 3"))
    begun = time.monotonic()
    waiting = InBackground(Sandbox.create, api, template=runs, memory_mb=512)
    failed = Sandbox.create(api, template=fails, memory_mb=512)
    assert waiting.is_alive()
    waited = waiting.result()
    assert time.monotonic() - begun > 7
    assert [one.data.check("echo there") for one in (failed, waited)] == ["there\n"] * 2
