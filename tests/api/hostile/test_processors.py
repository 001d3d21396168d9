# SPDX-License-Identifier: GPL-2.0-or-later
"""A team with many sandboxes that burn their processors, beside a team with one: what counts is the share of the processor
time that each gets, not the time."""

import os
import time

import pytest

from tenant import Sandbox

MANY = 12
BURN = ("sh", "-c", "while :; do :; done")
SETTLE_S = 8  # weights are set every two seconds
LOOK_S = 12


def used(sandboxes):
    return sum(one.stack.incus.request("GET", f"/1.0/instances/{one.instance}/state")["cpu"]["usage"] for one in sandboxes)


def burning(api, count):
    sandboxes = [Sandbox.create(api, timeout=1800) for _ in range(count)]
    for sandbox in sandboxes:
        sandbox.data.background(*BURN)
    return sandboxes


def share_of(one, others):
    """What the one gets, as a part of what all the others get."""
    before = used([one]), used(others)
    time.sleep(LOOK_S)
    return (used([one]) - before[0]) / (used(others) - before[1])


@pytest.mark.skipif(os.cpu_count() > 6, reason="there are processors enough for all")
def test_many_busy_sandboxes_weigh_as_much_as_one(make_account, own_bystander):
    honest = own_bystander.sandbox
    many = burning(make_account("pro").api, MANY)
    honest.data.background(*BURN)
    time.sleep(SETTLE_S)
    # It has one processor at most, and the others have all the rest. By sandbox it had a thirteenth.
    share = share_of(honest, many)
    assert share > min(0.2, 0.6 / max(1, os.cpu_count() - 1)), share
    own_bystander.goes_on(rounds=1, pause=False)


def test_a_busy_sandbox_beside_idle_ones_of_its_team(make_account, own_bystander):
    """Idle sandboxes cost their team nothing."""
    account = make_account("pro")
    for _ in range(MANY - 1):
        Sandbox.create(account.api, timeout=1800)
    one, = burning(account.api, 1)
    own_bystander.sandbox.data.background(*BURN)
    time.sleep(SETTLE_S)
    share = share_of(one, [own_bystander.sandbox])
    assert 0.5 < share < 2, share
