# SPDX-License-Identifier: GPL-2.0-or-later
"""Who has no key, or more than a fair share of SSH connections, beside someone who works."""

import collections
import contextlib
import socket
import subprocess
import threading

import pytest

from faults import InBackground
from ssh import Ssh
from stack import wait_until

# A packet that is announced as longer than it is: 0x0400 octets of a key exchange (20), of which 64 come.
HALF_A_KEY_EXCHANGE = b"\0\0\x04\0\x06\x14" + b"\x01" * 64


def silent(stack, address):
    """A connection from that address, and whether it was answered."""
    connection = socket.create_connection(("127.0.0.1", int(stack.ssh_settings["port"])), 30, (address, 0))
    connection.settimeout(30)
    with contextlib.suppress(ConnectionError):
        return connection, connection.recv(4).startswith(b"SSH")
    return connection, False


def limit(stack, name, usual):
    return int(stack.settings.get(name, usual))


def test_silent_connections_keep_nobody_out(stack, account, bystander, tmp_path):
    ssh = Ssh(stack, tmp_path, account)
    of_address = limit(stack, "ssh_address_connections", 64)
    half = limit(stack, "ssh_connections", 256) // 2
    with contextlib.ExitStack() as opened:
        answered = 0
        for number in range(half + 16):
            connection, answer = silent(stack, f"127.0.1.{1 + number // (of_address - 1)}")
            opened.enter_context(connection)
            answered += answer
        assert answered > half
        assert ssh.say("new", "echo works") == "works\n"
        bystander.goes_on()
    wait_until(lambda: ssh("new", "true").returncode == 0, 30, "a sign-in afterwards")


def begin_and_leave(stack, address, ended):
    """Connections without end from the address, sixty at once, of which none gets beyond half a key exchange."""
    opened, count = collections.deque(), 0
    while not ended.is_set():
        one = socket.socket()
        opened.append(one)
        one.settimeout(30)
        one.bind((address, 0))
        with contextlib.suppress(OSError):
            one.connect(("127.0.0.1", int(stack.ssh_settings["port"])))
            count += 1
            one.sendall(b"SSH-2.0-x\r\n" + HALF_A_KEY_EXCHANGE)
        if len(opened) > 60:
            opened.popleft().close()
    for one in opened:
        one.close()
    return count


@pytest.mark.long
def test_connections_that_begin_without_a_pause(stack, account, bystander, tmp_path):
    """They end each other, and not the connection of somebody who thinks before the sign-in."""
    ssh = Ssh(stack, tmp_path, account)
    sandbox = account.api.create()["id"]
    thinking, answered = silent(stack, "127.0.4.2")
    ended = threading.Event()
    floods = [InBackground(begin_and_leave, stack, f"127.0.5.{number}", ended) for number in range(1, 9)]
    try:
        thinking.settimeout(8)
        with thinking, pytest.raises(TimeoutError):
            while thinking.recv(4096):
                pass
        works = ssh.say(sandbox, "echo works")
        bystander.goes_on()
    finally:
        ended.set()
        begun = sum(one.result(60) for one in floods)
    assert answered and works == "works\n" and begun > limit(stack, "ssh_connections", 256)


def test_one_address_has_its_share(stack, account, bystander, tmp_path):
    ssh = Ssh(stack, tmp_path, account)
    with contextlib.ExitStack() as opened:
        answers = []
        for _ in range(limit(stack, "ssh_address_connections", 64) + 8):
            connection, answer = silent(stack, "127.0.2.1")
            opened.enter_context(connection)
            answers.append(answer)
        assert answers[0] and not answers[-1]
        assert ssh.say("new", "echo works") == "works\n"
        bystander.goes_on()


def test_who_tries_keys_is_not_answered_any_more(stack, account, tmp_path):
    (tmp_path / "honest").mkdir()
    honest, stranger = Ssh(stack, tmp_path / "honest", account), Ssh(stack, tmp_path)
    options = ["-b", "127.0.3.1"]
    for number in range(18):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / f"key{number}"], check=True)
        options += ["-i", str(tmp_path / f"key{number}")]

    def is_sent_away():
        for one in [stranger.start("new", "true", options=options) for _ in range(4)]:
            one.communicate()
        return b"Permission denied" not in stranger("new", "true", options=options).stderr
    wait_until(is_sent_away, 60, "the address being sent away")
    assert honest.say("new", "echo works") == "works\n"


def test_a_client_of_nonsense(stack, account, tmp_path):
    ssh = Ssh(stack, tmp_path, account)
    address = ("127.0.0.1", int(stack.ssh_settings["port"]))
    for nonsense in (b"\0" * 70000, b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n" + b"\xff" * 70000,
                     b"SSH-2.0-x\r\n\0\0\0\x0c\x0a\x14" + b"\0" * 64, b"SSH-1.5-old\r\n"):
        with socket.create_connection(address, 30, ("127.0.4.1", 0)) as connection:
            connection.settimeout(60)
            with contextlib.suppress(ConnectionError):
                connection.sendall(nonsense)
                while connection.recv(4096):
                    pass
    assert ssh.say("new", "echo works") == "works\n"
