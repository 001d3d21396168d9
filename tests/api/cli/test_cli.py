# SPDX-License-Identifier: GPL-2.0-or-later
"""sandlot, the command line for users, against the real stack."""

import filecmp
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from cli import Cli
from console import Person
from leavings import delete_recipe_files
from stack import wait_until
from tenant import Sandbox
from terminal import Terminal

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def cli(stack, module_account, tmp_path_factory):
    return Cli(stack, tmp_path_factory.mktemp("cli"), module_account.api.key)


@pytest.fixture(scope="module")
def sandbox(cli, module_account):
    """A sandbox called "work", made by the command line."""
    made = cli.say("create", "--name", "work", "--timeout", "30m", "-e", "GREETING=hello", "-l", "kind=test",
                   "-p", "3000").strip()
    return Sandbox(module_account.api, module_account.api.post(f"/v1/sandboxes/{made}/connect").json()
                   | {"id": made})


@pytest.fixture
def folder(tmp_path):
    """A tree with links, modes and a name that wants care."""
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "file with ä\n").write_bytes(bytes(range(256)))
    (tree / "run").write_text("#!/bin/sh\necho it runs\n", encoding="utf-8")
    (tree / "run").chmod(0o750)
    (tree / "empty").mkdir(mode=0o711)
    (tree / "link").symlink_to("below/file with ä\n")
    (tree / "dangling").symlink_to("nowhere")
    return tree


def assert_same_tree(one, other):
    def listing(root):
        return {str(path.relative_to(root)): (path.lstat().st_mode, os.readlink(path) if path.is_symlink() else
                                              path.read_bytes() if path.is_file() else None)
                for path in root.rglob("*")}
    assert listing(one) == listing(other)


# --- keys and deployments ---


def test_login_keeps_the_key_for_its_owner_alone(cli, stack, module_account, tmp_path):
    environment = cli.without("SANDLOT_URL", "SANDLOT_KEY", "SANDLOT_CA") | {"XDG_CONFIG_HOME": str(tmp_path)}
    refused = cli("list", environment=environment)
    assert refused.returncode == 4 and b"sandlot login" in refused.stderr
    key = module_account.api.key.encode() + b"\n"
    done = cli("login", stack.base_url, "--ca", stack.ca_file, "--name", "here", stdin=key, environment=environment)
    assert done.returncode == 0 and module_account.user.encode() in done.stderr, done
    kept = tmp_path / "sandlot" / "deployments.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert cli("list", "--deployment", "here", environment=environment).returncode == 0
    assert module_account.api.key not in cli.say("deployments", environment=environment)
    assert cli("list", "--deployment", "elsewhere", environment=environment).returncode == 2
    assert cli("logout", "here", environment=environment).returncode == 0
    assert cli("list", environment=environment).returncode == 4
    again = cli("logout", environment=environment)
    assert again.returncode == 3 and b"you have not logged in" in again.stderr, again


def confirm(person, said, approve):
    code = re.search(r"confirm the code ([A-Z]{4}-[A-Z]{4})", said)[1]
    assert f"/device?code={code}" in said
    assert person.browser.post(f"/v1/devices/{code}", {"approve": approve}).status == 204


def test_login_is_confirmed_in_the_console(cli, stack, module_account, tmp_path):
    person = Person(stack, module_account.user)
    environment = cli.without("SANDLOT_URL", "SANDLOT_KEY") | {"XDG_CONFIG_HOME": str(tmp_path)}
    terminal = Terminal([str(cli.program), "login", stack.base_url], environment)
    confirm(person, terminal.expect(" there, within 10 minutes"), True)
    terminal.expect(f"as {module_account.user}")
    assert terminal.wait() == 0
    kept = tmp_path / "sandlot" / "deployments.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert cli("list", environment=environment).returncode == 0
    (made,) = [key for key in json.loads(cli.say("key", "list", "--json", environment=environment))["keys"]
               if key["name"].startswith("sandlot on ")]
    assert cli("key", "revoke", made["id"], environment=environment).returncode == 0
    assert cli("list", environment=environment).returncode == 4


def test_login_is_refused_in_the_console(cli, stack, other_account, tmp_path):
    person = Person(stack, other_account.user)
    environment = cli.without("SANDLOT_URL", "SANDLOT_KEY") | {"XDG_CONFIG_HOME": str(tmp_path)}
    with cli.begin("login", "--device", stack.base_url, environment=environment, stderr=subprocess.PIPE,
                   stdin=subprocess.DEVNULL) as waiting:
        confirm(person, (waiting.stderr.readline() + waiting.stderr.readline()).decode(), False)
        assert waiting.wait(60) != 0
        assert b"refused the login in the console" in waiting.stderr.read()
    assert not (tmp_path / "sandlot").exists()


