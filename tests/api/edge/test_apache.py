# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Apache in front of nginx, with the site of doc/howto/run-behind-apache.md: wildcard names, streams that
come at once, WebSocket, paths and uploads as they were sent."""

import hashlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import textwrap
import time
import urllib.parse

import pytest
import websocket

from client import Api, Origin
from edge import self_signed
from stack import wait_until

pytestmark = pytest.mark.parallel

PAGE = pathlib.Path(__file__).resolve().parents[3] / "doc" / "howto" / "run-behind-apache.md"
MODULES = ("mpm_event", "alias", "authz_core", "setenvif", "socache_shmcb", "ssl", "http2", "proxy", "proxy_http", "reqtimeout")
MAIN = """
ServerRoot {folder}
PidFile {folder}/pid
ErrorLog {folder}/error.log
LogLevel warn
ServerName other.example
User www-data
Group www-data
Listen 127.0.0.1:{port}
{modules}
DefaultRuntimeDir {folder}
<VirtualHost *:{port}>
    ServerName other.example
    SSLEngine on
    SSLCertificateFile {certificate}
    SSLCertificateKeyFile {key}
    Redirect 410 /
</VirtualHost>
"""


def site(stack, port):
    """The page's own lines, with this stack's names, files and ports in place of the examples."""
    (block,) = re.findall(r"^    <VirtualHost.*?^    </VirtualHost>$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    text = textwrap.dedent(block)
    for example, ours in (
        ("*:443", f"*:{port}"),
        ("sandbox.example.com", stack.data_plane_host.split(":")[0]),
        ("api.example.com", urllib.parse.urlsplit(stack.base_url).hostname),
        ("console.example.com", urllib.parse.urlsplit(stack.console_url).hostname),
        ("/etc/sandlot/tls/fullchain.pem", stack.settings["tls_certificate_file"]),
        ("/etc/sandlot/tls/privkey.pem", stack.settings["tls_certificate_key_file"]),
        ("/etc/ssl/certs/ca-certificates.crt", str(stack.ca_file)),
        ("127.0.0.1:8443", f"127.0.0.1:{stack.settings['listen_port']}"),
    ):
        assert example in text, f"the page no longer has {example}"
        text = text.replace(example, ours)
    return text


@pytest.fixture(scope="module")
def apache(stack, tmp_path_factory):
    """Its port."""
    program = shutil.which("apache2") or "/usr/sbin/apache2"
    assert os.path.exists(program), "Debian's apache2-bin is not installed: scripts/test does it"
    folder = tmp_path_factory.mktemp("apache")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES)
    main = MAIN.format(folder=folder, port=port, modules=modules, certificate=stack.settings["tls_certificate_file"],
                       key=stack.settings["tls_certificate_key_file"])
    (folder / "apache.conf").write_text(main + site(stack, port), encoding="utf-8")
    running = subprocess.Popen([program, "-f", folder / "apache.conf", "-DFOREGROUND"], stderr=subprocess.PIPE, text=True)

    def answers():
        assert running.poll() is None, running.stderr.read()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(answers, 30, "Apache listens")
        yield port
    finally:
        running.terminate()
        running.wait(30)


def through(origin, port):
    """The same address, by way of Apache."""
    other = Origin.__new__(Origin)
    other.__dict__.update(origin.__dict__, port=port)
    return other


@pytest.fixture
def api(apache, stack, account):
    api = Api(stack, account.api.key)
    api.origin = through(api.origin, apache)
    return api


def test_the_api_and_the_console(apache, stack, api):
    answer = api.get("/v1/me")
    assert answer.status == 200, answer
    console = through(Origin(stack.ca_file, stack.console_url), apache).request("GET", "/sandboxes")
    assert console.status == 200 and b"sandlot" in console.body
    # Apache's own sites are served as before.
    own = through(Origin(stack.ca_file, stack.base_url), apache)
    assert own.request("GET", "/", headers={"Host": "other.example"}).status == 410


def test_output_comes_when_it_is_written(apache, sandbox, monkeypatch):
    """Of a program that waits for each line: nothing comes later than it is written."""
    monkeypatch.setattr(sandbox.data, "origin", through(sandbox.data.origin, apache))
    stream, pid = sandbox.data.echoing()
    with stream:
        for line in (b"one\n", b"two\n"):
            sandbox.data.type(pid, line)
            assert stream.output() == line
        time.sleep(2)
        sandbox.data.type(pid, b"after a pause\n")
        assert stream.output() == b"after a pause\n"


@pytest.fixture
def preview(apache, sandbox):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "127.0.0.1", "3000")
    sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    assert sandbox.api.request("PUT", f"{sandbox.path}/ports/3000", {"public": True}).status in (200, 201)
    return through(sandbox.preview(3000), apache)


def test_a_preview(preview):
    seen = preview.request("GET", "/some%2Fpath//x?a=1&b=%2F", headers={"X-Mine": "yes"}).json()
    assert seen["path"] == "/some%2Fpath//x?a=1&b=%2F" and seen["headers"]["x-mine"] == "yes"
    content = os.urandom(8 << 20)
    answer = preview.request("POST", "/digest", iter([content[:1000], content[1000:]])).json()
    assert answer == {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    client = websocket.create_connection(f"wss://{preview.host}:{preview.port}/socket", socket=preview.tls_socket(20),
                                         timeout=20)
    for message in ("hello", "x" * 20000):
        client.send(message)
        assert client.recv() == message
    client.close()


def test_files_of_any_name(apache, sandbox):
    origin = through(sandbox.data.origin, apache)
    headers = {"X-Access-Token": sandbox.data.token, "Content-Type": "application/octet-stream"}
    path = "/files?path=" + urllib.parse.quote("/home/user/a b%2Fä.bin", safe="")
    content = os.urandom(1 << 20)
    assert origin.request("POST", path, content, headers).status == 200
    assert origin.request("GET", path, headers={"X-Access-Token": sandbox.data.token}).body == content


BEYOND = """
import socket, ssl, time
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain("/tmp/tls.pem")
server = socket.create_server(("0.0.0.0", 3001))
while True:
    with context.wrap_socket(server.accept()[0], server_side=True) as client:
        client.recv(65536)
        client.sendall(b"HTTP/1.1 103 Early Hints\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\n\\r\\nmine")
        time.sleep(1)
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\n\\r\\nforged")
        time.sleep(1)
