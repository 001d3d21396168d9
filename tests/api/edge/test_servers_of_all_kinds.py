# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers in a sandbox that want another Host, or speak TLS; and all ports at once."""

import pytest

from client import assert_error
from edge import self_signed
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate with its key."""
    return self_signed(tmp_path_factory.mktemp("tls"))


def serve(sandbox, port, address="0.0.0.0", certificate=None):
    program = sandbox.put_guest("preview_server.py")
    arguments = []
    if certificate:
        sandbox.data.upload("/tmp/tls.pem", certificate)
        arguments = ["/tmp/tls.pem"]
    sandbox.data.background("python3", program, address, str(port), *arguments)
    scheme = "https" if certificate else "http"
    sandbox.data.check(f"until curl -kso /dev/null {scheme}://127.0.0.1:{port}; do sleep 0.05; done")


def seen(preview, **headers):
    answer = preview.request("GET", "/", headers=headers)
    assert answer.status == 200, answer
    return answer.json()


def put(sandbox, port, body):
    answer = sandbox.api.request("PUT", f"{sandbox.path}/ports/{port}", body)
    assert answer.status == 200, answer
    return answer.json()


def test_the_host_that_servers_see(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}, {"port": 3001}], mask_request_host="localhost:${PORT}")
    assert sandbox.show()["mask_request_host"] == "localhost:${PORT}"
    serve(sandbox, 3000, "127.0.0.1")
    serve(sandbox, 3001)
    for port in (3000, 3001):
        document = seen(sandbox.preview(port), **{"X-Mine": "yes"})
        assert document["headers"]["host"] == f"localhost:{port}"
        assert document["headers"]["x-forwarded-host"].startswith(f"p{port}-")
        assert "Host" in document["names"]


def test_it_is_changed_and_taken_back(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}])
    serve(sandbox, 3000)
    preview = sandbox.preview(3000)
    own = seen(preview)["headers"]["host"]
    assert own.startswith("p3000-")
    for host, expected in (("inside.example", "inside.example"), (None, own)):
        answer = sandbox.api.request("PATCH", sandbox.path, {"mask_request_host": host})
        assert (answer.status, answer.json()["mask_request_host"]) == (200, host), answer
        # nginx may keep a decision for a second.
        wait_until(lambda: seen(preview)["headers"]["host"] == expected, 90, f"the host {expected}")


@pytest.mark.parametrize("host", ["a b", "a/b", "http://a", "a:", "a:65536", "${port}", "a\r\nX-Other: b", "ä", 5])
def test_hosts_that_are_refused(shared_sandbox, host):
    for method, path in (("POST", "/v1/sandboxes"), ("PATCH", shared_sandbox.path)):
        answer = shared_sandbox.api.request(method, path, {"mask_request_host": host})
        assert_error(answer, 422, "invalid_request", "/mask_request_host")


def test_a_server_that_speaks_tls(make_sandbox, certificate):
    sandbox = make_sandbox(exposed_ports=[{"port": 8443, "protocol": "https"}, {"port": 3000}],
                           mask_request_host="inside.example:${PORT}")
    serve(sandbox, 8443, certificate=certificate)
    serve(sandbox, 3000)
    document = seen(sandbox.preview(8443))
    assert (document["headers"]["host"], document["tls_name"]) == ("inside.example:8443", "inside.example")
    assert document["headers"]["x-forwarded-proto"] == "https"
    assert seen(sandbox.preview(3000))["tls_name"] is None
    assert sandbox.api.get(f"{sandbox.path}/ports/8443").json()["gateway_status"] == "ready"
    assert sandbox.show()["exposed_ports"] == [{"port": 3000, "protocol": "http", "public": True},
                                               {"port": 8443, "protocol": "https", "public": True}]


def test_tls_where_none_is_spoken(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "https"}, {"port": 3001}], https_ports=[3001])
    assert {one["protocol"] for one in sandbox.show()["exposed_ports"]} == {"https"}
    serve(sandbox, 3000)
    serve(sandbox, 3001, "127.0.0.1")
    assert sandbox.preview(3000).request("GET", "/").status == 502
    refused = sandbox.preview(3001).request("GET", "/")
    assert refused.status == 502 and "loopback" in refused.json()["message"]
    assert sandbox.api.get(f"{sandbox.path}/ports/3001").json()["gateway_status"] == "loopback_only"
    assert put(sandbox, 3001, {"protocol": "http"})["gateway_status"] == "ready"
    assert seen(sandbox.preview(3001))["tls_name"] is None


def test_all_ports(make_sandbox, certificate):
    sandbox = make_sandbox(exposed_ports="all", https_ports=[8443])
    assert sandbox.show()["expose_all_ports"] is True
    serve(sandbox, 4321, "127.0.0.1")
    serve(sandbox, 8443, certificate=certificate)
    assert seen(sandbox.preview(4321))["tls_name"] is None
    assert seen(sandbox.preview(8443))["tls_name"].startswith("p8443-")
    put(sandbox, 4322, {"public": False})
    assert sandbox.preview(4322).request("GET", "/").status == 401
    for port in (4321, 4322):  # a removal of the private port's entry would make it public
        refused = assert_error(sandbox.api.delete(f"{sandbox.path}/ports/{port}"), 422, "invalid_request", "port")
        assert "private" in refused["message"]
    assert sandbox.preview(4322).request("GET", "/").status == 401
    assert sandbox.preview(22).request("GET", "/").status == 404


def test_all_ports_behind_the_token(make_sandbox):
    sandbox = make_sandbox(exposed_ports="all", allow_public_traffic=False)
    serve(sandbox, 4321)
    assert sandbox.preview(4321).request("GET", "/").status == 401
    assert seen(sandbox.preview(4321), **{"X-Access-Token": sandbox.data.token})["method"] == "GET"


@pytest.mark.parametrize("body, field", [
    ({"exposed_ports": "some"}, "/exposed_ports"), ({"https_ports": [8443]}, "/https_ports/0"),
    ({"exposed_ports": "all", "https_ports": [49983]}, "/https_ports/0"),
    ({"exposed_ports": "all", "https_ports": [0]}, "/https_ports/0"),
    ({"exposed_ports": "all", "https_ports": "all"}, "/https_ports"),
    ({"exposed_ports": [{"port": 1}] * 201}, "/exposed_ports"),
])
def test_what_is_refused(module_account, body, field):
    assert_error(module_account.api.request("POST", "/v1/sandboxes", body), 422, "invalid_request", field)
