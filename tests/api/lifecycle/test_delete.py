# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds from the answer of a delete on, while the instance is still there."""

import http.client
import socket

import pytest

from client import assert_error
from dataplane import StreamError
from faults import InBackground, fault_points, quiet, quota_in_use  # noqa: F401
from stack import wait_until
from tenant import Sandbox


def room_taken(stack):
    return int(stack.query("SELECT SUM(used_memory_mb) AS mb FROM hosts")[0]["mb"])


def reaches(address, port):
    try:
        socket.create_connection((address, port), 3).close()
        return True
    except OSError:
        return False


def read_to_end(stream):
    try:
        for _ in stream:
            pass
    except (StreamError, EOFError, OSError, http.client.HTTPException) as error:
        return error
    return None


def served(sandbox):
    """A server of its own on port 3000, and whether this host reaches it."""
    sandbox.data.background("python3", "-m", "http.server", "3000")
    wait_until(lambda: reaches(sandbox.address, 3000), 20, "the server")


def removal_holds(fault_points):
    fault_points.arm("delete.begun", "wait", "sandlot-dispatcher")


def assert_gone_for_all(sandbox, address, stream):
    """While its processes still run."""
    api = sandbox.api
    assert_error(api.get(sandbox.path), 404, "not_found")
    assert_error(api.delete(sandbox.path), 404, "not_found")
    assert api.list() == []
    assert quota_in_use(api) == 0
    assert not reaches(address, 3000), "from this host, as a kept decision of the gate would"
    assert sandbox.data.call("process.Process/List", {}).status == 404
    stream.result(30)


@pytest.mark.faults
def test_a_delete_answers_before_the_instance_is_gone(account, fault_points, stack):
    sandbox = Sandbox.create(account.api)
    address, instance = sandbox.address, sandbox.instance
    taken = room_taken(stack)
    served(sandbox)
    stream = InBackground(read_to_end, sandbox.data.start("/bin/sh", "-c", "while echo on; do sleep 0.1; done"))
    removal_holds(fault_points)
    account.api.destroy(sandbox.id)
    assert_gone_for_all(sandbox, address, stream)
    fault_points.reached("delete.begun")
    assert stack.incus.request("GET", f"/1.0/instances/{instance}")["status"] == "Running"
    assert room_taken(stack) == taken, "what still runs takes its room"
    fault_points.release("delete.begun")
    sandbox.wait_until_removed()
    assert not stack.incus.exists(instance)
    assert room_taken(stack) == taken - sandbox.document["memory_mb"]


@pytest.mark.faults
def test_a_deadline_that_kills_cuts_off_at_once(account, fault_points, stack):
    sandbox = Sandbox.create(account.api, timeout=300)
    address = sandbox.address
    served(sandbox)
    stream = InBackground(read_to_end, sandbox.data.start("/bin/sh", "-c", "while echo on; do sleep 0.1; done"))
    removal_holds(fault_points)
    assert account.api.request("PATCH", sandbox.path, {"timeout": 1}).status == 200
    fault_points.reached("delete.begun", 30)
    assert_gone_for_all(sandbox, address, stream)
    fault_points.release("delete.begun")
    sandbox.wait_until_removed()


@pytest.mark.faults
@pytest.mark.parametrize("point", ["delete.cut", "delete.begun", "delete.removed", "finishing"])
def test_a_delete_outlives_who_works_on_it(account, fault_points, stack, point):
    sandbox = Sandbox.create(account.api)
    fault_points.arm(point, "wait", "sandlot-api" if point == "delete.cut" else "sandlot-dispatcher")
    deleting = InBackground(account.api.delete, sandbox.path)
    fault_points.kill(point)
    assert deleting.result().status in (204, 502)
    assert_error(account.api.get(sandbox.path), 404, "not_found")
    sandbox.wait_until_removed()
