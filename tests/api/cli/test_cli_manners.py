# SPDX-License-Identifier: GPL-2.0-or-later
"""sandlot where a command line, a stream or a terminal is not as usual."""

import os
import subprocess

import pytest

from cli import Cli
from stack import wait_until
from terminal import Terminal

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def cli(stack, module_account, tmp_path_factory):
    return Cli(stack, tmp_path_factory.mktemp("cli"), module_account.api.key)


@pytest.fixture(scope="module")
def sandbox(cli):
    """The id of a sandbox called "work"."""
    return cli.say("create", "--name", "work", "--timeout", "30m").strip()


def test_a_first_word_lists_its_commands(cli):
    group = cli.say("help", "checkpoint")
    assert [line.split()[1] for line in group.splitlines()] == ["create", "list", "show", "rm"]
    alone = cli("checkpoint")
    assert alone.returncode == 2 and b"needs a second word: create, list, show, rm" in alone.stderr
    assert cli("help", "nothing").returncode == 2
    assert "sandlot --version" in cli.say("help")


def test_the_help_fits_a_narrow_terminal(cli):
    terminal = Terminal(["sh", "-c", "read line; exec \"$0\" help", str(cli.program)], cli.environment, cols=40)
    terminal.type("\n")  # the terminal has its size
    said = terminal.expect("Examples; ")
    assert "  network set SANDBOX\r\n      Replace the network policy of a" in said, said
    assert max(len(line) for line in said.splitlines()) <= 60, said  # usage and operands stay whole
    assert terminal.wait() == 0


def test_output_that_cannot_be_written_is_an_error(cli, sandbox):
    with open("/dev/full", "wb") as full, cli.begin("list", stdout=full, stderr=subprocess.PIPE) as listing:
        assert listing.wait(60) == 1
        assert b"cannot write the output: No space left" in listing.stderr.read()
    with cli.begin("list", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as listing:
        listing.stdout.close()  # the reader of the pipe has enough
        assert listing.wait(60) == 1
        assert listing.stderr.read() == b""


def test_streams_may_be_closed(cli, sandbox):
    command = ["sh", "-c", "exec \"$0\" exec work sh -c 'cat; echo done' <&-", str(cli.program)]
    done = subprocess.run(command, env=cli.environment, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done


def test_a_name_of_several_sandboxes_names_their_ids(cli, module_account, sandbox):
    team = module_account.make_team()
    other = cli.say("create", "--name", "work", "--team", team).strip()
    try:
        done = cli("show", "work")
    finally:
        cli.say("rm", other)
    assert done.returncode == 1, done
    for words in (sandbox, f"{other} of team {team}", "give the id of one"):
        assert words in done.stderr.decode(), done


def test_ctrl_c_at_a_hidden_prompt_shows_what_is_typed_again(cli, stack, tmp_path):
    environment = cli.without("SANDLOT_URL", "SANDLOT_KEY") | {"XDG_CONFIG_HOME": str(tmp_path)}
    script = "trap : INT; \"$0\" login --key \"$1\"; echo code=$?; stty -a"
    terminal = Terminal(["sh", "-c", script, str(cli.program), stack.base_url], environment)
    terminal.expect("API key: ")
    terminal.type("\x03")
    terminal.expect("code=130")
    terminal.expect(" echo ")
    assert terminal.wait() == 0


def test_a_pipe_that_closes_ends_the_program(cli, sandbox):
    with cli.begin("exec", "-n", "work", "yes", "unread", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"unread\n"
        running.stdout.close()
        assert running.wait(60) == 141
        assert running.stderr.read() == b""
    wait_until(lambda: cli("exec", "-n", "work", "pgrep", "-f", "^yes unread").returncode == 1, 30, "the program's end")


def test_output_of_a_program_that_cannot_be_written(cli, sandbox):
    with open("/dev/full", "wb") as full, cli.begin("exec", "-n", "work", "echo", "lost", stdout=full,
                                                    stderr=subprocess.PIPE) as running:
        assert running.wait(60) == 125
        assert b"cannot write the output: No space left" in running.stderr.read()


def test_an_argument_that_is_not_text_is_not_left_out(cli, sandbox):
    done = cli("exec", "work", "echo", "one", os.fsdecode(b"\xff"))
    assert done.returncode == 2 and b"argument 2 of the command is not text in UTF-8" in done.stderr, done


# --- files and folders that are not as usual ---


def inside(cli, script):
    return cli.say("exec", "-n", "work", "sh", "-c", script)


def test_cp_of_links_and_of_files_that_grow(cli, sandbox, tmp_path):
    """A link has a size of its own, a file of /proc has none, and a log is longer a moment later."""
    inside(cli, "echo behind >/tmp/behind && ln -s behind /tmp/to-behind && mkdir /tmp/live")
    cli.say("cp", "work:/tmp/to-behind", tmp_path)
    assert (tmp_path / "to-behind").read_bytes() == b"behind\n"
    cli.say("cp", "work:/proc/version", tmp_path)
    assert (tmp_path / "version").read_bytes().startswith(b"Linux")
    grow = "until [ -e /tmp/enough ]; do echo line; sleep 0.002; done >/tmp/live/log"
    with cli.begin("exec", "-n", "work", "sh", "-c", f"echo begun; {grow}", stdout=subprocess.PIPE) as growing:
        assert growing.stdout.readline() == b"begun\n"
        cli.say("cp", "work:/tmp/live/log", tmp_path)
        cli.say("cp", "work:/tmp/live", tmp_path)
        inside(cli, "touch /tmp/enough")
    for log in (tmp_path / "log", tmp_path / "live" / "log"):
        assert set(log.read_bytes().splitlines()[:-1]) <= {b"line"}
    assert not list(tmp_path.glob("*.sandlot-*"))


def test_cp_keeps_long_names_and_sets_the_usual_mode(cli, sandbox, tmp_path):
    long = tmp_path / ("nn" + "ä" * 124)
    long.write_bytes(b"long\n")
    long.chmod(0o644)
    cli.say("cp", long, "work:/tmp")
    (tmp_path / "again").mkdir()
    cli.say("cp", f"work:/tmp/{long.name}", tmp_path / "again")
    assert (tmp_path / "again" / long.name).read_bytes() == b"long\n"
    inside(cli, "install -m 755 /dev/null /tmp/was-executable")
    cli.say("cp", long, "work:/tmp/was-executable")
    assert inside(cli, "stat -c %a /tmp/was-executable") == "644\n"


@pytest.mark.long
def test_sync_of_more_files_than_a_listing_has(cli, sandbox, tmp_path):
    tree = tmp_path / "many"
    for name in ("a", "b/below", "c"):
        (tree / name).mkdir(parents=True)
        for number in range(7000):
            (tree / name / str(number)).touch()
    assert cli.json("sync", tree, "work:many") == {"sent": 21004, "removed": 0}
    (tree / "b" / "below" / "17").unlink()
    assert cli.json("sync", "--delete", tree, "work:many") == {"sent": 0, "removed": 1}
