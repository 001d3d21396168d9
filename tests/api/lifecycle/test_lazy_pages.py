# SPDX-License-Identifier: GPL-2.0-or-later
"""Resumes in which a sandbox runs before all its memory is there, and operations in that time."""

import pathlib

import pytest

from faults import InBackground, settle
from full_pool import FullPool
from page_server import lock_of, served, server_of, unfinished
from stack import wait_until
from tenant import Account, Sandbox, checkpoint_of
from test_forks import fork
from test_rollback import roll_back

pytestmark = [pytest.mark.parallel, pytest.mark.one_host]

HELD_MIB = 136  # a page server brings 128 MiB or more
LEFT_MB = 40


@pytest.fixture(autouse=True)
def device():
    if not pathlib.Path("/dev/userfaultfd").exists():
        pytest.skip("the kernel has no /dev/userfaultfd")


class Holders:
    """One sandbox that holds much memory, and another one when a test has ended it."""

    def __init__(self, account):
        self.account = account
        self.sandbox = None

    def is_whole(self):
        try:
            return self.sandbox.show()["state"] == "ready" and self.sandbox.data.bash("pgrep -f held_memory").exit_code == 0
        except (AssertionError, OSError):
            return False

    def one(self):
        if not self.sandbox or not self.is_whole():
            sandbox = self.sandbox = Sandbox.create(self.account.api, memory_mb=1024, timeout=3600)
            program = sandbox.put_guest("held_memory.py")
            sandbox.data.background("python3", program, str(HELD_MIB))
            wait_until(lambda: sandbox.data.bash("test -e /tmp/sum").exit_code == 0, 120, "the memory")
        return self.sandbox

    def tidy_up(self):
        """Delete the sandboxes and checkpoints that the test made from this one."""
        self.account.clean_up(kept=self.sandbox.id)


@pytest.fixture(scope="module")
def holders(stack):
    account = Account(stack, "pro")
    yield Holders(account)
    account.clean_up()


@pytest.fixture
def holder(holders):
    yield holders.one()
    holders.tidy_up()


def assert_sums(sandbox):
    sandbox.data.check("rm -f /tmp/answer /tmp/child; touch /tmp/ask")
    wait_until(lambda: sandbox.data.bash("test -e /tmp/answer").exit_code == 0, 120, "the sums")
    first = sandbox.data.read("/tmp/sum")
    assert sandbox.data.read("/tmp/answer") == first, "the process itself"
    assert sandbox.data.read("/tmp/child") == first, "a process that it forked meanwhile"


def waits_for_the_last_page(slow, call, *arguments, **options):
    """Make a call while the server stands still, and let the server continue only when the call waits for it."""
    calling = InBackground(call, *arguments, **options)
    calling.join(2)
    assert calling.is_alive() and slow.lock.exists()
    slow.release()
    return calling.result(180)


def test_sums_over_pauses_and_forks(holder):
    holder.pause()
    assert served(holder)
    assert holder.data.check("ls -l /proc/[0-9]*/fd | grep -c -e userfaultfd -e lazy || true").strip() == "0", \
        "no process of the sandbox keeps a file of the server"
    assert_sums(holder)
    (made,) = fork(holder)
    assert_sums(made)
    assert_sums(holder)
    made.pause()
    assert made.resume()["resumed_from"] == "memory"
    made.pause()
    assert made.resume()["resumed_from"] == "memory"
    assert_sums(made)


def test_it_computes_while_pages_are_missing(holder):
    """The agent's own memory is small, so it is complete first."""
    with unfinished(holder, before=lambda: holder.data.check("true")) as slow:
        assert holder.data.check("echo $((6 * 7)) >~/file; cat ~/file") == "42\n"
        slow.release()
        assert_sums(holder)


def test_a_pause_meanwhile(holder):
    with unfinished(holder) as slow:
        assert waits_for_the_last_page(slow, holder.pause)["state"] == "stopped"
    assert served(holder)
    assert_sums(holder)


@pytest.mark.long
def test_a_checkpoint_with_memory_meanwhile(holder):
    with unfinished(holder) as slow:
        made = waits_for_the_last_page(slow, checkpoint_of, holder, memory=True)
    assert_sums(holder)
    copy = Sandbox.create(holder.api, snapshot_id=made["id"])
    assert copy.show()["resumed_from"] == "memory"
    assert_sums(copy)


@pytest.mark.long
def test_a_fork_meanwhile(holder):
    with unfinished(holder) as slow:
        (made,) = waits_for_the_last_page(slow, fork, holder)
    assert_sums(made)
    assert_sums(holder)


@pytest.mark.long
def test_a_rollback_meanwhile(holder):
    """The memory that still comes is not needed any more. That of the checkpoint comes from a server of its own."""
    checkpoint = checkpoint_of(holder, memory=True)
    with unfinished(holder) as slow:
        rolling = InBackground(roll_back, holder, checkpoint["id"])
        wait_until(lambda: not pathlib.Path(f"/proc/{slow.pid}/fd").exists() or slow.release() is None, 60, "the server")
        assert rolling.result(180)["resumed_from"] == "memory"
    assert_sums(holder)


def test_a_delete_meanwhile(holder, stack):
    lock = lock_of(holder)
    with unfinished(holder) as slow:
        holder.api.destroy(holder.id)
        slow.release()
    holder.wait_until_removed()
    wait_until(lambda: not lock.exists() and not server_of(lock), 30, "the end of the server")
    settle(stack)


@pytest.mark.long
@pytest.mark.alone
def test_a_full_pool_meanwhile(holder, stack):
    with FullPool(stack, LEFT_MB) as pool:
        with unfinished(holder):
            pool.fill()
        assert_sums(holder)


def test_a_small_image_is_read_first(sandbox):
    sandbox.data.check("true")
    sandbox.pause()
    assert not served(sandbox)


@pytest.mark.alone  # for all sandboxes of the host
def test_an_operator_switches_it_off(holder, stack):
    switch = stack.host_dir / "etc" / "eager-pages"
    holder.pause()
    switch.touch()
    try:
        assert not served(holder)
    finally:
        switch.unlink()
    assert_sums(holder)
