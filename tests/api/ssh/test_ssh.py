# SPDX-License-Identifier: GPL-2.0-or-later
"""The SSH entry point with OpenSSH's own clients, rsync among them."""

import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from entry_point import free_port
from ssh import Ssh
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def work(module_account):
    """A sandbox that is called work."""
    return Sandbox.create(module_account.api, timeout=1800, name="work")


def made_by(notice):
    return re.search(r"sbx_[0-9a-z]{26}", notice).group()


def is_gone(api, sandbox_id):
    return api.get(f"/v1/sandboxes/{sandbox_id}").status == 404


# --- who comes in ---


def test_an_unknown_key_is_told_nothing(stack, ssh, work, tmp_path):
    stranger = Ssh(stack, tmp_path)
    refusals = set()
    for who in (work.id, "work", "new", "no-such-thing"):
        done = stranger(who, "true")
        assert done.returncode == 255 and done.stdout == b"", done
        refusals.add(done.stderr.replace(who.encode(), b"WHO"))
    assert len(refusals) == 1, refusals
    for way in ("password", "keyboard-interactive", "none"):
        done = ssh("work", "true", options=["-o", f"PreferredAuthentications={way}"])
        assert done.returncode == 255 and b"publickey" in done.stderr


def test_sandboxes_of_others_are_not_there(stack, other_account, work, tmp_path):
    theirs = Ssh(stack, tmp_path, other_account)
    for who in (work.id, "work"):
        done = theirs(who, "true")
        assert done.returncode == 255 and b"no s" in done.stderr.lower(), done


def test_a_narrow_key_reaches_its_teams_alone(stack, module_account, work, tmp_path):
    from client import Api
    second = module_account.make_team()
    narrow = Ssh(stack, tmp_path)
    Api(stack, module_account.key("write", "--team", second)).post("/v1/ssh_keys", {"public_key": narrow.public})
    assert narrow(work.id, "true").returncode == 255
    made = narrow("new", "true")
    assert made.returncode == 0, made
    assert stack.row(made_by(made.stderr.decode()))["team_id"] == stack.query(
        "SELECT id FROM teams WHERE slug = %s", second)[0]["id"]


@pytest.mark.parametrize("who, says", [
    ("no-such-thing", "no sandbox or template with the name no-such-thing"),
    ("sbx_00000000000000000000000000", "no such sandbox"),
    ("new+colour=red", "colour=red"),
    ("new+cpu=many", "cpu"),
    ("new+no+such+thing", "no-such-thing"),
    ("new+--json", "not a name"),
    ("x" * 600, "too long"),
])
def test_user_names_that_mean_nothing(ssh, who, says):
    done = ssh(who, "true")
    assert done.returncode == 255 and says in done.stderr.decode(), done


# --- sandboxes that come and go ---


def test_new_is_deleted_at_the_end(ssh, module_account):
    done = ssh("new+name=brief+colour:red", "cat /etc/os-release; echo $HOME")
    notice = done.stderr.decode()
    assert done.returncode == 0 and "/home/user" in done.stdout.decode(), done
    assert "deleted when you leave" in notice and "https://" in notice
    sandbox_id = made_by(notice)
    wait_until(lambda: is_gone(module_account.api, sandbox_id), 30, "its end")
    (row,) = ssh.stack.query("SELECT name, metadata FROM sandboxes WHERE id = %s", sandbox_id)
    assert row["name"] == "brief" and "red" in str(row["metadata"])
    assert f"Sandbox brief ({sandbox_id}, " in notice and "ssh brief+attach@" in notice


def test_a_name_means_one_sandbox(ssh, module_account):
    api = module_account.api
    labelled = api.create(metadata={"name": "twin"})
    made = api.create(name="twin")
    ssh.say(made["id"], "touch here")
    assert ssh.say("twin", "ls here") == "here\n" and ssh(labelled["id"], "ls here").returncode == 2
    refused = ssh("new+name=twin", "true")
    assert refused.returncode != 0 and b"has a sandbox with the name twin" in refused.stderr, refused
    api.request("PATCH", f"/v1/sandboxes/{made['id']}", {"name": "Twin_2.b"})
    assert ssh.say("Twin_2.b", "ls here") == "here\n"
    gone = ssh("twin", "true")
    assert gone.returncode != 0 and b"no sandbox or template with the name twin" in gone.stderr, gone
    for one in (labelled, made):
        api.destroy(one["id"])


def test_a_new_sandbox_says_how_it_would_stay(ssh, module_account):
    said = ssh("new", "true").stderr.decode()
    assert "`ssh new+keep@…` creates one that stays" in said, said


