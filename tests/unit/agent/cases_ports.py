# SPDX-License-Identifier: GPL-2.0-or-later
"""Listeners, and the preview relay."""

import os
import socket
import threading
import time

from agent_case import AgentTest
from agent_client import Reply, free_port


class Ports(AgentTest):
    def listener(self, port):
        reply = self.agent.send("GET", f"/internal/ports/{port}")
        self.assertEqual(reply.status, 200)
        return reply.json()["listener"]

    def listen(self, address, family=socket.AF_INET, v6only=None):
        server = socket.socket(family)
        if v6only is not None:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
        server.bind((address, 0))
        server.listen()
        self.addCleanup(server.close)
        return server

    def test_listeners(self):
        self.assertEqual(self.listener(free_port()), "none")
        self.assertEqual(self.listener(self.listen("127.0.0.1").getsockname()[1]), "loopback")
        self.assertEqual(self.listener(self.listen("127.0.0.5").getsockname()[1]), "loopback")
        self.assertEqual(self.listener(self.listen("0.0.0.0").getsockname()[1]), "any")
        for bad in ("0", "65536", "x", ""):
            self.error(self.agent.send("GET", f"/internal/ports/{bad}"), 400)

    def test_listeners_v6(self):
        try:
            self.assertEqual(self.listener(self.listen("::1", socket.AF_INET6).getsockname()[1]),
                             "loopback")
        except OSError:
            self.skipTest("no IPv6 here")
        self.assertEqual(self.listener(self.listen("::", socket.AF_INET6, 1).getsockname()[1]),
                         "loopback")
        self.assertEqual(self.listener(self.listen("::", socket.AF_INET6, 0).getsockname()[1]), "any")

    def relay(self, head, secret=None, port=None):
        connection = socket.create_connection(("127.0.0.1", self.agent.relay_port), 10)
        lines = [head]
        if port is not None:
            lines.append(f"X-Sandlot-Port: {port}")
        lines.append(f"X-Sandlot-Agent-Secret: {secret or self.agent.secret}")
        lines.append("User-Agent: test")
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return connection

    def serve(self, handler, address="127.0.0.1", family=socket.AF_INET):
        server = self.listen(address, family)

        def run():
            connection, _ = server.accept()
            connection.settimeout(10)
            handler(connection)
            connection.close()

        threading.Thread(target=run, daemon=True).start()
        return server.getsockname()[1]

    def test_relay(self):
        seen = []

        def handler(connection):
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(65536)
            seen.append(data)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

        for address, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
            try:
                port = self.serve(handler, address, family)
            except OSError:
                continue
            connection = self.relay("GET /a?b HTTP/1.1", port=port)
            self.assertEqual(Reply(connection).read(), b"hello")
            self.assertEqual(seen.pop(), b"GET /a?b HTTP/1.1\r\nUser-Agent: test\r\n\r\n")

    def test_relay_of_many_bytes(self):
        """Both ways at once, and half-closed at the end."""
        up, down = os.urandom(20_000_000), b"HTTP/1.1 200 OK\r\n\r\n" + os.urandom(20_000_000)
        got = []

        def handler(connection):
            sender = threading.Thread(target=lambda: (connection.sendall(down),
                                                      connection.shutdown(socket.SHUT_WR)))
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(1000)
            parts = [data.split(b"\r\n\r\n", 1)[1]]
            sender.start()
            while (piece := connection.recv(65536)):
                parts.append(piece)
            got.append(b"".join(parts))
            sender.join()

        connection = self.relay("POST / HTTP/1.1", port=self.serve(handler))
        sender = threading.Thread(target=lambda: (connection.sendall(up),
                                                  connection.shutdown(socket.SHUT_WR)))
        sender.start()
        time.sleep(0.3)
        parts = []
        while (piece := connection.recv(65536)):
            parts.append(piece)
        sender.join()
        self.assertEqual(b"".join(parts), down)
        self.eventually(lambda: got)
        self.assertEqual(got[0], up)

    def test_relay_of_a_client_that_left(self):
        """A server that sends nothing does not keep its connection."""
        ended = threading.Event()
        self.addCleanup(ended.set)
        connection = self.relay("GET / HTTP/1.1", port=self.serve(lambda connection: ended.wait(60)))
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(40)
        self.assertEqual(connection.recv(1), b"")

    def answered(self, *pieces):
        """What the client gets from a server that sends these, one after the other."""
        def handler(connection):
            connection.recv(65536)
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.05)

        connection = self.relay("GET / HTTP/1.1", port=self.serve(handler))
        return b"".join(iter(lambda: connection.recv(65536), b""))

    def test_relay_drops_interim_answers(self):
        final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
        for pieces in ((hints + final,), (b"HTTP/1.1 100\n\n", hints, hints + final),
                       (hints[:7], hints[7:12], hints[12:-1], hints[-1:], final)):
            self.assertEqual(self.answered(*pieces), final, pieces)
        switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\0bytes"
        self.assertEqual(self.answered(switched), switched)

    def test_relay_ends_what_is_no_http(self):
        for pieces in ((b"220 mail ready\r\n",), (b"\x16\x03\x01\x02",), (b"HTTP/1.1 OK\r\n\r\n",), (b"HTTP",), (b"",),
                       (b"HTTP/1.1 103 Early Hints\r\n\r\n",), (b"HTTP/1.1 2000 OK\r\n\r\n",)):
            self.assertEqual(self.answered(*pieces), b"", pieces)

    def test_relay_refusals(self):
        # Nobody listens: no answer at all, so that the edge asks who does and says so.
        self.assertEqual(self.relay("GET / HTTP/1.1", port=free_port()).recv(100), b"")
        self.assertEqual(Reply(self.relay("GET / HTTP/1.1", "00" * 32, 80)).status, 401)
        self.assertEqual(Reply(self.relay("GET / HTTP/1.1")).status, 400)
        self.assertEqual(Reply(self.relay("GET / HTTP/1.1", port="80x")).status, 400)
        big = self.relay("GET / HTTP/1.1\r\n" + "X: " + "y" * 330000, port=80)
        self.assertEqual(Reply(big).status, 431)