def test_a_wrong_key_is_not_kept(cli, stack, tmp_path):
    environment = cli.without("SANDLOT_URL", "SANDLOT_KEY") | {"XDG_CONFIG_HOME": str(tmp_path)}
    done = cli("login", stack.base_url, stdin=b"slk_wrong\n", environment=environment)
    assert done.returncode == 4 and b"slk_wrong" not in done.stderr
    assert not (tmp_path / "sandlot").exists()


def test_a_certificate_that_is_not_trusted(cli):
    done = cli("list", environment=cli.without("SANDLOT_CA"))
    assert done.returncode == 2 and b"--ca" in done.stderr, done


def test_a_service_that_is_not_there(cli):
    done = cli("list", environment=cli.environment | {"SANDLOT_URL": "https://api.localhost:1"})
    assert done.returncode == 5 and b"cannot connect to" in done.stderr, done


def test_a_key_that_may_only_read(cli, module_account):
    reader = cli.environment | {"SANDLOT_KEY": module_account.key("read")}
    assert cli("list", environment=reader).returncode == 0
    done = cli("create", environment=reader)
    assert done.returncode == 4 and b"the scope `write`" in done.stderr


@pytest.mark.parametrize("words", [
    ["lsit"], ["list", "--sate", "ready"], ["exec", "work"], ["create", "--timeout", "soon"], ["key"],
    ["create", "--env", "NONE"], ["list", "--state"], ["cp", "a", "b"], ["completion", "tcsh"]], ids=" ".join)
def test_wrong_usage(cli, words):
    done = cli(*words)
    assert done.returncode == 2 and done.stderr.startswith(b"sandlot") and not done.stdout, done


def test_wrong_usage_says_how_it_is_right(cli):
    assert b"did you mean 'list'?" in cli("lsit").stderr
    assert b"give more operands: sandlot exec SANDBOX COMMAND" in cli("exec", "work").stderr


def test_a_refusal_is_one_sentence(cli, stack, make_account, tmp_path):
    done = Cli(stack, tmp_path, make_account("pro").api.key)("create", "--cpu", "3")
    assert done.returncode == 1 and done.stderr.endswith(b"it allows 1, 2, 4, 8 (/cpu).\n"), done
    done = cli("fork", "work", "--count", "0")
    assert done.returncode == 2 and b"--count must be a whole number of 1 or more" in done.stderr, done


# --- sandboxes ---


def test_what_was_created_is_listed_and_shown(cli, sandbox):
    shown = cli.json("show", "work")
    assert (shown["id"], shown["timeout"], shown["name"], shown["metadata"]) == (
        sandbox.id, 1800, "work", {"kind": "test"})
    assert shown["exposed_ports"] == [{"port": 3000, "protocol": "http", "public": False}]
    assert [row["id"] for row in cli.json("list", "-l", "kind=test")["sandboxes"]] == [sandbox.id]
    assert cli.json("list", "-l", "kind=other")["sandboxes"] == []
    table = cli.say("list", "--state", "running")
    assert table.startswith("NAME ") and sandbox.id in table and "\033" not in table


def test_colors_on_a_terminal_only_and_not_with_no_color(cli, sandbox):
    terminal = cli.terminal("show", sandbox.id)
    terminal.expect("\033[32mrunning")
    assert terminal.wait() == 0
    cli.environment["NO_COLOR"] = "1"
    terminal = cli.terminal("show", sandbox.id)
    assert "\033" not in terminal.expect("data_plane_url")
    assert terminal.wait() == 0
    del cli.environment["NO_COLOR"]


def test_a_sandbox_that_is_not_there(cli):
    for words in (["show", "nothing"], ["rm", "sbx_01kamqj6rk5f4v3x0e7s2hjw8a"], ["pause", "nothing"]):
        done = cli(*words)
        assert done.returncode == 3 and done.stderr, done
    assert cli("exec", "nothing", "true").returncode == 125


def test_a_list_that_is_watched(cli, sandbox):
    with cli.begin("list", "--watch", stdout=subprocess.PIPE) as watching:
        for _ in range(2):
            assert watching.stdout.readline().startswith(b"NAME ")
            assert sandbox.id.encode() in watching.stdout.readline()
        watching.terminate()


def test_extend(cli, sandbox):
    before = cli.json("show", "work")["deadline"]
    assert cli.say("extend", "work", "50m").strip() > before
    assert cli.json("show", "work")["timeout"] == 3000


def test_pause_resume_and_rm(cli):
    made = cli.say("create", "--on-timeout", "pause").strip()
    assert cli.say("pause", made) == "paused\n"
    assert cli.say("resume", made).strip() in ("memory", "disk")
    assert cli.say("exec", "-n", made, "echo", "awake") == "awake\n"
    assert cli.say("rm", made) == ""
    assert cli("show", made).returncode == 3


# --- commands ---


def test_a_background_program_keeps_no_command(cli, sandbox):
    """The command ends, and the program that holds its output runs on."""
    for options in ([], ["-n"]):
        pid = cli.say("exec", *options, "work", "sh", "-c", "sleep 600 & echo $!").strip()
        sandbox.data.check(f"kill -0 {pid} && kill {pid}")


