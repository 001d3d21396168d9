# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts that fail on the host: the daemon's helper that starts containers ends with an error, for real."""

import os
import pathlib
import secrets
import shlex
import shutil
import signal

import pytest

from client import assert_error
from tenant import Sandbox
from faults import instances, quota_in_use, settle
from stack import wait_until
from two_hosts import TwoHosts

pytestmark = pytest.mark.long


class FailingStarts:
    """What starts containers ends with status 1 instead, as often as it was told to: for instances that
    were made for one sandbox (those that wait in the pool have other names)."""

    def __init__(self, stack, directory, host=""):
        self.directory = directory
        self.helper = stack.root / host / "incus-bin" / "sandlot-start"
        self.kept = self.helper.with_name("sandlot-start.kept")
        self.helper.rename(self.kept)
        self._install(f"""#!/bin/sh
if [ "$2" = forkstart ]; then
    case $3 in
    *sbx-*)
        for order in {shlex.quote(str(directory))}/fail.*; do
            ! rm "$order" 2>/dev/null || exit 1
        done ;;
    esac
fi
exec {shlex.quote(str(self.kept))} "$@"
""")

    def _install(self, text):
        draft = self.helper.with_name("sandlot-start.new")
        draft.write_text(text, encoding="utf-8")
        draft.chmod(0o755)
        draft.rename(self.helper)

    def order(self, count):
        for number in range(count):
            (self.directory / f"fail.{number}").touch()

    @property
    def left(self):
        return len(list(self.directory.glob("fail.*")))

    def close(self):
        self.kept.rename(self.helper)


@pytest.fixture
def failing(stack, tmp_path):
    starts = FailingStarts(stack, pathlib.Path(tmp_path))
    yield starts
    starts.close()
    settle(stack)


@pytest.fixture
def checkpoint(sandbox):
    """What is made from it always gets an instance of its own."""
    return sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": "first"}).json()["id"]


@pytest.mark.one_host
def test_another_instance_is_tried_once(api, checkpoint, failing, stack):
    failing.order(1)
    sandbox = Sandbox.create(api, template=checkpoint)
    assert failing.left == 0
    assert sandbox.data.check("echo here") == "here\n"
    assert quota_in_use(api) == 2
    assert {name for name in instances(stack) if name.startswith("sbx-")} == {sandbox.instance}


@pytest.mark.one_host
def test_a_host_that_starts_nothing(api, checkpoint, failing, stack):
    before = instances(stack).keys()
    failing.order(2)
    refused = api.post("/v1/sandboxes", {"template": checkpoint})
    assert_error(refused, 503, "runtime_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert failing.left == 0
    wait_until(lambda: not [name for name in instances(stack).keys() - before if name.startswith("sbx-")], 10,
               "the removal of what did not start")
    assert quota_in_use(api) == 1
    assert Sandbox.create(api, template=checkpoint).data.check("echo here") == "here\n"


@pytest.mark.hosts
def test_a_host_that_starts_nothing_fails_no_create(api, stack):
    """Nothing runs there, so it has the most free memory, and each create chooses it first."""
    hosts = TwoHosts.up(stack)
    (image,) = stack.query("SELECT v.image FROM template_versions v JOIN templates t ON t.id = v.template_id WHERE t.slug = %s"
                           " AND v.state = 'ready' ORDER BY v.version DESC LIMIT 1", stack.template)
    slug = "t" + secrets.token_hex(5)  # without warm instances
    orders = stack.root / "other" / "failing-starts"
    orders.mkdir()
    hosts.take("local", "other")
    try:
        stack.ctl("template", "add", slug, "--image", image["image"], "--cpu", "1", "--memory-mb", "256")
        failing = FailingStarts(stack, orders, "other")
        try:
            failing.order(20)
            with hosts.nearly_full("local"):
                for _ in range(2):
                    sandbox = Sandbox.create(api, template=slug)
                    assert hosts.of(sandbox) == "local"
                    assert sandbox.data.check("echo here") == "here\n"
                    api.destroy(sandbox.id)
            assert failing.left < 20, "a create tried the other host first"
        finally:
            failing.close()
    finally:
        hosts.take("other")
        shutil.rmtree(orders)
        settle(stack)


@pytest.mark.one_host
def test_the_same_request_again_after_a_failure(api, checkpoint, failing):
    """The key of a request that was answered 503 is free, and one that made two attempts is one."""
    headers = {"Idempotency-Key": secrets.token_urlsafe(24)}
    failing.order(2)
    assert_error(api.post("/v1/sandboxes", {"template": checkpoint}, headers=headers), 503, "runtime_unavailable")
    failing.order(1)
    first = api.post("/v1/sandboxes", {"template": checkpoint}, headers=headers)
    assert first.status == 201, first
    again = api.post("/v1/sandboxes", {"template": checkpoint}, headers=headers)
    assert again.json()["id"] == first.json()["id"]
    assert quota_in_use(api) == 2


@pytest.mark.one_host
def test_a_resume_that_does_not_start(api, checkpoint, failing, stack):
    sandbox = Sandbox.create(api, template=checkpoint)
    os.kill(stack.incus.request("GET", f"/1.0/instances/{sandbox.instance}/state")["pid"], signal.SIGKILL)
    wait_until(lambda: sandbox.show()["state"] == "stopped", 20, "the notice")
    failing.order(1)
    refused = api.post(f"{sandbox.path}/resume")
    assert_error(refused, 503, "runtime_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert sandbox.show()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "disk"
