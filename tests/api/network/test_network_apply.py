# SPDX-License-Identifier: GPL-2.0-or-later
"""From the wish to the firewall: applied or pending, the last wish, pauses, deletions, what a
firewall forgot, workers that die in between."""

import pytest

from client import assert_error
from faults import InBackground, fault_points, settle  # noqa: F401
from firewall import Firewall
from stack import wait_until
from test_network_policy import network

pytestmark = pytest.mark.parallel

RETRY_S = 30


@pytest.fixture
def firewall(stack):
    return Firewall(stack)


def status(api, sandbox):
    return api.show(sandbox)["network"]["status"]


def applied(api, sandbox):
    return wait_until(lambda: status(api, sandbox) == "applied", RETRY_S, f"the policy of {sandbox}")


def test_a_create_is_applied_before_it_is_answered(api, firewall):
    created = api.create(allow_out=["a.example"])
    assert created["network"]["status"] == "applied"
    assert firewall.revision(created["id"]) == 1


def test_a_put_is_applied_before_it_is_answered(api, firewall):
    sandbox = api.create()["id"]
    for revision in (2, 3, 4):
        assert network(api, sandbox, allow_out=["a.example"])["status"] == "applied"
        assert firewall.revision(sandbox) == revision


def test_a_deletion_takes_the_policy_away(api, firewall):
    sandbox = api.create()["id"]
    api.destroy(sandbox)
    assert firewall.revision(sandbox) is None


@pytest.mark.alone
def test_pending_while_the_firewall_is_away(api, firewall):
    sandbox = api.create()["id"]
    with firewall.unreachable():
        answered = network(api, sandbox, allow_internet_access=False)
        assert answered["status"] == "pending"
        assert "firewall" in answered["status_reason"] and "does not answer" in answered["status_reason"]
        assert status(api, sandbox) == "pending"
        assert api.show(sandbox)["network"]["status_reason"] == answered["status_reason"]
        assert firewall.revision(sandbox) == 1
    applied(api, sandbox)
    assert api.show(sandbox)["network"]["status_reason"] is None
    assert firewall.revision(sandbox) == 2


@pytest.mark.alone
def test_the_last_wish_wins(api, firewall):
    sandbox = api.create()["id"]
    with firewall.unreachable():
        for name in ("a", "b", "c"):
            assert network(api, sandbox, allow_out=[f"{name}.example"])["status"] == "pending"
    applied(api, sandbox)
    assert firewall.revision(sandbox) == 4
    assert api.show(sandbox)["network"]["allow_out"] == ["c.example"]


def test_many_wishes_at_once(api, firewall, stack):
    sandbox = api.create()["id"]
    calls = [InBackground(network, api, sandbox, allow_out=[f"{number}.example.com"]) for number in range(12)]
    assert all(call.result()["allow_out"] for call in calls)
    applied(api, sandbox)
    assert firewall.revision(sandbox) == stack.row(sandbox)["network_revision"] == 13


@pytest.mark.alone
def test_a_sandbox_can_be_made_while_the_firewall_is_away(api, firewall):
    with firewall.unreachable():
        created = api.create()
        assert created["state"] == "ready" and created["network"]["status"] == "pending"
        assert firewall.revision(created["id"]) is None
    applied(api, created["id"])
    assert firewall.revision(created["id"]) == 1


# --- pauses ---


def test_a_policy_is_kept_over_pause_and_resume(sandbox, api, firewall):
    stored = network(api, sandbox.id, allow_internet_access=False, allow_out=["a.example"])
    assert sandbox.pause()["network"] == stored
    assert sandbox.resume()["network"] == stored
    assert firewall.revision(sandbox.id) == 2


def test_a_stopped_sandbox_gets_it_with_the_resume(sandbox, api, firewall):
    sandbox.pause()
    assert network(api, sandbox.id, allow_internet_access=False)["status"] == "pending"
    assert status(api, sandbox.id) == "pending"
    assert sandbox.resume()["network"]["status"] == "applied"
    assert firewall.revision(sandbox.id) == 2


@pytest.mark.alone
def test_an_older_policy_never_meets_a_resumed_sandbox(sandbox, api, firewall, stack):
    """The firewall still has the policy that was replaced, and cannot be told."""
    sandbox.pause()
    network(api, sandbox.id, allow_internet_access=False)
    with firewall.unreachable():
        response = api.post(f"{sandbox.path}/resume")
        assert_error(response, 503, "runtime_unavailable")
        assert stack.incus.instance(sandbox.instance)["status"] == "Stopped"
    wait_until(lambda: sandbox.show()["state"] in ("ready", "stopped"), RETRY_S, "the resume's end")
    assert sandbox.resume()["network"]["status"] == "applied"
    assert firewall.revision(sandbox.id) == 2


