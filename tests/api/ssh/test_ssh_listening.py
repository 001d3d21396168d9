# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports of a sandbox whose connections go to the client (-R), with OpenSSH's own."""

import re
import socket
import threading

import pytest

from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def work(module_account):
    return Sandbox.create(module_account.api, timeout=1800, name="back")


@pytest.fixture(scope="module")
def server():
    """One of this machine, which says back what it hears, turned round."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection):
        with connection:
            heard = b""
            while piece := connection.recv(65536):
                heard += piece
            connection.sendall(heard[::-1])

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


ASK = """
import socket, sys
def ask(text, host="127.0.0.1"):
    connection = socket.create_connection((host, int(sys.argv[1])), 60)
    connection.sendall(text)
    connection.shutdown(socket.SHUT_WR)
    heard = b""
    while piece := connection.recv(65536):
        heard += piece
    return heard
"""


def inside(work, port, script):
    done = work.data.run("python3", "-c", ASK + script, str(port))
    assert done.exit_code == 0, done
    return done.stdout


def forward(ssh, *specs, who="back"):
    """A client that has these ports, and says so."""
    options = [word for spec in specs for word in ("-R", spec)]
    process = ssh.start(who, "echo up; cat", options=["-o", "ExitOnForwardFailure=yes", *options])
    said = process.stdout.readline()
    assert said == b"up\n", process.stderr.read()
    return process


def end(process):
    process.stdin.close()
    assert process.wait(60) == 0


def test_connections_from_the_sandbox_come_to_the_client(ssh, work, server):
    process = forward(ssh, f"7100:127.0.0.1:{server}", f"localhost:7101:127.0.0.1:{server}")
    assert inside(work, 7100, "print(ask(b'abc').decode())") == b"cba\n"
    assert inside(work, 7101, "print(ask(b'abc').decode())") == b"cba\n"
    # Several at once, each of more than fits any window.
    script = """
import os, concurrent.futures
texts = [os.urandom(300000) for _ in range(6)]
with concurrent.futures.ThreadPoolExecutor(6) as pool:
    print(list(pool.map(ask, texts)) == [text[::-1] for text in texts])
"""
    assert inside(work, 7100, script) == b"True\n"
    end(process)
    wait_until(lambda: work.data.bash("</dev/tcp/127.0.0.1/7100").exit_code != 0, 30, "the end of the port")


def test_a_free_port_is_told(ssh, work, server):
    process = ssh.start("back", "cat", options=["-v", "-R", f"0:127.0.0.1:{server}"])
    for line in process.stderr:
        if found := re.search(rb"Allocated port (\d+) for remote forward", line):
            break
    assert inside(work, int(found[1]), "print(ask(b'free').decode())") == b"eerf\n"
    process.kill()
    process.wait()


def test_a_port_is_given_back_while_the_connection_goes_on(ssh, work, server):
    control = ["-o", f"ControlPath={ssh.folder}/cancel"]
    master = ssh.start("back", options=["-M", "-N", *control])
    wait_until((ssh.folder / "cancel").exists, 30, "the master")
    spec = f"7110:127.0.0.1:{server}"
    for _ in range(2):
        assert ssh("back", options=["-O", "forward", "-R", spec, *control]).returncode == 0
        assert inside(work, 7110, "print(ask(b'abc').decode())") == b"cba\n"
        assert ssh("back", options=["-O", "cancel", "-R", spec, *control]).returncode == 0
        wait_until(lambda: work.data.bash("</dev/tcp/127.0.0.1/7110").exit_code != 0, 30, "the end of the port")
    master.kill()
    master.wait()


def test_nobody_outside_the_sandbox_reaches_the_port(ssh, stack, work, server):
    """Whatever address the client asks for, it is the sandbox's loopback that is listened on."""
    process = forward(ssh, f"*:7120:127.0.0.1:{server}")
    assert inside(work, 7120, "print(ask(b'abc').decode())") == b"cba\n"
    script = f"""
try:
    ask(b"x", {work.address!r})
except OSError as error:
    print(type(error).__name__)
"""
    assert inside(work, 7120, script) == b"ConnectionRefusedError\n"
    with socket.socket() as one:
        assert one.connect_ex(("127.0.0.1", 7120)) != 0
    end(process)


def test_what_cannot_be_listened_on(ssh, work, server):
    for spec in (f"80:127.0.0.1:{server}", f"10.0.0.1:7130:127.0.0.1:{server}", "49983:localhost:1"):
        refused = ssh("back", options=["-N", "-o", "ExitOnForwardFailure=yes", "-R", spec])
        assert refused.returncode == 255 and b"forwarding failed" in refused.stderr, refused
    # Without that option the session is there all the same, and says why.
    done = ssh("back", "true", options=["-R", f"80:127.0.0.1:{server}"])
    assert done.returncode == 0 and b"Port 80 is not forwarded" in done.stderr, done


def test_ports_of_a_connection_are_bounded(ssh, work, server):
    specs = [f"{7140 + i}:127.0.0.1:{server}" for i in range(9)]
    process = forward(ssh, *specs[:8])
    end(process)
    options = [word for spec in specs for word in ("-R", spec)]
    refused = ssh("back", options=["-N", "-o", "ExitOnForwardFailure=yes", *options])
    assert refused.returncode == 255 and b"forwarding failed for listen port 7148" in refused.stderr, refused


def test_another_user_of_the_sandbox_takes_no_connection(ssh, work, server):
    """The socket through which connections are handed on has a name that all in the sandbox can read."""
    process = forward(ssh, f"7160:127.0.0.1:{server}")
    script = """
import re, socket
name = re.search(r"@(sandlot-listen-[0-9a-f]+)", open("/proc/net/unix").read())[1]
taker = socket.socket(socket.AF_UNIX)
taker.connect("\\0" + name)
print(taker.recv(1))
"""
    taken = work.data.run("python3", "-c", script, user="root")
    assert taken.exit_code == 0 and taken.stdout == b"b''\n", taken
    assert inside(work, 7160, "print(ask(b'abc').decode())") == b"cba\n"
    end(process)


def test_a_broken_connection_frees_the_port(ssh, work, server):
    process = forward(ssh, f"7170:127.0.0.1:{server}")
    process.kill()
    process.wait()
    wait_until(lambda: work.data.bash("</dev/tcp/127.0.0.1/7170").exit_code != 0, 30, "the end of the port")
    end(forward(ssh, f"7170:127.0.0.1:{server}"))
