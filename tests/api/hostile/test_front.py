# SPDX-License-Identifier: GPL-2.0-or-later
"""One address without a key opens connections to the front that never become requests. Others still reach it."""

import contextlib
import os
import pathlib
import resource
import socket
import ssl
import subprocess
import time

import pytest

import edge
import ipv6
from client import Origin
from stack import wait_until
from tenant import Sandbox
from test_large_answers import LARGE

# The setting address_sockets, as the sample file has it.
SHARE = 1024
EXTRA = 300
HONEST = "127.0.9.2"
# One for each crowd: connections that were closed count until the kernel forgets them.
ATTACKERS = (f"127.0.9.{number}" for number in range(3, 250))
CLIENT_HELLO_BEGINS = b"\x16\x03\x01\x02\x00"
# Frames of HTTP/2: SETTINGS without content, and a stream that is reset at once. Its header block has :method GET,
# :scheme https, :path / (static table of HPACK) and :authority as a literal.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\x04\0\0\0\0\0"
RESETS = 2000


@pytest.fixture(autouse=True)
def open_files():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def refusals(stack):
    text = subprocess.run(
        stack.on_host("nft", "list", "counter", "inet", f"{stack.settings['firewall_table']}_front", "refused"),
        check=True, capture_output=True, text=True).stdout
    return int(text.split("packets ")[1].split()[0])


def connect(port, source):
    family, here = (socket.AF_INET6, "::1") if ":" in source else (socket.AF_INET, "127.0.0.1")
    connection = socket.socket(family)
    connection.settimeout(20)
    try:
        connection.bind((source, 0))
        connection.connect((here, port))
    except OSError:
        connection.close()
        raise
    return connection


class Crowd:
    """Many connections of one address: those that the kernel let in stay open."""

    def __init__(self, port, source, begin, count=SHARE + EXTRA):
        self.held, self.refused = [], 0
        for _ in range(count):
            try:
                connection = connect(port, source)
            except ConnectionRefusedError:
                self.refused += 1
                continue
            self.held.append(begin(connection))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.held:
            connection.close()


def silent(connection):
    return connection


def half_open(connection):
    connection.sendall(CLIENT_HELLO_BEGINS)
    return connection


def half_header(connection):
    connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
    return connection


def ports(stack):
    return int(stack.settings["listen_port"]), int(stack.settings["redirect_port"]), int(stack.ssh_settings["port"])


def tls(stack, connection, *protocols):
    origin = Origin(stack.ca_file, stack.base_url)
    if protocols:
        origin.context.set_alpn_protocols(list(protocols))
    return origin.context.wrap_socket(connection, server_hostname=origin.host)


def honest_request(stack, source=HONEST):
    """A new connection of a counted address, from its handshake to its answer."""
    with tls(stack, connect(ports(stack)[0], source)) as connection:
        connection.sendall(b"GET /v1/nothing HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 4"), "no answer of HTTP"


@pytest.mark.parametrize("begin", [half_open, silent])
def test_handshakes_that_do_not_end(stack, bystander, begin):
    before = refusals(stack)
    with Crowd(ports(stack)[0], next(ATTACKERS), begin) as crowd:
        # The address had none before, and none of the first ones is closed yet.
        assert len(crowd.held) >= SHARE and crowd.refused, (len(crowd.held), crowd.refused)
        assert refusals(stack) - before >= crowd.refused
        honest_request(stack)
        bystander.goes_on(pause=False)


def test_headers_that_do_not_end_without_tls(stack, bystander):
    _, plain, _ = ports(stack)
    with Crowd(plain, next(ATTACKERS), half_header) as crowd:
        assert crowd.refused
        with connect(plain, HONEST) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: api.sandbox.localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 308")
        honest_request(stack)
        bystander.goes_on(pause=False)


def test_the_ports_are_counted_together(stack):
    """An address that has its share at one port reaches none of the others; another address reaches all."""
    front, plain, ssh = ports(stack)
    attacker = next(ATTACKERS)
    with Crowd(plain, attacker, silent) as crowd:
        assert crowd.refused
        for port in (front, ssh):
            with pytest.raises(ConnectionRefusedError):
                connect(port, attacker)
            connect(port, HONEST).close()
    wait_until(lambda: not refused(front, attacker), 30, "connections of the address again")