@pytest.mark.alone
def test_an_unchanged_policy_does_not_keep_a_sandbox_stopped(sandbox, api, firewall):
    sandbox.pause()
    with firewall.unreachable():
        assert sandbox.resume()["network"]["status"] == "pending"
    applied(api, sandbox.id)


# --- what is left behind ---


@pytest.mark.alone
def test_an_address_waits_until_its_policy_is_gone(api, firewall, stack):
    sandbox = api.create()["id"]
    address = stack.row(sandbox)["address"]
    state = "SELECT holder, policy_of FROM host_addresses WHERE address = %s"
    with firewall.unreachable():
        api.destroy(sandbox)
        wait_until(lambda: stack.query(state, address) == [{"holder": None, "policy_of": sandbox}], RETRY_S,
                   "the end of the instance")
        assert firewall.revision(sandbox) == 1
    wait_until(lambda: stack.query(state, address)[0]["policy_of"] is None, RETRY_S, "the address being free")
    assert firewall.revision(sandbox) is None


def test_a_firewall_that_forgot_is_filled_again(sandbox, firewall):
    firewall.remove(sandbox.address, sandbox.id)
    wait_until(lambda: firewall.revision(sandbox.id) == 1, RETRY_S, "the policy being back")


@pytest.mark.alone
def test_a_policy_without_a_sandbox_is_removed(sandbox, firewall, stack):
    """What a worker left that hung for longer than its sandbox lived."""
    row = stack.query("SELECT address FROM host_addresses WHERE holder IS NULL ORDER BY address DESC LIMIT 1")
    address = ".".join(str(row[0]["address"] >> shift & 255) for shift in (24, 16, 8, 0))
    stranger = sandbox.id[:-4] + "zzzz"
    wire = {"sandbox_id": stranger, "address": address, "revision": 1, "default": "allow", "rules": []}
    assert firewall.request("PUT", f"/v1/policies/{address}", wire)[0] == 200
    wait_until(lambda: firewall.revision(stranger) is None, RETRY_S, "the stranger's policy going")
    assert firewall.revision(sandbox.id) == 1


@pytest.mark.alone
def test_a_database_that_went_back_in_time_is_obeyed(sandbox, api, firewall, stack):
    """A restored backup has older revisions than the firewall."""
    for name in ("a", "b", "c"):
        network(api, sandbox.id, allow_out=[f"{name}.example"])
    connection = stack.database()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sandboxes SET version = UUID_SHORT(), network_revision = 2, network_applied = 2 WHERE id = %s", (sandbox.id,))
    connection.close()
    wait_until(lambda: firewall.revision(sandbox.id) == 5, RETRY_S, "the row overtaking the firewall")
    applied(api, sandbox.id)


# --- workers that die ---


@pytest.mark.parametrize("point", ["network.stored", "network.applied"])
@pytest.mark.alone
def test_a_worker_dies_in_a_put(api, firewall, stack, fault_points, point):
    sandbox = api.create()["id"]
    fault_points.arm(point, "kill", "sandlot-api")
    response = api.request("PUT", f"/v1/sandboxes/{sandbox}/network", {"allow_out": ["a.example"]})
    assert response.status == 502
    applied(api, sandbox)
    assert firewall.revision(sandbox) == 2


@pytest.mark.alone
def test_a_worker_dies_in_a_create(api, firewall, stack, fault_points):
    fault_points.arm("create.network", "kill", "sandlot-api")
    assert api.post("/v1/sandboxes", {"allow_out": ["a.example"]}).status == 502
    settle(stack)
    status_code, answer = firewall.request("GET", "/v1/policies")
    known = {row["id"] for row in stack.query("SELECT id FROM sandboxes WHERE visible = 1")}
    assert status_code == 200
    assert {one["sandbox_id"] for one in answer["policies"]} <= known


@pytest.mark.alone
def test_a_slow_put_does_not_overtake_a_later_one(api, firewall, fault_points):
    sandbox = api.create()["id"]
    fault_points.arm("network.stored")
    slow = InBackground(network, api, sandbox, allow_out=["slow.example"])
    fault_points.reached("network.stored")
    assert network(api, sandbox, allow_out=["late.example"])["status"] == "applied"
    fault_points.release("network.stored")
    assert slow.result()["allow_out"] == ["late.example"]
    assert firewall.revision(sandbox) == 3
