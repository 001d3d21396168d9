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
