# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports of a live sandbox: what they answer, and that gateway_status is what a preview meets."""

import pytest

from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


def listen(sandbox, port, address):
    pid = sandbox.data.background("python3", "-m", "http.server", str(port), "--bind", address)
    name = "127.0.0.1" if address == "0.0.0.0" else address.replace("::1", "[::1]")
    sandbox.data.check(f"until curl -so /dev/null http://{name}:{port}; do sleep 0.05; done")
    return pid


def show(sandbox, port):
    response = sandbox.api.get(f"{sandbox.path}/ports/{port}")
    assert response.status == 200, response
    return response.json()


def status_of(sandbox, port):
    """Its status, while nothing changes it: the list says the same."""
    shown = show(sandbox, port)
    listed = {one["port"]: one for one in sandbox.api.get(f"{sandbox.path}/ports").json()["ports"]}
    assert listed[port] == shown
    return shown["gateway_status"]


def put(sandbox, port, body=None):
    return sandbox.api.request("PUT", f"{sandbox.path}/ports/{port}", body)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1"])
def test_the_status_is_what_a_preview_meets(make_sandbox, address):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}])
    preview = sandbox.preview(3000)
    assert status_of(sandbox, 3000) == "no_listener"
    assert preview.request("GET", "/").status == 502
    pid = listen(sandbox, 3000, address)
    assert status_of(sandbox, 3000) == "ready"
    assert preview.request("GET", "/").status == 200
    sandbox.data.signal(pid, "SIGKILL")
    wait_until(lambda: show(sandbox, 3000)["gateway_status"] == "no_listener", 2, "the end of the server")
    assert preview.request("GET", "/").status == 502


def test_blocked_by_the_sandbox(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}], allow_public_traffic=False)
    listen(sandbox, 3000, "127.0.0.1")
    assert status_of(sandbox, 3000) == "blocked"
    assert sandbox.preview(3000).request("GET", "/").status == 401
    sandbox.api.request("PATCH", sandbox.path, {"allow_public_traffic": True})
    assert status_of(sandbox, 3000) == "ready"
    assert sandbox.preview(3000).request("GET", "/").status == 200


def test_the_answer_names_the_preview(sandbox):
    answer = put(sandbox, 8080, {"protocol": "http", "public": False}).json()
    host = "p8080-" + sandbox.document["data_plane_url"].removeprefix("https://")
    assert answer == {"port": 8080, "protocol": "http", "public": False, "host": host,
                      "url": f"https://{host}", "gateway_status": "no_listener"}
    assert sandbox.show()["exposed_ports"] == [{"port": 8080, "protocol": "http", "public": False}]
    # Left out, a port is public; the same again changes nothing.
    for body in (None, {}, {"public": True}):
        assert put(sandbox, 8080, body).json()["public"] is True
    assert len(sandbox.show()["exposed_ports"]) == 1


def test_the_edges_of_ports(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": port} for port in range(3000, 3098)])
    for port in (1, 65535):
        assert put(sandbox, port).status == 200
    for port in ("0", "65536", "-1", "x", "1.0", "%20", "0080", "99999999999999999999"):
        answer = put(sandbox, port)
        assert answer.status in (404, 422), (port, answer)
        assert_error(sandbox.api.delete(f"{sandbox.path}/ports/{port}"), 404, "not_found")
    assert_error(put(sandbox, 3098), 422, "invalid_request", "port")
    # One that is there may change all the same; one that goes makes room.
    assert put(sandbox, 3097, {"public": False}).status == 200
    assert sandbox.api.delete(f"{sandbox.path}/ports/1").status == 204
    assert put(sandbox, 3098).status == 200
    assert len(sandbox.api.get(f"{sandbox.path}/ports").json()["ports"]) == 100
    too_many = [{"port": port} for port in range(3000, 3101)]
    assert_error(sandbox.api.request("POST", "/v1/sandboxes", {"exposed_ports": too_many}), 422,
                 "invalid_request", "/exposed_ports")


@pytest.mark.parametrize("body, field", [
    ({"public": 1}, "/public"), ({"protocol": "tcp"}, "/protocol"), ({"port": 3000}, "/port"),
    ({"publc": True}, "/publc"), ([1], ""), ("{}", ""),
])
def test_bodies_that_are_refused(shared_sandbox, body, field):
    assert_error(put(shared_sandbox, 3000, body), 422, "invalid_request", field)
    assert shared_sandbox.show()["exposed_ports"][0]["public"] is True


def test_ports_need_a_running_sandbox(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}])
    sandbox.pause()
    for method, path in (("GET", "/ports"), ("GET", "/ports/3000"), ("PUT", "/ports/3001"),
                         ("DELETE", "/ports/3000")):
        answer = sandbox.api.request(method, sandbox.path + path)
        assert "paused" in assert_error(answer, 409, "sandbox_not_running")["message"]
    sandbox.resume()
    assert status_of(sandbox, 3000) == "no_listener"
    assert_error(sandbox.api.get(f"{sandbox.path}/ports/3001"), 404, "not_found")
    assert_error(sandbox.api.delete(f"{sandbox.path}/ports/3001"), 404, "not_found")


def test_a_port_that_changes_is_a_change_of_the_sandbox(sandbox):
    before = sandbox.show()["updated_at"]
    assert put(sandbox, 8000).status == 200
    exposed = sandbox.show()["updated_at"]
    assert exposed > before
    assert sandbox.api.delete(f"{sandbox.path}/ports/8000").status == 204
    assert sandbox.show()["updated_at"] > exposed


def test_a_withdrawn_port_ends_at_once(sandbox):
    listen(sandbox, 3000, "127.0.0.1")
    put(sandbox, 3000)
    assert sandbox.preview(3000).request("GET", "/").status == 200
    assert sandbox.api.delete(f"{sandbox.path}/ports/3000").status == 204
    # nginx may keep a decision for a second.
    wait_until(lambda: sandbox.preview(3000).request("GET", "/").status == 404, 2, "the port gone")
    assert_error(sandbox.api.get(f"{sandbox.path}/ports/3000"), 404, "not_found")


@pytest.mark.parametrize("port", [22, 49983, 49984])
def test_reserved_ports_cannot_be_exposed(api, shared_sandbox, port):
    """Those of ssh and of the agent."""
    answer = api.request("POST", "/v1/sandboxes", {"exposed_ports": [{"port": 3000}, {"port": port}]})
    assert_error(answer, 422, "invalid_request", "/exposed_ports/1/port")
    answer = put(shared_sandbox, port)
    assert_error(answer, 422, "invalid_request", "port")
    assert "reserved" in answer.json()["message"]


def test_a_port_that_was_exposed_before_it_was_reserved(stack, make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": 3000}])
    stack.query("UPDATE sandboxes SET version = UUID_SHORT(), ports = '49983/1' WHERE id = %s", sandbox.id)
    assert_error(sandbox.preview(49983).request("GET", "/health"), 404, "not_found")
    token = {"X-Access-Token": sandbox.data.token}
    assert_error(sandbox.preview(49983).request("GET", "/health", headers=token), 404, "not_found")
