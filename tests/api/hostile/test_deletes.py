# SPDX-License-Identifier: GPL-2.0-or-later
"""A tenant who creates and deletes without end: what is on its way out takes room of a bounded size."""

from faults import quota_in_use
from stack import wait_until
from tenant import Sandbox


def test_what_is_on_its_way_out_is_bounded(make_account, set_plan, stack):
    """With a plan of one sandbox, one more may be on its way out; a second one keeps its quota."""
    account = make_account("enterprise")
    first, second = (Sandbox.create(account.api) for _ in range(2))
    set_plan("enterprise", sandboxes=1)
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        account.api.destroy(first.id)
        assert quota_in_use(account.api) == 1
        account.api.destroy(second.id)
        assert account.api.list() == []
        assert quota_in_use(account.api) == 1
    finally:
        daemon.start(stack.incus.answers)
    wait_until(lambda: quota_in_use(account.api) == 0, 60, "the end of both instances")