def test_keep_alone_is_new_keep(ssh, module_account):
    done = ssh("keep", "true")
    assert done.returncode == 0 and "stays when you leave" in done.stderr.decode(), done
    module_account.api.destroy(made_by(done.stderr.decode()))


def test_new_keep_stays(ssh, stack, module_account):
    done = ssh(f"{stack.template}+keep+timeout=10m", "echo kept >note")
    sandbox_id = made_by(done.stderr.decode())
    assert done.returncode == 0 and "stays when you leave" in done.stderr.decode()
    shown = module_account.api.show(sandbox_id)
    assert shown["timeout"] == 600 and shown["lifecycle"]["on_timeout"] == "pause"
    again = ssh(sandbox_id, "cat note")
    assert again.stdout == b"kept\n" and again.stderr == b"", again


def test_a_connection_that_breaks_leaves_the_sandbox(ssh, module_account):
    broken = ssh.start("new", "echo $$ >pid; echo up; exec sleep 600")
    sandbox_id = made_by(broken.stderr.readline().decode())
    assert broken.stdout.readline() == b"up\n"
    broken.kill()
    broken.wait()
    assert ssh.say(sandbox_id, "kill -0 $(cat pid) && echo goes on") == "goes on\n"
    module_account.api.delete(f"/v1/sandboxes/{sandbox_id}")


def test_a_paused_one_is_woken(ssh, module_account):
    sandbox = Sandbox.create(module_account.api, name="asleep")
    sandbox.data.check("echo still >/tmp/there")
    sandbox.pause()
    assert ssh.say("asleep", "cat /tmp/there") == "still\n"


# --- commands and shells ---


