# SPDX-License-Identifier: GPL-2.0-or-later
"""Proxies outside: proxies.py DIRECTORY ADDRESS. Each connection's target and credentials are a line of
DIRECTORY/proxied, as JSON. Ports: see WAYS."""

import base64
import json
import pathlib
import socket
import socketserver
import sys
import threading
import time

DIRECTORY = pathlib.Path(sys.argv[1])
LOCK = threading.Lock()


def note(way, target, username=None, password=None):
    with LOCK, open(DIRECTORY / "proxied", "a", encoding="utf-8") as file:
        file.write(json.dumps({"way": way, "target": target, "username": username, "password": password}) + "\n")


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for one in source, sink:
            one.close()


class Way(socketserver.BaseRequestHandler):
    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.request.recv(size - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data

    def join(self, target, answer):
        host, _, port = target.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as far:
            far.settimeout(None)
            self.request.sendall(answer)
            back = threading.Thread(target=copy, args=(far, self.request), daemon=True)
            back.start()
            copy(self.request, far)
            back.join()

    # --- SOCKS5 ---

    def socks(self, wants_password, reply=0, kind=1):
        version, methods = self.exactly(2)
        offered, username, password = self.exactly(methods), None, None
        method = 2 if wants_password else 0
        assert version == 5 and method in offered, (version, offered)
        self.request.sendall(bytes([5, method]))
        if wants_password:
            _, size = self.exactly(2)
            username = self.exactly(size).decode()
            password = self.exactly(self.exactly(1)[0]).decode()
            self.request.sendall(bytes([1, 0]))
        assert self.exactly(4) == bytes([5, 1, 0, 1])
        target = socket.inet_ntoa(self.exactly(4)) + ":" + str(int.from_bytes(self.exactly(2), "big"))
        note("socks5", target, username, password)
        bound = {1: b"\1" + bytes(4), 3: b"\3\4name", 4: b"\4" + bytes(16)}[kind]
        answer = bytes([5, reply, 0]) + bound + bytes(2)
        if reply:
            self.request.sendall(answer)
        else:
            self.join(target, answer)

    # --- CONNECT ---

    def head(self):
        data = b""
        while not data.endswith(b"\r\n\r\n"):
            data += self.exactly(1)
        first, *lines = data.decode().split("\r\n")
        fields = dict(line.split(": ", 1) for line in lines if line)
        target = first.split()[1]
        assert first == f"CONNECT {target} HTTP/1.1" and fields["Host"] == target, data
        code = fields.get("Proxy-Authorization", "Basic ").removeprefix("Basic ")
        username, _, password = base64.b64decode(code).decode().partition(":")
        note("http", target, username or None, password or None)
        return target

    def connect(self):
        self.join(self.head(), b"HTTP/1.1 200 Connection established\r\nX-More: 1\r\n\r\n")

    def greet(self):
        """Bytes of the far end come with the answer."""
        self.join(self.head(), b"HTTP/1.0 200 OK\r\n\r\nfirst words\n")

    # --- proxies that do not work ---

    def refuse(self):
        self.head()
        self.request.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        self.request.recv(1)

    def talk(self):
        """A header that does not end."""
        self.head()
        self.request.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.request.sendall(b"X-More: " + b"x" * 1000 + b"\r\n")

    def hang(self):
        time.sleep(60)

    def end(self):
        pass

    def babble(self):
        self.request.sendall(b"220 mail.example ESMTP\r\n" * 20)
        self.request.recv(1000)


WAYS = {
    1080: lambda way: way.socks(True),
    1081: lambda way: way.socks(False),
    1082: lambda way: way.socks(True, reply=5),
    1083: lambda way: way.socks(True, kind=3),
    1084: lambda way: way.socks(True, kind=4),
    3128: Way.connect,
    3129: Way.greet,
    3130: Way.refuse,
    3131: Way.talk,
    3132: Way.hang,
    3133: Way.end,
    3134: Way.babble,
}


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


for port, handle in WAYS.items():
    handler = type("Handler", (Way,), {"handle": handle})
    server = Server((sys.argv[2], port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
(DIRECTORY / "ready").touch()
threading.Event().wait()
