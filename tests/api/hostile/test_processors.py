# SPDX-License-Identifier: GPL-2.0-or-later
"""A team with many sandboxes that burn their processors, beside a team with one: what counts is the share of the processor
time that each gets, not the time."""

import contextlib
import os
import time

import pytest

from tenant import Account, Sandbox

MANY = 12
BURN = ("sh", "-c", "while :; do :; done")
SETTLE_S = 5  # weights are set every two seconds
LOOK_S = 4


def used(sandboxes):
    return sum(one.stack.incus.request("GET", f"/1.0/instances/{one.instance}/state")["cpu"]["usage"] for one in sandboxes)


@pytest.fixture(scope="module")
def many(stack):
    """The sandboxes of one team."""
    account = Account(stack, "pro")
    yield [Sandbox.create(account.api, timeout=1800) for _ in range(MANY)]
    account.clean_up()


@contextlib.contextmanager
def burning(sandboxes):
    """Each has a program that takes a whole processor, if it gets one."""
    pids = [(sandbox, sandbox.data.background(*BURN)) for sandbox in sandboxes]
    try:
        time.sleep(SETTLE_S)
        yield
    finally:
        for sandbox, pid in pids:
            sandbox.data.check(f"kill -9 {pid}")


def share_of(one, others):
    """What the one gets, as a part of what all the others get."""
    before = used([one]), used(others)
    time.sleep(LOOK_S)
    return (used([one]) - before[0]) / (used(others) - before[1])


@pytest.mark.long
def test_a_busy_sandbox_beside_idle_ones_of_its_team(many, bystander):
    """Idle sandboxes cost their team nothing."""
    with burning([many[0], bystander.sandbox]):
        share = share_of(many[0], [bystander.sandbox])
    assert 0.5 < share < 2, share


@pytest.mark.skipif(os.cpu_count() > 6, reason="there are processors enough for all")
def test_many_busy_sandboxes_weigh_as_much_as_one(many, bystander):
    with burning([bystander.sandbox, *many]):
        # It has one processor at most, and the others have all the rest. By sandbox it had a thirteenth.
        share = share_of(bystander.sandbox, many)
        assert share > min(0.2, 0.6 / max(1, os.cpu_count() - 1)), share
        bystander.goes_on(pause=False)
