# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that builders fetch images with, by themselves: how they sign in, and the platform and user of an image."""

import base64
import contextlib
import datetime
import hashlib
import http.server
import importlib
import io
import json
import pathlib
import socketserver
import threading
import urllib.error

import pytest

pytestmark = pytest.mark.parallel

PROGRAMS = pathlib.Path(__file__).parents[3] / "scripts/template/files/usr/lib/sandlot/image"
USER, PASSWORD = "robin", "open sesame"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
BLOB = b"the contents"
DIGEST = "sha256:" + hashlib.sha256(BLOB).hexdigest()


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    registry = importlib.import_module("registry")
    monkeypatch.setattr(registry.time, "sleep", lambda _: None)
    return registry


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path.partition("?")[0], self.headers.get("Authorization")))
        self.server.programs.add(self.headers["User-Agent"])
        status, headers, body = self.server.answer(self)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve(answer):
    """A server of HTTP. answer: makes status, headers and body of each request."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.answer, server.seen, server.programs = answer, [], set()
        server.place = f"127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def unauthorized(*challenges):
    return 401, [("WWW-Authenticate", challenge) for challenge in challenges], b"{}"


def bearer(request):
    return f'Bearer realm="http://{request.headers["Host"]}/token",service="here"'


def client(program, server, **fields):
    return program.Registry({"registry": server.place, "repository": "a/b", "plain_http": True, **fields})


def blob(registry):
    file = io.BytesIO()
    registry.blob(DIGEST, len(BLOB), file, "layer 1")
    return file.getvalue()


def test_the_entry_of_an_index_for_a_processor(program):
    def entry(letter, machine=None, **more):
        platform = {"platform": {"os": "linux", "architecture": machine, **more}} if machine else {}
        return {"digest": "sha256:" + 64 * letter, **platform}

    def chosen(*manifests, machine="amd64"):
        return program.choose(list(manifests), machine, "image x")[-1]

    assert chosen(entry("a", "arm64"), entry("b", "amd64"), entry("c", "amd64")) == "b"
    assert chosen(entry("a", "amd64", variant="v3"), entry("b", "amd64")) == "b"
    assert chosen(entry("a"), entry("b", "amd64", variant="v3")) == "b"
    assert chosen(entry("a", "arm", variant="v7"), entry("b", "arm64", variant="v8"), machine="arm64") == "b"
    # The image's configuration names the platform.
    assert chosen(entry("a", "arm64"), entry("b")) == "b"
    for none in (), (1, {"digest": "b"}, {**entry("a"), "platform": 1}), (entry("a", "amd64", os="windows"),):
        with pytest.raises(program.Failure, match="image x: it is not there for linux/amd64, only for: (nothing|windows/amd64)"):
            chosen(*none)


def test_a_token_that_has_ended_is_replaced(program):
    """Tokens of Docker Hub last five minutes, and an image may take longer."""
    tokens = []

    def answer(request):
        if request.path.startswith("/token"):
            tokens.append(f"token-{len(tokens)}")
            return 200, (), json.dumps({"token": tokens[-1]}).encode()
        uses = [used for path, used in request.server.seen if path != "/token"].count(f"Bearer {tokens[-1]}") if tokens else 0
        if request.headers.get("Authorization") == f"Bearer {tokens[-1] if tokens else ''}" and uses <= 2:
            return 200, (), BLOB
        return unauthorized(bearer(request))

    with serve(answer) as server:
        registry = client(program, server, user=USER, password=PASSWORD)
        assert [blob(registry) for _ in range(5)] == [BLOB] * 5
        assert len(tokens) == 3
        assert {used for path, used in server.seen if path == "/token"} == {BASIC}


def test_a_refused_token_ends_the_fetch(program):
    def answer(request):
        return (200, (), b'{"token": "t"}') if request.path.startswith("/token") else unauthorized(bearer(request))

    with serve(answer) as server:
        with pytest.raises(program.Failure, match="refuses the user robin .HTTP 401., or does not have the image"):
            blob(client(program, server, user=USER, password=PASSWORD))
        assert [path for path, _ in server.seen].count("/token") == 1


def test_an_address_of_a_redirect_may_want_a_sign_in(program):
    """It never gets the password or the token of the registry."""
    def there(request):
        if request.path.startswith("/token"):
            return 200, (), b'{"access_token": "theirs"}'
        return (200, (), BLOB) if request.headers.get("Authorization") == "Bearer theirs" else unauthorized(bearer(request))

    with serve(there) as other:
        def here(request):
            if request.headers.get("Authorization") != BASIC:
                return unauthorized('Basic realm="here"')
            return 307, [("Location", f"http://{other.place}/elsewhere")], b""

        with serve(here) as server:
            registry = client(program, server, user=USER, password=PASSWORD)
            assert blob(registry) == BLOB
        assert other.seen == [("/elsewhere", None), ("/token", None), ("/elsewhere", "Bearer theirs")]
        assert other.programs == server.programs == {"sandlot"}
    assert {used for _, used in server.seen} == {None, BASIC}


def test_redirects_without_an_end(program):
    def answer(request):
        if request.headers.get("Authorization"):
            return 307, [("Location", f"/moved{len(request.server.seen)}")], b""
        return (200, (), b'{"token": "t"}') if request.path.startswith("/token") else unauthorized(bearer(request))

    with serve(answer) as server:
        with pytest.raises(program.Failure):
            blob(client(program, server))
        assert len(server.seen) < 20


@pytest.mark.parametrize("challenges", [
    ('Negotiate', 'Basic realm="Bearer of x"', 'BEARER Realm="{0}",scope="s, t" , service=here'),
    ('Digest realm="a", nonce=b, Basic realm="x", Bearer service="here",realm={0}',)])
def test_a_registry_may_offer_several_sign_ins(program, challenges):
    def answer(request):
        if request.path.startswith("/token"):
            assert "service=here" in request.path
            return 200, (), b'{"token": "t"}'
        if request.headers.get("Authorization") == "Bearer t":
            return 200, (), BLOB
        return unauthorized(*(one.format(f"http://{request.headers['Host']}/token") for one in challenges))

    with serve(answer) as server:
        assert blob(client(program, server)) == BLOB


def test_a_busy_server_of_tokens_is_asked_again(program):
    def answer(request):
        if request.path.startswith("/token"):
            is_first = [path for path, _ in request.server.seen].count("/token") == 1
            return (503, (), b"{}") if is_first else (200, (), b'{"token": "t"}')
        return (200, (), BLOB) if request.headers.get("Authorization") else unauthorized(bearer(request))

    with serve(answer) as server:
        assert blob(client(program, server)) == BLOB


def test_too_many_requests(program):
    with serve(lambda _: (429, [("Retry-After", "1")], b"{}")) as server:
        with pytest.raises(program.Failure, match="too many requests.*or with a user and a password"):
            blob(client(program, server))
        assert len(server.seen) == 4


@pytest.mark.parametrize("said,command", [("/bin/run", ["/bin/run"]), ("", []), (None, []), (["/bin/run", "x"], ["/bin/run", "x"])])
def test_a_command_may_be_a_string(monkeypatch, said, command):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    finish = importlib.import_module("finish")
    image = finish.describe({"image": "a", "digest": DIGEST, "platform": "linux/amd64"}, {"config": {"Entrypoint": said, "Cmd": said}})
    assert (image["entrypoint"], image["command"]) == (command, command)


# --- AWS ---

@pytest.fixture
def aws(program):
    return program.aws


def test_the_signature_of_aws(aws):
    """The case post-vanilla of AWS's own suite for Signature Version 4."""
    headers = aws.signed(("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), "us-east-1", "service",
                         {"host": "example.amazonaws.com"}, b"", datetime.datetime(2015, 8, 30, 12, 36))
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
        "Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b")


