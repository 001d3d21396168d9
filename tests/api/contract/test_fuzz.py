# SPDX-License-Identifier: GPL-2.0-or-later
"""Thousands of malformed requests at the running service.

The requests of a run are those of the run before: SANDLOT_FUZZ_SEED names others ("random": new
ones, a failure prints the seed), SANDLOT_FUZZ_SECONDS makes the runs longer. What comes back is
well-formed HTTP, and an error of ours in the one shape; nothing is a 5xx but a documented 503; no
worker died; nobody complained in a log.
"""

import contextlib
import json
import os
import random
import socket
import ssl
import time

import pytest

import contract
import edge
from client import Origin, address_of

SEED = os.environ.get("SANDLOT_FUZZ_SEED", "1")
SEED = random.SystemRandom().getrandbits(32) if SEED == "random" else int(SEED)
COUNT_MIN = 100
SECONDS = float(os.environ.get("SANDLOT_FUZZ_SECONDS", "2"))
JUNK = ["", " ", "\0", "%00", "%", "%zz", "%ff", "%c3%28", "é", "\ud83d\ude00", "../", "..%2f", "//",
        "[", "]", "[]", "{}", "null", "true", "-1", "0", "1e999", "9" * 40, "0x10", "'", '"', "\\",
        "<script>", "${jndi}", "%n%s", "\r\n", "\t", "a" * 300, "A" * 5000, "\u202e", "\x7f"]
CONNECT_WORDS = {401: "unauthenticated", 403: "permission_denied", 404: "not_found", 409: "failed_precondition",
                 429: "resource_exhausted", 502: "unavailable", 503: "unavailable", 504: "deadline_exceeded"}
NUMBERS = [0, -1, 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 1.5, 1e308, 10**40]


