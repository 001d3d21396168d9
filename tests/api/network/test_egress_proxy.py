# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes whose TCP connections leave through a proxy outside: a real sandbox, the packet filter and the firewall
of its host, and proxies in the fake internet."""

import ipaddress
import json
import secrets as random
import socket
import subprocess

import pytest

from client import assert_error
from fake_internet import FirewallProcess
from proxies_outside import ProxiesOutside
from stack import wait_until
from tenant import Account, Sandbox
from tls_outside import HOST, serving

pytestmark = pytest.mark.parallel

PASSWORD = "pw-" + random.token_hex(12)
ZONE = f"p{random.token_hex(3)}.test"
PROXY, WEB = f"proxy.{ZONE}", f"web.{ZONE}"
HERE, OTHER = "203.0.113.7", "203.0.113.9"
ECHO = 5000
SOCKS = {"type": "socks5", "host": PROXY, "port": 1080, "username": "own", "password": "${secrets.way}"}
HTTP = {**SOCKS, "type": "http", "port": 3128}


@pytest.fixture(scope="module")
def outside(internet, tmp_path_factory):
    outside = ProxiesOutside(internet, tmp_path_factory.mktemp("proxies"))
    try:
        outside.start()
        internet.add(PROXY, outside.address)
        internet.add(WEB, HERE)
        yield outside
    finally:
        outside.stop()


@pytest.fixture(scope="module")
def api(module_account):
    api = module_account.api
    assert api.request("PUT", "/v1/secrets/way", {"value": PASSWORD, "hosts": [PROXY]}).status == 201
    return api


@pytest.fixture(scope="module")
def sandbox(api, outside):
    sandbox = Sandbox.create(api, timeout=1800, allow_internet_access=True, egress_proxy=SOCKS)
    for name in ("reach.py", "hold.py", "many_connections.py"):
        sandbox.put_guest(name)
    return sandbox


@pytest.fixture
def proxied(sandbox):
    return policy(sandbox)


def policy(sandbox, proxy=SOCKS, **fields):
    body = {"allow_internet_access": True, **fields, **({"egress_proxy": proxy} if proxy else {})}
    answer = sandbox.api.request("PUT", f"{sandbox.path}/network", body)
    assert answer.status == 200 and answer.json()["status"] == "applied", answer
    return sandbox


def reach(sandbox, *target):
    return json.loads(sandbox.data.check(f"python3 /tmp/reach.py '{json.dumps([target])}'", user="root"))[0]


def fetch(sandbox, host=HERE):
    return sandbox.data.check(f"curl -sS --max-time 20 http://{host}/ 2>&1 || true").strip()


def is_closed(text):
    """What curl says about a connection that is refused, or reset, and not about one that hangs."""
    return text.startswith(("curl: (7)", "curl: (52)", "curl: (55)", "curl: (56)"))


def denied(sandbox, kind):
    return [one for one in sandbox.api.get(f"{sandbox.path}/network/denials").json()["denials"] if one["kind"] == kind]


# --- what leaves, and how ---


@pytest.mark.parametrize("proxy", [SOCKS, HTTP, {**SOCKS, "port": 1083}, {**SOCKS, "port": 1084}])
def test_tcp_leaves_through_the_proxy_with_the_password(sandbox, outside, proxy):
    policy(sandbox, proxy)
    before = len(outside.requests())
    assert fetch(sandbox) == "here"
    assert fetch(sandbox, WEB) == "here", "names are resolved here"
    assert outside.requests()[before:] == 2 * [
        {"way": proxy["type"], "target": f"{HERE}:80", "username": "own", "password": PASSWORD}]


def test_a_proxy_without_a_password(sandbox, outside, internet):
    before = len(outside.requests())
    policy(sandbox, {"type": "socks5", "host": PROXY, "port": 1081})
    assert fetch(sandbox) == "here"
    policy(sandbox, {"type": "http", "host": outside.address, "port": 3128})
    assert fetch(sandbox) == "here"
    assert [got["username"] for got in outside.requests()[before:]] == [None, None]


def test_the_far_end_may_speak_first_and_with_the_answer(sandbox, outside):
    policy(sandbox, {**HTTP, "port": 3129})
    text = sandbox.data.check(
        f"python3 -c \"import socket; s = socket.create_connection(('{HERE}', {ECHO}), 9); print(s.makefile().readline())\"")
    assert text.strip() == "first words"


def test_many_bytes_pass_both_ways_and_each_direction_ends_by_itself(proxied, outside):
    script = (
        "import hashlib, os, socket, threading\n"
        f"s = socket.create_connection(('{HERE}', {ECHO}), 60)\n"
        "data = os.urandom(1 << 20) * 8\n"
        "def send():\n"
        "    s.sendall(data)\n"
        "    s.shutdown(socket.SHUT_WR)\n"
        "threading.Thread(target=send).start()\n"
        "got = b''.join(iter(lambda: s.recv(1 << 16), b''))\n"
        "print(len(got), got == data)\n")
    proxied.data.upload("/tmp/both.py", script.encode())
    assert proxied.data.check("timeout 120 python3 /tmp/both.py").split() == [str(8 << 20), "True"]


def test_nothing_but_tcp_leaves(proxied, outside, internet):
    before = len(outside.requests())
    assert reach(proxied, "tcp", HERE, ECHO) is True
    assert "refused" in str(reach(proxied, "udp", HERE, ECHO)) or "host" in str(reach(proxied, "udp", HERE, ECHO))
    assert reach(proxied, "ping", HERE) is not True
    assert [got["target"] for got in outside.requests()[before:]] == [f"{HERE}:{ECHO}"]
    wait_until(lambda: [one for one in denied(proxied, "connection") if one["protocol"] == "udp"], 10, "the refusal")
    assert not any(line.startswith(f"udp {HERE} {ECHO} probe") for line in internet.seen())


def test_denied_destinations_stay_denied(sandbox, outside):
    policy(sandbox, deny_out=[f"{HERE}:{ECHO}"])
    before = len(outside.requests())
    assert "refused" in str(reach(sandbox, "tcp", HERE, ECHO)), "at once, as without a proxy"
    assert fetch(sandbox) == "here"
    policy(sandbox, allow_internet_access=False, allow_out=[f"{WEB}:80"])
    assert fetch(sandbox, WEB) == "here"
    assert "refused" in str(reach(sandbox, "tcp", OTHER, 80)) and "refused" in str(reach(sandbox, "tcp", HERE, ECHO))
    for private in ("10.1.2.3", "169.254.169.254", "127.0.0.2"):
        assert reach(sandbox, "tcp", private, 80) is not True, private
    assert [got["target"] for got in outside.requests()[before:]] == 2 * [f"{HERE}:80"]
    assert {one["target"] for one in denied(sandbox, "connection")} >= {HERE, OTHER}


def test_a_sandbox_without_a_proxy_is_as_before(api, proxied, outside):
    other = Sandbox.create(api, timeout=600, allow_internet_access=True)
    try:
        before = len(outside.requests())
        assert fetch(other) == "here" and len(outside.requests()) == before
        other.put_guest("reach.py")
        assert reach(other, "udp", HERE, ECHO) is True
    finally:
        api.delete(other.path)


def test_it_is_in_force_from_the_create_on_and_through_a_pause(api, outside):
    sandbox = Sandbox.create(api, timeout=600, allow_internet_access=True, egress_proxy=HTTP)
    try:
        assert fetch(sandbox) == "here" and outside.requests()[-1]["way"] == "http"
        sandbox.pause()
        sandbox.resume()
        before = len(outside.requests())
        assert fetch(sandbox) == "here" and len(outside.requests()) == before + 1
    finally:
        api.delete(sandbox.path)


def test_new_sandboxes_of_a_team_get_its_proxy(stack, outside):
    api = Account(stack).api
    api.request("PUT", "/v1/secrets/way", {"value": PASSWORD, "hosts": [PROXY]})
    assert api.get("/v1/egress_proxy").json()["egress_proxy"] is None
    wrong = api.request("PUT", "/v1/egress_proxy", {"egress_proxy": {**SOCKS, "password": "${secrets.none}"}})
    assert_error(wrong, 422, "invalid_request", "/egress_proxy/password")
    answer = api.request("PUT", "/v1/egress_proxy", {"egress_proxy": SOCKS})
    assert answer.status == 200 and answer.json()["egress_proxy"] == SOCKS
    assert api.get("/v1/egress_proxy").json() == answer.json()
    sandbox = Sandbox.create(api, timeout=600, allow_internet_access=True)
    try:
        assert fetch(sandbox) == "here" and outside.requests()[-1]["password"] == PASSWORD
        before = len(outside.requests())
        policy(sandbox, None, egress_proxy=None)
        assert fetch(sandbox) == "here" and len(outside.requests()) == before, "null: none"
        policy(sandbox, None)
        assert api.get(f"{sandbox.path}/network").json()["egress_proxy"] == SOCKS
        assert api.request("PUT", "/v1/egress_proxy", {"egress_proxy": None}).json()["egress_proxy"] is None
        assert api.get(f"{sandbox.path}/network").json()["egress_proxy"] == SOCKS, "policies keep theirs"
        policy(sandbox, None)
        assert "egress_proxy" not in api.get(f"{sandbox.path}/network").json()
    finally:
        api.delete(sandbox.path)
    entries = [one["action"] for one in api.get("/v1/audit?limit=200").json()["items"]]
    assert entries.count("team.egress_proxy") >= 2
    assert Account(stack).api.get("/v1/egress_proxy").json()["egress_proxy"] is None, "of one team"


# --- with rules ---


@pytest.fixture(scope="module")
def tls(stack, internet, api, tmp_path_factory):
    with serving(stack, internet, tmp_path_factory.mktemp("tls"), HOST) as tls:
        assert api.request("PUT", "/v1/secrets/llm", {"value": "sk-" + PASSWORD, "hosts": [HOST]}).status == 201
        yield tls


def ask(sandbox, scheme="https"):
    return sandbox.data.check(f"curl -sS --max-time 20 {scheme}://{HOST}/ 2>&1 || true")


@pytest.mark.parametrize("proxy", [SOCKS, pytest.param(HTTP, marks=pytest.mark.long)])
def test_requests_of_rules_leave_through_the_proxy(sandbox, outside, tls, proxy):
    rules = [{"host": HOST, "headers": {"X-Api-Key": "${secrets.llm}"}}, {"host": HOST, "port": 80}]
    closed = {"allow_internet_access": False, "rules": rules}
    policy(sandbox, proxy, **closed)
    before = len(outside.requests())
    assert "sk-" + PASSWORD in ask(sandbox) and '"name": null' in ask(sandbox, "http")
    account = {"way": proxy["type"], "username": "own", "password": PASSWORD}
    assert outside.requests()[before:] == [{**account, "target": f"{tls.address}:{port}"} for port in (443, 80)]
    for broken in ({**proxy, "port": 9}, {**SOCKS, "port": 1082}, {**HTTP, "port": 3130}):
        policy(sandbox, broken, **closed)
        asked = len(tls.requests())
        assert "egress_upstream_failed" in ask(sandbox) and "egress_upstream_failed" in ask(sandbox, "http")
        assert len(tls.requests()) == asked, "nothing goes past the proxy, and no connection through another one is used"
    policy(sandbox, None, egress_proxy=None, **closed)
    before = len(outside.requests())
    assert "sk-" + PASSWORD in ask(sandbox) and len(outside.requests()) == before
    policy(sandbox, proxy, **closed)
    assert "sk-" + PASSWORD in ask(sandbox) and len(outside.requests()) == before + 1, "not the direct connection"


def test_a_new_proxy_ends_an_open_request_of_a_rule_that_left_without_it(sandbox, outside, tls):
    closed = {"allow_internet_access": False, "rules": [{"host": HOST}]}
    policy(sandbox, None, egress_proxy=None, **closed)
    sandbox.data.check("rm -f /tmp/socket.log")
    sandbox.data.background("python3", sandbox.put_guest("tls_socket.py"), HOST, "/tmp/socket.log")
    lines = lambda: sandbox.data.check("cat /tmp/socket.log 2>/dev/null || true").split()
    wait_until(lambda: "open" in lines(), 15, "the WebSocket")
    policy(sandbox, None, egress_proxy=None, deny_out=["198.51.100.7"], **closed)
    assert ask(sandbox) and lines() == ["open"], "a change that does not concern it"
    policy(sandbox, SOCKS, **closed)
    wait_until(lambda: "ended" in lines(), 30, "the end of the WebSocket")


# --- closed ---


@pytest.mark.parametrize("port", [
    1082, 3130, *(pytest.param(port, marks=pytest.mark.long) for port in (3131, 3133, 3134)), 9])
def test_a_proxy_that_does_not_work_closes(sandbox, outside, internet, port):
    policy(sandbox, {**(SOCKS if port < 3000 else HTTP), "port": port})
    count = lambda: sum(one["count"] for one in denied(sandbox, "proxy") if one["target"] == HERE)
    before, refused = len(internet.seen()), count()
    assert is_closed(fetch(sandbox))
    wait_until(lambda: count() > refused, 10, "one more denial")
    assert not [line for line in internet.seen()[before:] if line.startswith("http")], "nothing went past it"


def test_a_proxy_that_hangs_is_given_up(sandbox, outside):
    policy(sandbox, {**SOCKS, "port": 3132})
    text = sandbox.data.check(f"curl -sS --max-time 40 http://{HERE}/ 2>&1 || true")
    assert is_closed(text), text


def test_a_proxy_that_is_away_closes_until_it_is_back(proxied, outside):
    outside.end()
    try:
        assert is_closed(fetch(proxied))
    finally:
        outside.serve()
    assert fetch(proxied) == "here"


@pytest.fixture
def own(stack):
    """A server on the host, at an address that no network protects."""
    number = int(ipaddress.ip_network(stack.range).network_address) >> 16 & 127
    address = f"198.51.100.{number + 128}"
    subprocess.run(["ip", "addr", "replace", f"{address}/32", "dev", "lo"], check=True)
    try:
        with socket.create_server((address, 0)) as server:
            server.settimeout(2)
            yield server
    finally:
        subprocess.run(["ip", "addr", "del", f"{address}/32", "dev", "lo"], check=True)


@pytest.mark.one_host
def test_a_proxy_is_never_on_the_host(sandbox, outside, internet, own):
    address, port = own.getsockname()
    with socket.create_connection((address, port)):
        own.accept()[0].close()
    name = f"inside.{random.token_hex(3)}.test"
    internet.add(name, address)
    for host in name, address:
        policy(sandbox, {"type": "http", "host": host, "port": port})
        assert is_closed(fetch(sandbox)), host
        with pytest.raises(TimeoutError):
            own.accept()


@pytest.fixture
def private(outside):
    """The same proxies at an address of a protected network, which the host itself reaches."""
    address = f"100.126.{outside.address.rpartition('.')[2]}.7"
    outside.serve_also(address)
    try:
        yield address
    finally:
        outside.unserve(address)


@pytest.mark.one_host
def test_a_proxy_is_never_in_a_protected_network(sandbox, outside, internet, private):
    ask = ["curl", "-sS", "--max-time", "9", "-p", "-x", f"http://{private}:3128", f"http://{HERE}/"]
    assert subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip() == "here", "it works"
    policy(sandbox, {"type": "http", "host": outside.address, "port": 3128})
    assert fetch(sandbox) == "here", "at a public address"
    before = len(outside.requests())
    for address in private, "10.0.0.1", "127.0.0.1", "169.254.0.1", sandbox.address:
        name = f"inside.{random.token_hex(3)}.test"
        internet.add(name, address)
        for host in name, address:
            policy(sandbox, {"type": "http", "host": host, "port": 3128})
            assert is_closed(fetch(sandbox)), host
    assert len(outside.requests()) == before


def test_the_port_of_the_carrier_is_closed(proxied, stack):
    port = int(stack.settings["firewall_outlet_port"])
    for address in ("169.254.0.1", stack.range.split("/")[0][:-1] + "1"):
        assert reach(proxied, "tcp", address, port) is not True
    outsider = stack.on_host("curl", "-s", "--max-time", "3", f"http://169.254.0.1:{port}/")
    assert subprocess.run(outsider, check=False).returncode != 0


def test_a_sandbox_has_so_many_connections(api, outside):
    other = Sandbox.create(api, timeout=600, allow_internet_access=True, egress_proxy={**SOCKS, "port": 3132})
    try:
        opened = other.data.check(f"python3 {other.put_guest('many_connections.py')} {HERE} {ECHO} 300")
        assert opened.strip() == "256"
    finally:
        api.delete(other.path)


# --- changes and faults ---


def hold(sandbox, path):
    sandbox.data.check(f"rm -f {path}")
    sandbox.data.background("python3", "/tmp/hold.py", "tcp", "idle", HERE, str(ECHO), path)
    lines = lambda: sandbox.data.check(f"cat {path} 2>/dev/null || true").split("\n")
    wait_until(lambda: "echo 1" in lines(), 15, "an echo")
    return lines


def test_another_way_ends_the_connections_of_the_former(proxied, outside):
    lines = hold(proxied, "/tmp/first")
    policy(proxied, HTTP)
    wait_until(lambda: "reset" in lines(), 15, "the end of the connection through the former proxy")
    lines = hold(proxied, "/tmp/second")
    policy(proxied, None)
    wait_until(lambda: "reset" in lines(), 15, "the end of the connection through the proxy")
    lines = hold(proxied, "/tmp/third")
    policy(proxied)
    wait_until(lambda: "reset" in lines(), 15, "the end of the direct connection")
    lines = hold(proxied, "/tmp/fourth")
    policy(proxied, deny_out=["198.51.100.7"])
    assert fetch(proxied) == "here" and "reset" not in lines(), "a change that does not concern it"
    policy(proxied, deny_out=[HERE])
    wait_until(lambda: "reset" in lines(), 15, "the end of a denied one")


def test_a_new_password_and_its_end_reach_running_sandboxes(api, outside):
    name = "k" + random.token_hex(4)
    assert api.request("PUT", f"/v1/secrets/{name}", {"value": "first", "hosts": [PROXY]}).status == 201
    sandbox = Sandbox.create(api, timeout=600, allow_internet_access=True,
                             egress_proxy={**SOCKS, "password": "${secrets.%s}" % name})
    try:
        assert fetch(sandbox) == "here" and outside.requests()[-1]["password"] == "first"
        assert api.request("PUT", f"/v1/secrets/{name}", {"value": "second"}).status == 200
        wait_until(lambda: fetch(sandbox) == "here" and outside.requests()[-1]["password"] == "second", 30, "the new one")
        wait_until(lambda: api.get(f"/v1/secrets/{name}").json()["last_used_at"], 90, "a time of use")
        assert api.request("PUT", f"/v1/secrets/{name}", {"value": "x" * 300}).status == 200
        wait_until(lambda: is_closed(fetch(sandbox)), 30, "the end of a password that no proxy takes")
        assert api.request("PUT", f"/v1/secrets/{name}", {"value": "third"}).status == 200
        wait_until(lambda: fetch(sandbox) == "here", 30, "one that it takes")
        assert api.delete(f"/v1/secrets/{name}").status == 204
        wait_until(lambda: is_closed(fetch(sandbox)), 30, "the end of the secret")
    finally:
        api.delete(sandbox.path)


@pytest.mark.alone
def test_without_the_firewall_nothing_leaves_and_after_its_restart_the_way_is_back(proxied, stack, outside, internet):
    firewall = FirewallProcess(stack)
    before = len(internet.seen())
    with firewall.stopped():
        assert is_closed(fetch(proxied))
    assert len(internet.seen()) == before
    wait_until(lambda: fetch(proxied) == "here", 90, "the way again")
    assert outside.requests()[-1]["password"] == PASSWORD


# --- the password ---


def test_the_password_is_nowhere_else(api, proxied, stack):
    assert fetch(proxied) == "here"
    shown = [api.get("/v1/secrets").json(), proxied.show(), api.get(f"{proxied.path}/network").json(),
             api.get("/v1/audit?limit=200").json(), api.get(f"{proxied.path}/network/denials").json()]
    assert PASSWORD not in json.dumps(shown)
    assert shown[2]["egress_proxy"] == SOCKS
    found = proxied.data.check(
        f"grep -rIls '{PASSWORD}' /etc /run /tmp /home /var /proc/*/environ 2>/dev/null || true", user="root")
    assert not [line for line in found.split() if not line.startswith("/proc/")], found
    places = [stack.root / "log", stack.settings["firewall_state_dir"], stack.root / "run", stack.root / "nginx"]
    if stack.other_netns:
        places += [stack.host_dir / "log", stack.host_dir / "nginx"]
    found = subprocess.run(["grep", "-rals", PASSWORD, *map(str, places)], check=False, capture_output=True, text=True).stdout
    assert not found, found
    rows = stack.query("SELECT value FROM secrets") + stack.query("SELECT network FROM sandboxes WHERE id = %s", proxied.id)
    assert PASSWORD not in str(rows)


# --- requests that are refused ---


@pytest.mark.parametrize("proxy, field", [
    ({**SOCKS, "type": "socks4"}, "/egress_proxy/type"),
    ({**SOCKS, "host": "Proxy.example"}, "/egress_proxy/host"),
    ({**SOCKS, "host": "*.example.com"}, "/egress_proxy/host"),
    ({**SOCKS, "host": "10.0.0.0/8"}, "/egress_proxy/host"),
    ({**SOCKS, "host": "proxy.example:1080"}, "/egress_proxy/host"),
    ({**SOCKS, "host": "2001:db8::1"}, "/egress_proxy/host"),
    ({**SOCKS, "port": 0}, "/egress_proxy/port"),
    ({**SOCKS, "username": "a:b"}, "/egress_proxy/username"),
    ({**SOCKS, "username": "a\nb"}, "/egress_proxy/username"),
    ({**SOCKS, "password": "in clear"}, "/egress_proxy/password"),
    ({**SOCKS, "password": "x${secrets.way}"}, "/egress_proxy/password"),
    ({**SOCKS, "password": "${secrets.none}"}, "/egress_proxy/password"),
    ({**SOCKS, "host": "elsewhere.test"}, "/egress_proxy/password"),
    ({key: SOCKS[key] for key in ("type", "host", "port", "username")}, "/egress_proxy/password"),
    ({key: SOCKS[key] for key in ("type", "host", "port", "password")}, "/egress_proxy/username"),
    ({key: SOCKS[key] for key in ("type", "port")}, "/egress_proxy/host"),
    ({**SOCKS, "address": "x"}, "/egress_proxy/address"),
])
def test_a_bad_proxy_is_refused_at_its_member(api, proxy, field):
    answer = api.post("/v1/sandboxes", {"egress_proxy": proxy})
    assert_error(answer, 422, "invalid_request", field)
    assert "in clear" not in str(answer.json())


def test_passwords_are_of_one_team(stack, outside):
    answer = Account(stack).api.post("/v1/sandboxes", {"egress_proxy": SOCKS})
    assert_error(answer, 422, "invalid_request", "/egress_proxy/password")
