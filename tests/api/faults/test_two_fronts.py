# SPDX-License-Identifier: GPL-2.0-or-later
"""A second front of the deployment: a dispatcher on a machine of another name, with files of its own."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from stack import wait_until

pytestmark = pytest.mark.long

# As in the unit of the dispatcher.
USER, GROUP = "sandlot-dispatcher", "sandlot"


class Front:
    """Its settings are the stack's, but for what a test changes. Programs run in a namespace of names."""

    def __init__(self, stack, name):
        self.stack = stack
        self.name = name
        self.folder = stack.root / "run" / f"front-{name}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        shutil.chown(self.folder, USER, GROUP)
        self.ring = self.folder / "keyring"
        self.config = self.folder / "sandlot.conf"
        self.copy_ring()
        self.write()

    def copy_ring(self):
        shutil.copy(self.stack.settings["key_file"], self.ring)
        shutil.chown(self.ring, USER, GROUP)

    def write(self, **changes):
        settings = {**self.stack.settings, "key_file": self.ring, "api_socket": self.folder / "api.sock",
                    "pools_dir": self.folder, **changes}
        self.config.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()), encoding="utf-8")
        shutil.chown(self.config, USER, GROUP)

    def within(self, *command):
        return ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', self.name, *map(str, command)]

    def dispatcher(self):
        program = self.stack.root / "prefix" / "sbin" / "sandlot-dispatcher"
        return subprocess.Popen(self.within("setpriv", "--reuid", USER, "--regid", GROUP, "--clear-groups", program,
                                            "--config", self.config),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def ctl(self, *arguments):
        command = [self.stack.ctl_command[0], "--config", self.config, "--json", *arguments]
        return subprocess.run(self.within(*command), capture_output=True, text=True, timeout=120, check=False)

    def findings(self, check):
        return [one for one in json.loads(self.ctl("doctor").stdout)["findings"] if one["check"] == check]


@pytest.fixture
def front(stack):
    one = Front(stack, "front2")
    yield one
    stack.query("DELETE FROM fronts WHERE name = %s", one.name)
    shutil.rmtree(one.folder)


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(60)
    process.stdout.close()


def test_settings_that_differ_are_named(stack, front):
    front.write(console_url="https://elsewhere.example.com")
    dispatcher = front.dispatcher()
    try:
        wait_until(lambda: stack.query("SELECT 1 FROM fronts WHERE name = %s", front.name), 30, "the front to say that it is there")
    finally:
        end(dispatcher)
    (found,) = [one for one in json.loads(stack.ctl("doctor", check=False).stdout)["findings"] if one["check"] == "front"]
    assert found["state"] == "WRONG"
    for word in ("console_url", front.name, "elsewhere.example.com", stack.console_url):
        assert word in found["message"]
    front.write()
    (there,) = front.findings("front")
    assert there["state"] == "ok", "its own file says the same now"


def test_a_front_with_another_key_does_not_start(stack, front):
    front.ring.unlink()
    assert front.ctl("keyring", "new", str(front.ring)).returncode == 0
    shutil.chown(front.ring, USER, GROUP)
    dispatcher = front.dispatcher()
    try:
        said, _ = dispatcher.communicate(timeout=60)
    finally:
        end(dispatcher)
    assert dispatcher.returncode != 0
    assert "key 1 of this machine's key ring differs from the deployment's" in said
    made = front.ctl("user", "invite", "nobody")
    assert made.returncode and "differs from the deployment's" in made.stderr
    (found,) = front.findings("key ring")
    assert found["state"] == "WRONG" and "another key 1" in found["message"]


def test_a_new_key_in_two_steps(stack, front):
    """What has not been copied yet is said, before it is too late."""
    kept = pathlib.Path(stack.settings["key_file"]).read_text(encoding="ascii")
    assert len([line for line in kept.splitlines() if line and not line.startswith("#")]) == 1
    older = Front(stack, "front3")
    try:
        assert front.ctl("keyring", "add", str(front.ring)).returncode == 0
        end_when_there(stack, front)
        (found,) = older.findings("key ring")
        assert found["state"] == "WRONG" and "lacks key 2, which the deployment will use next" in found["message"]
        shutil.copy(front.ring, older.ring)
        assert older.findings("key ring")[0]["state"] == "ok"
        assert front.ctl("keyring", "use", str(front.ring)).returncode == 0
        end_when_there(stack, front)
        assert older.findings("key ring")[0]["state"] == "ok", "it knows the key that others use"
        older.copy_ring()
        assert "lacks key 2, which other front nodes use" in older.findings("key ring")[0]["message"]
    finally:
        forgotten = stack.ctl("keyring", "forget", "2")
        shutil.rmtree(older.folder)
    assert forgotten["forgotten"]
    assert older_is_fine(stack)


def end_when_there(stack, front):
    """One life of its dispatcher."""
    stack.query("DELETE FROM fronts WHERE name = %s", front.name)
    dispatcher = front.dispatcher()
    try:
        wait_until(lambda: stack.query("SELECT 1 FROM fronts WHERE name = %s", front.name), 30, "the front to say that it is there")
    finally:
        end(dispatcher)


def older_is_fine(stack):
    found = [one for one in json.loads(stack.ctl("doctor", check=False).stdout)["findings"] if one["check"] == "key ring"]
    return [one["state"] for one in found] == ["ok"]
