# SPDX-License-Identifier: GPL-2.0-or-later
"""The stack's nginx with other settings for a while, and raw bytes at its TLS port."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess

from client import address_of
from stack import wait_until


def workers(stack):
    """Pids of nginx workers that take new connections."""
    master = int((stack.run_dir / "nginx-master.pid").read_text(encoding="utf-8"))
    children = pathlib.Path(f"/proc/{master}/task/{master}/children").read_text(encoding="utf-8")
    found = set()
    for pid in children.split():
        with contextlib.suppress(OSError):
            title = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"worker process" in title and b"shutting down" not in title:
                found.add(int(pid))
    return master, found


def apply(stack, config):
    """Render the sites from the settings in config and have nginx take them up."""
    program = stack.ctl_command[0]
    sites = stack.root / "nginx" / "sites"
    subprocess.run([program, "--config", str(config), "nginx-config", "--output", str(sites)],
                   check=True, capture_output=True)
    master, before = workers(stack)
    os.kill(master, signal.SIGHUP)
    wait_until(lambda: workers(stack)[1] and not workers(stack)[1] & before, 10,
               "the new workers of nginx")


@contextlib.contextmanager
def settings(stack, **changed):
    """The sites with these settings instead of the stack's own."""
    own = stack.root / "etc" / "sandlot.conf"
    other = stack.root / "etc" / "sandlot-test.conf"
    lines = [line for line in own.read_text(encoding="utf-8").splitlines()
             if line.partition("=")[0].strip() not in changed]
    lines += [f"{name} = {value}" for name, value in changed.items()]
    other.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        apply(stack, other)
        yield
    finally:
        other.unlink()
        apply(stack, own)


@contextlib.contextmanager
def process_settings(stack, process, **changed):
    """The processes of one program with these settings instead of the stack's own."""
    own = stack.root / "etc" / "sandlot.conf"
    before = own.read_text(encoding="utf-8")
    lines = [line for line in before.splitlines() if line.partition("=")[0].strip() not in changed]
    lines += [f"{name} = {value}" for name, value in changed.items()]
    try:
        own.write_text("\n".join(lines) + "\n", encoding="utf-8")
        replace(stack, process)
        yield
    finally:
        own.write_text(before, encoding="utf-8")
        replace(stack, process)


def replace(stack, process):
    before = set(stack.processes(process))
    for pid in before:
        with contextlib.suppress(ProcessLookupError):  # it went with the one that had started it
            os.kill(pid, signal.SIGTERM)

    def replaced():
        now = set(stack.processes(process))
        return len(now) >= len(before) and not now & before

    wait_until(replaced, 20, f"new processes of {process}")


class BadAnswer(AssertionError):
    """What came back is no HTTP."""


class NoAnswer(BadAnswer):
    """Nothing came back in time."""


class Answer:
    """One HTTP/1 answer, read as strictly as a program should write it."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:200]!r}>"


def read_headers(lines):
    headers = {}
    for line in lines:
        match = re.fullmatch(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)", line)
        if not match:
            raise BadAnswer(f"no header line: {line!r}")
        headers.setdefault(match[1].decode().lower(), match[2].decode("latin-1").strip())
    return headers


class RawConnection:
    """A TLS connection that sends any bytes; answers are parsed, a closed connection is None."""

    def __init__(self, origin, name=None, timeout_s=15):
        plain = socket.create_connection((address_of(origin.host), origin.port), timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = origin.context.wrap_socket(plain, server_hostname=name or origin.host)
        self.buffer = b""
        self.is_open = True

    def close(self):
        self.is_open = False
        self.socket.close()

    def send(self, data):
        """As much of it as is taken: an answer may come before the end of the request."""
        with contextlib.suppress(OSError):
            self.socket.sendall(data)

    def _fill(self):
        try:
            piece = self.socket.recv(65536)
        except TimeoutError:
            raise NoAnswer("no answer in time") from None
        except OSError:
            piece = b""
        self.buffer += piece
        return bool(piece)

    def _take(self, size):
        while len(self.buffer) < size:
            if not self._fill():
                raise BadAnswer("an answer that breaks off")
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def _line(self):
        while b"\n" not in self.buffer:
            if not self._fill():
                raise BadAnswer("an answer that breaks off")
        line, self.buffer = self.buffer.split(b"\n", 1)
        if not line.endswith(b"\r"):
            raise BadAnswer(f"a line without its end: {line!r}")
        return line[:-1]

    def _body(self, headers):
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self._line(), 16):
                body += self._take(size)
                self._take(2)
            self._line()
            return body
        if "content-length" in headers:
            return self._take(int(headers["content-length"]))
        while self._fill():
            pass
        body, self.buffer = self.buffer, b""
        return body

    def answer(self, method="GET"):
        if not self.buffer and not self._fill():
            self.close()
            return None
        line = self._line()
        match = re.fullmatch(rb"HTTP/1\.[01] (\d{3}) [\t -~\x80-\xff]*", line)
        if not match:
            raise BadAnswer(f"no status line: {line!r}")
        lines = []
        while line := self._line():
            lines.append(line)
        status, headers = int(match[1]), read_headers(lines)
        if 100 <= status < 200:
            return self.answer(method)
        empty = method == "HEAD" or status in (204, 304)
        answer = Answer(status, headers, b"" if empty else self._body(headers))
        if headers.get("connection") == "close" or "content-length" not in headers and not empty \
                and "transfer-encoding" not in headers:
            self.close()
        return answer


def stack_pids(stack, *programs):
    return {program: stack.processes(program) for program in programs}


class LogWatch:
    """What the stack's logs say from here on about processes that did not end well."""

    PATTERN = re.compile(
        r"assert|segmentation|Sanitizer|abort|exited on signal|terminated by|\[alert\]|\[emerg\]"
        r"|child .* died|ERR_INTERNAL", re.IGNORECASE)

    def __init__(self, stack):
        self.sizes = {path: path.stat().st_size for path in (stack.root / "log").glob("*.log")}

    def complaints(self):
        found = []
        for path, size in self.sizes.items():
            with path.open("rb") as log:
                log.seek(size)
                text = log.read().decode(errors="replace")
            found += [f"{path.name}: {line[:400]}" for line in text.splitlines()
                      if self.PATTERN.search(line)]
        return found


def self_signed(directory):
    """A self-signed certificate with its key, in PEM."""
    key, own = (directory / name for name in ("key", "certificate"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", own, "-subj", "/CN=inside", "-days", "2"],
                   check=True, capture_output=True)
    return own.read_bytes() + key.read_bytes()