class Source:
    """Random requests; everything comes from one seeded generator."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, choices):
        return self.random.choice(choices)

    def often(self, share):
        return self.random.random() < share

    def bytes(self, most):
        return self.random.randbytes(self.random.randrange(most + 1))

    def text(self):
        return "".join(self.one(JUNK) for _ in range(self.random.randrange(1, 4)))

    def value(self, depth=0):
        """Some JSON value."""
        kind = self.random.randrange(8 if depth < 4 else 6)
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.random.randrange(5))]
        if kind == 7:
            return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(5))}
        return (None, True, self.one(NUMBERS), self.text(), "x" * self.random.randrange(70000),
                self.random.random())[kind]

    def mutated(self, value):
        """The value with something in it changed."""
        if isinstance(value, dict) and value and self.often(0.7):
            changed = dict(value)
            name = self.one(list(changed))
            action = self.random.randrange(4)
            if action == 0:
                changed[name + self.one(JUNK)] = changed.pop(name)
            elif action == 1:
                changed[self.text()] = self.value()
            else:
                changed[name] = self.mutated(changed[name])
            return changed
        if isinstance(value, list) and value and self.often(0.5):
            return [self.mutated(self.one(value)) for _ in range(self.random.randrange(1, 300))]
        return self.value()

    def damaged(self, data):
        """The bytes with some of them changed, left out, doubled or put in."""
        data = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(data) + 1)
            action = self.random.randrange(4)
            if action == 0:
                data[at:at + 1] = self.bytes(3)
            elif action == 1:
                del data[at:at + self.random.randrange(20)]
            elif action == 2:
                data[at:at] = data[max(0, at - 30):at] * self.random.randrange(3)
            else:
                data[at:at] = self.one(JUNK).encode("utf-8", "surrogatepass")
        return bytes(data)


def without_line_ends(text):
    return text.replace(b"\r", b"%0D").replace(b"\n", b"%0A").replace(b" ", b"+").replace(b"\0", b"%00")


def head(method, target, host, headers):
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: " + host]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


class Target:
    """Where requests go, with a connection that is opened again when it was closed."""

    def __init__(self, stack, host, accept, patience_s=None):
        self.origin = Origin(stack.ca_file, stack.base_url)
        self.host = host
        self.accept = accept
        self.patience_s = patience_s  # set: a request may be such that the server waits for more
        self.connection = None
        self.count = 0
        self.by_status = {}

    def receive(self, method):
        try:
            return self.connection.answer(method)
        except edge.NoAnswer:
            assert self.patience_s and not self.connection.buffer, "no answer in time"
            self.connection.close()
            return None

    def send(self, request, method="GET", target=None, may_close=False):
        if not self.connection or not self.connection.is_open:
            self.connection = edge.RawConnection(self.origin, timeout_s=self.patience_s or 15)
        self.count += 1
        try:
            self.connection.send(request)
            answer = self.receive(method)
            status = answer.status if answer else None
            self.by_status[status] = self.by_status.get(status, 0) + 1
            assert answer or may_close, "the connection was closed without an answer"
            if answer:
                self.accept(method, target, answer)
        except AssertionError as failure:
            raise AssertionError(f"seed {SEED}: {failure}\nrequest: {request[:1000]!r}") from failure
        finally:
            if may_close:
                self.connection.close()


class Described:
    """An answer as tests/api/lib/contract.py wants to see it."""

    class Headers(dict):
        def __getitem__(self, name):
            return self.get(name.lower())

        def get_content_type(self):
            return (self["Content-Type"] or "").split(";")[0]

    def __init__(self, answer):
        self.status = answer.status
        self.body = answer.body
        self.headers = self.Headers(answer.headers)

    def json(self):
        """Without the member that errors of a data plane have beside what all have: a word for calls of the Connect protocol."""
        body = json.loads(self.body)
        assert body.pop("code", self.status) in (self.status, CONNECT_WORDS.get(self.status)), body
        return body

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


def accept_api(method, target, answer):
    """The API host: only what the document describes."""
    assert 200 <= answer.status < 300 or answer.status >= 400, answer
    for_others = is_for_other_clients(answer) if answer.body else method == "HEAD"
    # To those clients a 501 says that a call of theirs is not served.
    assert answer.status < 500 or answer.status == 503 or (answer.status == 501 and for_others), answer
    if answer.status >= 400 and for_others:
        return
    if target and b"%" not in target and target.isascii():
        contract.check(method, target.decode(), Described(answer))
    elif answer.status >= 400 and method != "HEAD":
        contract.check_error(Described(answer))


def is_for_other_clients(answer):
    """A path with dots may lead out of /v1, to the paths for E2B's clients, whose errors have their shape."""
    with contextlib.suppress(ValueError):
        body = json.loads(answer.body)
        return isinstance(body, dict) and set(body) == {"code", "error_code", "message"}
    return False


def accept_sandbox(method, _target, answer):
    """Data planes and previews: the sandbox's own answers, or ours in our shape."""
    # 501 is what the Connect protocol says of a method that is not there, 502 that nothing listens.
    assert answer.status < 500 or answer.status in (501, 502, 503), answer
    if answer.status in (401, 503) and method != "HEAD":
        body = json.loads(answer.body)
        assert {"error", "message", "request_id"} <= set(body), answer


def accept_nothing(method, _target, answer):
    if answer.status == 502:  # damage has made an address of E2B's clients, and their answer for a sandbox that is not there
        if method != "HEAD":
            body = json.loads(answer.body)
            assert body == {"sandboxId": body["sandboxId"], "message": "The sandbox was not found", "code": 502}, answer
        return
    assert 400 <= answer.status < 500, answer
    if method != "HEAD":
        contract.check_error(Described(answer))


@pytest.fixture(scope="module")
def untouched(module_account):
    """A sandbox whose deadline no mutated PATCH brings forward."""
    ports = [{"port": 3000, "protocol": "http", "public": True}]
    return module_account.api.create(timeout=3000, exposed_ports=ports)


