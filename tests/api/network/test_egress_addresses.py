# SPDX-License-Identifier: GPL-2.0-or-later
"""An address of the host from which one team leaves: a server outside sees it, of connections that the packet filter
translates and of requests of egress rules."""

import json

import pytest

from doctor import assert_says, doctor, wrong
from fake_internet import FirewallProcess
from stack import wait_until
from tenant import Sandbox
from tls_outside import HOST, serving


@pytest.fixture(scope="module")
def outside(stack, internet, tmp_path_factory):
    with serving(stack, internet, tmp_path_factory.mktemp("tls"), HOST) as outside:
        # Packets of sandboxes have routes of their own.
        outside.on_host("route", "add", f"{outside.address}/32", "via", outside.far, "dev", outside.link, "table", internet.table)
        yield outside


def own(outside, act):
    """The second address of the host towards the server."""
    address = outside.near.rpartition(".")[0] + ".9"
    outside.on_host("addr", act, f"{address}/32", "dev", outside.link)
    return address


@pytest.fixture(scope="module")
def address(stack, outside, module_account):
    firewall = FirewallProcess(stack)
    (team,) = (team["id"] for team in stack.ctl("team", "list")["teams"] if team["slug"] == module_account.team)
    address = own(outside, "add")
    firewall.set("egress_addresses", f"{team}={address}")
    firewall.restart()
    yield address
    firewall.set("egress_addresses", None)
    firewall.restart()


@pytest.fixture(scope="module")
def sandbox(module_account, address, outside):
    return reaching(module_account.api, outside)


def reaching(api, outside):
    return Sandbox.create(api, timeout=1800, allow_internet_access=False, allow_out=[f"{outside.address}:80"],
                          rules=[{"host": HOST}])


def seen(sandbox, url):
    """The address that the server sees, or what curl or the proxy says."""
    text = sandbox.data.check(f"curl -sS --max-time 20 {url} 2>&1 || true")
    return json.loads(text).get("from", text) if text.startswith("{") else text


def ways(sandbox, outside):
    return [seen(sandbox, url) for url in (f"http://{outside.address}/", f"https://{HOST}/")]


def test_a_team_leaves_from_its_address_and_others_do_not(sandbox, outside, address, make_account):
    assert ways(sandbox, outside) == [address, address]
    assert ways(reaching(make_account().api, outside), outside) == [outside.near, outside.near]


def test_a_pause_and_other_policies_keep_the_address(sandbox, outside, address):
    sandbox.pause()
    sandbox.resume()
    answer = sandbox.api.request("PUT", f"{sandbox.path}/network", {
        "allow_internet_access": False, "allow_out": [outside.address], "rules": [{"host": HOST}]})
    assert answer.status == 200 and answer.json()["status"] == "applied", answer
    assert ways(sandbox, outside) == [address, address]


def test_a_restart_of_the_firewall_and_a_new_table_keep_the_address(stack, sandbox, outside, address):
    firewall = FirewallProcess(stack)
    firewall.restart()
    wait_until(lambda: ways(sandbox, outside) == [address, address], 90, "the address after a restart")
    firewall.load_network()
    wait_until(lambda: ways(sandbox, outside) == [address, address], 90, "the address in the new table")


def test_doctor_says_that_an_address_is_gone_and_no_other_stands_in(stack, sandbox, outside, address):
    assert [one["state"] for one in doctor(stack) if one["check"] == "egress_addresses"] == ["ok"]
    own(outside, "del")
    try:
        assert_says(wrong(stack), "egress_addresses", f"does not have the address {address}", "network interface")
        assert "egress_upstream_failed" in seen(sandbox, f"https://{HOST}/")
    finally:
        own(outside, "add")
    assert ways(sandbox, outside) == [address, address]
