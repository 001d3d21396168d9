# SPDX-License-Identifier: GPL-2.0-or-later
"""The port without TLS sends clients on to HTTPS. tests/unit/nginx holds the rest of its behaviour."""

import http.client
import socket

import pytest

import edge
from client import Origin
from stack import comes_true

pytestmark = pytest.mark.parallel


def test_who_follows_arrives(stack):
    port = int(stack.settings["redirect_port"])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/openapi.json?a=%20b", headers={"Host": f"api.sandbox.localhost:{port}"})
    answer = connection.getresponse()
    connection.close()
    assert (answer.status, answer.headers["Location"]) == (308, f"{stack.base_url}/v1/openapi.json?a=%20b")
    assert Origin(stack.ca_file, stack.base_url).request("GET", "/v1/openapi.json?a=%20b").status == 200


@pytest.mark.alone
def test_it_can_be_without(stack):
    def listens():
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", int(stack.settings["redirect_port"]))) == 0

    assert listens()
    with edge.settings(stack, redirect_port=0):
        assert comes_true(lambda: not listens(), 60)
    assert comes_true(listens, 60)
