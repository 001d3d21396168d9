# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens apart from a resume: without touching the deadline, and as long as the sandbox lives."""

import secrets

import pytest

from client import Api, assert_error
from dataplane import DataPlane, Stream, collect, is_cut_off
from faults import InBackground, fault_points  # noqa: F401
from stack import wait_until

pytestmark = pytest.mark.parallel


def session(sandbox, **fields):
    answer = sandbox.api.post(f"{sandbox.path}/sessions", fields)
    assert answer.status == 201, answer
    return answer.json()["session"]


def reads(sandbox, token):
    """The status of a call of the data plane with the token."""
    return sandbox.data.origin.request("GET", "/files?path=/etc/hostname", headers={"X-Access-Token": token}).status


def test_a_session_leaves_the_deadline(sandbox):
    before = sandbox.show()
    made = session(sandbox)
    assert made["expires_at"] and made["data_plane_url"] == before["data_plane_url"]
    assert reads(sandbox, made["access_token"]) == 200
    assert sandbox.show() == before


def test_a_lasting_token_lives_over_pauses_until_all_are_ended(sandbox):
    made = session(sandbox, lifetime="sandbox")
    assert made["expires_at"] is None
    sandbox.pause()
    sandbox.resume()
    assert reads(sandbox, made["access_token"]) == 200
    short = session(sandbox)["access_token"]
    assert sandbox.api.delete(f"{sandbox.path}/sessions").status == 204
    # The gate's answers are kept for the rest of a second.
    wait_until(lambda: reads(sandbox, made["access_token"]) == 401, 10, "the end of the token")
    assert reads(sandbox, short) == 401
    assert reads(sandbox, session(sandbox, lifetime="sandbox")["access_token"]) == 200


def test_open_streams_end_with_the_sessions(sandbox):
    """Their processes stay, and new streams are taken when the answer is there."""
    plane = DataPlane(sandbox.stack, session(sandbox, lifetime="sandbox"))
    stream, pid = plane.echoing()
    waiting = InBackground(is_cut_off, stream)
    assert sandbox.api.delete(f"{sandbox.path}/sessions").status == 204
    assert waiting.result(10)
    assert plane.request("GET", "/files?path=/etc/hostname").status == 401
    plane = DataPlane(sandbox.stack, session(sandbox))
    again = plane.follow(pid)
    plane.type(pid, b"still there\n")
    assert again.output() == b"still there\n"
    plane.close_stdin(pid)
    assert collect(again).exit_code == 0


def test_an_agent_cannot_keep_its_streams(make_sandbox):
    """It stands still, so it ends no stream itself. The service notices that after half a minute only."""
    sandbox = make_sandbox()
    plane = DataPlane(sandbox.stack, session(sandbox, lifetime="sandbox"))
    waiting = [InBackground(is_cut_off, stream) for stream in (plane.echoing()[0], open_terminal(plane))]
    sandbox.stack.incus.freeze(sandbox.instance)
    try:
        assert sandbox.api.delete(f"{sandbox.path}/sessions").status == 204
        assert all(one.result(10) for one in waiting)
    finally:
        sandbox.stack.incus.unfreeze(sandbox.instance)


def open_terminal(plane):
    stream = Stream(*plane.open_stream("process.Process/Start", {
        "process": {"cmd": "/bin/sh"}, "pty": {"size": {"cols": 80, "rows": 24}}}))
    assert next(stream)["event"]["start"]["pid"] > 0
    return stream


def test_terminals_and_watches_end_with_the_sessions(sandbox):
    plane = DataPlane(sandbox.stack, session(sandbox, lifetime="sandbox"))
    waiting = [InBackground(is_cut_off, stream) for stream in (open_terminal(plane), plane.watch("/tmp"))]
    assert sandbox.api.delete(f"{sandbox.path}/sessions").status == 204
    assert all(one.result(10) for one in waiting)


@pytest.mark.parametrize("end", ["member", "viewer", "user"])
def test_the_tokens_and_streams_of_a_person_end_with_the_access(stack, account, other_account, end):
    team = account.make_team()
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    theirs = Api(stack, other_account.key("write"))
    path = f"/v1/sandboxes/{account.api.create(team=team)['id']}"
    held = [DataPlane(stack, theirs.post(f"{path}/sessions", wish).json()["session"]) for wish in ({}, {"lifetime": "sandbox"})]
    waiting = [InBackground(is_cut_off, plane.echoing()[0]) for plane in held]
    member = f"/v1/teams/{team}/members/{other_account.user}"
    if end == "user":
        stack.ctl("user", "disable", other_account.user)
    elif end == "member":
        assert account.api.delete(member).status == 204
    else:
        assert account.api.request("PATCH", member, {"role": "viewer"}).status == 200
    assert all(one.result(30) for one in waiting)
    assert [plane.request("GET", "/files?path=/etc/hostname").status for plane in held] == [401, 401]
    mine = DataPlane(stack, account.api.post(f"{path}/sessions", {}).json()["session"])
    assert mine.request("GET", "/files?path=/etc/hostname").status == 200
    stack.ctl("user", "enable", other_account.user)


