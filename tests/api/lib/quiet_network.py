# SPDX-License-Identifier: GPL-2.0-or-later
"""A network for a browser in which nothing comes or goes. Each sandbox that starts or ends on the machine
is an interface to a browser there, which then drops all its connections (ERR_NETWORK_CHANGED)."""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import threading

LISTEN = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
socket.send_fds(socket.socket(fileno=int(sys.argv[1])), [b"."], [listener.fileno()])
"""


class QuietNetwork:
    """A namespace with a loopback of its own, whose ports lead to those of this machine's loopback."""

    def __init__(self, ports):
        self.name = "quiet" + secrets.token_hex(4)
        self.listeners = []
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        try:
            subprocess.run(["ip", "-n", self.name, "link", "set", "lo", "up"], check=True)
            for port in ports:
                self._forward(port)
        except BaseException:
            self.close()
            raise

    def _forward(self, port):
        # A socket is of the namespace that it was made in, whoever holds it.
        ours, theirs = socket.socketpair()
        with ours, theirs:
            subprocess.run(
                ["ip", "netns", "exec", self.name, sys.executable, "-c", LISTEN, str(theirs.fileno()), str(port)],
                pass_fds=[theirs.fileno()], check=True, timeout=60,
            )
            _, (descriptor,), _, _ = socket.recv_fds(ours, 1, 1)
        listener = socket.socket(fileno=descriptor)
        self.listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()

    def _accept(self, listener, port):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", port), timeout=10)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=(one, other), daemon=True).start()

    def command(self, *words):
        """How to run a program in it."""
        return ["ip", "netns", "exec", self.name, *words]

    def close(self):
        for listener in self.listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        subprocess.run(["ip", "netns", "del", self.name], check=False)


def _pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def wrapper(network, program, path):
    """A script at path that runs program in the network, for who wants one file to start."""
    words = " ".join(network.command(program))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {words} "$@"\n')
    os.chmod(path, 0o755)
    return str(path)
