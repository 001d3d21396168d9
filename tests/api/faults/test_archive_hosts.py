# SPDX-License-Identifier: GPL-2.0-or-later
"""A host is lost, and what the archive has of it goes on elsewhere."""

import pytest

from archive import Folder, archive_settings
from client import assert_error
from faults import fault_points, wrong_counters  # noqa: F401
from stack import wait_until
from two_hosts import TwoHosts

pytestmark = pytest.mark.hosts


@pytest.fixture
def hosts(stack):
    both = TwoHosts(stack)
    both.becomes("up")
    both.add_again("local")
    yield both
    stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
    both.becomes("up")
    both.add_again("other")
    both.take("other")


@pytest.fixture
def archive(stack):
    folder = Folder(stack.root / "archive-of-a-test")
    with archive_settings(stack, archive_after_s=1, **folder.settings):
        yield folder
    folder.close()


def keep(sandbox):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "0.0.0.0", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    sandbox.data.check("echo in memory >/dev/shm/kept; echo on disk >kept")


def until_archived(stack, sandbox):
    wait_until(lambda: stack.query("SELECT id FROM archives WHERE current_of = %s AND state = 'whole'", sandbox.id), 120,
               "the sandbox being in the archive")


@pytest.mark.parametrize("point", [None, "archive.promised", "archive.taken"])
def test_what_is_archived_outlives_its_host(hosts, archive, api, stack, request, point):
    ports = {"exposed_ports": [{"port": 3000}]}
    asked, woken = hosts.make(api, "other", **ports), hosts.make(api, "other", lifecycle={"on_timeout": "pause", "auto_resume": True}, **ports)
    runs = hosts.make(api, "other")
    for one in (asked, woken):
        keep(one)
        one.pause()
        until_archived(stack, one)
    instances = {one.id: one.instance for one in (asked, woken)}
    addresses = {one.id: one.address for one in (asked, woken)}
    fail_at = request.getfixturevalue("fault_points") if point else None
    with hosts.cut():
        hosts.becomes("down")
        loss = stack.ctl("host", "lost", "other", "--yes")
        assert loss["archived"] >= 2 and loss["sandboxes"] >= 1
        assert stack.ctl("host", "lost", "other", "--yes")["archived"] == loss["archived"], "said again, nothing changes"
        assert_error(api.post(f"{runs.path}/resume", {}), 409, "sandbox_not_startable")
        assert asked.show()["state"] == "stopped" and "cleanup_at" not in asked.show()
        if point:
            fail_at.arm(point, "kill", "sandlot-api")
            api.post(f"{asked.path}/resume", {})
        assert asked.resume()["resumed_from"] == "memory"
        wait_until(lambda: woken.preview(3000).request("GET", "/").status == 200, 60, "a preview that wakes it")
        for one in (asked, woken):
            assert hosts.of(one) == "local" and one.address == addresses[one.id]
            assert one.preview(3000).request("GET", "/").status == 200, "its server runs on"
        assert asked.data.check("cat /dev/shm/kept kept") == "in memory\non disk\n"
        wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")
        wait_until(lambda: archive.keys() == [], 60, "an archive without what goes on")
        stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
    for instance in instances.values():
        wait_until(lambda i=instance: hosts.having(i) == ["local"], 90, "one instance of it, when the host is back")
    assert asked.data.check("cat /dev/shm/kept") == "in memory\n"


def test_no_host_has_room(hosts, archive, api, stack):
    sandbox = hosts.make(api, "other")
    sandbox.pause()
    until_archived(stack, sandbox)
    with hosts.cut():
        hosts.becomes("down")
        stack.ctl("host", "lost", "other", "--yes")
        stack.ctl("host", "drain", "local", "--stay")
        assert_error(api.post(f"{sandbox.path}/resume", {}), 503, "no_capacity")
        stack.ctl("host", "activate", "local")
        assert sandbox.resume()["resumed_from"] == "memory"
        assert hosts.of(sandbox) == "local"
        stack.query("UPDATE hosts SET lost_at_ms = NULL WHERE name = 'other'")