def test_exit_codes_and_streams(ssh, work):
    done = ssh("work", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
    assert ssh(work.id, "kill -9 $$").returncode == 137
    assert ssh("work", "no-such-command").returncode == 127
    assert ssh("work", "cat", stdin=b"in\0out").stdout == b"in\0out"
    big = os.urandom(8 << 20)
    assert ssh("work", "cat", stdin=big).stdout == big
    assert ssh.say("work", 'printf "%s\n" "a  b" \'c"d\' $((1+1))') == 'a  b\nc"d\n2\n'
    assert ssh("work", "head -c 1; exec 0<&-; sleep 0.2", stdin=big).returncode == 0


def test_a_slow_reader_is_waited_for(ssh, work):
    process = ssh.start("work", "head -c 20000000 /dev/zero | tr '\\0' x; echo end >&2")
    assert process.stdout.read(1) == b"x"
    assert len(process.stdout.read()) == 19999999 and process.stderr.read() == b"end\n"
    assert process.wait() == 0


def test_environment(ssh, work):
    options = ["-o", "SetEnv=GREETING=\"hello there\" LC_ALL=C", "-o", "SendEnv=NOT_THERE"]
    assert ssh.say("work", 'echo "$GREETING"; env', options=options).startswith("hello there\n")
    said = ssh.say("work", "env; tr '\\0' '\\n' </proc/self/environ", options=options)
    assert "LC_ALL=C\n" in said and "SSH_CONNECTION=127.0.0.1 " in said
    assert "SANDLOT_KEY" not in said and "sls_" not in said and "LD_PRELOAD" not in said
    preload = ["-o", "SetEnv=LD_PRELOAD=/nonexistent.so SANDLOT_URL=https://127.0.0.1:1 PATH=/bin"]
    assert ssh.say("work", "echo $SANDLOT_URL", options=preload) == "https://127.0.0.1:1\n"


WATCH_SIZE = (
    "import os, signal, time; "
    "told = lambda *_: os.write(1, b\"resized to %d %d\\n\" % os.get_terminal_size()[::-1]); "
    "signal.signal(signal.SIGWINCH, told); "
    "os.write(1, b\"watch\" + b\"ing\\n\"); "
    "time.sleep(100)"
)


def test_a_shell_with_a_terminal(ssh, work):
    terminal = ssh.terminal("work", rows=33, cols=99)
    terminal.expect("$ ")
    terminal.type("stty size; echo $TERM\n")
    terminal.expect("33 99")
    terminal.expect("xterm")
    # Each answer is a word that was not typed as it is: a prompt, or the echo, may be an earlier one.
    # The shell's own trap may come in the middle of what it reads.
    terminal.type("python3 -c '" + WATCH_SIZE + "'\n")
    terminal.expect("watching\r\n")
    terminal.resize(44, 111)
    terminal.expect("resized to 44 111")
    terminal.type("\x03")
    # What prints is what the terminal's key reaches: before, the shell itself would have it.
    terminal.type("sh -c 'echo in fr\"\"ont; exec sleep 100'; echo not\n")
    terminal.expect("in front\r\n")
    terminal.type("\x03")
    terminal.type("echo ba''ck\n")
    terminal.expect("back\r\n")
    terminal.type("exit 5\n")
    assert terminal.wait() == 5


def test_the_way_out_of_a_shell_that_was_closed(ssh, work):
    """The client's own way to end a session ends the shell in the sandbox too."""
    terminal = ssh.terminal("work", options=["-o", "ControlMaster=yes", "-o", f"ControlPath={ssh.folder}/close"])
    terminal.expect("$ ")
    terminal.type("echo pid=$$\n")
    terminal.expect("echo pid=$$")
    terminal.expect("pid=")
    pid = terminal.expect("\r\n")
    assert ssh.say("work", f"kill -0 {pid} && echo there") == "there\n"
    terminal.type("exit\n")
    assert terminal.wait() == 0
    assert ssh("work", f"kill -0 {pid}").returncode == 1


def test_several_at_once_in_one_connection(ssh, work):
    control = ["-o", f"ControlPath={ssh.folder}/many"]
    master = ssh.start("work", "-N", options=["-M", *control, "-N"])
    wait_until((ssh.folder / "many").exists, 30, "the master")
    several = [ssh.start("work", f"sleep 0.5; echo {number}; exit {number}", options=control) for number in range(8)]
    assert [(one.stdout.read(), one.wait()) for one in several] == [(b"%d\n" % n, n) for n in range(8)]
    master.kill()
    master.wait()


# --- files ---


def test_files(ssh, work, tmp_path):
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "data").write_bytes(os.urandom(300000))
    (tree / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (tree / "run").chmod(0o750)
    (tree / "link").symlink_to("run")
    config = ["-F", ssh.config]
    for program, words in (("scp", ["-r", *config]), ("scp", ["-O", "-r", *config])):
        back = tmp_path / f"back{len(words)}"
        assert ssh.run(program, *words, tree, f"work@sandbox:/tmp/{back.name}").returncode == 0
        done = ssh.run(program, *words, f"work@sandbox:/tmp/{back.name}", back)
        assert done.returncode == 0, done
        assert (back / "below" / "data").read_bytes() == (tree / "below" / "data").read_bytes()
    shell = f"ssh -F {ssh.config}"
    for _ in range(2):
        done = ssh.run("rsync", "-a", "-e", shell, f"{tree}/", "work@sandbox:/tmp/synced/")
        assert done.returncode == 0, done
    done = ssh.run("rsync", "-a", "-e", shell, "work@sandbox:/tmp/synced/", tmp_path / "synced")
    assert done.returncode == 0, done
    assert os.readlink(tmp_path / "synced" / "link") == "run"
    assert (tmp_path / "synced" / "run").stat().st_mode & 0o777 == 0o750
    batch = b"cd /tmp\nmkdir by-sftp\nput %s by-sftp/run\nchmod 600 by-sftp/run\nrename by-sftp/run by-sftp/ran\nls -l by-sftp\n"
    done = ssh.run("sftp", "-b", "-", *config, "work@sandbox", stdin=batch % bytes(tree / "run"))
    assert done.returncode == 0 and re.search(rb"-rw-------.* user +user .*by-sftp/ran", done.stdout), done


# --- ports ---


@pytest.fixture(scope="module")
def server(work):
    """A server on the sandbox's loopback, which says back what it hears, then ends."""
    work.data.background("python3", "-c", """
import socket
listener = socket.create_server(("127.0.0.1", 7777))
while True:
    connection, _ = listener.accept()
    heard = b""
    while piece := connection.recv(65536):
        heard += piece
    connection.sendall(heard[::-1])
    connection.close()
""")
    wait_until(lambda: work.data.bash("</dev/tcp/127.0.0.1/7777").exit_code == 0, 30, "the server")


def test_a_port_at_standard_streams(ssh, work, server):
    text = os.urandom(1 << 20)
    done = ssh("work", options=["-W", "localhost:7777"], stdin=text)
    assert done.stdout == text[::-1], done.stderr
    for who, port in (("work", 7), ("no-such-thing", 7777)):
        closed = ssh(who, options=["-W", f"localhost:{port}"])
        assert closed.returncode == 255 and closed.stdout == b"" and b"forwarding failed" in closed.stderr, closed


def exchange(connection, text):
    connection.sendall(text)
    connection.shutdown(socket.SHUT_WR)
    heard = b""
    while piece := connection.recv(65536):
        heard += piece
    return heard


def socks(port, host, wanted):
    """A connection through -D, or None when it is refused."""
    connection = socket.create_connection(("127.0.0.1", port), 30)
    connection.settimeout(30)
    connection.sendall(b"\5\1\0")
    assert connection.recv(2) == b"\5\0"
    connection.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + wanted.to_bytes(2, "big"))
    answer = connection.recv(10)
    return connection if answer[1:2] == b"\0" else None


