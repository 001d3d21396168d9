# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that come over IPv6, which needs no setting: what they reach, what is written of them, how they are counted."""

import contextlib
import ipaddress
import json
import socket
import subprocess

import pytest

import ipv6
from client import assert_error
from console import Browser, Person
from entry_point import entry_point
from ssh import Ssh

pytestmark = pytest.mark.parallel


def ask(origin, address, method, path, headers=None, body=None):
    """From that address; the status and the body."""
    connection = origin.connect(60, address)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_the_api_and_the_audit_log(api):
    headers = {"Authorization": f"Bearer {api.key}", "Content-Type": "application/json"}
    with ipv6.addresses(1) as ((address,),):
        status, body = ask(api.origin, address, "POST", "/v1/keys", headers, json.dumps({"scopes": ["read"]}))
    assert status == 201, body
    (entry,) = api.get(f"/v1/audit?resource={json.loads(body)['id']}").json()["items"]
    assert ipaddress.ip_address(entry["address"]) == ipaddress.ip_address(address)


def test_data_planes_and_previews(stack, shared_sandbox):
    plane = shared_sandbox.data
    assert ask(plane.origin, "::1", "GET", "/health", plane.headers())[0] in (200, 204)
    assert ask(plane.origin, "::1", "GET", "/files?path=/etc/hostname")[0] == 401
    shared_sandbox.data.background("python3", "-m", "http.server", "3001")
    assert shared_sandbox.data.bash("until curl -sf localhost:3001 >/dev/null; do sleep 0.1; done").exit_code == 0
    assert ask(shared_sandbox.preview(3001), "::1", "GET", "/")[0] == 200


def test_guesses_are_counted_by_network(stack, module_account):
    """Who has one address has the other 2^64 of its network, and no new guesses with them."""
    person = Person(stack, module_account.user)
    with ipv6.addresses(12, 1) as (ours, (other,)):
        answers = [Browser(stack, address).sign_in(person.name, "guess") for address in ours]
        assert [answer.status for answer in answers] == [401] * 10 + [429] * 2, answers
        assert_error(answers[-1], 429, "rate_limited")
        assert Browser(stack, other).sign_in(person.name, person.password).status == 200


def test_guesses_are_counted_by_site(stack):
    """Anybody can get a network of 48 bits, which has 65,536 of 64 bits. It has 200 guesses at once."""
    with ipv6.site(2) as (first, second), ipv6.addresses(1) as ((other,),):
        assert Browser(stack, first).sign_in("nobody-here", "guess").status == 401
        site = ipaddress.ip_network(f"{first}/48", strict=False).network_address
        stack.query("UPDATE login_attempts SET due_at_ms = UNIX_TIMESTAMP() * 1000 + 220 * 1250 WHERE subject = %s",
                    f"site {site}")
        assert stack.query("SELECT due_at_ms FROM login_attempts WHERE subject = %s", f"site {site}")
        assert_error(Browser(stack, second).sign_in("nobody-there", "guess"), 429, "rate_limited")
        assert Browser(stack, other).sign_in("nobody-there", "guess").status == 401


def banner(port, address):
    """What the SSH entry point says first to a connection that stays open."""
    connection = socket.create_connection(("::1", port), 60, (address, 0))
    with contextlib.suppress(ConnectionError):
        return connection, connection.recv(4)
    return connection, b""


def test_ssh(stack, account, tmp_path):
    ssh = Ssh(stack, tmp_path, account)
    assert ssh.say("new", "echo works", options=["-o", "HostName=::1"]) == "works\n"


def test_ssh_connections_are_counted_by_network(stack):
    with entry_point(stack, ssh_address_connections=1) as entry, ipv6.addresses(2, 1) as ((first, second), (other,)), \
            contextlib.ExitStack() as opened:
        said = []
        for address in (first, second, other):
            connection, greeting = banner(entry.port, address)
            opened.enter_context(connection)
            said.append(greeting)
        assert said == [b"SSH-", b"", b"SSH-"]


def test_ssh_connections_of_a_site_end_each_other(stack):
    """Anybody can get a network of 48 bits: connections without a sign-in from all of its networks keep no other client out."""
    with entry_point(stack, ssh_connections=8) as entry, ipv6.addresses(1) as ((honest,),), ipv6.site(8) as strangers, \
            contextlib.ExitStack() as opened:
        thinking, greeting = banner(entry.port, honest)
        opened.enter_context(thinking)
        assert greeting == b"SSH-"
        for address in strangers:
            opened.enter_context(banner(entry.port, address)[0])
        thinking.settimeout(3)
        with pytest.raises(TimeoutError):
            while thinking.recv(4096):
                pass


# --- a machine without it ---


def test_nginx_starts_without_ipv6(stack, tmp_path):
    main, config = tmp_path / "nginx.conf", tmp_path / "sandlot.conf"
    main.write_text("load_module /usr/lib/nginx/modules/ngx_http_js_module.so;\n"
                    f"user root; pid {tmp_path}/pid; error_log stderr; events {{ }}\n"
                    f"http {{ include {tmp_path}/sites/*.conf; }}\n", encoding="utf-8")
    own = stack.settings | {"listen_port": 2, "redirect_port": 1, "metrics_port": 0, "nginx_log_dir": tmp_path,
                            "gate_cache_dir": tmp_path / "cache", "firewall_http_socket": tmp_path / "http.sock"}

    def test(listen_ipv6):
        lines = [f"{name} = {value}\n" for name, value in (own | {"listen_ipv6": listen_ipv6}).items()]
        config.write_text("".join(lines), encoding="utf-8")
        subprocess.run([stack.ctl_command[0], "--config", config, "nginx-config", "--output", tmp_path / "sites"],
                       check=True, capture_output=True, preexec_fn=ipv6.away)
        return subprocess.run(["/usr/sbin/nginx", "-t", "-c", main], capture_output=True, text=True, check=False,
                              preexec_fn=ipv6.away)

    done = test("auto")
    assert done.returncode == 0, done.stderr
    # It is away indeed: who asks for it is told.
    done = test("on")
    assert done.returncode != 0 and "[::]" in done.stderr, done.stderr


def test_ssh_starts_without_ipv6(stack):
    with entry_point(stack, prepare=ipv6.away) as entry:
        with socket.create_connection(("127.0.0.1", entry.port), 60) as connection:
            assert connection.recv(4) == b"SSH-"
        with socket.socket(socket.AF_INET6) as connection:
            assert connection.connect_ex(("::1", entry.port)) != 0
