# SPDX-License-Identifier: GPL-2.0-or-later
"""No room: a storage pool that is full, a host without memory."""

import json

import pytest

from client import assert_error
from edge import process_settings
from faults import quiet, quota_in_use, settle  # noqa: F401
from full_pool import FullPool
from stack import wait_until
from tenant import Sandbox


def say(api, method, path, body=None):
    """A call that either works or says clearly that it did not."""
    answer = api.request(method, path, body)
    assert answer.status < 300 or answer.status in (503, 507), answer
    return answer


@pytest.mark.faults
def test_a_pool_without_room(make_account, stack):
    """Nothing is half and nothing is stuck; what was acknowledged is there when room is back."""
    account = make_account("pro")
    names = ("large", "small", "paused")
    large, small, paused = sandboxes = [Sandbox.create(account.api, auto_pause=True) for _ in names]
    gone = Sandbox.create(account.api)
    hog = "import os, time; kept = os.urandom(150 << 20); open('/tmp/filled', 'w'); time.sleep(9999)"
    large.data.background("python3", "-c", hog)
    wait_until(lambda: large.data.download("/tmp/filled").status == 200, 20, "memory in use")
    for name, sandbox in zip(names, sandboxes):
        sandbox.data.upload("/home/user/kept", name.encode())
        sandbox.data.check("sync")
    paused.pause()
    acknowledged = {sandbox.id for sandbox in sandboxes}
    with FullPool(stack) as pool:
        pool.fill()
        for sandbox in (large, small):
            say(account.api, "POST", f"{sandbox.path}/pause")
            assert sandbox.show()["state"] in ("stopped", "ready")
        for sandbox in (paused, small, large):
            say(account.api, "POST", f"{sandbox.path}/resume")
        for body in ({}, {"cpu": 1, "memory_mb": 1536}):
            answer = say(account.api, "POST", "/v1/sandboxes", body)
            if answer.status == 201:
                acknowledged.add(answer.json()["id"])
        assert account.api.delete(gone.path).status == 204
        settle(stack)
        (finding,) = [one for one in doctor(stack) if one["check"] == "pool"]
        assert finding["state"] == "WRONG" and "full" in finding["message"] and finding["advice"]
    settle(stack)
    assert {one["id"] for one in account.api.list()} == acknowledged
    for name, sandbox in zip(names, sandboxes):
        sandbox.resume()
        assert sandbox.data.read("/home/user/kept") == name.encode()
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory", "as before"
    assert quota_in_use(account.api) == len(acknowledged)
    assert not [one for one in doctor(stack) if one["check"] == "pool" and one["state"] == "WRONG"]


def doctor(stack):
    return json.loads(stack.ctl("doctor", check=False).stdout)["findings"]


@pytest.mark.long
def test_a_host_with_little_memory_left_takes_nothing_new(sandbox, stack):
    """What is there pauses and resumes; a share that no machine has left makes it so."""
    def finding():
        (room,) = [one for one in doctor(stack) if one["check"] == "room"]
        return room

    assert finding()["state"] == "ok"
    with process_settings(stack, "sandlot-dispatcher", host_memory_kept_percent=100):
        wait_until(lambda: finding()["state"] == "WRONG", 30, "the host being looked at")
        answer = sandbox.api.post("/v1/sandboxes", {})
        assert_error(answer, 503, "no_capacity")
        assert int(answer.headers["Retry-After"]) > 0
        theirs = sandbox.api.origin.request(
            "POST", "/v2/sandboxes", json.dumps({"templateID": "base"}).encode(),
            {"X-API-Key": sandbox.api.key, "Content-Type": "application/json"})
        assert (theirs.status, theirs.json()["error_code"]) == (503, "sandbox_capacity_unavailable"), theirs
        assert sandbox.pause()["state"] == "stopped"
        assert sandbox.resume()["resumed_from"] == "memory"
    wait_until(lambda: finding()["state"] == "ok", 30, "the host being looked at again")
    sandbox.api.delete(Sandbox.create(sandbox.api).path)