"""


def test_a_sandbox_cannot_answer_the_next_request(stack, apache, api, sandbox, tmp_path):
    """An interim status that is the head of an answer, and more answers behind it. Apache would read the first one, and
    send the next request, by anybody to any host, on a connection that the sandbox still writes to. So nginx ends the
    connection: nothing of the sandbox's answers arrives, and the next requests get their own."""
    sandbox.data.upload("/tmp/tls.pem", self_signed(tmp_path))
    sandbox.data.background("python3", "-c", BEYOND)
    sandbox.data.check("until ss -ltn | grep -q :3001; do sleep 0.05; done")
    assert sandbox.api.request("PUT", f"{sandbox.path}/ports/3001", {"public": True, "protocol": "https"}).status in (200, 201)
    attacker = through(sandbox.preview(3001), apache)
    for _ in range(3):
        with attacker.tls_socket(20) as raw:
            raw.sendall(f"GET / HTTP/1.1\r\nHost: {attacker.host}\r\n\r\n".encode())
            got = b""
            while b"\r\n\r\n" not in got:
                got += raw.recv(4096) or pytest.fail(f"the connection ended after {got}")
            assert got.startswith(b"HTTP/1.1 502 ") and b"mine" not in got, got
        time.sleep(0.3)
        answer = api.get("/v1/me")
        assert answer.status == 200 and b"user" in answer.body, answer