@pytest.mark.parametrize("end", ["member", "viewer", "excluded"])
def test_a_request_that_waits_gets_no_token_after_the_access(stack, account, other_account, fault_points, end):
    """The row is made, with the first epoch, after the access has ended."""
    team = account.make_team()
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    key = other_account.key_document("write")
    fault_points.arm("create.planned", "wait", "sandlot-api")
    creating = InBackground(Api(stack, key["key"]).post, "/v1/sandboxes", {"team": team})
    fault_points.reached("create.planned")
    member = f"/v1/teams/{team}/members/{other_account.user}"
    if end == "member":
        assert account.api.delete(member).status == 204
    elif end == "viewer":
        assert account.api.request("PATCH", member, {"role": "viewer"}).status == 200
    else:
        assert account.api.delete(f"/v1/teams/{team}/keys/{key['id']}").status == 204
    fault_points.release("create.planned")
    assert_error(creating.result(), 403, "insufficient_scope")


def test_a_replay_has_a_session_of_the_same_life(sandbox):
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    first, again = (sandbox.api.post(f"{sandbox.path}/sessions", {"lifetime": "sandbox"}, headers=headers)
                    for _ in range(2))
    assert again.headers["Idempotent-Replayed"] == "true" and again.json()["lifetime"] == "sandbox"
    assert again.json()["session"]["expires_at"] is None
    assert first.json()["id"] == again.json()["id"]
    assert reads(sandbox, again.json()["session"]["access_token"]) == 200


def test_it_is_of_its_sandbox_only(sandbox, api):
    other = api.create()
    made = session(sandbox, lifetime="sandbox")["access_token"]
    plane = DataPlane(sandbox.stack, {"access_token": made, "data_plane_url": other["data_plane_url"]})
    assert plane.request("GET", "/files?path=/etc/hostname").status == 401


def test_what_a_session_takes(sandbox, account):
    refused = sandbox.api.post(f"{sandbox.path}/sessions", {"lifetime": "year"})
    assert_error(refused, 422, "invalid_request", "/lifetime")
    assert sandbox.api.post(f"/v1/sandboxes/sbx_{'0' * 26}/sessions", {}).status == 404
    reader = type(sandbox.api)(sandbox.stack, account.key("read"))
    assert reader.post(f"{sandbox.path}/sessions", {}).status == 403


def test_a_resume_may_extend_only(sandbox):
    before = sandbox.show()["deadline"]
    answer = sandbox.api.post(f"{sandbox.path}/connect", {"timeout": 1, "extend_only": True})
    assert answer.status == 200 and answer.json()["sandbox"]["deadline"] == before, answer
    answer = sandbox.api.post(f"{sandbox.path}/connect", {"timeout": 3000, "extend_only": True})
    assert answer.json()["sandbox"]["deadline"] > before


def test_all_ports(api, make_sandbox):
    sandbox = make_sandbox(expose_all_ports=True)
    assert sandbox.show()["expose_all_ports"] is True
    port = 3000 + secrets.randbelow(20000)
    sandbox.data.background("python3", "-m", "http.server", str(port))
    wait_until(lambda: sandbox.preview(port).request("GET", "/").status == 200, 30, "the server")
    assert sandbox.api.get(f"{sandbox.path}/ports/{port}").json()["gateway_status"] == "ready"
    for reserved in (22, 49983, 49984):
        assert sandbox.preview(reserved).request("GET", "/").status == 404
    assert sandbox.api.request("PATCH", sandbox.path, {"allow_public_traffic": False}).status == 200
    wait_until(lambda: sandbox.preview(port).request("GET", "/").status == 401, 10, "the closed port")


def test_pages_of_any_origin_may_call(sandbox):
    asked = sandbox.data.origin.request("OPTIONS", "/process.Process/Start", headers={
        "Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,connect-protocol-version"})
    assert asked.status == 204 and asked.headers["Access-Control-Allow-Origin"] == "*"
    assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    refused = sandbox.data.origin.request("GET", "/files?path=/", headers={"Origin": "https://elsewhere.example"})
    assert refused.status == 401
    # Or the page is told of no answer, and cannot say why.
    assert refused.headers.get_all("Access-Control-Allow-Origin") == ["*"]
