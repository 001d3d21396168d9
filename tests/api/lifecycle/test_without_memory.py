# SPDX-License-Identifier: GPL-2.0-or-later
"""Pauses and resumes that are to leave the memory: a new boot, the same disk."""

import pytest

from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture
def booted(sandbox):
    """A sandbox with a file, and its boot id."""
    sandbox.data.upload("/home/user/kept", b"kept")
    return sandbox, sandbox.boot_id()


def assert_new_boot(sandbox, boot):
    assert sandbox.resume()["resumed_from"] == "disk"
    assert sandbox.boot_id() != boot
    assert sandbox.data.read("/home/user/kept") == b"kept"


def test_a_pause_without_memory(booted):
    sandbox, boot = booted
    paused = sandbox.api.post(f"{sandbox.path}/pause", {"memory": False})
    assert paused.status == 200 and paused.json()["state"] == "stopped", paused
    assert_new_boot(sandbox, boot)


def test_a_resume_without_memory(booted):
    sandbox, boot = booted
    sandbox.pause()
    assert sandbox.resume(memory=False)["resumed_from"] == "disk"
    assert sandbox.boot_id() != boot
    boot = sandbox.boot_id()
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory", "the choice was for one resume"
    assert sandbox.boot_id() == boot


def test_at_the_deadline(booted):
    sandbox, boot = booted
    changed = sandbox.api.request("PATCH", sandbox.path, {
        "timeout": 1, "lifecycle": {"on_timeout": "pause", "pause_memory": False}})
    assert changed.status == 200 and changed.json()["lifecycle"]["pause_memory"] is False, changed
    wait_until(lambda: sandbox.show()["state"] == "stopped", 60, "the pause at the deadline")
    assert_new_boot(sandbox, boot)


def test_on_one_that_runs_a_resume_without_memory_changes_nothing(booted):
    sandbox, boot = booted
    sandbox.resume(memory=False)
    assert sandbox.boot_id() == boot


def test_what_it_takes(sandbox):
    refused = sandbox.api.post(f"{sandbox.path}/pause", {"memory": "no"})
    assert_error(refused, 422, "invalid_request", "/memory")


def test_tmp_and_run_are_as_after_a_boot(sandbox):
    sandbox.data.check(
        "mkdir -p /tmp/work /run/service; echo 7 >/tmp/.X1-lock; echo 7 >/tmp/work/file; echo 7 >/run/service/x.pid;"
        " mkfifo /run/service/pipe; ln -s x.pid /run/service/link; touch /home/user/lock", user="root")
    sandbox.api.post(f"{sandbox.path}/pause", {"memory": False})
    sandbox.resume()
    assert sandbox.data.check("ls -A /run/service").split() == ["link"]
    assert sandbox.data.check("ls -A /home/user").split().count("lock") == 1
    assert sandbox.data.check("cat /run/e2b/.E2B_SANDBOX; test -e /run/.containerenv") == "true"
    wait_until(lambda: sandbox.data.check("ls -A /tmp").split() == [], 30, "/tmp is empty")


def test_a_resume_from_memory_keeps_tmp(sandbox):
    sandbox.data.check("echo 7 >/tmp/kept")
    sandbox.pause()
    sandbox.resume()
    assert sandbox.data.check("cat /tmp/kept").strip() == "7"
