# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits by key, user, team and connection, with an entry point whose limits are small."""

import contextlib

import pytest

from entry_point import entry_point
from ssh import Ssh
from stack import wait_until
from tenant import Account, Sandbox

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def entry(stack):
    with entry_point(stack, ssh_key_sessions=2, ssh_team_sessions=3, ssh_channels=3) as entry:
        yield entry


@pytest.fixture(scope="module")
def team_mates(stack, module_account):
    """A team, its owner and another member."""
    other = Account(stack)
    team = module_account.make_team()
    stack.ctl("team", "add-member", team, "--user", other.user, "--role", "member")
    yield team, module_account, other
    other.clean_up()


@pytest.fixture(scope="module")
def work(team_mates):
    team, owner, _ = team_mates
    return Sandbox.create(owner.api, team=team, timeout=1800)


@pytest.fixture
def key(stack, entry, tmp_path):
    def key(account, name):
        (tmp_path / name).mkdir()
        return Ssh(stack, tmp_path / name, account, entry=entry)
    return key


@contextlib.contextmanager
def session(ssh, who, options=()):
    """One that is in, for as long."""
    process = ssh.start(who, "echo in; cat", options=options)
    try:
        assert process.stdout.readline() == b"in\n", process.stderr.read()
        yield process
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def is_over(entry, ssh, count):
    """Its sessions have ended, as the log says: until then they count."""
    wait_until(lambda: len(entry.log("SSH session ended", ssh.key["id"])) >= count, 60, "the end of its sessions")


def test_a_key_has_its_sessions_and_a_user_too(entry, account, sandbox, key):
    one, second = key(account, "one"), key(account, "second")
    with session(one, sandbox.id):
        with session(one, sandbox.id):
            assert one(sandbox.id, "true").returncode == 255
            entry.logs("SSH session refused", one.key["id"], "This key has the most")
            with session(second, sandbox.id):
                assert second(sandbox.id, "true").returncode == 255
                entry.logs("SSH session refused", second.key["id"], "This user has the most")
    is_over(entry, one, 2)
    assert one(sandbox.id, "true").returncode == 0


def test_a_team_has_its_sessions(entry, team_mates, work, key):
    _, owner, other = team_mates
    one, second, third = key(owner, "one"), key(owner, "second"), key(other, "third")
    with session(one, work.id), session(one, work.id), session(third, work.id):
        refused = third(work.id, "true")
        assert refused.returncode == 255 and b"The team has the most" in refused.stderr, refused
        own = third("new", "echo of another team")
        assert own.stdout == b"of another team\n", own
    is_over(entry, one, 2)
    assert second(work.id, "true").returncode == 0


def test_a_connection_has_its_channels(account, sandbox, key):
    ssh = key(account, "one")
    control = ["-o", f"ControlPath={ssh.folder}/many"]
    master = ssh.start(sandbox.id, options=["-M", "-N", *control])
    try:
        wait_until((ssh.folder / "many").exists, 60, "the master")
        with contextlib.ExitStack() as opened:
            for _ in range(3):
                opened.enter_context(session(ssh, sandbox.id, options=control))
            # The client opens a connection of its own then, and says why.
            assert b"Session open refused" in ssh(sandbox.id, "true", options=control).stderr
        wait_until(lambda: ssh(sandbox.id, "true", options=control).stderr == b"", 60, "a free channel")
    finally:
        master.kill()
        master.wait()