def test_a_login_at_aws(monkeypatch, program, aws):
    """The registry gets the password that AWS gives, and neither the secret key nor its words."""
    asked, given = [], base64.b64encode(b"AWS:for-twelve-hours").decode()

    def urlopen(request, timeout):
        asked.append((request.full_url, timeout, request.get_header("X-amz-target"), request.get_header("Authorization")))
        return io.BytesIO(json.dumps({"authorizationData": [{"authorizationToken": given}]}).encode())

    def answer(request):
        is_signed_in = request.headers.get("Authorization") == f"Basic {given}"
        return (200, (), BLOB) if is_signed_in else unauthorized('Basic realm="https://aws/",service="ecr.amazonaws.com"')

    monkeypatch.setattr(aws.urllib.request, "urlopen", urlopen)
    login = {"user": "AKIDEXAMPLE", "password": "the secret key", "aws_region": "cn-north-1"}
    with serve(answer) as server:
        registry = client(program, server, **login)
        assert [blob(registry) for _ in range(2)] == [BLOB] * 2
    ((url, _, target, signature),) = asked
    assert url == "https://api.ecr.cn-north-1.amazonaws.com.cn/" and target.endswith(".GetAuthorizationToken")
    assert "Credential=AKIDEXAMPLE/" in signature and "the secret key" not in signature