@pytest.fixture(scope="module")
def scene(stack, module_account, untouched):  # pylint: disable=unused-argument
    """A sandbox to aim at; a team whose plan lets nothing new be made; no limit of rates."""
    api = module_account.api
    sandbox = api.create(timeout=3000, exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    before = stack.query("SELECT plan FROM teams WHERE slug = %s", module_account.team)[0]["plan"]
    (plan,) = stack.query("SELECT * FROM plans WHERE name = 'pro'")
    plan.update(name="fuzz", position=99, sandboxes=0, vcpus=0, memory_mb=0, stopped_sandboxes=0, volumes=0,
                checkpoints=0)
    stack.query(f"INSERT IGNORE INTO plans ({', '.join(plan)}) VALUES ({', '.join(['%s'] * len(plan))})",
                *plan.values())
    stack.query("UPDATE teams SET plan = 'fuzz' WHERE slug = %s", module_account.team)
    stack.query("UPDATE access_revision SET revision = revision + 1")
    try:
        with edge.settings(stack, key_rate=1000000, address_rate=1000000):
            yield api, sandbox
    finally:
        stack.query("UPDATE teams SET plan = %s WHERE slug = %s", before, module_account.team)
        stack.query("DELETE FROM plans WHERE name = 'fuzz'")
        stack.query("UPDATE access_revision SET revision = revision + 1")


@pytest.fixture(autouse=True)
def unharmed(stack, scene):
    """Every test ends with the workers it began with."""
    programs = ("sandlot-api", "sandlot-gate", "sandlot-dispatcher")
    pids, log = edge.stack_pids(stack, *programs), edge.LogWatch(stack)
    assert all(pids.values())
    yield
    assert edge.stack_pids(stack, *programs) == pids, f"seed {SEED}: a worker died"
    assert log.complaints() == [], f"seed {SEED}"


def run(target, make):
    """Requests for SECONDS, and as many as that takes on any machine; make() gives the arguments of target.send()."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or target.count < COUNT_MIN:
        target.send(*make())
    print(f"seed {SEED}: {target.count} requests, by status {target.by_status}")


def api_target(stack):
    return Target(stack, stack.base_url.removeprefix("https://").encode(), accept_api)


def concrete(source, path, sandbox):
    """A path of the document, mostly of the sandbox that is there."""
    own = source.often(0.5)
    ids = {"{id}": sandbox["id"] if own else "sbx_01kamqj6rk5f4v3x0e7s2hjw8a", "{port}": "3000",
           "{slug}": sandbox["template"]}
    for name, value in ids.items():
        path = path.replace(name, value if source.often(0.8) else source.text())
    return without_line_ends(path.encode("utf-8", "surrogatepass")).replace(b"?", b"").replace(b"#", b"")


def test_bodies(stack, scene):
    api, sandbox = scene
    source, target = Source(SEED), api_target(stack)
    # Not those that end the sandbox or hold the request up: they have bodies of no members anyway.
    calls = [(method, path, operation["requestBody"]["content"]["application/json"]["example"])
             for method, path, operation in contract.operations()
             if "requestBody" in operation and "connect" not in path and "pause" not in path
             and "stop" not in path]

    def make():
        method, path, example = source.one(calls)
        body = json.dumps(source.mutated(example)).encode("utf-8", "surrogatepass")
        if source.often(0.4):
            body = source.damaged(body)
        elif source.often(0.05):
            body = source.one([b"[", b'{"a":', b'{"metadata":{"a":']) * source.random.randrange(20000)
        headers = [(b"Authorization", f"Bearer {api.key}".encode()),
                   (b"Content-Type", b"application/json"), (b"Content-Length", b"%d" % len(body))]
        if source.often(0.3):
            headers.append((b"Idempotency-Key", b"fuzz-%d" % source.random.randrange(200)))
        path = concrete(source, path, sandbox)
        return head(method.encode(), path, target.host, headers) + body, method, path

    run(target, make)


def query(source):
    names = ["team", "limit", "next_token", "query[state][]", "query[metadata][k]", "query[metadata]",
             "query[metadata][", "query", "query[metadata][a][b]"]
    parts = []
    for _ in range(source.random.randrange(8)):
        name = source.one(names) + (source.one(JUNK) if source.often(0.3) else "")
        value = source.one(["1", "200", "ready", "running", source.text(), "A" * 160])
        raw = name.encode("utf-8", "surrogatepass") + b"=" + value.encode("utf-8", "surrogatepass")
        if source.often(0.3):
            raw = b"".join(b"%%%02x" % byte if source.often(0.5) else bytes([byte]) for byte in raw)
        parts.append(source.damaged(raw) if source.often(0.2) else raw)
    return without_line_ends(b"&".join(parts))


def test_queries_and_paths(stack, scene):
    api, sandbox = scene
    source, target = Source(SEED + 1), api_target(stack)
    paths = [path for method, path, _ in contract.operations() if method == "GET"]

    def make():
        path = concrete(source, source.one(paths), sandbox)
        if source.often(0.3):
            path = b"/" + without_line_ends(source.damaged(path[1:]))
        method = "HEAD" if source.often(0.1) else "GET"
        wanted = path + (b"?" + query(source) if source.often(0.8) else b"")
        headers = [(b"Authorization", f"Bearer {api.key}".encode())]
        # What nginx cannot read as a request it answers, and closes.
        return head(method.encode(), wanted, target.host, headers), method, None, True

    run(target, make)


def authorization(source, key):
    return source.one([
        b"", b"Bearer", b"Bearer ", b"Basic " + source.bytes(20).hex().encode(), key.encode(),
        b"bearer " + key.encode(), b"Bearer " + source.damaged(key.encode()),
        b"Bearer " + key.encode() + b" x", b"Bearer " + key.swapcase().encode(),
        b"Bearer slk_" + b"a" * source.random.randrange(5000), b"Bearer slt_" + b"A" * 100])


def test_tokens_and_headers(stack, scene):
    api, sandbox = scene
    source, target = Source(SEED + 2), api_target(stack)
    names = [b"Content-Type", b"Content-Length", b"Transfer-Encoding", b"Idempotency-Key", b"Accept",
             b"X-Request-Id", b"Sandlot_Request_Id", b"X-Access-Token", b"Cookie", b"Expect",
             b"Connection", b"Upgrade", b"Range", b"If-None-Match", b"X-Forwarded-For", b"Host",
             b"Proxy", b"Forwarded", b"TE", b"Trailer"]
    values = [b"", b"0", b"-1", b"5", b"1e3", b"chunked", b"gzip, chunked", b"100-continue", b"close",
              b"websocket", b"h2c", b"bytes=0-1,5-", b"*/*", b"\xff\xfe", b"a" * 7000, b"../../etc",
              b"application/json", b"a;b;c", b"\"", b"Keep-Alive, Upgrade", b"999999999999999999999"]

    def make():
        headers = [(b"Authorization", authorization(source, api.key))]
        headers += [(source.one(names), source.one(values)) for _ in range(source.random.randrange(6))]
        method = source.one(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get",
                             "CONNECT", "PRI", "SEARCH", "X" * 50])
        path = source.one([b"/v1/sandboxes", b"/v1/keys", b"/v1/sandbox_limits",
                           b"/v1/sandboxes/" + sandbox["id"].encode() + b"/ports"])
        # A length that promises a body: it may be waited for, so some bytes follow.
        request = head(method.encode(), path, target.host, headers) + b"0\r\n\r\n" * 40
        return request, method, None, True

    run(target, make)


def test_hosts_and_data_planes(stack, scene, untouched):
    api, sandbox = scene[0], untouched
    source = Source(SEED + 3)
    token = api.resume(sandbox["id"])["session"]["access_token"]
    plane = sandbox["data_plane_url"].removeprefix("https://")
    route, domain = plane.split(".", 1)
    nobody = f"{route[::-1]}.{domain}"  # no damage makes the address of a sandbox out of it
    planes = Target(stack, plane.encode(), accept_sandbox)
    others = Target(stack, b"", accept_nothing)
    paths = ["/files?path=/etc/passwd", "/files?path=", "/init", "/internal/ports/3000", "/health",
             "/process.Process/List", "/process.Process/Start", "/", "/filesystem.Filesystem/Stat"]

    def to_sandbox():
        given = source.one([token, token, source.damaged(token.encode()).decode("latin-1"), ""])
        value = without_line_ends(given.encode("latin-1"))
        path = source.one(paths).encode()
        if source.often(0.4):
            path = b"/" + without_line_ends(source.damaged(path[1:]))
        if source.often(0.2):
            path += b"?access_token=" + value
        body = source.one([b"", b"{}", source.bytes(60), b"\0\0\0\0\2{}", b"\0\xff\xff\xff\xff"])
        headers = [(source.one([b"X-Access-Token", b"Authorization"]), source.one([b"", b"Bearer "]) + value),
                   (b"Content-Type", source.one([b"application/json", b"application/connect+json", b"x"])),
                   (b"Content-Length", b"%d" % len(body))]
        method = source.one(["GET", "POST", "PUT", "DELETE", "HEAD"])
        host = source.one([plane, f"p3000-{plane}", f"p3001-{plane}"]).encode()
        return head(method.encode(), path, host, headers) + body, method, None, True

    def to_nobody():
        host = source.one(["", "localhost", "x" * 300, f"p0-{nobody}", f"p99999-{nobody}", f"p3000-x{nobody}",
                           plane.upper() + ".", f"a.{plane}", "127.0.0.1", "[::1]", "é", "_", "*"])
        host = source.damaged(host.encode()) if source.often(0.3) else host.encode()
        return head(b"GET", b"/v1/sandboxes", without_line_ends(host), []), "GET", None, True

    run(planes, to_sandbox)
    run(others, to_nobody)


def is_http_09(request):
    """A request line without a version: the answer to it is a body without a head, by definition."""
    line = request.lstrip(b"\r\n").split(b"\n", 1)[0]
    return b" HTTP/" not in line


def test_broken_http(stack, scene):
    api, _ = scene
    source, target = Source(SEED + 4), api_target(stack)
    target.patience_s = 1
    whole = head(b"POST", b"/v1/sandboxes", target.host,
                 [(b"Authorization", f"Bearer {api.key}".encode()), (b"Content-Type", b"application/json"),
                  (b"Content-Length", b"13")]) + b'{"timeout":0}'

    def make():
        request = source.one([
            source.damaged(whole), source.damaged(whole), source.bytes(200) + b"\r\n\r\n",
            whole.replace(b"HTTP/1.1", source.one([b"HTTP/1.2", b"HTTP/9.9", b"HTTQ/1.1", b"HTTP/1.", b"x"])),
            whole.replace(b"\r\n", b"\n"), whole.replace(b": ", b":\x00 ", 1), whole.replace(b"13", b"12"),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + source.bytes(50), b"\r\n" * 20 + whole])
        if is_http_09(request):
            return make()
        # The blank line makes an end of a head that lost its own.
        return request + b"\r\n\r\n" + b"x" * 200, "GET", None, True

    run(target, make)


def test_broken_tls(stack, scene):
    """Bytes that are no TLS, and no HTTP/2 in TLS: the connection ends, and the next one works."""
    api, _ = scene
    source = Source(SEED + 5)
    origin = Origin(stack.ca_file, stack.base_url)
    h2 = ssl.create_default_context(cafile=stack.ca_file)
    h2.set_alpn_protocols(["h2"])
    end = time.monotonic() + SECONDS / 2
    while time.monotonic() < end:
        with socket.create_connection((address_of(origin.host), origin.port), 10) as plain:
            if source.often(0.5):
                plain.sendall(source.one([b"\x16\x03\x01\x02\x00\x01", b"\x16\x03\x03", b""]) + source.bytes(300))
                continue
            with h2.wrap_socket(plain, server_hostname=origin.host) as tls:
                tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + source.one(
                    [source.bytes(300), b"\0\0\0\4\0\0\0\0\0" + source.bytes(200),
                     b"\0\0\0\4\0\0\0\0\0\0\0\5\1\5\0\0\0\1" + source.bytes(5)]))
    assert api.get("/v1/sandbox_limits").status == 200
