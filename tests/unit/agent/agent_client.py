# SPDX-License-Identifier: GPL-2.0-or-later
"""The built agent as a process on loopback, and a client for it that sees every byte."""

import base64
import json
import os
import pwd
import random
import secrets
import socket
import struct
import subprocess
import tempfile
import time

ME = pwd.getpwuid(os.getuid()).pw_name


def free_port():
    """Not of the kernel's own choice: a connection of someone else could have it a moment later,
    and keeps it for a minute after its end."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port


class Reply:
    """A response: status, headers (lower case), and a body that is read as it comes."""

    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self.chunked = self.headers.get("transfer-encoding") == "chunked"
        self.left = None if self.chunked else int(self.headers.get("content-length", 0))
        self.buffer = b""
        self.ended = False

    def _more(self):
        """The next piece; b"" at the end. An end without the last chunk raises."""
        if self.ended:
            return b""
        if not self.chunked:
            piece = self.file.read1(min(self.left, 65536)) if self.left else b""
            self.left -= len(piece)
            self.ended = not self.left
            if not piece and self.left:
                raise ConnectionError("aborted")
            return piece
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("aborted")
        size = int(line, 16)
        piece = self.file.read(size)
        if len(piece) < size or self.file.read(2) != b"\r\n":
            raise ConnectionError("aborted")
        self.ended = not size
        return piece

    def read(self):
        parts = [self.buffer]
        self.buffer = b""
        while (piece := self._more()):
            parts.append(piece)
        return b"".join(parts)

    def json(self):
        return json.loads(self.read())

    def read_exactly(self, size):
        while len(self.buffer) < size:
            piece = self._more()
            if not piece:
                raise EOFError
            self.buffer += piece
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def message(self):
        """The next envelope: (flags, JSON value)."""
        flags, size = struct.unpack(">BI", self.read_exactly(5))
        return flags, json.loads(self.read_exactly(size))

    def messages(self):
        while True:
            flags, value = self.message()
            yield flags, value
            if flags & 2:
                return

    def close(self):
        self.file.close()
        self.connection.close()


class Agent:
    def __init__(self, binary, *options):
        self.port, self.relay_port = free_port(), free_port()
        self.secret = secrets.token_hex(32)
        self.log = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen(
            [binary, "--listen", "127.0.0.1", "--port", str(self.port), "--relay-port",
             str(self.relay_port), *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        self.wait_until_up()

    def wait_until_up(self):
        for _ in range(200):
            try:
                self.connect().close()
                return
            except ConnectionRefusedError:
                time.sleep(0.02)
        raise RuntimeError(open(self.log.name).read())

    def stop(self):
        self.process.terminate()
        return self.process.wait(10)

    def connect(self, timeout=20):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def head(self, method, path, headers, secret=True):
        lines = [f"{method} {path} HTTP/1.1", "Host: sandbox"]
        if secret:
            lines.append(f"X-Sandlot-Agent-Secret: {self.secret if secret is True else secret}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def send(self, method, path, body=b"", headers=None, secret=True, chunked=False):
        headers = dict(headers or {})
        if chunked:
            headers["Transfer-Encoding"] = "chunked"
            pieces = [body[at : at + 50000] for at in range(0, len(body), 50000)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        elif body or method == "POST":
            headers["Content-Length"] = len(body)
        connection = self.connect()
        connection.sendall(self.head(method, path, headers, secret) + body)
        return Reply(connection)

    def init(self, envs=None, **more):
        body = {"secret": self.secret, "envs": envs or {}, "sandbox_id": "sbx_test",
                "default_user": ME, **more}
        return self.send("POST", "/init", json.dumps(body).encode(), secret=True)

    @staticmethod
    def user_header(user):
        return {"Authorization": "Basic " + base64.b64encode(f"{user}:".encode()).decode()}

    def unary(self, method, message, headers=None, user=None):
        headers = {"Content-Type": "application/json", "Connect-Protocol-Version": "1",
                   **(self.user_header(user) if user else {}), **(headers or {})}
        reply = self.send("POST", "/" + method, json.dumps(message).encode(), headers)
        return reply.status, reply.json()

    def stream(self, method, message, headers=None, user=None):
        headers = {"Content-Type": "application/connect+json", "Connect-Protocol-Version": "1",
                   **(self.user_header(user) if user else {}), **(headers or {})}
        body = json.dumps(message).encode()
        return self.send("POST", "/" + method, struct.pack(">BI", 0, len(body)) + body, headers)

    def start(self, cmd, *args, headers=None, user=None, envs=None, cwd=None, **more):
        process = {"cmd": cmd, "args": list(args)}
        if envs is not None:
            process["envs"] = envs
        if cwd is not None:
            process["cwd"] = cwd
        return self.stream("process.Process/Start", {"process": process, **more}, headers, user)

    def run(self, cmd, *args, **more):
        """A whole run: (stdout, stderr, end event, end envelope)."""
        output = {"stdout": b"", "stderr": b"", "pty": b""}
        end = last = None
        for flags, message in self.start(cmd, *args, **more).messages():
            if flags & 2:
                last = message
                continue
            event = message["event"]
            for name in output:
                output[name] += base64.b64decode(event.get("data", {}).get(name, ""))
            end = event.get("end", end)
        return output["stdout"] or output["pty"], output["stderr"], end, last
