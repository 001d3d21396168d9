# SPDX-License-Identifier: GPL-2.0-or-later
"""Secrets that requests of sandboxes get on their way out, and rules about methods and paths: a real sandbox,
nginx of its host, and a TLS server outside."""

import json
import os
import pathlib
import secrets as random
import shlex
import shutil
import signal
import subprocess

import pytest

from fake_internet import FirewallProcess
from stack import wait_until
from tenant import Sandbox
from tls_outside import HOST, OTHER_HOST, serving

pytestmark = pytest.mark.parallel

VALUE = "sk-" + random.token_hex(16)
BEARER = {"Authorization": "Bearer ${secrets.llm}"}


@pytest.fixture(scope="module")
def outside(stack, internet, tmp_path_factory):
    with serving(stack, internet, tmp_path_factory.mktemp("tls"), HOST, OTHER_HOST, "elsewhere.test") as outside:
        yield outside


@pytest.fixture(scope="module")
def api(module_account):
    api = module_account.api
    answer = api.request("PUT", "/v1/secrets/llm", {"value": VALUE, "hosts": [HOST]})
    assert answer.status == 201, answer
    return api


@pytest.fixture(scope="module")
def sandbox(api, outside):
    return Sandbox.create(
        api, timeout=1800, allow_internet_access=False, rules=[{"host": HOST, "headers": BEARER}])


@pytest.fixture
def plain(sandbox):
    """The sandbox with its first policy."""
    policy(sandbox, [{"host": HOST, "headers": BEARER}])
    return sandbox


def policy(sandbox, rules, **fields):
    answer = sandbox.api.request(
        "PUT", f"{sandbox.path}/network", {"allow_internet_access": False, "rules": rules, **fields})
    assert answer.status == 200, answer
    assert answer.json()["status"] == "applied", answer.json()
    return answer.json()


def curl(sandbox, *arguments, url=f"https://{HOST}/v1/chat"):
    """Status and body."""
    text = sandbox.data.check(
        "curl -sS --max-time 20 -w '\\n%{http_code}' " + " ".join(f"'{word}'" for word in (*arguments, url)) + " 2>&1 || true")
    body, _, status = text.rstrip().rpartition("\n")
    return int(status) if status.isdigit() else 0, body


def seen(body):
    """What the server got: its JSON, with the headers by their lower-case names."""
    got = json.loads(body)
    got["headers"] = [(name.lower(), value) for name, value in got["headers"]]
    return got


def values(body, name):
    return [value for known, value in seen(body)["headers"] if known == name]


# --- what a rule does ---


def test_a_request_gets_the_secret_that_the_sandbox_does_not_have(plain, outside):
    status, body = curl(plain, "-d", "question")
    assert status == 200, body
    assert values(body, "authorization") == [f"Bearer {VALUE}"]
    assert seen(body)["name"] == HOST and seen(body)["body"] == len("question")
    assert values(body, "host") == [HOST]


def test_python_and_curl_trust_the_proxy_without_an_option(plain, outside):
    body = plain.data.check(
        "python3 -c \"import urllib.request as r; print(r.urlopen('https://%s/').read().decode())\"" % HOST)
    assert values(body, "authorization") == [f"Bearer {VALUE}"]
    names = plain.data.check("env")
    assert "NODE_EXTRA_CA_CERTS=" in names and "REQUESTS_CA_BUNDLE=" in names


@pytest.mark.parametrize("path", ["/v1/é", "/v1/a%20b?x=1&y=%2e"])
def test_the_target_goes_as_it_came(plain, outside, path):
    status, body = curl(plain, url=f"https://{HOST}{path}")
    assert status == 200 and seen(body)["target"].startswith("/v1/"), body
    assert "x=1&y=%2e" in seen(body)["target"] or "?" not in path


def test_a_value_of_the_guest_is_replaced_and_other_headers_stay(plain, outside):
    status, body = curl(plain, "-H", "Authorization: Bearer mine", "-H", "authorization: Bearer too",
                        "-H", "X-Api-Key: own", "-H", "Authorization : Bearer odd", "-H", "X-Other: kept")
    assert status in (200, 400), body
    if status == 200:
        assert values(body, "authorization") == [f"Bearer {VALUE}"]
    status, body = curl(plain, "--http1.1", "-H", "Authorization: Bearer mine", "-H", "authorization: Bearer too",
                        "-H", "X-Api-Key: own", "-H", "X-Other: kept")
    assert status in (200, 400), body
    status, body = curl(plain, "-H", "AUTHORIZATION: Bearer mine", "-H", "X-Api-Key: own", "-H", "X-Other: kept")
    assert status == 200, body
    assert values(body, "authorization") == [f"Bearer {VALUE}"]
    assert values(body, "x-api-key") == ["own"] and values(body, "x-other") == ["kept"]