def refused(port, source):
    try:
        connect(port, source).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_network_of_ipv6_is_one_client(stack):
    front = ports(stack)[0]
    with ipv6.addresses(2, 1) as ((first, second), (other,)), contextlib.ExitStack() as crowds:
        for address in (first, second):
            crowds.enter_context(Crowd(front, address, silent, SHARE // 2))
        assert refused(front, second)
        honest_request(stack, other)


def test_a_site_of_ipv6_has_four_times_as_many(stack):
    """Anybody can get a network of 48 bits, which has 65,536 of 64 bits."""
    front, each = ports(stack)[0], 4 * SHARE // 5 + 5
    # On a slow machine the last connection comes more than ten seconds after the first one.
    with edge.settings(stack, handshake_timeout_s=300), ipv6.site(6) as (*members, last), \
            ipv6.addresses(1) as ((honest,),), contextlib.ExitStack() as open_crowds:
        crowds = [open_crowds.enter_context(Crowd(front, address, silent, each)) for address in members]
        assert not any(crowd.refused for crowd in crowds[:-1])
        assert crowds[-1].refused and refused(front, last)
        honest_request(stack, honest)


def begin_request(stack, source):
    """A request to the API whose body does not come."""
    connection = tls(stack, connect(ports(stack)[0], source))
    host = Origin(stack.ca_file, stack.base_url).host
    connection.sendall(f"POST /v1/keys HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n".encode())
    return connection


def is_refused(stack, source):
    with begin_request(stack, source) as connection:
        connection.sendall(b"{\"a\": 11}")
        return connection.recv(65536).startswith(b"HTTP/1.1 429")


def test_a_site_of_ipv6_has_four_times_as_many_requests(stack):
    each = 16
    with edge.settings(stack, api_requests=each), ipv6.site(5) as (*members, last), ipv6.addresses(1) as ((honest,),), \
            contextlib.ExitStack() as opened:
        assert not is_refused(stack, last)
        for address in members * each:
            opened.enter_context(begin_request(stack, address))
        wait_until(lambda: is_refused(stack, last), 10, "the bound of the site")
        assert not is_refused(stack, honest)


def test_streams_that_are_reset(stack, bystander):
    """A client of HTTP/2 asks for a preview and takes each request back at once."""
    host = bystander.sandbox.preview(3000).host.encode()
    block = b"\x82\x87\x84\x41" + bytes([len(host)]) + host
    assert len(host) < 127

    def streams(connection):
        held = tls(stack, connection, "h2")
        assert held.selected_alpn_protocol() == "h2"
        held.sendall(PREFACE + SETTINGS)
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            for number in range(RESETS):
                stream = (2 * number + 1).to_bytes(4, "big")
                held.sendall(len(block).to_bytes(3, "big") + b"\x01\x05" + stream + block +
                             b"\0\0\x04\x03\0" + stream + b"\0\0\0\x08")
        return held

    with Crowd(ports(stack)[0], next(ATTACKERS), streams, 8):
        honest_request(stack)
        bystander.goes_on(pause=False)


def stored(stack):
    """Bytes of each temporary file that the nginx of this stack holds open; it deletes their names at once."""
    sizes = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            for one in (process / "fd").iterdir():
                with contextlib.suppress(OSError):  # it is closed
                    name = os.readlink(one)
                    if name.startswith(f"{stack.root}/nginx/") and name.endswith("(deleted)"):
                        sizes.append(one.stat().st_size)
    return sizes


@pytest.fixture
def small_buffers():
    """The kernel keeps little of what a client does not read. Its usual limit is as large as the largest answer."""
    limits = pathlib.Path("/proc/sys/net/ipv4/tcp_wmem")
    before = limits.read_text(encoding="ascii")
    limits.write_text("4096 16384 262144", encoding="ascii")
    yield
    limits.write_text(before, encoding="ascii")


def test_slow_readers_leave_little_on_the_disk(stack, make_account, bystander, small_buffers):
    """Answers of 4 MiB to clients that read nothing: 1 MiB is stored, and the worker keeps the rest."""
    account = make_account("pro")
    for _ in range(5):  # nearly a MiB each
        Sandbox.create(account.api, **LARGE)
    request = (f"GET /v1/sandboxes?limit=100 HTTP/1.1\r\nHost: {Origin(stack.ca_file, stack.base_url).host}\r\n"
               f"Authorization: Bearer {account.api.key}\r\n\r\n").encode()

    def reader(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        held = tls(stack, connection)
        held.sendall(request)
        return held

    before = stored(stack)
    with Crowd(ports(stack)[0], next(ATTACKERS), reader, 2) as crowd:
        assert all(one.recv(1024).startswith(b"HTTP/1.1 200") for one in crowd.held)
        wait_until(lambda: len(stored(stack)) > len(before), 20, "a temporary file")
        bystander.goes_on(pause=False)
        assert max(stored(stack)) <= 1.1 * 2**20, stored(stack)


def test_what_a_client_sends_fills_no_log(stack):
    """Long names and a user agent of control characters, which are six bytes each in a line of JSON."""
    log = stack.root / "log" / "sandlot-access.log"
    before = log.stat().st_size
    request = (b"GET /v1/" + b"a" * 3000 + b" HTTP/1.1\r\nHost: api." + b"b" * 3000 + b".localhost\r\nUser-Agent: "
               + b"\x01" * 7000 + b"\r\nConnection: close\r\n\r\n")
    for method in (b"", b"M" * 4000):
        with tls(stack, connect(ports(stack)[0], HONEST)) as connection:
            connection.sendall(method + request)
            assert connection.recv(65536).startswith(b"HTTP/1.1 4")
    wait_until(lambda: log.stat().st_size > before, 20, "lines of the log")
    with log.open("rb") as file:
        file.seek(before)
        assert max(map(len, file.read().split(b"\n"))) < 4096


def test_requests_that_are_refused_write_few_lines(stack):
    log = stack.root / "log" / "sandlot-access.log"
    source, asked = next(ATTACKERS), 0
    marker = f"/v1/nothing-{source}"
    request = f"GET {marker} HTTP/1.1\r\nHost: {Origin(stack.ca_file, stack.base_url).host}\r\n\r\n".encode()
    with tls(stack, connect(ports(stack)[0], source)) as connection:
        refused_ones = 0
        while refused_ones < 1000 and asked < 20000:
            connection.sendall(request * 50)
            answers = b""
            while answers.count(b"HTTP/1.1 ") < 50 or not answers.endswith(b"}"):
                answers += connection.recv(65536)
            refused_ones += answers.count(b"HTTP/1.1 429")
            asked += 50
    assert refused_ones >= 1000, "the rate of an address"
    time.sleep(3)  # nginx writes its lines a second late
    lines = [line for line in log.read_text(errors="replace").splitlines() if marker in line and '"status":429' in line]
    assert len(lines) < refused_ones / 10, (len(lines), refused_ones)


def repeat(connection, request, count):
    """Send a request so many times on a connection, and read the heads of the answers."""
    for _ in range(count // 50):
        connection.sendall(request * 50)
        answers = b""
        while answers.count(b"HTTP/1.1 ") < 50:
            received = connection.recv(65536)
            assert received, "the connection ended"
            answers += received


def lines_with(stack, marker):
    time.sleep(3)  # nginx writes its lines a second late
    return (stack.root / "log" / "sandlot-access.log").read_text(errors="replace").count(marker)


def test_requests_to_sandboxes_past_a_rate_write_few_lines(stack):
    """Previews have no rate: their requests past 50 a second are served, and few have a line of the log."""
    source, asked = next(ATTACKERS), 6000
    marker = f"/nothing-of-a-sandbox-{source}"
    host = f"p3000-{'a' * 26}.{stack.data_plane_host.partition(':')[0]}"
    begun = time.monotonic()
    with tls(stack, connect(ports(stack)[0], source)) as connection:
        repeat(connection, f"GET {marker} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode(), asked)
    most = 1000 + 50 * (time.monotonic() - begun + 5) + asked / 20
    assert 0 < lines_with(stack, marker) < most


def test_requests_without_tls_write_few_lines(stack):
    source, asked = next(ATTACKERS), 900
    marker = f"/nothing-without-tls-{source}"
    with connect(ports(stack)[1], source) as connection:
        repeat(connection, f"GET {marker} HTTP/1.1\r\nHost: api.sandbox.localhost\r\n\r\n".encode(), asked)
    assert 0 < lines_with(stack, marker) < asked / 10
