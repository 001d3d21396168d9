# SPDX-License-Identifier: GPL-2.0-or-later
"""Three hosts, of which two are other machines than the front (scripts/test --hosts 3)."""

import pytest

from faults import wrong_counters
from stack import wait_until
from two_hosts import TwoHosts

pytestmark = [pytest.mark.hosts, pytest.mark.three]


@pytest.fixture
def hosts(stack):
    all_of_them = TwoHosts(stack)
    for name in all_of_them.names:
        all_of_them.add_again(name)
    all_of_them.take("local", "other", "third")
    yield all_of_them
    all_of_them.take("other", "third")


def keep(sandbox):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "127.0.0.1", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    sandbox.data.check("echo in memory >/dev/shm/kept")


def goes_on(sandbox):
    assert sandbox.data.check("cat /dev/shm/kept") == "in memory\n"
    assert sandbox.preview(3000).request("GET", "/").status == 200


def test_a_sandbox_on_each_is_reached_alike(hosts, api):
    for name in hosts.names:
        sandbox = hosts.make(api, name, exposed_ports=[{"port": 3000}])
        keep(sandbox)
        goes_on(sandbox)


def test_creates_at_once_go_to_all(hosts, make_sandbox):
    """Best of three by free memory: the one that has just got one is not the next one's first choice."""
    found = {hosts.of(make_sandbox()) for _ in range(12)}
    assert found == {"local", "other", "third"}


@pytest.mark.parametrize("there, back", [("other", "third"), ("third", "other")])
def test_from_one_other_machine_to_another(hosts, api, there, back):
    """The front is on no end of the way that the disk takes."""
    sandbox = hosts.make(api, there, exposed_ports=[{"port": 3000}])
    keep(sandbox)
    sandbox.pause()
    hosts.move(sandbox, back)
    assert hosts.of(sandbox) == back
    wait_until(lambda: hosts.having(sandbox.instance) == [back], 60, "one instance of it")
    assert sandbox.resume()["resumed_from"] == "memory"
    goes_on(sandbox)


def test_what_a_host_had_is_spread_over_the_others(hosts, api, stack):
    hosts.take("other")
    paused = [hosts.make(api, "other", exposed_ports=[{"port": 3000}]) for _ in range(4)]
    for one in paused:
        keep(one)
        one.pause()
    hosts.take("local", "third")
    stack.ctl("host", "drain", "other")
    wait_until(lambda: all(hosts.of(one) != "other" for one in paused), 180, "sandboxes that have left")
    assert {hosts.of(one) for one in paused} <= {"local", "third"}
    for one in paused:
        assert one.resume()["resumed_from"] == "memory"
        goes_on(one)
    wait_until(lambda: not wrong_counters(stack.query), 10, "counters that are right")
