# SPDX-License-Identifier: GPL-2.0-or-later
"""A token for visitors opens previews, and never the data plane."""

import base64
import hashlib
import http.cookies
import time
import urllib.parse

import pytest

from client import Api, Origin, assert_error

pytestmark = pytest.mark.parallel

PORTS = (3000, 3001)


@pytest.fixture(scope="module")
def served(shared_sandbox):
    """Two private ports, each with a server that shows what it is sent."""
    program = shared_sandbox.put_guest("preview_server.py")
    for port in PORTS:
        shared_sandbox.api.request("PUT", f"{shared_sandbox.path}/ports/{port}", {"public": False})
        if shared_sandbox.data.bash(f"curl -so /dev/null 127.0.0.1:{port}").exit_code:
            shared_sandbox.data.background("python3", program, "127.0.0.1", str(port))
        shared_sandbox.data.check(f"until curl -so /dev/null 127.0.0.1:{port}; do sleep 0.05; done")
    return shared_sandbox


def token_for(sandbox, **wish):
    answer = sandbox.api.post(f"{sandbox.path}/sessions", wish)
    assert answer.status == 201, answer
    return answer.json()["session"]["access_token"]


def opened(sandbox, token, header="X-Access-Token"):
    """The status of the data plane, and of both previews."""
    plane = sandbox.data.origin.request("GET", "/files?path=/etc/hostname", headers={"X-Access-Token": token})
    return [plane.status] + [sandbox.preview(port).request("GET", "/", headers={header: token}).status for port in PORTS]


def cookie_of(sandbox, port, token):
    answer = sandbox.preview(port).request("GET", "/page?" + urllib.parse.urlencode({"access_token": token}))
    assert answer.status == 303 and answer.headers["Location"] == "/page", answer
    (_, morsel), = http.cookies.SimpleCookie(answer.headers["Set-Cookie"]).items()
    return morsel.value


@pytest.mark.parametrize("lifetime", ["session", "sandbox"])
def test_what_each_token_opens(served, lifetime):
    assert opened(served, token_for(served, lifetime=lifetime)) == [200, 200, 200]
    assert opened(served, token_for(served, lifetime=lifetime, purpose="previews")) == [401, 200, 200]
    assert opened(served, token_for(served, lifetime=lifetime, port=3000)) == [401, 200, 401]
    of_others = token_for(served, lifetime=lifetime, port=4000)
    assert opened(served, of_others) == [401, 401, 401]


def test_every_call_of_the_data_plane_refuses_it(served):
    token = token_for(served, purpose="previews")
    origin = served.data.origin
    for headers in ({"X-Access-Token": token}, {"Authorization": f"Bearer {token}"}):
        for method, path in (("POST", "/exec"), ("POST", "/process.Process/Start"), ("PUT", "/files?path=x"),
                             ("GET", "/files?path=/etc/passwd"), ("GET", "/metrics")):
            refused = origin.request(method, path, headers=headers)
            assert_error(refused, 401, "unauthorized")


def test_it_signs_no_link_to_a_file(served):
    """Who holds the token of the data plane can sign; a signature with another token is none."""
    until = str(int(time.time()) + 60)
    for token, status in ((served.data.token, 200), (token_for(served, purpose="previews"), 401)):
        digest = hashlib.sha256(f"/etc/hostname:read::{token}:{until}".encode()).digest()
        signature = "v1_" + base64.b64encode(digest).decode().rstrip("=")
        query = urllib.parse.urlencode({"path": "/etc/hostname", "signature": signature, "signature_expiration": until})
        assert served.data.origin.request("GET", f"/files?{query}").status == status


@pytest.mark.parametrize("wish", [{"purpose": "sandbox"}, {"purpose": "previews"}, {"port": 3000}],
                         ids=["sandbox", "previews", "port"])
def test_a_cookie_opens_its_port_alone(served, wish):
    cookie = cookie_of(served, 3000, token_for(served, **wish))
    assert opened(served, cookie) == [401, 200, 401]
    for port, status in ((3000, 200), (3001, 401)):
        headers = {"Cookie": f"__Host-sandlot_access_token={cookie}"}
        assert served.preview(port).request("GET", "/", headers=headers).status == status
    link = served.preview(3001).request("GET", "/?" + urllib.parse.urlencode({"access_token": cookie}))
    assert link.status == 401, "a cookie's value is no link for another port"


def test_a_link_of_one_port_is_none_for_another(served):
    token = token_for(served, port=3000)
    assert cookie_of(served, 3000, token)
    other = served.preview(3001).request("GET", f"/?access_token={token}")
    assert other.status == 401 and "Set-Cookie" not in other.headers


def test_tokens_for_previews_end_with_the_others(make_sandbox):
    sandbox = make_sandbox(exposed_ports=[{"port": port, "public": False} for port in PORTS])
    program = sandbox.put_guest("preview_server.py")
    for port in PORTS:
        sandbox.data.background("python3", program, "127.0.0.1", str(port))
        sandbox.data.check(f"until curl -so /dev/null 127.0.0.1:{port}; do sleep 0.05; done")
    lasting = token_for(sandbox, lifetime="sandbox", purpose="previews")
    cookie = cookie_of(sandbox, 3000, lasting)
    assert sandbox.api.delete(f"{sandbox.path}/sessions").status == 204
    time.sleep(1.1)  # the gate's decisions are kept to the end of their second
    assert opened(sandbox, lasting) == [401, 401, 401]
    assert opened(sandbox, cookie) == [401, 401, 401]


def test_what_a_wish_takes(served):
    path = f"{served.path}/sessions"
    assert_error(served.api.post(path, {"purpose": "all"}), 422, "invalid_request", "/purpose")
    assert_error(served.api.post(path, {"purpose": "sandbox", "port": 3000}), 422, "invalid_request", "/port")
    for port in (0, 65536, 22, 49983, 49984):
        assert_error(served.api.post(path, {"port": port}), 422, "invalid_request", "/port")
    headers = {"Idempotency-Key": f"visitor-{time.time()}"}
    first, again = (served.api.post(path, {"port": 3000}, headers=headers).json() for _ in range(2))
    for answer in (first, again):
        assert (answer["purpose"], answer["port"]) == ("previews", 3000)
        assert opened(served, answer["session"]["access_token"]) == [401, 200, 401]


def test_the_token_of_e2bs_clients_for_visitors(stack, account):
    api = Api(stack, account.key("write"))
    made = api.origin.request("POST", "/v2/sandboxes", b'{"templateID": "base", "network": {"allowPublicTraffic": false}}',
                              {"X-API-KEY": api.key, "Content-Type": "application/json"})
    assert made.status == 201, made
    box = made.json()
    visitor, owner = box["trafficAccessToken"], box["envdAccessToken"]

    def at(port, headers):
        origin = Origin(stack.ca_file, f"https://{port}-{box['sandboxID']}.{stack.data_plane_host}")
        return origin.request("POST" if port == 49983 else "GET",
                              "/process.Process/List" if port == 49983 else "/", b"{}" if port == 49983 else None,
                              {"Content-Type": "application/json", **headers})

    for name in ("X-Access-Token", "E2b-Traffic-Access-Token"):
        assert at(49983, {name: visitor}).status == 401
        assert at(49983, {name: owner}).status == (200 if name == "X-Access-Token" else 401)
        # Nothing listens there: the token was good.
        assert at(8080, {name: visitor}).status == 502
    assert at(8080, {}).status in (401, 403)
