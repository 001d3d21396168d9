# SPDX-License-Identifier: GPL-2.0-or-later
"""Timeouts and deadlines as clients of E2B know them."""

import datetime
import time

import pytest

from test_e2b_calls import Calls, assert_refused, name_of

pytestmark = pytest.mark.parallel


@pytest.fixture
def call(stack, account):
    return Calls(stack, account.key("write"))


def seconds_of(shown):
    """From its start to its end."""
    start, end = (datetime.datetime.fromisoformat(shown[name].replace("Z", "+00:00")) for name in ("startedAt", "endAt"))
    return (end - start).total_seconds()


def test_ends_that_a_connect_gives(call, sandbox):
    """300 s where it says nothing, a later end only, and of one that is paused what it says."""
    def end():
        return call("GET", f"/sandboxes/{name_of(sandbox)}").json()["endAt"]

    path = f"/v2/sandboxes/{name_of(sandbox)}/connect"
    assert call("POST", f"/sandboxes/{name_of(sandbox)}/timeout", {"timeout": 30}).status == 204
    first = end()
    assert call("POST", path).status == 200
    assert end() > first, "300 s without a body"
    assert call("POST", path, {"timeout": 2000}).status == 200
    last = end()
    for body in (None, {}, {"timeout": 10}):
        assert call("POST", path, body).status == 200
        assert end() == last
    assert call("POST", f"/sandboxes/{name_of(sandbox)}/pause").status == 204
    assert call("POST", path, {"timeout": 100}).status == 201
    assert end() < last
    assert call("POST", f"/sandboxes/{name_of(sandbox)}/pause").status == 204
    assert call("DELETE", f"/sandboxes/{name_of(sandbox)}").status == 204
    assert_refused(call("DELETE", f"/sandboxes/{name_of(sandbox)}"), 404)


def test_ends_where_none_is_given(call, sandbox):
    """15 s on the older path and 300 s on the newer one, of a fork too."""
    for path, least in (("/sandboxes", 15), ("/v2/sandboxes", 300)):
        made = call("POST", path, {"templateID": "base"}).json()["sandboxID"]
        assert least <= seconds_of(call("GET", f"/sandboxes/{made}").json()) < least + 100
        (fork,) = call("POST", f"{path}/{name_of(sandbox)}/fork", {}).json()
        assert least <= seconds_of(call("GET", f"/sandboxes/{fork['sandbox']['sandboxID']}").json()) < least + 100


@pytest.mark.long
def test_the_longest_timeout_of_the_plan(stack, make_account, own_plan):
    """E2B's service shortens a new deadline and its own defaults to it. A longer timeout of a create is an error."""
    account = make_account("enterprise")
    own_plan(account, max_timeout_s=60)
    call = Calls(stack, account.key("write"))
    assert_refused(call("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 61}), 400, "timeout")
    made = call("POST", "/v2/sandboxes", {"templateID": "base"})
    assert made.status == 201, made
    path = f"/sandboxes/{made.json()['sandboxID']}"
    for change, body in (("timeout", {"timeout": 3600}), ("refreshes", {"duration": 3600})):
        assert call("POST", f"{path}/{change}", body).status == 204
    assert call("POST", f"/v2{path}/connect").status == 200
    (fork,) = call("POST", f"/v2{path}/fork", {}).json()
    for shown in (path, f"/sandboxes/{fork['sandbox']['sandboxID']}"):
        assert 60 <= seconds_of(call("GET", shown).json()) < 160
    assert_refused(call("POST", f"/v2{path}/connect", {"timeout": 61}), 400, "timeout")


def test_a_timeout_of_nothing_ends_it(call, sandbox):
    assert call("POST", f"/sandboxes/{name_of(sandbox)}/timeout", {"timeout": 0}).status == 204
    assert_refused(call("GET", f"/sandboxes/{name_of(sandbox)}"), 404)


def test_a_sandbox_that_was_paused_only_to_move_can_be_paused_and_has_a_deadline(call, sandbox, stack):
    """It resumes on its new host, unless a client pauses it during the move."""
    path = f"/sandboxes/{name_of(sandbox)}"
    assert call("POST", f"{path}/pause").status == 204
    stack.query(
        "INSERT INTO moves (id, kind, team_id, group_id, state, asked, from_host_id, to_host_id, generation,"
        " deadline_at_ms, lease_owner, lease_until_ms, created_at_ms)"
        " SELECT id, 'sandbox', team_id, id, 'copying', 0, host_id, host_id, 1, 1, 'test', %s, 1 FROM sandboxes"
        " WHERE id = %s", int(time.time() * 1000) + 600000, sandbox.id)
    try:
        begun = time.time()
        assert call("POST", f"{path}/timeout", {"timeout": 500}).status == 204
        (move,) = stack.query("SELECT deadline_at_ms FROM moves WHERE id = %s", sandbox.id)
        assert begun + 499 <= move["deadline_at_ms"] / 1000 <= time.time() + 501
        assert call("POST", f"{path}/pause").status == 204
        assert not stack.query("SELECT id FROM moves WHERE id = %s", sandbox.id), "nothing resumes it"
    finally:
        stack.query("DELETE FROM moves WHERE id = %s", sandbox.id)
    assert_refused(call("POST", f"{path}/pause"), 409)
    assert_refused(call("POST", f"{path}/timeout", {"timeout": 60}), 404)