@pytest.mark.parametrize("said,reason", [
    (b'{"__type": "com.amazon.coral.service#UnrecognizedClientException", "message": "x"}', "UnrecognizedClientException"),
    (b"<html>", "HTTP 400"), (b"[]", "HTTP 400"), (b"", "HTTP 400")])
def test_aws_may_refuse_the_key(monkeypatch, aws, said, reason):
    def urlopen(request, timeout):
        raise urllib.error.HTTPError(request.full_url, 400, f"{timeout}", None, io.BytesIO(said))

    monkeypatch.setattr(aws.urllib.request, "urlopen", urlopen)
    with pytest.raises(aws.Failure, match=f"^layer 1: AWS refuses the access key AKID .{reason}.$"):
        aws.login(("AKID", "secret"), "us-east-1", "layer 1")


@pytest.mark.parametrize("said", [b"{}", b'{"authorizationData": []}', b'{"authorizationData": [{"authorizationToken": 7}]}',
                                  b'[]', b"x", b'{"authorizationData": [{"authorizationToken": "a\\nb"}]}'])
def test_aws_may_answer_anything(monkeypatch, aws, said):
    monkeypatch.setattr(aws.urllib.request, "urlopen", lambda *_, **__: io.BytesIO(said))
    with pytest.raises(aws.Failure, match="api.ecr.us-east-1.amazonaws.com gives no login"):
        aws.login(("AKID", "secret"), "us-east-1", "layer 1")


def test_a_list_of_users_keeps_its_owner(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    finish, owners = importlib.import_module("finish"), []
    path = tmp_path / "shadow"
    path.write_text("root:*\n")
    known = path.stat()
    monkeypatch.setattr(finish.os, "chown", lambda *words: owners.append(words))
    finish.append(str(path), "user:*", 0o640)
    finish.append(str(tmp_path / "new"), "root:*", 0o644)
    assert path.read_text() == "root:*\nuser:*\n" and path.stat().st_mode & 0o777 == 0o640
    assert owners == [(str(path), known.st_uid, known.st_gid)]


@pytest.mark.parametrize("said,chosen", [
    ("app:staff", "app:staff"), ("app:7", "app:7"), ("app:", "app"), ("app", "app"), ("app:none", "app"), ("app:\u0667", "app"),
    ("700:staff", "app:staff"), ("", "user"), (":staff", "user:staff"), ("900:", "user900")])
def test_the_user_of_an_image(monkeypatch, said, chosen):
    """Lines without a name, and digits other than those of ASCII, name no user."""
    monkeypatch.syspath_prepend(str(PROGRAMS))
    finish, added = importlib.import_module("finish"), []
    lists = {"/etc/passwd": ["::900:900::/:", "::700:700::/:", "app:x:700:700::/srv:"], "/etc/group": ["::0:", "staff:x:50:"]}
    monkeypatch.setattr(finish, "lines_of", lists.get)
    monkeypatch.setattr(finish, "add_user", lambda *words: added.append(words))
    assert finish.choose_user(said) == chosen
    assert added.pop() == ()
    added.clear()
    assert finish.choose_user(said, False) == chosen and () not in added, "the build adds this user later"