def test_a_parameter_of_a_rule_replaces_the_guests(plain, outside):
    policy(plain, [{"host": HOST, "query": {"key": "${secrets.llm}", "region": "a b&c"}, "paths": ["/v1/*"]}])
    added = f"key={VALUE}&region=a%20b%26c"
    for target, wanted in (
        ("/v1/chat", f"/v1/chat?{added}"),
        ("/v1/chat?x=1&key=own&y=%2e", f"/v1/chat?x=1&y=%2e&{added}"),
        ("/v1/chat?%6Bey=own&keys=2", f"/v1/chat?keys=2&{added}"),
        ("/v1/chat?key=own;x=1", f"/v1/chat?x=1&{added}"),
    ):
        for version in "--http1.1", "--http2":
            status, body = curl(plain, version, url=f"https://{HOST}{target}")
            assert status == 200 and seen(body)["target"] == wanted, (version, body)
    status, body = curl(plain, "-X", "POST", "-d", "question", url=f"https://{HOST}/v1/chat")
    assert status == 200 and seen(body)["body"] == len("question") and seen(body)["target"] == f"/v1/chat?{added}"
    assert curl(plain, url=f"https://{HOST}/v2/chat")[0] == 403
    for target in (f"https://{HOST}/v1/chat", "/v1/chat?" + "x" * 17000, "/v1/\x01", "/v1/chat?a\x0bb", "/v1/chat#f"):
        answer = raw(plain, f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n")
        passes = target.startswith("https:")
        assert answer and (" 200 " in answer.splitlines()[0]) == passes and (VALUE in answer) == passes, (target, answer)
    assert curl(plain)[0] == 200, "the firewall still decides"


def test_uploads_streams_and_websockets_pass(plain, outside):
    body = plain.data.check(
        f"head -c 20000000 /dev/zero >/tmp/big; curl -sS --max-time 60 -T /tmp/big https://{HOST}/v1/upload")
    assert seen(body)["body"] == 20000000 and seen(body)["method"] == "PUT"
    body = plain.data.check(
        f"head -c 300000 /dev/zero | curl -sS --http1.1 -H 'Transfer-Encoding: chunked' -T - https://{HOST}/v1/upload")
    assert seen(body)["body"] == 300000
    times = plain.data.check(
        f"curl -sSN https://{HOST}/events | while read -r line; do date +%s%N; done").split()
    assert int(times[-1]) - int(times[0]) > 600_000_000, "events come one by one"
    plain.put_guest("tls_socket.py")
    assert plain.data.check(f"python3 /tmp/tls_socket.py {HOST}").strip() == "hello"


def grpc(sandbox, target, *arguments):
    """The answer to a call with an empty message: heads and trailers, then the message."""
    sandbox.data.check("printf '\\0\\0\\0\\0\\0' >/tmp/message")
    return sandbox.data.check(
        "curl -sS --http2 --max-time 20 -i -H 'Content-Type: application/grpc' -H 'TE: trailers' "
        + " ".join(f"'{word}'" for word in arguments) + f" --data-binary @/tmp/message https://{HOST}{target} | tr -cd '\\11-\\176'")


def test_a_grpc_call_gets_the_secret_and_its_trailers_come_back(plain, outside):
    policy(plain, [{"host": HOST, "headers": BEARER, "paths": ["/echo.Echo/*"]}])
    before = len(outside.requests())
    answer = grpc(plain, "/echo.Echo/Once", "-H", "Authorization: Bearer mine", "-H", "X-HTTP-Method-Override: PUT",
                  "-H", "X-Original-URL: /echo.Other/Once")
    got = outside.requests()[before:]
    assert "grpc-status: 0" in answer and "grpc-message: done" in answer, answer
    assert [one["target"] for one in got] == ["/echo.Echo/Once"] and got[0]["body"] == 5, answer
    sent = dict(got[0]["headers"])
    assert (sent["authorization"], sent["te"], sent[":authority"]) == (f"Bearer {VALUE}", "trailers", HOST), sent
    assert not {"x-http-method-override", "x-original-url"} & set(sent)
    assert "egress_refused" in grpc(plain, "/echo.Other/Once") and len(outside.requests()) == before + 1
    outside.show("strange")
    try:
        assert "egress_upstream_failed" in grpc(plain, "/echo.Echo/Once") and len(outside.requests()) == before + 1
    finally:
        outside.show("good")
    assert curl(plain, url=f"https://{HOST}/echo.Echo/Once")[0] == 200, "HTTP/1.1 is not disturbed by it"


LIBRARIES = pathlib.Path("/usr/lib/python3/dist-packages")
PHP = f'$c = curl_init("https://{HOST}/php"); curl_setopt($c, CURLOPT_FAILONERROR, true); curl_exec($c);'
PYTHON = "PYTHONPATH=/tmp/python python3"
# Programs and libraries of this machine, which the template lacks; a command; and a part of the target.
CLIENTS = {
    "wget": (["wget"], f"wget -qO- https://{HOST}/wget", "/wget"),
    "node": (["node"], f"node -e 'fetch(\"https://{HOST}/fetch\")'", "/fetch"),
    "axios": (["node", *(f"/usr/share/nodejs/{name}" for name in (
                  "axios", "follow-redirects", "form-data", "proxy-from-env", "asynckit", "combined-stream", "delayed-stream",
                  "mime-types", "mime-db", "debug", "ms"))],
              f"NODE_PATH=. node -e 'require(\"axios\").get(\"https://{HOST}/axios\")'", "/axios"),
    "npm": (["node", "/usr/lib/node_modules/npm"],
            f"node npm/bin/npm-cli.js view some-package --registry https://{HOST}/npm/ --fetch-retries 0", "/npm/some-package"),
    "php": (["php", "curl.so"], f"php -n -d extension_dir=. -d extension=curl.so -r '{PHP}'", "/php"),
    "git": (["/usr/lib/git-core/git-remote-https"],
            f"printf 'list\\n\\n' | GIT_DIR=/tmp git-remote-https origin https://{HOST}/repository",
            "/repository/info/refs?service=git-upload-pack"),
    "requests": ([], f"{PYTHON} -c 'import requests; requests.get(\"https://{HOST}/requests\").raise_for_status()'", "/requests"),
    "httpx": ([], f"{PYTHON} -c 'import httpx; httpx.get(\"https://{HOST}/httpx\").raise_for_status()'", "/httpx"),
    "pip": ([], f"{PYTHON} -m pip download --no-deps --retries 0 -i https://{HOST}/simple some-package", "/simple/some-package/"),
    "apt": ([], f"echo 'deb [trusted=yes] https://{HOST}/apt stable main' >/tmp/list; apt-get update "
            "-o Dir::Etc::SourceList=/tmp/list -o Dir::Etc::SourceParts=- -o Acquire::Retries=0", "/apt/dists/stable/InRelease"),
}
# Further clients that use Node.js or Python.
MORE_CLIENTS = ("axios", "npm", "httpx", "pip")


def carry(sandbox, tmp_path, carried, name, programs):
    """Put programs into /tmp/NAME of the sandbox, with their libraries. Returns what to write before a program."""
    found = [shutil.which(program) or program for program in programs]
    if "curl.so" in found:
        found[found.index("curl.so")] = next(map(str, pathlib.Path("/usr/lib/php").glob("*/curl.so")), "curl.so")
    for path in found:
        if not os.path.exists(path):
            pytest.skip(f"{path} is not installed here")
    found = [path for path in found if (name, path) not in carried]
    carried.update((name, path) for path in found)
    files = [*found]
    for path in found:
        if os.path.isfile(path):
            linked = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
            files += [word for word in linked.split() if word.startswith("/")]
    packed = tmp_path / "programs.tar.gz"
    folders = [path for path in files if os.path.isdir(path)]
    programs = [path for path in files if path not in folders]
    flat = ["-h", "--transform", "s|.*/\\([^/]*\\)$|\\1|", "-P", *programs]
    for words in (*([flat] if programs else []), *(["-C", os.path.dirname(one), os.path.basename(one)] for one in folders)):
        subprocess.run(["tar", "-I", "gzip -1", "-cf", packed, *words], check=True)
        sandbox.data.upload("/tmp/programs.tar.gz", packed.read_bytes())
        sandbox.data.check(f"mkdir -p /tmp/{name} && tar -xzf /tmp/programs.tar.gz -C /tmp/{name}")
    return "./ld-linux* --library-path . ./"


@pytest.fixture(scope="module")
def carried():
    """Which programs the module's sandbox has, with their folders: several clients are Node's."""
    return set()


@pytest.fixture(scope="module")
def python_libraries(sandbox, tmp_path_factory):
    """Debian's, for the Python of the template."""
    names = [path.name for path in LIBRARIES.glob("*") if path.name.split("-")[0].split(".")[0] in (
        "requests", "urllib3", "certifi", "idna", "chardet", "charset_normalizer", "httpx", "httpcore", "h11", "anyio",
        "sniffio", "rfc3986", "six", "pip", "h2", "hpack", "hyperframe")]
    if not {"requests", "httpx", "pip"} <= set(names):
        pytest.skip("python3-requests, python3-httpx and python3-pip are not installed here")
    packed = tmp_path_factory.mktemp("python") / "python.tar.gz"
    subprocess.run(["tar", "-I", "gzip -1", "-cf", packed, "-C", LIBRARIES, *names], check=True)
    sandbox.data.upload("/tmp/python.tar.gz", packed.read_bytes())
    sandbox.data.check("mkdir -p /tmp/python && tar -xzf /tmp/python.tar.gz -C /tmp/python")


@pytest.mark.parametrize("client", [
    *(name for name in CLIENTS if name not in MORE_CLIENTS),
    *(pytest.param(name, marks=pytest.mark.long) for name in MORE_CLIENTS)])
def test_clients_trust_the_proxy_without_an_option(plain, outside, tmp_path, carried, request, client):
    """What a client makes of the server's answer is its own: the server got its request, with the secret."""
    programs, command, target = CLIENTS[client]
    if PYTHON in command:
        request.getfixturevalue("python_libraries")
    name = programs[0].rpartition("/")[2] if programs else ""
    if programs:
        loader = carry(plain, tmp_path, carried, name, programs)
        command = f"cd /tmp/{name} && " + command.replace(f"{name} ", f"{loader}{name} ", 1)
    before = len(outside.requests())
    said = plain.data.check(f"({command}) 2>&1 || true", **({"user": "root"} if client == "apt" else {}))
    # The server repeats the headers of a request, and these clients keep its answer.
    plain.data.check("rm -rf /home/user/.npm /var/lib/apt/lists", user="root")
    got = [one for one in outside.requests()[before:] if one["target"] == target]
    assert got, said
    assert [value for header, value in got[0]["headers"] if header.lower() == "authorization"] == [f"Bearer {VALUE}"]


def test_a_host_with_the_longest_name(plain, outside, internet):
    name = f"{'a' * 63}." * 3 + "a" * 38 + ".test"
    assert len(name) == 235
    internet.add(name, outside.address)
    policy(plain, [{"host": name}])
    status, body = curl(plain, url=f"https://{name}/")
    assert status == 502 and "verified" in body, "the server has a certificate of another name"


def test_a_host_without_a_rule_is_not_the_proxys(plain, outside):
    status, body = curl(plain, url=f"https://{OTHER_HOST}/")
    assert status == 0 and "resolve host" in body, "closed by default"
    policy(plain, [{"host": HOST, "headers": BEARER}], allow_out=["*.example.com:443"])
    addresses = plain.data.check(f"getent ahostsv4 {HOST}")
    assert addresses.split()[0] == "169.254.0.1"


def test_a_request_that_the_guest_gives_up_ends_its_connection(plain, outside, stack):
    """Also when the server neither answers nor ends its side: such connections would use up the sandbox's places."""
    (firewall,) = FirewallProcess(stack).pids()
    command = stack.on_host("ss", "-Htnp", "dst", outside.address)
    held = lambda: [line for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
                    if f"pid={firewall}," in line]
    plain.data.background("curl", "-sS", "--max-time", "10", f"https://{HOST}/silent")
    wait_until(lambda: [got for got in outside.requests() if got["target"] == "/silent"], 9, "the request")
    assert held()
    wait_until(lambda: not held(), 40, "the end of its connection")


def test_the_check_knows_rules(plain):
    policy(plain, [{"host": HOST, "port": 80}, {"host": OTHER_HOST}])
    check = lambda host, port: plain.api.post(f"{plain.path}/network/check", {"host": host, "port": port}).json()
    for host, port, verdict in ((OTHER_HOST, 443, "allow"), (OTHER_HOST, 80, "deny"), (HOST, 443, "deny"), (HOST, 80, "allow"),
                                (HOST.upper(), 80, "allow"), (f"{HOST}.", 80, "allow")):
        answer = check(host, port)
        assert (answer["verdict"], answer["reason"]) == (verdict, "egress_rule"), answer
    policy(plain, [{"host": HOST}], deny_out=[f"{HOST}:443"])
    answer = check(HOST, 443)
    assert (answer["verdict"], answer["reason"], answer["entry"]) == ("deny", "entry", f"{HOST}:443"), answer


# --- HTTP ---


def test_http_has_rules_of_its_own(plain, outside):
    policy(plain, [{"host": HOST, "headers": BEARER},
                   {"host": HOST, "port": 80, "methods": ["GET"], "paths": ["/dists/*"], "headers": {"X-Api-Key": "public"}}])
    status, body = curl(plain, url=f"http://{HOST}/dists/stable?x=1")
    assert status == 200 and seen(body)["name"] is None and seen(body)["target"] == "/dists/stable?x=1", body
    assert values(body, "x-api-key") == ["public"] and not values(body, "authorization")
    before = len(outside.requests())
    for arguments, path in ((("-X", "POST"), "/dists/stable"), ((), "/other"), (("-H", f"Host: {OTHER_HOST}"), "/dists/stable"),
                            (("-H", f"Host: {HOST}:443"), "/dists/stable")):
        status, body = curl(plain, *arguments, url=f"http://{HOST}{path}")
        assert status == 403 and json.loads(body)["error"] == "egress_refused", (arguments, path, body)
    assert len(outside.requests()) == before
    status, body = curl(plain, url=f"https://{HOST}/dists/stable")
    assert values(body, "authorization") == [f"Bearer {VALUE}"] and not values(body, "x-api-key")


def test_http_needs_a_rule_of_port_80(plain, outside):
    before = len(outside.requests())
    status, body = curl(plain, url=f"http://{HOST}/")
    assert status == 403 and "at this port" in json.loads(body)["message"], body
    answer = raw(plain, f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n", name="http")
    assert " 403 " in answer.split("\r\n")[0], answer
    policy(plain, [{"host": OTHER_HOST, "port": 80}])
    assert curl(plain, "--resolve", f"{OTHER_HOST}:443:169.254.0.1", url=f"https://{OTHER_HOST}/")[0] == 0, "no certificate"
    assert curl(plain, url=f"http://{OTHER_HOST}/")[0] == 200
    for head in ("GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
                 f"GET http://{HOST}/ HTTP/1.1\r\nHost: {OTHER_HOST}\r\nConnection: close\r\n\r\n",
                 f"CONNECT {OTHER_HOST}:80 HTTP/1.1\r\nHost: {OTHER_HOST}\r\n\r\n"):
        answer = raw(plain, head, name="http")
        assert " 200 " not in answer.split("\r\n")[0], answer
    assert len(outside.requests()) == before + 1


# --- limits ---


def test_methods_and_paths(plain, outside):
    policy(plain, [{"host": HOST, "methods": ["GET", "HEAD"], "paths": ["/simple/*", "/exact"]}])
    assert curl(plain, url=f"https://{HOST}/simple/pip/?x=1")[0] == 200
    assert curl(plain, url=f"https://{HOST}/exact")[0] == 200
    before = len(outside.requests())
    for path in ("/upload", "/exact/", "/simple", "/simple/../upload", "/simple/%2e%2e/upload", "/simple/..%2fupload",
                 "/simple//upload", "/simple/a;/../b", "/simple/%252e%252e/upload", "/simple/\\..\\upload"):
        status, body = curl(plain, "--path-as-is", url=f"https://{HOST}{path}")
        assert status == 403 and "allows the path" in body, (path, body)
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        status, body = curl(plain, "-X", method, url=f"https://{HOST}/exact")
        assert status == 403 and json.loads(body)["error"] == "egress_refused" and "method" in body, body
    assert len(outside.requests()) == before
    names = "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"
    lines = [word for name in names for word in ("-H", f"{name}: /upload")]
    status, body = curl(plain, *lines, "-H", "X-Other: kept", url=f"https://{HOST}/exact")
    assert status == 200 and values(body, "x-other") == ["kept"], body
    assert not [name for name in names if values(body, name.lower())], "a server could take method or path from them"


def test_the_first_rule_with_method_and_path_decides(plain, outside):
    policy(plain, [{"host": HOST, "methods": ["GET"], "headers": {"X-Api-Key": "reads"}},
                   {"host": HOST, "paths": ["/v1/*"], "headers": BEARER}])
    assert values(curl(plain)[1], "x-api-key") == ["reads"]
    body = curl(plain, "-d", "x")[1]
    assert values(body, "authorization") == [f"Bearer {VALUE}"] and not values(body, "x-api-key")
    assert curl(plain, "-d", "x", url=f"https://{HOST}/v2")[0] == 403


# --- a hostile guest ---


def raw(sandbox, text, name=HOST, port=443, address=None):
    """What comes back for these bytes over TLS with a name; None without a connection."""
    path = sandbox.put_guest("tls_raw.py")
    words = [name, *(("169.254.0.1", "80") if name == "http" else (address or name, str(port))), text.encode().hex()]
    answer, _, end = sandbox.data.check(f"python3 {path} " + " ".join(words)).rstrip().rpartition("\n")
    assert end in ("end", "failed"), (answer, end)
    return answer if end == "end" else None


@pytest.mark.parametrize("head", [
    "GET / HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {other}\r\nConnection: close\r\n\r\n",
    "GET https://{other}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n",
    "GET https://{host}/ HTTP/1.1\r\nHost: {other}\r\nConnection: close\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}:8443\r\nConnection: close\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\nHost: {other}\r\nConnection: close\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    "GET /_sandlot/egress HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n",
    "TRACE / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n",
    "CONNECT {other}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\n X-Folded: x\r\n\r\n",
    "GET / HTTP/0.9\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: +1\r\n\r\nx",
    "GET / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.0\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
])
def test_a_request_that_is_not_for_the_host_of_its_connection_is_refused(plain, outside, head):
    before = len(outside.requests())
    answer = raw(plain, head.format(host=HOST, other=OTHER_HOST))
    assert " 200 " not in answer.split("\r\n")[0] and VALUE not in answer, answer
    assert len(outside.requests()) == before


@pytest.mark.parametrize("change, body, wanted", [
    ({":authority": OTHER_HOST}, "", "403"),
    ({":authority": OTHER_HOST, "host": HOST}, "", "400"),
    ({"host": OTHER_HOST}, "", "400"),
    ({":path": f"https://{OTHER_HOST}/"}, "", "400"),
    ({":path": "/ HTTP/1.1"}, "", "400"),
    ({":path": "/\r\nX: y"}, "", "reset"),
    ({":method": "GET /"}, "", "400"),
    ({"x-a": "b\r\nAuthorization: mine"}, "", "reset"),
    ({"content-length": "0"}, "GET /in HTTP/1.1\r\nHost: {host}\r\n\r\n", "400"),
    ({"content-length": "500"}, "x", "400"),
])
def test_a_broken_request_over_http_2_is_refused_with_a_reason(plain, outside, python_libraries, change, body, wanted):
    before = len(outside.requests())
    answer = over_http_2(plain, body.format(host=HOST), **change)
    assert answer.startswith(wanted) and VALUE not in answer, answer
    assert wanted == "reset" or json.loads(answer.split("\n", 1)[1])["error"] == "egress_refused", answer
    assert all(got["target"] == "/" and got["body"] != 500 for got in outside.requests()[before:])


def test_http_2_carries_no_upgrade_and_no_length_of_chunks(plain, outside, python_libraries):
    body = over_http_2(plain, "", upgrade="websocket").split("\n", 1)[1]
    assert not values(body, "upgrade") and not values(body, "connection")
    body = over_http_2(plain, "0\r\n\r\nx", **{":method": "POST", "transfer-encoding": "chunked"}).split("\n", 1)[1]
    assert seen(body)["body"] == len("0\r\n\r\nx")


def over_http_2(sandbox, body, **change):
    headers = {":method": "GET", ":scheme": "https", ":authority": HOST, ":path": "/", **change}
    words = [HOST, body, *("=".join(pair) for pair in headers.items())]
    return sandbox.data.check(f"python3 {sandbox.put_guest('tls_h2.py')} " + " ".join(map(shlex.quote, words)))


def test_http_1_0_and_pipelining_are_requests_like_others(plain, outside):
    answer = raw(plain, f"GET /a HTTP/1.0\r\nHost: {HOST}\r\n\r\n")
    assert " 200 " in answer.split("\r\n")[0], answer
    policy(plain, [{"host": HOST, "headers": BEARER, "methods": ["GET", "POST"], "paths": ["/ok"]}])
    before = len(outside.requests())
    answer = raw(plain, f"GET /ok HTTP/1.1\r\nHost: {HOST}\r\n\r\nGET /not HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
                        f"GET /ok HTTP/1.1\r\nHost: {OTHER_HOST}\r\nConnection: close\r\n\r\n")
    assert answer.count("HTTP/1.1 200") == 1 and answer.count("HTTP/1.1 403") == 2, answer
    assert [got["target"] for got in outside.requests()[before:]] == ["/ok"]
    inner = f"GET /not HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
    before = len(outside.requests())
    raw(plain, f"POST /ok HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(inner)}\r\nConnection: close\r\n\r\n{inner}")
    assert [got["target"] for got in outside.requests()[before:]] == ["/ok"], "the body stays a body"


def test_names_without_a_rule_get_no_certificate(plain, outside):
    for name in (OTHER_HOST, "none", "-", "x.." + HOST, "../" + HOST):
        answer = raw(plain, f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n", name=name, address="169.254.0.1")
        assert answer is None, (name, answer)


def test_another_sandbox_gets_nothing(plain, api, outside):
    other = Sandbox.create(api, timeout=600, allow_internet_access=False, rules=[{"host": OTHER_HOST}])
    try:
        answer = raw(other, f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n", address="169.254.0.1")
        assert answer is None, "no certificate of another sandbox's rule"
        answer = raw(other, f"GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n",
                     name=OTHER_HOST, address="169.254.0.1")
        assert " 403 " in answer.split("\r\n")[0], answer
        assert VALUE not in curl(other, url=f"https://{OTHER_HOST}/")[1]
        policy(other, [])
        answer = raw(other, f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n", address="169.254.0.1")
        assert answer is None, "the proxy is closed to a sandbox without rules"
    finally:
        api.delete(other.path)


def test_the_source_address_cannot_be_forged(plain, api, outside):
    """Another sandbox that sends from the first one's address: the packet filter drops it."""
    other = Sandbox.create(api, timeout=600, allow_internet_access=False, rules=[{"host": OTHER_HOST}])
    try:
        before = len(outside.requests())
        other.data.run("bash", "-c", f"ip addr add {plain.address}/32 dev eth0 || true", user="root")
        answer = other.data.check(
            f"curl -sS --max-time 4 --interface {plain.address} --resolve {HOST}:443:169.254.0.1 https://{HOST}/ 2>&1 || true",
            user="root")
        assert VALUE not in answer and len(outside.requests()) == before, answer
    finally:
        api.delete(other.path)


@pytest.fixture
def trusting_nginx(stack):
    """nginx takes a client's address from X-Forwarded-For of the network that the sandboxes are in."""
    extra = stack.root / "nginx" / "sites" / "trust.conf"
    master = int((stack.run_dir / "nginx-master.pid").read_text())
    workers = lambda: set(subprocess.run(["pgrep", "-P", str(master)], check=False, capture_output=True).stdout.split())

    def load():
        before = workers()
        os.kill(master, signal.SIGHUP)
        wait_until(lambda: workers() - before, 15, "new workers of nginx")

    try:
        extra.write_text(f"set_real_ip_from {stack.range};\nreal_ip_header X-Forwarded-For;\n")
        load()
        yield
    finally:
        extra.unlink()
        load()


@pytest.mark.alone
@pytest.mark.one_host
def test_a_header_does_not_say_who_asks(plain, api, outside, trusting_nginx):
    """The first sandbox's address, in a header of another one that has the same host in its rules."""
    other = Sandbox.create(api, timeout=600, allow_internet_access=False, rules=[{"host": HOST}])
    try:
        status, body = curl(other, "-H", f"X-Forwarded-For: {plain.address}")
        assert status == 200 and not values(body, "authorization"), body
    finally:
        api.delete(other.path)


def test_the_proxys_port_is_closed_but_for_the_redirected_address(plain, stack):
    port = stack.settings["firewall_egress_port"]
    for address in ("169.254.0.1", stack.range.split("/")[0][:-1] + "1"):
        answer = raw(plain, f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n", address=address, port=port)
        assert answer is None, answer
    outsider = stack.on_host("curl", "-sk", "--max-time", "3", f"https://127.0.0.1:{port}/")
    assert subprocess.run(outsider, check=False).returncode != 0


def test_a_sandbox_has_so_many_connections(api, outside):
    other = Sandbox.create(api, timeout=600, allow_internet_access=False, rules=[{"host": HOST}])
    try:
        opened = other.data.check(f"python3 {other.put_guest('many_connections.py')} 169.254.0.1 443 300")
        assert opened.strip() == "256"
    finally:
        api.delete(other.path)


def test_the_secret_is_nowhere_in_the_sandbox_nor_in_logs_or_files(plain, stack, outside):
    assert curl(plain)[0] == 200
    plain.data.check("curl -sS https://%s/ -o /dev/null" % HOST)
    found = plain.data.check(
        f"grep -rIls '{VALUE[:20]}' /etc /run /tmp /home /var /proc/*/environ /proc/*/cmdline 2>/dev/null || true",
        user="root")
    assert not [line for line in found.split() if not line.startswith("/proc/")], found
    state = FirewallProcess(stack)
    places = [stack.root / "log", stack.settings["firewall_state_dir"], stack.root / "run", stack.root / "nginx"]
    if stack.other_netns:
        places += [stack.host_dir / "log", stack.host_dir / "nginx"]
    found = subprocess.run(["grep", "-rals", VALUE, *map(str, places)], check=False, capture_output=True, text=True).stdout
    assert not found, found
    assert state.pids()
    rows = stack.query("SELECT value FROM secrets") + stack.query("SELECT network FROM sandboxes WHERE id = %s", plain.id)
    assert VALUE not in str(rows)


def test_no_answer_has_the_value(api, plain):
    shown = [api.get("/v1/secrets").json(), api.get("/v1/secrets/llm").json(), plain.show(),
             api.get(f"{plain.path}/network").json(), api.get("/v1/audit?limit=200").json()]
    assert VALUE not in json.dumps(shown)
    assert ["llm"] == [entry["resource"] for entry in shown[-1]["items"] if entry["action"] == "secret.put"][-1:]


def test_a_secret_may_have_any_printable_text(plain, api, outside):
    """Also text that looks like a mention of a secret, or like a variable of nginx."""
    value = 'a${b ${secrets.llm} $host "c\\d\' {%s}' % random.token_hex(4)
    assert api.request("PUT", "/v1/secrets/odd", {"value": value, "hosts": [HOST]}).status in (200, 201)
    policy(plain, [{"host": HOST, "headers": {"X-Api-Key": "${secrets.odd}"}}])
    status, body = curl(plain)
    assert status == 200 and values(body, "x-api-key") == [value], body


# --- servers outside ---


def test_a_server_with_another_certificate_gets_nothing(plain, outside):
    before = len(outside.requests())
    try:
        for file in ("strange", "own"):
            outside.show(file)
            status, body = curl(plain)
            assert status == 502 and "verified" in body, body
    finally:
        outside.show("good")
    assert len(outside.requests()) == before
    assert curl(plain)[0] == 200


def test_answers_cannot_steer_the_proxy(plain, outside):
    status, body = curl(plain, url=f"https://{HOST}/accel")
    assert (status, body.strip()) == (200, "as it is")
    status, body = curl(plain, "-L", url=f"https://{HOST}/redirect")
    assert "resolve host: elsewhere.test" in body, "the other host has no rule and is not reached"
    assert curl(plain, url=f"https://{HOST}/drop")[0] == 502


def test_a_name_that_moves_into_a_private_network_is_not_followed(plain, outside, internet, stack):
    name = f"moved.{random.token_hex(3)}.test"
    internet.add(name, "10.0.0.1")
    policy(plain, [{"host": name, "port": 80}])
    status, body = curl(plain, url=f"http://{name}/")
    assert status == 403 and "no address" in body, body
    name = f"both.{random.token_hex(3)}.test"
    internet.add(name, "10.0.0.1", outside.address, "127.0.0.1", "169.254.0.1")
    policy(plain, [{"host": name, "port": 80}])
    assert [curl(plain, url=f"http://{name}/")[0] for _ in range(5)] == [200] * 5


# --- kept connections ---


def test_kept_connections_are_of_one_rule_of_one_sandbox(plain, api, outside):
    """The server counts connections: curl's are new ones of the sandbox, and nginx keeps its own."""
    urls = " ".join([f"https://{HOST}/v1/a"] * 8)
    peers = lambda sandbox: {json.loads(line)["peer"] for line in sandbox.data.check(
        f"for url in {urls}; do curl -sS --max-time 20 $url; echo; done").splitlines() if line}
    other = Sandbox.create(api, timeout=600, allow_internet_access=False, rules=[{"host": HOST, "headers": BEARER}])
    try:
        seen_by = [peers(plain), peers(other), peers(plain)]
        assert min(map(len, seen_by)) < 8, "some are used again"
        assert not seen_by[1] & (seen_by[0] | seen_by[2])
        policy(plain, [{"host": HOST, "headers": BEARER}, {"host": HOST, "methods": ["GET"]}])
        assert not peers(plain) & (seen_by[0] | seen_by[2]), "other rules of the same sandbox"
        policy(plain, [{"host": HOST, "methods": ["POST"]}, {"host": HOST, "methods": ["GET"], "headers": BEARER}])
        gets = peers(plain)
        posted = json.loads(curl(plain, "-d", "x")[1])["peer"]
        assert posted not in gets, "another rule"
    finally:
        api.delete(other.path)


def test_an_end_of_a_kept_connection_is_not_an_error(plain, outside):
    for _ in range(5):
        assert curl(plain, url=f"https://{HOST}/close")[0] == 200
        assert curl(plain)[0] == 200


def test_a_get_is_repeated_when_a_kept_connection_ends(plain, outside):
    """A POST would be done twice if the server had begun with it."""
    def dropped(*arguments):
        curl(plain, url=f"https://{HOST}/last")
        before = len(outside.requests())
        status, _ = curl(plain, *arguments)
        return any(request["dropped"] for request in outside.requests()[before:]), status
    gets, posts = ([dropped(*arguments) for _ in range(8)] for arguments in ((), ("-X", "POST")))
    assert {status for _, status in gets} == {200} and any(was for was, _ in gets), gets
    assert {status for was, status in posts if was} == {502}, posts


# --- changes and faults ---


def test_a_change_of_rules_counts_for_the_next_request_of_a_kept_connection(plain, outside):
    plain.data.check("rm -f /tmp/kept.log")
    plain.data.background("python3", plain.put_guest("kept_requests.py"), HOST, "/tmp/kept.log")
    lines = lambda: plain.data.check("cat /tmp/kept.log 2>/dev/null || true").split()
    wait_until(lambda: "200" in lines(), 15, "the first answer")
    policy(plain, [{"host": HOST, "methods": ["POST"]}])
    wait_until(lambda: lines()[-1] == "403", 15, "a refusal")


@pytest.mark.parametrize("rules,fields", [
    ([{"host": OTHER_HOST}], {}), ([], {}), ([{"host": HOST}], {"deny_out": [HOST]})], ids=["other host", "no rules", "denied"])
def test_an_open_connection_ends_when_its_host_is_denied_and_not_before(plain, outside, rules, fields):
    plain.data.check("rm -f /tmp/held.log")
    plain.data.background("python3", plain.put_guest("tls_socket.py"), HOST, "/tmp/held.log")
    lines = lambda: plain.data.check("cat /tmp/held.log 2>/dev/null || true").split()
    wait_until(lambda: "open" in lines(), 15, "the WebSocket")
    policy(plain, [{"host": HOST, "methods": ["GET", "POST"]}])
    policy(plain, [{"host": HOST}, {"host": OTHER_HOST}])
    assert curl(plain)[0] == 200
    assert lines() == ["open"], "other rules for the host"
    policy(plain, rules, **fields)
    wait_until(lambda: "ended" in lines(), 30, "the end of the WebSocket")


def test_a_new_value_and_the_end_of_a_secret_reach_running_sandboxes(api, outside):
    name, value = "k" + random.token_hex(4), "first-" + random.token_hex(8)
    made = api.request("PUT", f"/v1/secrets/{name}", {"value": value, "hosts": [HOST]})
    assert made.status == 201 and made.json()["version"] == 1, made
    sandbox = Sandbox.create(api, timeout=600, allow_internet_access=False,
                             rules=[{"host": HOST, "headers": {"X-Api-Key": "${secrets.%s}" % name}}])
    try:
        assert values(curl(sandbox)[1], "x-api-key") == [value]
        changed = api.request("PUT", f"/v1/secrets/{name}", {"value": "second"})
        assert changed.status == 200 and changed.json()["version"] == 2, changed
        wait_until(lambda: values(curl(sandbox)[1], "x-api-key") == ["second"], 30, "the new value")
        wait_until(lambda: api.get(f"/v1/secrets/{name}").json()["last_used_at"], 90, "a time of use")
        assert api.request("PUT", f"/v1/secrets/{name}", {"value": "second", "hosts": ["elsewhere.test"]}).status == 200
        wait_until(lambda: curl(sandbox)[0] == 403, 30, "a secret that may not go there any more")
        all_below = {"value": "second", "hosts": ["*." + HOST.split(".", 1)[1]]}
        assert api.request("PUT", f"/v1/secrets/{name}", all_below).status == 200
        wait_until(lambda: curl(sandbox)[0] == 200, 30, "one that may")
        assert api.delete(f"/v1/secrets/{name}").status == 204
        wait_until(lambda: curl(sandbox)[0] == 403, 30, "the end of the secret")
        assert "secret" in curl(sandbox)[1]
        assert api.get(f"/v1/secrets/{name}").status == 404
    finally:
        api.delete(sandbox.path)


def test_a_change_of_a_secret_does_not_wait_for_a_sandbox_of_another_team(api, other_account, stack):
    """Secrets of many teams have the same name."""
    name, value = "k" + random.token_hex(4), {"value": "first", "hosts": [HOST]}
    fields = {"allow_internet_access": False, "rules": [{"host": HOST, "headers": {"X-Api-Key": "${secrets.%s}" % name}}]}
    made = []
    try:
        for one in (api, other_account.api):
            assert one.request("PUT", f"/v1/secrets/{name}", value).status == 201
            made.append(Sandbox.create(one, timeout=600, **fields))
        connection = stack.database()
        try:
            connection.begin()
            with connection.cursor() as cursor:
                cursor.execute("SELECT id FROM sandboxes WHERE id = %s FOR UPDATE", made[1].id)
                # A statement that waits for the lock fails at its time-out.
                assert api.request("PUT", f"/v1/secrets/{name}", {"value": "second"}, timeout_s=60).status == 200
        finally:
            connection.close()
    finally:
        for sandbox in made:
            sandbox.api.delete(sandbox.path)


@pytest.mark.alone
def test_without_the_firewall_nothing_passes_and_after_its_restart_the_rules_come_back(plain, stack, outside):
    firewall = FirewallProcess(stack)
    before = len(outside.requests())
    with firewall.stopped():
        status, body = curl(plain, "--resolve", f"{HOST}:443:169.254.0.1")
        assert status == 503 and "cannot decide" in body, body
    assert len(outside.requests()) == before
    answers = []

    def passes():
        answers.append(curl(plain))
        return answers[-1][0] == 200

    wait_until(passes, 90, "the rules again")
    # A program may give up at 403. At 503 it repeats the request. 0: a handshake without a certificate.
    assert {status for status, _ in answers} <= {0, 200, 503}, answers


def test_a_pause_keeps_the_rules(plain, outside):
    plain.pause()
    plain.resume()
    assert values(curl(plain)[1], "authorization") == [f"Bearer {VALUE}"]
