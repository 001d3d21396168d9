# SPDX-License-Identifier: GPL-2.0-or-later
"""A deployment that is filled, backed up, lost, and taken up again elsewhere from its backup."""

import http.server
import ipaddress
import json
import os
import pathlib
import re
import secrets
import socketserver
import subprocess
import threading

import pytest

from second_deployment import SecondDeployment
from stack import wait_until
from tenant import Sandbox
from volumes import Volume

pytestmark = pytest.mark.long

def ctl(stack, *arguments):
    """sandlotctl, which may take long for this."""
    done = subprocess.run([*stack.ctl_command, "--json", *arguments], capture_output=True, text=True, timeout=1200,
                          check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def backed_up(stack, directory, *options):
    status, answer = ctl(stack, "backup", str(directory), *options)
    assert status == 0, answer
    return json.loads((directory / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture
def passphrase(tmp_path):
    path = tmp_path / "passphrase"
    path.write_text("words that nobody guesses\n", encoding="utf-8")
    return "--passphrase-file", str(path)


@pytest.fixture
def deploy(stack, tmp_path):
    if stack.other_netns:
        pytest.skip("the second deployment is on this machine alone")
    directory = tmp_path / "deployment"
    directory.mkdir()
    return lambda **options: SecondDeployment(stack, directory, **options)


@pytest.fixture
def other(deploy):
    with deploy() as deployment:
        yield deployment


class Filled:
    """A paused sandbox with a checkpoint, one with a volume, and one that runs."""

    def __init__(self, api):
        self.volume = Volume(api)
        self.volume.write("/kept", b"in the volume")
        self.paused = Sandbox.create(api, timeout=1800)
        self.paused.data.check("echo of the disk >/home/user/note")
        self.checkpoint = api.post(f"{self.paused.path}/checkpoints", {"name": "kept"}).json()["id"]
        assert self.paused.pause()["state"] == "stopped"
        self.mounting = Sandbox.create(api, timeout=1800, volume_mounts=self.volume.mounts())
        api.pause(self.mounting.id)
        self.running = Sandbox.create(api, timeout=1800)


def names(manifest, kind):
    return {file["of"] for file in manifest["files"] if file["kind"] == kind}


def test_everything_is_taken_up_from_a_backup(stack, account, other, passphrase, tmp_path):
    filled = Filled(account.api)
    paused, running = filled.paused, filled.running
    manifest = backed_up(stack, tmp_path / "first", *passphrase)
    assert {paused.id, filled.mounting.id, filled.checkpoint} <= names(manifest, "instance")
    assert filled.volume.id in names(manifest, "volume")
    assert running.id in {left["id"] for left in manifest["left_out"]}

    # Since then: one more, one less.
    since = Sandbox.create(account.api, timeout=1800)
    account.api.pause(since.id)
    instance = paused.instance
    mounting = filled.mounting.instance
    account.api.destroy(paused.id)
    paused.wait_until_removed()

    first = str(tmp_path / "first")
    checked = other.ctl("restore", first, "--check", *passphrase)
    assert checked["keys"] == "opened" and not checked["needs_migration"]
    assert other.incus.names() == set(), "a check leaves nothing"
    done = other.run("restore", first, *passphrase)
    assert done.returncode == 0, done.stderr
    restored, total = json.loads(done.stdout), len(manifest["files"])
    for work in ("reading", "importing"):
        assert re.search(rf"^\d+ of {total}: {work} {filled.volume.id}$", done.stderr, re.MULTILINE), done.stderr
    assert restored["restored"] == len(names(manifest, "volume")) + sum(
        file["kind"] == "instance" for file in manifest["files"])
    assert restored["keys_replaced"] and restored["already_there"] == 0
    assert (tmp_path / "deployment" / "keyring").read_bytes() == pathlib.Path(
        stack.settings["key_file"]).read_bytes()
    assert other.query("SELECT project FROM hosts") == (("sandlot-other",),)
    assert other.query("SELECT id FROM sandboxes WHERE id = %s", since.id) == ()
    refused = other.run("restore", first, *passphrase)
    assert refused.returncode == 1 and "a restore needs an empty deployment" in refused.stderr

    # An instance from after the backup, which no row knows.
    other.incus.request("POST", "/1.0/instances", {
        "name": "warm-of-nobody", "source": {"type": "copy", "source": mounting}, "profiles": ["sandlot"]})
    other.start_dispatcher()
    wait_until(lambda: "warm-of-nobody" not in other.incus.names(), 180, "the end of what no row knows")
    other.wait_for_state(running.id, "stopped")
    other.stop_dispatcher()
    refused = other.run("sandbox", "resume", running.id)
    assert refused.returncode == 1 and "is not on its host" in refused.stderr

    other.ctl("sandbox", "resume", paused.id)
    assert other.file(instance, "/home/user/note") == b"of the disk\n"
    other.ctl("sandbox", "resume", filled.mounting.id)
    assert other.file(mounting, "/data/kept") == b"in the volume"
    assert other.query("SELECT state FROM checkpoints WHERE id = %s", filled.checkpoint) == (("ready",),)
    assert "ckp-" + filled.checkpoint.removeprefix("ckp_") in other.incus.names()
    for sandbox_id in (paused.id, filled.mounting.id):
        other.ctl("sandbox", "pause", sandbox_id, "--without-memory")


@pytest.fixture
def cache(stack, account):
    """The volume with the caches of a team's builds; a build has made it."""
    name, lines = "t" + secrets.token_hex(5), f"FROM {stack.template}\nRUN --mount=type=cache,target=/kept echo one >/kept/one"
    assert account.api.post("/v1/templates", {"slug": name, "dockerfile": lines, "no_cache": True}).status == 201
    wait_until(lambda: account.api.get(f"/v1/templates/{name}/versions/1").json()["state"] == "ready", 180, "the build")
    (volume,) = stack.query("SELECT v.* FROM volumes v JOIN teams t ON t.id = v.team_id WHERE v.name = '.build-cache'"
                            " AND v.state = 'ready' AND t.slug = %s", account.team)
    yield volume
    assert account.api.delete(f"/v1/templates/{name}").status == 204
    stack.query("UPDATE volumes SET state = 'deleting', visible = 0, taken = NULL, lease_until_ms = 0 WHERE id = %s", volume["id"])


def test_caches_of_builds_are_in_no_backup(stack, account, cache, other, passphrase, tmp_path):
    """After a restore, a build creates a new volume."""
    # The sandbox of a build has the cache; here a user has paused it.
    build_box, kept = Sandbox.create(account.api, timeout=1800), Volume(account.api)
    account.api.pause(build_box.id)
    stack.query("INSERT INTO sandbox_volumes (team_id, volume_id, sandbox_id) SELECT team_id, id, %s FROM volumes WHERE id = %s",
                build_box.id, cache["id"])
    manifest = backed_up(stack, tmp_path / "one", *passphrase)
    stack.query("DELETE FROM sandbox_volumes WHERE sandbox_id = %s", build_box.id)
    assert names(manifest, "volume") & {cache["id"], kept.id} == {kept.id}
    assert {"id": build_box.id, "reason": "a template build created it"} in manifest["left_out"]
    other.ctl("restore", str(tmp_path / "one"), *passphrase)
    state = "SELECT state, taken FROM volumes WHERE id = %s"
    assert other.query(state, cache["id"]) == (("deleting", None),) and other.query(state, kept.id) == (("ready", 1),)
    other.start_dispatcher()
    wait_until(lambda: other.query(state, cache["id"]) == (("deleted", None),), 180, "the end of the cache's row")
    assert "is missing on its host" not in (tmp_path / "deployment" / "dispatcher.log").read_text(encoding="utf-8")


def test_what_a_host_lost_goes_on_with_its_memory(stack, account, deploy, passphrase, tmp_path):
    """With the database of another deployment, and the project of this one, in which the rest is there."""
    sandbox = Sandbox.create(account.api, timeout=1800)
    pid = sandbox.data.background("sleep", "100000")
    boot_id = sandbox.boot_id()
    assert sandbox.pause()["state"] == "stopped"
    manifest = backed_up(stack, tmp_path / "one", "--sandbox", sandbox.id, *passphrase)
    assert {file["of"] for file in manifest["files"]} >= {sandbox.id}
    stack.incus.request("DELETE", f"/1.0/instances/{sandbox.instance}")
    with deploy(project=stack.incus.project) as other:
        restored = other.ctl("restore", str(tmp_path / "one"), *passphrase)
    assert restored["restored"] == 1 and restored["already_there"] == len(
        [file for file in manifest["files"] if file["kind"] in ("instance", "volume")]) - 1
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.boot_id() == boot_id
    assert sandbox.data.check(f"cat /proc/{pid}/comm").strip() == "sleep"


def test_a_new_host_whose_sandboxes_have_no_row_is_refused(stack, account, deploy):
    """A dispatcher would delete them. To this deployment one seems to run: somebody holds its lease."""
    sandbox = Sandbox.create(account.api, timeout=1800)
    assert sandbox.pause()["state"] == "stopped", "one that runs may be of the warm pool"
    with deploy(project=stack.incus.project) as other:
        first = ipaddress.ip_address(other.host["address_range"].split("/")[0])
        words = ["host", "add", "again", "--url", other.host["url"], "--project", other.project, "--pool", other.host["pool"],
                 "--range", f"{first + 8}/29", "--nic-prefix", other.host["nic_prefix"], "--vcpus", "1", "--memory-mb", "64"]
        other.query("INSERT INTO leases (name, holder, until_ms) VALUES ('host.monitors', 'a test', 4102444800000)")
        refused = other.run(*words)
        assert refused.returncode != 0 and "no row for any of them" in refused.stderr, refused
        assert "--delete-sandboxes" in refused.stderr
        assert other.query("SELECT name FROM hosts WHERE name = 'again'") == ()
        other.ctl(*words, "--delete-sandboxes")


class Starting(http.server.BaseHTTPRequestHandler):
    """An Incus that shows its machine, and lists no instances yet."""

    def do_GET(self):
        if self.path.split("?")[0] == "/1.0":
            status = 200
            answer = {"type": "sync", "metadata": {"environment": {"kernel_architecture": os.uname().machine}}}
        else:
            status = 503
            answer = {"type": "error", "error_code": status, "error": "Incus is starting"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_new_host_that_does_not_list_its_sandboxes_is_refused(other, tmp_path):
    """It may have some, which a dispatcher would delete."""
    first = ipaddress.ip_address(other.host["address_range"].split("/")[0])
    other.query("INSERT INTO leases (name, holder, until_ms) VALUES ('host.monitors', 'a test', 4102444800000)")
    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "incus"), Starting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            refused = other.run("host", "add", "again", "--url", f"unix://{tmp_path / 'incus'}", "--project", other.project,
                                "--pool", other.host["pool"], "--range", f"{first + 8}/29",
                                "--nic-prefix", other.host["nic_prefix"], "--vcpus", "1", "--memory-mb", "64")
        finally:
            server.shutdown()
    assert refused.returncode != 0 and "was not added" in refused.stderr, refused
    assert other.query("SELECT name FROM hosts WHERE name = 'again'") == ()


def test_a_backup_takes_from_the_one_before_what_has_not_changed(stack, account, tmp_path):
    filled = Filled(account.api)
    first = backed_up(stack, tmp_path / "first", "--without-keys")
    filled.paused.resume()
    assert filled.paused.pause()["state"] == "stopped"
    second = backed_up(stack, tmp_path / "second", "--without-keys", "--base", str(tmp_path / "first"))
    reused = {file["of"]: file["reused"] for file in second["files"] if file["kind"] in ("instance", "volume")}
    assert reused[filled.mounting.id] and reused[filled.checkpoint]
    assert not reused[filled.paused.id] and not reused[filled.volume.id]
    path = {file["of"]: file["path"] for file in first["files"]}[filled.mounting.id]
    assert (tmp_path / "first" / path).samefile(tmp_path / "second" / path)


def test_what_is_changed_in_a_backup_is_found(stack, tmp_path):
    manifest = backed_up(stack, tmp_path / "one", "--without-keys", "--no-sandboxes")
    for file in {file["kind"]: file for file in manifest["files"]}.values():
        path = tmp_path / "one" / file["path"]
        with path.open("r+b", buffering=0) as content:
            byte = content.read(1)
            content.seek(0)
            content.write(bytes([byte[0] ^ 1]))
            status, answer = ctl(stack, "restore", "--check", str(tmp_path / "one"))
            assert status == 1 and "its hash differs" in answer and file["path"] in answer
            content.seek(0)
            content.write(byte)
