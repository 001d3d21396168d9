# SPDX-License-Identifier: GPL-2.0-or-later
"""Terminals that go on when the connection breaks, and are entered again."""

import re

import pytest

from cli import Cli
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel


@pytest.fixture
def work(module_account):
    sandbox = Sandbox.create(module_account.api, timeout=1800, name="left")
    yield sandbox
    module_account.api.delete(f"/v1/sandboxes/{sandbox.id}")


def begin(ssh, who, word):
    """A terminal whose shell has a variable."""
    terminal = ssh.terminal(who)
    terminal.expect("$ ")
    terminal.type(f"word={word}; echo is s''et\n")
    terminal.expect("is set\r\n")
    return terminal


def left(work):
    """Processes of terminals, with whether somebody follows."""
    answer = work.data.call("process.Process/List", {"details": True})
    return {entry["pid"]: entry["followed"] for entry in answer.json()["processes"] if entry["terminal"]}


def break_off(work, terminal):
    had = sum(left(work).values())
    terminal.kill()
    wait_until(lambda: sum(left(work).values()) < had, 30, "the terminal being left")


def test_a_shell_is_entered_again(ssh, work):
    terminal = begin(ssh, "left", "kept")
    terminal.type("(sleep 1; echo said mean''while)&\n")
    terminal.expect("\n")
    break_off(work, terminal)
    again = ssh.terminal("left+attach", rows=41, cols=91)
    again.expect("said meanwhile")
    again.type("echo it has $word\n")
    again.expect("it has kept\r\n")
    again.type("stty size\n")
    again.expect("41 91\r\n")
    again.type("exit 7\n")
    assert again.wait() == 7
    assert not left(work)


def test_the_next_shell_tells_of_it(ssh, work):
    break_off(work, begin(ssh, work.id, "one"))
    break_off(work, begin(ssh, work.id, "two"))
    third = ssh.terminal(work.id)
    told = third.expect("$ ")
    pids = re.findall(r"still running here: shell, process (\d+)", told)
    assert [int(pid) for pid in pids] == sorted(left(work))[:2], told
    chosen = ssh.terminal(f"{work.id}+attach={pids[0]}")
    chosen.type("echo it has $word\n")
    chosen.expect("it has one\r\n")
    chosen.type("exit\n")
    assert chosen.wait() == 0
    newest = ssh.terminal(f"{work.id}+attach")
    newest.type("echo it has $word\n")
    newest.expect("it has two\r\n")
    newest.type("exit\n")
    assert newest.wait() == 0
    third.type("exit\n")
    assert third.wait() == 0


def test_a_terminal_is_taken_over_from_a_connection_that_is_not_known_to_be_gone(ssh, module_account):
    first = ssh.terminal("new")
    sandbox_id = re.search(r"sbx_[0-9a-z]{26}", first.expect("$ "))[0]
    first.type("word=taken; echo is s''et\n")
    first.expect("is set\r\n")
    second = ssh.terminal(f"{sandbox_id}+attach")
    first.expect("another client has connected")
    assert first.wait() == 125
    # Its end deletes no sandbox that somebody is in.
    second.type("echo it has $word\n")
    second.expect("it has taken\r\n")
    second.type("exit 3\n")
    assert second.wait() == 3
    assert module_account.api.show(sandbox_id)["state"] == "ready"
    module_account.api.delete(f"/v1/sandboxes/{sandbox_id}")


def test_there_is_nothing_to_enter_again(ssh, work):
    for who, says in (("left+attach", "no such terminal"), ("left+attach=1", "no such terminal"),
                      ("left+attach=x", "not a process"), ("no-such-one+attach", "no-such-one"),
                      ("new+attach", "with attach, give only"), ("left+attach+keep", "with attach, give only")):
        done = ssh(who)
        assert done.returncode != 0 and says in (done.stdout + done.stderr).decode(), (who, done)


def test_the_command_line_enters_it_too(ssh, work, module_account, stack, tmp_path):
    break_off(work, begin(ssh, "left", "either"))
    cli = Cli(stack, tmp_path, module_account.api.key)
    (row,) = cli.json("attach", "--list", "left")["terminals"]
    assert row["command"] == "shell" and row["followed"] is False
    terminal = cli.terminal("attach", "left")
    terminal.type("echo it has $word\r")
    terminal.expect("it has either\r\n")
    terminal.type("exit 4\r")
    assert terminal.wait() == 4
