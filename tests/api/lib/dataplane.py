# SPDX-License-Identifier: GPL-2.0-or-later
"""The data plane of one sandbox: files, and processes over the Connect protocol."""

import base64
import dataclasses
import hashlib
import http.client
import json
import struct
import subprocess
import time
import urllib.parse

import dataplane_contract
from client import Origin, address_of

END_OF_STREAM = 2


def envelope(message, flags=0):
    text = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(text)) + text


class StreamError(Exception):
    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")


class Stream:
    """A server stream: iterating gives each message as it arrives and ends at the end envelope.
    An `error` there is raised as StreamError; a connection cut before it as http.client's error."""

    def __init__(self, connection, response):
        self.connection = connection
        self.response = response
        self.ended = False

    def _read(self, size):
        data = b""
        while len(data) < size:
            piece = self.response.read(size - len(data))
            if not piece:
                raise EOFError("the stream ended without its end envelope")
            data += piece
        return data

    def __iter__(self):
        return self

    def output(self, kind="stdout"):
        """Skip keepalives and return the next bytes of stdout, stderr or the terminal."""
        event = next(message["event"] for message in self if "keepalive" not in message["event"])
        return base64.b64decode(event["data"][kind])

    def __next__(self):
        if self.ended:
            raise StopIteration
        flags, size = struct.unpack(">BI", self._read(5))
        message = json.loads(self._read(size))
        if flags == 0:
            return message
        assert flags == END_OF_STREAM, f"envelope with flags {flags}"
        self.ended = True
        if "error" in message:
            raise StreamError(message["error"])
        raise StopIteration

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@dataclasses.dataclass
class Result:
    pid: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    status: str = ""
    error: str = ""
    ended: bool = False
    arrivals: list = dataclasses.field(default_factory=list)  # (seconds, bytes) of stdout


