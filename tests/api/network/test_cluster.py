# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts whose Incus are members of one cluster (scripts/test --hosts cluster)."""

import pytest

from stack import wait_until
from two_hosts import TwoHosts

pytestmark = [pytest.mark.hosts, pytest.mark.cluster]


@pytest.fixture
def hosts(stack):
    both = TwoHosts(stack)
    both.add_again("local")
    yield both
    both.take("other")


def locations(hosts, name):
    """Where the cluster has what is in that host's project, asked of the other member."""
    elsewhere = hosts.incus({"local": "other", "other": "local"}[name])
    elsewhere.project = hosts.host(name)["project"]
    volumes = elsewhere.request("GET", "/1.0/storage-pools/sandlot/volumes/custom?recursion=1")
    return {one["name"]: one["location"] for one in elsewhere.request("GET", "/1.0/instances?recursion=1") + volumes}


@pytest.mark.parametrize("name", ["local", "other"])
def test_what_is_made_is_on_the_member_that_is_asked(hosts, api, stack, name):
    sandbox = hosts.make(api, name)
    checkpoint = api.post(f"{sandbox.path}/checkpoints", {"name": "of-a-member"}).json()
    (row,) = stack.query("SELECT instance_name FROM checkpoints WHERE id = %s", checkpoint["id"])
    there = locations(hosts, name)
    assert there[sandbox.instance] == there[row["instance_name"]] == name
    assert set(there.values()) == {name}, "nothing of the host is on another member"
    assert sandbox.pause()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    api.delete(sandbox.path)
    api.delete(f"/v1/checkpoints/{checkpoint['id']}")
    wait_until(lambda: not {sandbox.instance, row["instance_name"]} & set(locations(hosts, name)), 60, "nothing left")


def test_two_members_share_no_project(hosts, stack):
    other = hosts.host("other")
    first = other["network"].split(".")[:2]
    third = ["host", "add", "third", "--url", f"unix://{stack.root}/incus/unix.socket", "--project", other["project"], "--pool",
             other["pool"], "--range", f"{'.'.join(first)}.224.0/24", "--nic-prefix", other["nic_prefix"], "--vcpus", "1",
             "--memory-mb", "64"]
    try:
        done = stack.ctl(*third, check=False)
        assert done.returncode != 0
        assert f"project {other['project']} belongs to the cluster member other" in done.stderr
    finally:
        stack.ctl("host", "drain", "third", "--stay")
        stack.ctl("host", "remove", "third")
