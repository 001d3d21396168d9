# SPDX-License-Identifier: GPL-2.0-or-later
"""What editors that work over SSH do to begin: Visual Studio Code's Remote - SSH, and JetBrains' Gateway."""

import contextlib
import io
import socket
import tarfile

import pytest

from entry_point import free_port
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel

# It serves its own folder's files, and writes down the port that it was given.
SERVER = b"""
import http.server, os, sys
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
open("port.new", "w").write(f"{server.server_port}\\n")
os.rename("port.new", "port")
server.serve_forever()
"""

# As that of Visual Studio Code: on the standard input of a shell, it says in marked lines what it found, starts a
# server that outlives the connection unless one runs, and tells its port.
BOOTSTRAP = b"""
platform=$(uname -s) arch=$(uname -m)
mkdir -p ~/.editor-server && cd ~/.editor-server || exit 1
if [ -s pid ] && kill -0 "$(cat pid)" 2>/dev/null; then
    found=running
else
    found=started
    rm -f port
    nohup setsid python3 server.py >log 2>&1 </dev/null &
    echo $! >pid
fi
until [ -s port ]; do sleep 0.1; done
echo "e5f0: start"
echo "platform==$platform=="
echo "arch==$arch=="
echo "server==$found=="
echo "listeningOn==$(cat port)=="
echo "e5f0: end"
"""


@pytest.fixture(scope="module")
def work(module_account):
    return Sandbox.create(module_account.api, timeout=1800, name="editor")


@contextlib.contextmanager
def ends(process):
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def bootstrap(process):
    """What it says between its marks."""
    process.stdin.write(BOOTSTRAP)
    process.stdin.flush()
    said = {}
    for line in process.stdout:
        if line == b"e5f0: end\n":
            return said
        name, _, value = line.decode().strip().partition("==")
        said[name] = value.removesuffix("==")
    raise AssertionError((said, process.stderr.read()))


def ask(connection):
    connection.settimeout(60)
    connection.sendall(b"GET /server.py HTTP/1.0\r\n\r\n")
    with connection.makefile("rb") as answer:
        return answer.read().partition(b"\r\n\r\n")[2]


def through_socks(port, wanted):
    connection = socket.create_connection(("127.0.0.1", port), 60)
    connection.settimeout(60)
    connection.sendall(b"\5\1\0")
    assert connection.recv(2) == b"\5\0"
    connection.sendall(b"\5\1\0\1\x7f\0\0\1" + wanted.to_bytes(2, "big"))
    assert connection.recv(10)[1:2] == b"\0"
    return connection


def test_visual_studio_code(ssh, work, tmp_path):
    (tmp_path / "server.py").write_bytes(SERVER)
    ssh.say(work.id, "mkdir -p .editor-server")
    assert ssh.run("scp", "-F", ssh.config, tmp_path / "server.py", f"{work.id}@sandbox:.editor-server/").returncode == 0
    for found in ("started", "running"):
        dynamic = free_port()
        with ends(ssh.start(work.id, "bash", options=["-T", "-D", str(dynamic)])) as process:
            said = bootstrap(process)
            assert (said["platform"], said["server"]) == ("Linux", found), said
            for _ in range(3):
                with through_socks(dynamic, int(said["listeningOn"])) as connection:
                    assert ask(connection) == SERVER
            process.stdin.close()
            assert process.wait(60) == 0


def test_jetbrains(ssh, work, tmp_path):
    """An archive over SFTP, commands one by one over one connection, and a port of its own for -L."""
    archive = tmp_path / "backend.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo("backend/server.py")
        member.size = len(SERVER)
        tar.addfile(member, io.BytesIO(SERVER))
    control = ["-o", f"ControlPath={ssh.folder}/gateway"]
    with ends(ssh.start("editor", options=["-M", "-N", *control])) as master:
        wait_until((ssh.folder / "gateway").exists, 60, "the master")
        assert ssh.say("editor", "uname -sm; echo $HOME; df -Pk ~ | tail -n 1", options=control).startswith("Linux ")
        done = ssh.run("sftp", "-F", ssh.config, *control, "-b", "-", "editor@sandbox",
                       stdin=f"-mkdir .cache\nput {archive} .cache/backend.tar.gz\n".encode())
        assert done.returncode == 0, done
        ssh.say("editor", "tar -C .cache -xzf .cache/backend.tar.gz", options=control)
        ssh.say("editor", "cd .cache/backend && (setsid python3 server.py >log 2>&1 </dev/null &)", options=control)
        wait_until(lambda: ssh("editor", "test -s .cache/backend/port", options=control).returncode == 0, 60, "the port")
        inside = ssh.say("editor", "cat .cache/backend/port", options=control).strip()
        local = free_port()
        assert ssh("editor", options=["-O", "forward", "-L", f"{local}:127.0.0.1:{inside}", *control]).returncode == 0
        with socket.create_connection(("127.0.0.1", local), 60) as connection:
            assert ask(connection) == SERVER
        assert master.poll() is None