class DataPlane:
    def __init__(self, stack, session):
        self.token = session["access_token"]
        self.ca_file = stack.ca_file
        self.origin = Origin(stack.ca_file, session["data_plane_url"])

    def headers(self, user=None):
        headers = {"X-Access-Token": self.token} if self.token else {}
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:".encode()).decode()
        return headers

    def request(self, method, path, body=None, headers=None, timeout_s=180):
        response = self.origin.request(method, path, body, {**self.headers(), **(headers or {})}, timeout_s)
        dataplane_contract.check(method, path, response)
        return response

    def call(self, method, message, user=None):
        """A unary call."""
        response = self.origin.request(
            "POST",
            "/" + method,
            json.dumps(message).encode(),
            {
                "Content-Type": "application/json",
                "Connect-Protocol-Version": "1",
                **self.headers(user),
            },
        )
        dataplane_contract.check("POST", "/" + method, response)
        return response

    def curl(self, version, path, *options):
        """A transfer by curl, over HTTP/2 for one: a process with pipes at all its ends."""
        return subprocess.Popen(
            ["curl", "-sSN", version, "--cacert", self.ca_file, "--max-time", "60",
             "--resolve", f"{self.origin.host}:{self.origin.port}:{address_of(self.origin.host)}",
             "-H", f"X-Access-Token: {self.token}", *options, self.origin.url + path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    # --- processes ---

    def open_stream(self, method, message, user=None, headers=None, timeout_s=180):
        return self.origin.open(
            "POST",
            "/" + method,
            envelope(message),
            {
                "Content-Type": "application/connect+json",
                "Connect-Protocol-Version": "1",
                **self.headers(user),
                **(headers or {}),
            },
            timeout_s,
        )

    def start(self, *command, user=None, envs=None, cwd=None, stdin=False, headers=None, timeout_s=180):
        """Start a process; its stream, before the first message."""
        process = {"cmd": command[0], "args": list(command[1:])}
        if envs:
            process["envs"] = envs
        if cwd:
            process["cwd"] = cwd
        connection, response = self.open_stream(
            "process.Process/Start", {"process": process, "stdin": stdin}, user, headers, timeout_s
        )
        if response.status != 200:
            body = response.read()
            connection.close()
            raise AssertionError(f"Start: {response.status} {body!r}")
        assert response.headers.get_content_type() == "application/connect+json"
        return Stream(connection, response)

    def run(self, *command, **options):
        """Start a process and collect all of it."""
        with self.start(*command, **options) as stream:
            return collect(stream)

    def bash(self, script, **options):
        return self.run("/bin/bash", "-l", "-c", script, **options)

    def check(self, script, **options):
        """A script that must succeed; its standard output as text."""
        result = self.bash(script, **options)
        assert result.exit_code == 0, result
        return result.stdout.decode()

    def background(self, *command, **options):
        """Start a process and leave it: the pid. A dropped connection does not end it."""
        with self.start(*command, **options) as stream:
            return next(stream)["event"]["start"]["pid"]

    def follow(self, pid):
        """The stream of a process that runs, behind its start event."""
        stream = Stream(*self.open_stream("process.Process/Connect", {"process": {"pid": pid}}))
        assert next(stream)["event"]["start"]["pid"] == pid
        return stream

    def echoing(self):
        """A program that says again each line that it is told: its stream and its pid."""
        stream = self.start("/bin/bash", "-c", "while read line; do echo $line; done", stdin=True)
        return stream, next(stream)["event"]["start"]["pid"]

    def type(self, pid, text, kind="stdin"):
        answer = self.call("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {kind: base64.b64encode(text).decode()}})
        assert answer.status == 200, answer

    def close_stdin(self, pid):
        answer = self.call("process.Process/CloseStdin", {"process": {"pid": pid}})
        assert answer.status == 200, answer

    def watch(self, path, **options):
        """The stream of a directory's changes, behind its start."""
        stream = Stream(*self.open_stream("filesystem.Filesystem/WatchDir", {"path": path, **options}))
        assert next(stream) == {"start": {}}
        return stream

    def signal(self, pid, name):
        return self.call(
            "process.Process/SendSignal", {"process": {"pid": pid}, "signal": f"SIGNAL_{name}"}
        )

    # --- files ---

    def upload(self, path, content, **options):
        """One file, as octets."""
        response = self.upload_octets(path, content, **options)
        assert response.status == 200, response
        return response.json()

    def upload_octets(self, path, body, user=None, headers=None, timeout_s=120):
        query = {"path": path, **({"username": user} if user else {})}
        return self.request(
            "POST",
            "/files?" + urllib.parse.urlencode(query),
            body,
            {"Content-Type": "application/octet-stream", **(headers or {})},
            timeout_s,
        )

    def upload_multipart(self, parts, path=None, user=None):
        """parts: (file name, content)."""
        query = {**({"path": path} if path else {}), **({"username": user} if user else {})}
        boundary = "f2a5c7e19b3d"
        body = b"".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n".encode()
            + content
            + b"\r\n"
            for name, content in parts
        )
        return self.request(
            "POST",
            "/files" + ("?" + urllib.parse.urlencode(query) if query else ""),
            body + f"--{boundary}--\r\n".encode(),
            {"Content-Type": f"multipart/form-data; boundary={boundary}"},
        )

    def download(self, path, headers=None, user=None):
        query = {"path": path, **({"username": user} if user else {})}
        return self.request("GET", "/files?" + urllib.parse.urlencode(query), headers=headers)

    def read(self, path):
        response = self.download(path)
        assert response.status == 200, response
        return response.body


def signed(data, path, operation, expires_at_s=None, user=None, token=None):
    """The path and query of a signed link."""
    text = f"{path}:{operation}:{user or ''}:{token or data.token}"
    query = {"path": path}
    if user:
        query["username"] = user
    if expires_at_s is not None:
        text += f":{expires_at_s}"
        query["signature_expiration"] = str(expires_at_s)
    digest = hashlib.sha256(text.encode()).digest()
    query["signature"] = "v1_" + base64.b64encode(digest).decode().rstrip("=")
    return "/files?" + urllib.parse.urlencode(query)


def is_cut_off(stream):
    """Read to the end. A clean end without an end envelope would be an EOFError."""
    try:
        for _ in stream:
            pass
    except (http.client.IncompleteRead, ConnectionError):
        return True
    return False


def collect(stream):
    result = Result()
    started = time.monotonic()
    for message in stream:
        event = message["event"]
        if "start" in event:
            result.pid = event["start"]["pid"]
        elif "data" in event:
            stdout = base64.b64decode(event["data"].get("stdout", ""))
            if stdout:
                result.arrivals.append((time.monotonic() - started, stdout))
                result.stdout += stdout
            result.stderr += base64.b64decode(event["data"].get("stderr", ""))
        elif "end" in event:
            end = event["end"]
            result.exit_code = end.get("exitCode", 0)
            result.status = end.get("status", "")
            result.error = end.get("error", "")
            result.ended = True
    assert result.ended, "no end event"
    return result