def test_forwarded_ports_end_in_the_sandbox_and_nowhere_else(ssh, stack, work, server):
    local, dynamic = free_port(), free_port()
    api = stack.base_url.rsplit(":", 1)[1]
    process = ssh.start("work", options=["-N", "-L", f"{local}:127.0.0.1:7777", "-D", f"{dynamic}",
                                         "-o", "ExitOnForwardFailure=yes"])
    try:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", dynamic)) == 0, 30, "the ports")
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", local), 30) as connection:
                connection.settimeout(30)
                assert exchange(connection, b"forwards") == b"sdrawrof"
        with socks(dynamic, "localhost", 7777) as connection:
            assert exchange(connection, b"abc") == b"cba"
        for host, port in (("127.0.0.1", int(api)), ("10.0.0.1", 80), ("example.com", 80), (work.address, 7777),
                           ("169.254.169.254", 80), ("::ffff:127.0.0.1", 7777)):
            connection = socks(dynamic, host, port)
            assert connection is None or connection.recv(1) == b"", (host, port)
    finally:
        process.kill()
        process.wait()


def test_what_is_not_forwarded(ssh, work):
    done = ssh("work", "echo $SSH_AUTH_SOCK$DISPLAY", options=["-A", "-X"])
    assert done.returncode == 0 and done.stdout == b"\n"
    done = ssh("work", options=["-N", "-o", "ExitOnForwardFailure=yes", "-R", "/tmp/socket:localhost:22"])
    assert done.returncode == 255


# --- limits and the log ---


def test_sessions_are_in_the_log(ssh, stack):
    log = stack.root / "log" / "ssh.log"
    made = made_by(ssh("new", "true").stderr.decode())

    def ends():
        return [line for line in log.read_text(encoding="utf-8").splitlines()
                if made in line and "SSH session ended" in line]
    wait_until(ends, 30, "the line of its end")
    (ended,) = ends()
    assert ssh.key["id"] in ended and "duration_ms=" in ended and "address=127.0.0.1" in ended
    assert "sls_" not in log.read_text(encoding="utf-8")


def test_the_process_of_a_connection_has_no_rights(ssh, stack, work):
    open_one = ssh.start("work", "echo in; sleep 600")
    assert open_one.stdout.readline() == b"in\n"
    try:
        # One that has been forked and is not yet itself has another name.
        listener = stack.daemon("sandlot-ssh").pid
        children = subprocess.run(["pgrep", "-P", str(listener), "-x", "sandlot-ssh-ses"], capture_output=True,
                                  text=True, check=True)
        for pid in children.stdout.split():
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            except OSError:
                continue  # another's connection that has ended
            assert not re.search(r"^Uid:\s+0\b", status, re.MULTILINE)
            assert re.search(r"^CapPrm:\s+0+$", status, re.MULTILINE)
            assert re.search(r"^CapAmb:\s+0+$", status, re.MULTILINE)
            assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
            assert re.search(r"^Groups:\s*$", status, re.MULTILINE)
    finally:
        open_one.kill()
        open_one.wait()


@pytest.mark.alone
def test_the_end_of_the_entry_point_loses_no_sandbox(ssh, stack, module_account):
    open_one = ssh.start("new", "echo in; echo $$ >pid; exec sleep 600")
    sandbox_id = made_by(open_one.stderr.readline().decode())
    assert open_one.stdout.readline() == b"in\n"
    idle = ssh.start("new-keep", options=["-N"])
    listener = stack.daemon("sandlot-ssh").pid
    os.kill(listener, signal.SIGKILL)
    assert open_one.wait(60) == idle.wait(60) == 255
    wait_until(lambda: ssh(sandbox_id, "kill -0 $(cat pid)").returncode == 0, 30, "the entry point being back")
    module_account.api.delete(f"/v1/sandboxes/{sandbox_id}")


@pytest.mark.faults
def test_a_client_that_says_nothing_is_sent_away(stack):
    grace_s = int(stack.settings.get("ssh_login_grace_s", "20"))
    with socket.create_connection(("127.0.0.1", int(stack.ssh_settings["port"]))) as silent:
        silent.settimeout(grace_s + 30)
        assert silent.recv(100).startswith(b"SSH-2.0-")
        while silent.recv(4096):
            pass