def test_exec_has_the_programs_output_and_exit_code(cli, sandbox):
    done = cli("exec", "work", "sh", "-c", "echo $GREETING; echo err >&2; exit 42")
    assert (done.returncode, done.stdout, done.stderr) == (42, b"hello\n", b"err\n")
    assert cli("exec", "work", "sh", "-c", "kill -TERM $$").returncode == 143
    missing = cli("exec", "work", "/no/such/program")
    assert missing.returncode == 125 and b"/no/such/program" in missing.stderr


def test_exec_takes_the_commands_own_options(cli, sandbox):
    assert cli.say("exec", "-w", "/usr", "-u", "root", "-e", "A=b", "work", "sh", "-c", "pwd; id -un; echo $A") \
        == "/usr\nroot\nb\n"
    assert cli.say("exec", "work", "--", "echo", "--json", "-t") == "--json -t\n"


def test_exec_passes_bytes_both_ways(cli, sandbox):
    sent = os.urandom(3_000_000)
    assert cli("exec", "work", "cat", stdin=sent).stdout == sent
    assert cli("exec", "work", "true", stdin=sent).returncode == 0
    assert cli("exec", "work", "cat").stdout == b""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_program(cli, sandbox, number, status):
    with cli.begin("exec", "-n", "work", "sh", "-c", "echo begun; exec sleep 8765", stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"begun\n"
        running.send_signal(number)
        assert running.wait(60) == status
    assert cli("exec", "-n", "work", "pgrep", "-f", "^sleep 8765").returncode == 1


def test_exec_with_a_terminal(cli, sandbox):
    terminal = cli.terminal("exec", "-t", "work", "sh", "-c", "tty; stty size; read line; echo got:$line; exit 9")
    terminal.expect("/dev/pts/")
    terminal.expect("30 100")
    terminal.type("word\r")
    terminal.expect("got:word")
    assert terminal.wait() == 9


def test_a_shell_is_resized_and_ends_with_its_code(cli, sandbox):
    terminal = cli.terminal("shell", "work")
    terminal.expect("$ ")
    terminal.resize(40, 120)
    # The size follows the signal: ask until it is there.
    terminal.type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.1; done; echo re''sized\r")
    terminal.expect("resized")
    # What is typed before the prompt is there is taken apart: half by the line, half by bash's editor.
    terminal.expect("$ ")
    # What prints is what the terminal's key reaches: before, the shell itself would have it.
    terminal.type("sh -c 'echo be\"\"gun; exec sleep 100'\r")
    terminal.expect("begun")
    terminal.type("\x03")
    terminal.expect("^C")
    terminal.expect("$ ")
    terminal.type("exit 5\r")
    assert terminal.wait() == 5


# --- files ---


def test_cp_of_a_folder_both_ways(cli, sandbox, folder, tmp_path):
    assert cli.say("cp", folder, "work:tree") == ""
    assert cli.say("exec", "work", "tree/run") == "it runs\n"
    assert cli.say("cp", "work:tree", tmp_path / "back") == ""
    assert_same_tree(folder, tmp_path / "back")
    cli.say("cp", folder, "work:tree")
    assert cli("exec", "work", "test", "-x", "tree/tree/run").returncode == 0
    assert cli.say("exec", "work", "sh", "-c", "ls -a /tmp | grep -c sandlot || true") == "0\n"


def test_cp_of_files(cli, sandbox, folder, tmp_path):
    cli.say("cp", folder / "run", "work:")
    assert cli.say("exec", "work", "./run") == "it runs\n"
    cli.say("cp", folder / "below" / "file with ä\n", "work:/tmp/other")
    cli.say("cp", "work:/tmp/other", tmp_path)
    assert (tmp_path / "other").read_bytes() == bytes(range(256))
    cli.say("cp", "-", "work:/tmp/piped", stdin=b"\0piped")
    assert cli("cp", "work:/tmp/piped", "-").stdout == b"\0piped"
    assert cli("cp", "work:/no/such", tmp_path).returncode == 3
    assert cli("cp", tmp_path / "none", "work:").returncode == 3


def test_a_large_file_goes_on_where_it_was_broken_off(cli, sandbox, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(os.urandom(1 << 20) * 33)
    # The wait is in the sandbox: a part is there for less than a second.
    there = ["exec", "-n", "work", "sh", "-c", "echo waits; until ls /tmp/large.sandlot-*.0; do sleep 0.01; done"]
    with cli.begin(*there, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as waiting:
        assert waiting.stdout.readline() == b"waits\n"
        with cli.begin("cp", large, "work:/tmp/large") as broken:
            assert waiting.wait(60) == 0
            broken.kill()
    cli.say("cp", large, "work:/tmp/large")
    cli.say("cp", "work:/tmp/large", tmp_path / "back")
    assert filecmp.cmp(large, tmp_path / "back", shallow=False)
    assert cli.say("exec", "work", "sh", "-c", "ls /tmp | grep -c sandlot || true") == "0\n"


@pytest.fixture
def heavy(tmp_path):
    """A folder of more than one batch, with a file above the size of one in a folder that is not writable."""
    tree = tmp_path / "heavy"
    (tree / "shut").mkdir(parents=True)
    for name, size in (("one", 17), ("two", 17), ("shut/large", 33)):
        (tree / name).write_bytes(os.urandom(1 << 20) * size)
    (tree / "shut").chmod(0o500)
    yield tree
    (tree / "shut").chmod(0o700)


SUMS = "cd /tmp/heavy && find . -type f -exec sha256sum {} + | sort -k 2"


def sums(folder):
    return subprocess.run(["sh", "-c", f"cd {folder} && find . -type f -exec sha256sum {{}} + | sort -k 2"],
                          capture_output=True, text=True, check=True).stdout


def test_a_folder_goes_on_where_it_was_broken_off(cli, sandbox, heavy, tmp_path):
    def whole():
        """Inodes there of what has arrived, which one that is sent again would not keep."""
        said = cli("exec", "-n", "work", "sh", "-c",
                   "cd /tmp/heavy* && find . -type f -size +10M -exec stat -c '%n %s %Y %i' {} +")
        rows = [line.split() for line in said.stdout.decode().splitlines()]
        return {name: inode for name, size, time, inode in rows if (heavy / name).is_file()
                and (int(size), int(time)) == ((heavy / name).stat().st_size, int((heavy / name).stat().st_mtime))}
    # Its second archive is its end: that of what came behind a whole batch.
    (tmp_path / "tar").write_text(f"#!/bin/sh\n[ -e {tmp_path}/once ] && exec kill -9 $PPID\n: >{tmp_path}/once\n"
                                  "exec /bin/tar \"$@\"\n", encoding="utf-8")
    (tmp_path / "tar").chmod(0o755)
    broken = cli("cp", heavy, "work:/tmp/heavy",
                 environment=cli.environment | {"PATH": f"{tmp_path}:{cli.environment['PATH']}"})
    assert broken.returncode == -signal.SIGKILL, broken
    before = whole()
    assert cli.say("cp", heavy, "work:/tmp/heavy") == ""
    after = whole()
    assert len(before) >= 2 and before.items() <= after.items() and len(after) == 3
    assert cli.say("exec", "-n", "work", "sh", "-c", SUMS) == sums(heavy)
    assert cli.say("exec", "-n", "work", "stat", "-c", "%a", "/tmp/heavy/shut") == "500\n"
    # Into one that is there goes what it has not.
    (heavy / "more").write_text("more\n", encoding="utf-8")
    cli.say("cp", heavy, "work:/tmp")
    assert whole() == after and cli.say("exec", "-n", "work", "cat", "/tmp/heavy/more") == "more\n"


def test_a_folder_comes_on_where_it_was_broken_off(cli, sandbox, tmp_path):
    make = "mkdir /tmp/much && cd /tmp/much && for n in 1 2 3 4; do head -c 4194304 /dev/urandom >$n; done; sha256sum *"
    made = cli.say("exec", "-n", "work", "sh", "-c", make)
    back = tmp_path / "back"

    # No file of that client grows beyond so much.
    broken = subprocess.run([cli.program, "cp", "work:/tmp/much", back], env=cli.environment, check=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5 << 20, 5 << 20)))
    assert broken.returncode != 0 and not back.exists()
    (part,) = tmp_path.glob("back.sandlot-*.sandlot-*")
    kept = int(cli.say("exec", "-n", "work", "sh", "-c", "stat -c %s /tmp/.back.sandlot-*"))
    with part.open("rb") as opened:
        assert os.fstat(opened.fileno()).st_size == 5 << 20
        cli.say("cp", "work:/tmp/much", back)
        assert os.fstat(opened.fileno()).st_size == kept, "the part is what was added to"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back"]
    assert subprocess.run("sha256sum *", shell=True, cwd=back, capture_output=True, text=True, check=True).stdout == made
    assert cli.say("exec", "work", "sh", "-c", "ls -a /tmp | grep -c back.sandlot || true") == "0\n"
    # An archive that nothing has removed is not taken for the folder as it is later.
    cli.say("exec", "-n", "work", "sh", "-c", "echo changed >/tmp/much/1")
    cli.say("cp", "work:/tmp/much/", tmp_path / "later")
    assert (tmp_path / "later" / "1").read_text(encoding="utf-8") == "changed\n"


def test_a_part_larger_than_its_file_is_not_added_to(cli, sandbox, tmp_path):
    """The sandbox decides what size it names, and could otherwise send bytes without an end."""
    sandbox.data.check("install -m 644 /dev/null /tmp/emptied")
    etag = sandbox.data.request("HEAD", "/files?path=/tmp/emptied").headers["ETag"]
    value = 14695981039346656037
    for byte in f"{sandbox.id} {etag}".encode():
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    part = tmp_path / f"back.sandlot-{value:016x}"
    part.write_bytes(b"earlier")
    part.chmod(0o600)
    refused = cli("cp", "work:/tmp/emptied", tmp_path / "back")
    assert refused.returncode != 0 and b"changed during the copy" in refused.stderr, refused
    assert not part.exists()
    cli.say("cp", "work:/tmp/emptied", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b""


def test_sync_sends_what_differs(cli, sandbox, folder, tmp_path):
    (folder / "dangling").unlink()
    (folder / "link").unlink()
    assert cli.json("sync", folder, "work:synced") == {"sent": 4, "removed": 0}
    assert cli.json("sync", folder, "work:synced") == {"sent": 0, "removed": 0}
    (folder / "run").write_text("#!/bin/sh\necho changed\n", encoding="utf-8")
    (folder / "below" / "file with ä\n").unlink()
    assert b"send run" in cli("sync", "--dry-run", folder, "work:synced").stderr
    assert cli.json("sync", "--delete", folder, "work:synced") == {"sent": 1, "removed": 1}
    cli.say("cp", "work:synced", tmp_path / "back")
    assert_same_tree(folder, tmp_path / "back")


def test_sync_to_paths_with_slashes_and_dots(cli, sandbox, folder):
    (folder / "dangling").unlink()
    (folder / "link").unlink()
    assert cli.json("sync", folder, "work:dotted/") == {"sent": 4, "removed": 0}
    for target in ("work:dotted/", "work:./dotted", "work:dotted/../dotted/."):
        assert cli.json("sync", "--delete", folder, target) == {"sent": 0, "removed": 0}
    # A file takes the place of a folder, whose contents go with it.
    sandbox.data.check("cd ~/dotted && touch extra && rm run && mkdir run && touch run/one run/two")
    assert cli.json("sync", "--delete", folder, "work:dotted/") == {"sent": 1, "removed": 4}
    assert cli.say("exec", "work", "dotted/run") == "it runs\n"


def test_a_sync_that_is_killed_leaves_no_file(cli, sandbox, folder, tmp_path):
    tar = tmp_path / "tar"
    tar.write_text("#!/bin/sh\nkill -9 $PPID\n", encoding="utf-8")
    tar.chmod(0o755)
    before = set(pathlib.Path("/tmp").glob("sandlot-sync-*"))
    done = cli("sync", folder, "work:killed", environment={**cli.environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == -signal.SIGKILL
    assert set(pathlib.Path("/tmp").glob("sandlot-sync-*")) <= before


def test_sync_sends_links_when_they_say_something_else(cli, sandbox, folder):
    (folder / "link").unlink()
    (folder / "link").symlink_to("below")
    assert cli.json("sync", folder, "work:linked") == {"sent": 6, "removed": 0}
    assert cli.json("sync", folder, "work:linked") == {"sent": 0, "removed": 0}
    (folder / "link").unlink()
    (folder / "link").symlink_to("run")
    (folder / "odd\nlink").symlink_to("two words")
    # A link with a line break in its name is not told of, so it is sent each time.
    assert cli.json("sync", folder, "work:linked") == {"sent": 2, "removed": 0}
    assert cli.json("sync", folder, "work:linked") == {"sent": 1, "removed": 0}
    assert cli.say("exec", "work", "readlink", "linked/link", "linked/dangling", "linked/odd\nlink") \
        == "run\nnowhere\ntwo words\n"


# --- what else there is ---


def test_network(cli, sandbox):
    assert cli.say("network", "set", "work", "--no-internet", "--allow", "api.example.com:443") == "applied\n"
    assert cli.json("network", "show", "work")["allow_out"] == ["api.example.com:443"]
    assert cli.say("network", "check", "work", "api.example.com", "443")
    refused = cli("network", "check", "work", "198.51.100.1", "80", "--json")
    assert refused.returncode == 1 and json.loads(refused.stdout)["verdict"] == "deny"
    cli("exec", "-n", "work", "python3", "-c",
        "import socket; s = socket.socket(); s.settimeout(1); s.connect_ex(('198.51.100.1', 80))")
    with cli.begin("network", "denials", "work", "--follow", stdout=subprocess.PIPE) as following:
        assert b"198.51.100.1:80" in following.stdout.readline()
        following.terminate()
    assert "198.51.100.1" in cli.say("network", "denials", "work")


def test_checkpoints_and_templates(cli, sandbox, module_account):
    made = cli.say("checkpoint", "create", "work", "kept").strip()
    assert [row["id"] for row in cli.json("checkpoint", "list", "--sandbox", "work")["checkpoints"]] == [made]
    assert cli.json("checkpoint", "show", made)["name"] == "kept"
    slug = f"{module_account.team}-made"
    built = cli.say("template", "build", slug, "--checkpoint", made, "--follow")
    assert built.startswith("1\n") and len(built) > 3, built
    assert cli.say("template", "log", slug) == built.removeprefix("1\n")
    assert cli.json("template", "show", slug)["versions"][0]["state"] == "ready"
    assert slug in cli.say("template", "list")
    assert cli.say("template", "tag", slug, "stable", "1") == ""
    assert cli.json("template", "show", slug)["versions"][0]["tags"] == ["stable"]
    assert cli.say("template", "untag", slug, "stable") == ""
    assert cli("template", "untag", slug, "stable").returncode == 3
    assert cli("template", "tag", slug, "stable", "newest").returncode == 2
    assert cli.say("template", "rm", slug) == ""
    assert cli.say("checkpoint", "rm", made) == ""
    assert cli("checkpoint", "show", made).returncode == 3
    assert cli("template", "build", "x").returncode == 2


@pytest.mark.long
def test_templates_of_dockerfiles(cli, module_account, stack, tmp_path):
    slug = f"{module_account.team}-dockerfile"
    files = {"Dockerfile": f"ARG BASE\nFROM $BASE\nCOPY . /made/\nRUN cd /made; find . | LC_ALL=C sort | xargs echo\n",
             ".dockerignore": "# note\n**/*.log\nkept*\n!kept-all-the-same\n/deep/er\nDockerfile\n.dockerignore\n",
             "one": "1", "a.log": "", "kept": "", "kept-all-the-same": "", "deep/b.log": "", "deep/two": "2", "deep/er/three": "",
             "er/four": ""}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "link").symlink_to("one")

    def build(*options):
        return cli.say("template", "build", slug, str(tmp_path), "--build-arg", f"BASE={stack.template}", *options)

    try:
        assert "| . ./deep ./deep/two ./er ./er/four ./kept-all-the-same ./link ./one" in build("--follow")
        # The same files are one archive, which is not sent again.
        sent = stack.query("SELECT id, hash FROM recipe_files WHERE team_id = (SELECT id FROM teams WHERE slug = %s)", module_account.team)
        assert build() == "2\n" and len(sent) == 1
        assert sent == stack.query("SELECT id, hash FROM recipe_files WHERE hash = %s", sent[0]["hash"])
        build("--follow", "--tag", "v3", "--tag", "default", "--start-command", "echo begun >/tmp/begun; exec sleep 1000",
              "--ready-command", "test -s /tmp/begun && touch /tmp/ready")
        assert cli.json("template", "show", slug)["versions"][0]["tags"] == ["default", "v3"]
        started = Sandbox.create(module_account.api, template=slug)
        started.data.check("test -e /tmp/ready; until grep -q begun /tmp/begun; do sleep 0.1; done")
        module_account.api.destroy(started.id)
        failed = cli("template", "build", slug, str(tmp_path), "--build-arg", f"BASE={stack.template}", "--follow",
                     "--start-command", "echo boom; exit 3")
        assert failed.returncode == 1 and b"boom" in failed.stdout + failed.stderr, failed
        (tmp_path / "Dockerfile").write_text("FROM x\nCOPPY a b\n")
        refused = cli("template", "build", slug, str(tmp_path))
        assert refused.returncode == 1 and b"Line 2, column 1: there is no instruction COPPY; did you mean COPY?" in refused.stderr
        assert cli("template", "build", slug, str(tmp_path), "--image", "x").returncode == 2
        assert cli("template", "build", slug, str(tmp_path / "none")).returncode == 2
        assert cli("template", "build", slug, "--image", "x", "--target", "y").returncode == 2
    finally:
        delete_recipe_files(stack)
        cli("template", "rm", slug)


def test_volumes_and_their_files(cli, module_account, tmp_path):
    made = cli.say("volume", "create", "disk").strip()
    content = bytes(range(256)) * 1000
    (tmp_path / "sent").write_bytes(content)
    cli.say("volume", "put", tmp_path / "sent", "disk:/below/file")
    assert cli("volume", "cat", "disk:/below/file").stdout == content
    cli.say("volume", "get", "disk:/below/file", tmp_path)
    assert (tmp_path / "file").read_bytes() == content
    cli.say("volume", "put", "-", "disk:/piped", "--mode", "0600", stdin=b"piped")
    cli.say("volume", "mkdir", "disk:/empty")
    cli.say("volume", "mv", "disk:/piped", "/empty/moved")
    entries = {entry["name"]: entry for entry in cli.json("volume", "ls", "disk:/empty")["entries"]}
    assert entries["moved"]["size"] == 5 and entries["moved"]["mode"] == "0600"
    assert "below" in cli.say("volume", "ls", "disk:")
    assert cli("volume", "rm", "disk:/below").returncode == 1
    cli.say("volume", "rm", "-r", "disk:/below")
    assert cli.json("volume", "show", "disk")["id"] == made
    head, *rows = cli.say("volume", "list", "--team", module_account.team).splitlines()
    assert head.split()[:3] == ["NAME", "ID", "TEAM"]
    assert ["disk", made, module_account.team] in [row.split()[:3] for row in rows]
    assert cli.say("volume", "rm", "disk") == ""
    for word in ("delete", "remove"):  # they mean rm
        cli.say("volume", "create", "disk")
        assert cli.say("volume", word, "disk") == ""
    assert cli("volume", "cat", "disk:/x").returncode == 3


def test_events(cli, sandbox):
    lines = cli.say("events", "--sandbox", "work", "--kind", "sandbox.created", "--kind", "sandbox.started").splitlines()
    assert [line.split()[1:4] for line in lines] == \
        [["sandbox.created", "work", sandbox.id], ["sandbox.started", "work", sandbox.id]]
    told = [json.loads(line) for line in cli.say("events", "--sandbox", "work", "--json").splitlines()]
    assert told[0]["kind"] == "sandbox.created" and told[0]["data"]["template"]
    assert cli("events", "--kind", "sandbox.bored").returncode == 1


def events_of(text):
    return [json.loads(line)["id"] for line in text.splitlines()]


def test_events_of_a_while_and_the_newest(cli, sandbox):
    whole = events_of(cli.say("events", "--sandbox", "work", "--json"))
    assert events_of(cli.say("events", "--sandbox", "work", "--json", "--since", "2h30m")) == whole
    assert events_of(cli.say("events", "--sandbox", "work", "--json", "--tail", "2")) == whole[-2:]
    assert events_of(cli.say("events", "--sandbox", "work", "--json", "--tail", "10000")) == whole
    assert cli.say("events", "--sandbox", "work", "--since", "9999-01-01T00:00:00Z") == ""
    for words in (["--tail", "0"], ["--tail", "x"]):
        assert cli("events", *words).returncode == 2


def test_events_that_follow(cli, module_account, sandbox):
    """The newest one that is there says that the others will be seen."""
    with cli.begin("events", "--follow", "--tail", "1", "--json", stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout.readline()
        made = Sandbox.create(module_account.api)
        line = next(line for line in following.stdout if made.id in line)
        assert json.loads(line)["kind"] == "sandbox.created"
        made.api.destroy(made.id)
        following.kill()


def test_events_from_now_on(cli, sandbox):
    last = events_of(cli.say("events", "--json"))[-1]
    path = f"/v1/sandboxes/{sandbox.id}"
    with cli.begin("events", "-f", "--kind", "sandbox.updated", "--json", stdout=subprocess.PIPE, text=True) as following:
        over = threading.Event()

        def change():
            while not over.wait(0.2):
                sandbox.api.request("PATCH", path, {"metadata": {"seen": str(time.monotonic())}})

        changing = threading.Thread(target=change)
        changing.start()
        first = json.loads(following.stdout.readline())
        over.set()
        changing.join()
        assert first["id"] > last and first["data"] == {"changed": ["metadata"]}
        following.send_signal(signal.SIGINT)
        assert following.wait(30) in (130, -signal.SIGINT)


def test_keys_and_usage(cli, module_account):
    assert cli.json("key", "create", "as-mine")["scopes"] == ["read", "write"]
    made = cli.json("key", "create", "mine", "--scope", "read")
    assert made["key"] and made["scopes"] == ["read"]
    assert "mine" in cli.say("key", "list")
    assert cli.say("key", "revoke", made["id"]) == ""
    assert cli.say("key", "rm", cli.json("key", "create", "other")["id"]) == ""  # it means revoke
    assert "other" not in cli.say("key", "list")
    assert cli("list", environment=cli.environment | {"SANDLOT_KEY": made["key"]}).returncode == 4
    assert cli.json("usage", "--team", module_account.team)["team"] == module_account.team
    assert re.search(r"^storage .* checkpoints=\(checkpoints=\d+ .*\) volumes=\(volumes=\d+ ", cli.say("usage"), re.MULTILINE)
    assert module_account.user in cli.say("whoami")


LISTINGS = {
    "list": "sandboxes", "checkpoint list": "checkpoints", "volume list": "volumes", "template list": "templates",
    "template show python": "versions", "key list": "keys", "deployments": "deployments", "network denials work": "denials",
    "attach --list work": "terminals", "usage": "team", "whoami": "user"}


@pytest.mark.parametrize("listing", LISTINGS)
def test_every_listing_is_json_too(cli, sandbox, listing):
    assert LISTINGS[listing] in cli.json(*listing.split())


def test_a_bar_shows_progress_at_a_terminal(cli, sandbox, tmp_path):
    (tmp_path / "sent").write_bytes(os.urandom(1 << 20) * 40)
    terminal = cli.terminal("cp", str(tmp_path / "sent"), "work:/tmp/sent")
    # What the second of its three parts begins with, at the least.
    terminal.expect("sent  [#########")
    terminal.expect(" %")
    assert terminal.wait() == 0


def test_a_port_is_forwarded_and_opened(cli, sandbox):
    """A private one, of a server that listens on the sandbox's 127.0.0.1."""
    cli.say("exec", "-n", "work", "sh", "-c", "echo served >index.html; python3 -m http.server -b 127.0.0.1 3000 "
            ">/dev/null 2>&1 &")
    wait_until(lambda: sandbox.data.bash("</dev/tcp/127.0.0.1/3000").exit_code == 0, 30, "the server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with cli.begin("forward", "work", f"{port}:3000", stderr=subprocess.PIPE) as forwarding:
        assert f"127.0.0.1:{port}".encode() in forwarding.stderr.readline()
        try:
            for _ in range(2):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/index.html") as answer:
                    assert answer.read() == b"served\n"
            page = urllib.request.Request(f"http://127.0.0.1:{port}/index.html", headers={"Host": f"a.example:{port}"})
            with pytest.raises(urllib.error.HTTPError, match="403"):  # of a web page whose name leads here
                urllib.request.urlopen(page)
        finally:
            forwarding.terminate()
    url = cli.say("open", "work", "3000").strip()
    assert url.startswith("https://p3000-") and "access_token=slt_" in url


def test_a_port_that_does_not_speak_http_is_forwarded(cli, sandbox):
    """Bytes as they are, both ways at once, to what no preview could serve; nothing is exposed."""
    sandbox.data.background("python3", "-c", """
import socket, threading
listener = socket.create_server(("127.0.0.1", 5432))
def serve(connection):
    connection.sendall(b"first\\0")
    heard = b""
    while piece := connection.recv(65536):
        heard += piece
    connection.sendall(heard[::-1])
    connection.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],)).start()
""")
    wait_until(lambda: sandbox.data.bash("</dev/tcp/127.0.0.1/5432").exit_code == 0, 30, "the server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with cli.begin("forward", "--tcp", "work", f"{port}:5432", stderr=subprocess.PIPE) as forwarding:
        assert f": 127.0.0.1:{port} is port 5432".encode() in b": " + forwarding.stderr.readline()
        try:
            several = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(3)]
            texts = [os.urandom(300000) for _ in several]
            for connection, text in zip(several, texts):
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
            for connection, text in zip(several, texts):
                with connection:
                    assert connection.makefile("rb").read() == b"first\0" + text[::-1]
        finally:
            forwarding.terminate()
    assert sandbox.api.get(f"/v1/sandboxes/{sandbox.id}/ports/5432").status == 404


# --- what is made from the table of verbs ---


def verbs(cli):
    return [line.split("  ")[1] for line in cli.say("help").splitlines() if line.startswith("  ") and line[2] != " "
            and line[2] != "-" and not line.startswith("  sandlot ")]


def test_every_verb_has_help_and_is_in_the_manual(cli):
    manual = cli.say("__manual")
    assert "\n\nServices:\n  service list" in cli.say("help") and "\n\nWebhooks:\n  webhook create" in cli.say("help")
    for verb in verbs(cli):
        name = " ".join(word for word in verb.split() if word.islower())
        assert f".It Cm {name}" in manual, name
        assert cli.say(*name.split(), "--help").startswith(f"usage: sandlot {name}")


def test_examples_of_the_help_are_commands_with_options_that_exist(cli):
    names = {" ".join(word for word in verb.split() if word.islower()) for verb in verbs(cli)}
    _, _, first = cli.say("help").partition("\nExamples; ")
    examples = first.splitlines()[1:]
    assert examples[0] == "  sandlot login https://api.sandbox.example.com <key"
    for name in names:
        usage, _, more = cli.say("help", *name.split()).partition("\nExamples:\n")
        for line in more.splitlines():
            assert line.startswith(f"  sandlot {name} ")
            examples.append(line)
            for option in re.findall(r" (--[a-z-]+)", line):
                assert re.search(rf"{option}\b", usage), line
    assert len(set(examples)) >= 20
    manual = cli.say("__manual").splitlines()
    assert all(line.strip() in manual for line in examples)


def complete(cli, *words):
    return cli.say("__complete", "x", *words).split()


def test_completion(cli, sandbox):
    assert {"list", "login"} <= set(complete(cli, "l"))
    assert complete(cli, "sho") == ["show"]
    assert set(complete(cli, "key", "")) == {"create", "list", "revoke"}
    assert complete(cli, "show", "wo") == ["work"]
    assert complete(cli, "exec", sandbox.id[:-3]) == [sandbox.id]
    assert complete(cli, "cp", "wo") == ["work:"]
    assert complete(cli, "create", "--on-timeout", "") == ["kill", "pause"]
    assert "--on-timeout" in complete(cli, "create", "--on")
    assert complete(cli, "create", "pyth") == ["python"]
