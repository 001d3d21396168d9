# SPDX-License-Identifier: GPL-2.0-or-later
"""The port without TLS: names of the deployment are sent on to HTTPS, and nothing else happens there."""

import http.client
import socket

import pytest

import edge
from client import Origin
from stack import comes_true

DOMAIN = "sandbox.localhost"


def ask(stack, host, path="/", method="GET", headers=None, address="127.0.0.1"):
    connection = http.client.HTTPConnection(address, int(stack.settings["redirect_port"]), timeout=60)
    try:
        connection.request(method, path, headers={"Host": host} | (headers or {}))
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def test_who_follows_arrives(stack):
    answer = ask(stack, f"api.{DOMAIN}:{stack.settings['redirect_port']}", "/v1/openapi.json?a=%20b")
    assert (answer.status, answer.headers["Location"]) == (308, f"{stack.base_url}/v1/openapi.json?a=%20b")
    assert Origin(stack.ca_file, stack.base_url).request("GET", "/v1/openapi.json?a=%20b").status == 200


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("name", ["api", "console", "p3000-" + "a" * 26, "a" * 26])
def test_every_name_of_the_deployment(stack, name, address):
    for method in ("GET", "POST", "DELETE"):
        answer = ask(stack, f"{name}.{DOMAIN}", "/x/%2F?y", method, address=address)
        assert (answer.status, answer.headers["Location"]) == \
            (308, f"https://{name}.{stack.data_plane_host}/x/%2F?y"), (method, answer.headers)


@pytest.mark.parametrize("host", ["example.com", f"{DOMAIN}.example.com", f"a.b.{DOMAIN}", "127.0.0.1", "_"])
def test_other_names_are_not_there(stack, host):
    answer = ask(stack, host)
    assert answer.status == 404 and not answer.headers["Location"], answer.headers


def test_no_sandbox_gets_certificates(stack):
    """Authorities ask here, and would follow."""
    for name in ("api", "p3000-" + "a" * 26):
        assert ask(stack, f"{name}.{DOMAIN}", "/.well-known/acme-challenge/token").status == 404


def test_a_key_in_the_clear_is_told_of(stack, api):
    for headers in ({"Authorization": f"Bearer {api.key}"}, {"X-API-Key": api.key}, {"X-Access-Token": "slt_x"}):
        answer = ask(stack, f"api.{DOMAIN}", "/v1/me", headers=headers)
        assert answer.status == 400 and not answer.headers["Location"], answer.headers


def test_it_can_be_without(stack):
    def listens():
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", int(stack.settings["redirect_port"]))) == 0

    assert listens()
    with edge.settings(stack, redirect_port=0):
        assert comes_true(lambda: not listens(), 60)
    assert comes_true(listens, 60)
