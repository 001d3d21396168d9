# SPDX-License-Identifier: GPL-2.0-or-later
"""A tenant who creates and deletes without end: what is on its way out takes room of a bounded size."""

from faults import quota_in_use
from stack import wait_until
from tenant import Sandbox

ROOM = 2  # RESERVES_ROOM of enum sandbox_reserved


def test_what_is_on_its_way_out_is_bounded(make_account, set_plan, stack):
    """Deletes that cannot end give the quota back, and keep their room on the host, which bounds further creates."""
    account = make_account("enterprise")
    both = [Sandbox.create(account.api) for _ in range(2)]
    names = [one.instance for one in both]
    set_plan("enterprise", sandboxes=1)
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        for one, left in zip(both, (1, 0), strict=True):
            account.api.destroy(one.id)
            assert quota_in_use(account.api) == left
        assert account.api.list() == []
        assert [stack.row(one.id)["reserved"] for one in both] == [ROOM] * 2
    finally:
        daemon.start(stack.incus.answers)
    wait_until(lambda: not any(map(stack.incus.exists, names)), 60, "the end of both instances")
    wait_until(lambda: [stack.row(one.id)["reserved"] for one in both] == [0, 0], 60, "their room")
