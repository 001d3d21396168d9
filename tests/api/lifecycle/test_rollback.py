# SPDX-License-Identifier: GPL-2.0-or-later
"""Rollbacks: the disk, or the disk and the memory, of a checkpoint in the same sandbox."""

import concurrent.futures

import pytest

from client import assert_error
from leavings import no_checkpoint_is_left  # noqa: F401
from stack import wait_until

pytestmark = pytest.mark.parallel

COUNTER = ("import time\nn = 0\nwhile True:\n    n += 1\n    open('/tmp/count', 'w').write(str(n))\n    time.sleep(0.05)\n")


def checkpoint(sandbox, name, memory):
    response = sandbox.api.post(f"{sandbox.path}/checkpoints", {"name": name, "memory": memory})
    assert response.status == 201, response
    return response.json()


def roll_back(sandbox, to, **more):
    response = sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": to, **more})
    assert response.status == 200, response
    return response.json()


KEPT = ("id", "team", "created_at", "exposed_ports", "envs", "metadata", "network", "template")


def test_the_memory_and_the_disk_are_those_of_the_checkpoint(sandbox):
    sandbox.data.background("python3", "-c", COUNTER)
    sandbox.data.check("until test -s /tmp/count; do sleep 0.1; done; echo then >/home/user/file")
    made = checkpoint(sandbox, "then", memory=True)
    counted = int(sandbox.data.check("cat /tmp/count"))
    sandbox.data.check("echo now >/home/user/file; pkill -f 'n += 1'; echo 1000000 >/tmp/count; sync")
    before = sandbox.api.show(sandbox.id)
    after = roll_back(sandbox, "then")
    assert after["state"] == "ready" and after["resumed_from"] == "memory" and after["snapshot_id"] == made["id"]
    assert {name: after.get(name) for name in KEPT} == {name: before.get(name) for name in KEPT}
    assert sandbox.data.check("cat /home/user/file") == "then\n"
    wait_until(lambda: counted < int(sandbox.data.check("cat /tmp/count") or 0) < 1000000, 20, "the counter")

    # Once more to the same, and the next checkpoint names it as its parent.
    sandbox.data.check("rm /home/user/file")
    assert roll_back(sandbox, made["id"])["resumed_from"] == "memory"
    assert sandbox.data.check("cat /home/user/file") == "then\n"
    assert made["parent_id"] is None and checkpoint(sandbox, "next", memory=False)["parent_id"] == made["id"]


def test_a_paused_sandbox_rolls_back_to_a_disk(sandbox):
    sandbox.data.check("echo one >/home/user/file; sync")
    checkpoint(sandbox, "one", memory=False)
    boot_id = sandbox.boot_id()
    sandbox.data.check("echo two >/home/user/file; sync")
    assert sandbox.api.post(f"{sandbox.path}/pause").status == 200
    after = roll_back(sandbox, "one", timeout=1234)
    assert (after["state"], after["resumed_from"], after["timeout"]) == ("ready", "disk", 1234)
    assert sandbox.data.check("cat /home/user/file") == "one\n" and sandbox.boot_id() != boot_id
    events = sandbox.api.get(f"/v1/events?sandbox_id={sandbox.id}&since=2020-01-01T00:00:00Z").json()["events"]
    resumed = [event["data"] for event in events if event["kind"] == "sandbox.resumed"]
    assert resumed and resumed[-1]["by"] == "rollback" and resumed[-1]["from"] == "disk"


def test_only_to_a_checkpoint_of_the_sandbox(sandbox, make_sandbox, other_account):
    other = make_sandbox()
    made = checkpoint(other, "elsewhere", memory=False)
    answer = sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": made["id"]})
    assert_error(answer, 422, "invalid_request", "/checkpoint")
    answer = sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": "no-such"})
    assert_error(answer, 404, "not_found", "/checkpoint")
    assert_error(sandbox.api.post(f"{sandbox.path}/rollback", {}), 422, "invalid_request", "/checkpoint")
    stranger = other_account.api.post(f"{sandbox.path}/rollback", {"checkpoint": made["id"]})
    assert stranger.status in (403, 404)
    sandbox.data.check("true")

    # What a sandbox was made from, it can return to.
    child = make_sandbox(snapshot_id=made["id"])
    child.data.check("touch /home/user/later")
    assert roll_back(child, made["id"])["state"] == "ready"
    child.data.check("test ! -e /home/user/later")


@pytest.mark.long
def test_rollbacks_pauses_and_deletes_at_once_end_in_one_state(make_sandbox, stack):
    sandbox = make_sandbox()
    checkpoint(sandbox, "base", memory=True)
    calls = [("rollback", {"checkpoint": "base"}), ("pause", {}), ("rollback", {"checkpoint": "base"}), ("resume", {})]
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        answers = list(pool.map(lambda call: sandbox.api.post(f"{sandbox.path}/{call[0]}", call[1]), calls))
    assert all(answer.status in (200, 409) for answer in answers), answers
    assert roll_back(sandbox, "base")["resumed_from"] == "memory"
    sandbox.data.check("true")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rolled = pool.submit(sandbox.api.post, f"{sandbox.path}/rollback", {"checkpoint": "base"})
        deleted = pool.submit(sandbox.api.request, "DELETE", sandbox.path)
    assert deleted.result().status == 204 and rolled.result().status in (200, 404, 409)
    assert sandbox.api.get(sandbox.path).status == 404
    name = f"sbx-{sandbox.id.removeprefix('sbx_')}"
    wait_until(lambda: name not in stack.incus.names(), 60, "the end of its instance")


def test_the_checkpoint_cannot_go_in_the_middle(sandbox):
    made = checkpoint(sandbox, "short-lived", memory=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rolled = pool.submit(sandbox.api.post, f"{sandbox.path}/rollback", {"checkpoint": made["id"]})
        deleted = pool.submit(sandbox.api.request, "DELETE", f"/v1/checkpoints/{made['id']}")
    assert deleted.result().status == 204 and rolled.result().status in (200, 404)
    sandbox.data.check("true")


def test_a_rollback_that_fails_keeps_no_memory(sandbox, stack):
    """It has removed the instance, and the memory with it."""
    made = checkpoint(sandbox, "one", memory=False)
    sandbox.pause()
    image = lambda: stack.query("SELECT size_mb FROM memory_images WHERE id = %s", sandbox.id)
    assert image()
    (row,) = stack.query("SELECT instance_name FROM checkpoints WHERE id = %s", made["id"])
    stack.incus.request("DELETE", f"/1.0/instances/{row['instance_name']}")
    assert sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": made["id"]}).status >= 500
    wait_until(lambda: sandbox.show()["state"] == "stopped", 120, "the end of the rollback", 1)
    assert not image()


def test_a_sandbox_that_cannot_be_rolled_back_is_stopped(sandbox, stack):
    made = checkpoint(sandbox, "lost", memory=False)
    assert sandbox.api.request("PUT", f"{sandbox.path}/hold", {"seconds": 600}).status == 200
    stack.incus.request("DELETE", f"/1.0/instances/{made['id'].replace('_', '-')}")
    assert sandbox.api.post(f"{sandbox.path}/rollback", {"checkpoint": "lost"}).status == 503
    wait_until(lambda: sandbox.show()["state"] == "stopped", 60, "the dispatcher giving up")
    shown, row = sandbox.show(), stack.row(sandbox.id)
    assert shown["stopped_at"] and shown["deadline"] is None, shown
    assert (row["deadline_at_ms"], row["hold_until_ms"], row["reserved"]) == (None, None, 0)
