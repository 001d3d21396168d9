# SPDX-License-Identifier: GPL-2.0-or-later
"""Idempotency-Key: a request that is sent again is not done again."""

import secrets

import pytest

from client import Api, assert_error
from dataplane import DataPlane
from stack import wait_until
from killing import HolderKiller, cold_create, in_background, traced

pytestmark = pytest.mark.parallel


def new_key():
    return {"Idempotency-Key": secrets.token_urlsafe(24)}


def test_a_create_sent_twice_makes_one_sandbox(api, stack):
    key, body = new_key(), {"metadata": {"a": "b"}, "envs": {"X": "y"}}
    first = api.post("/v1/sandboxes", body, headers=key)
    assert first.status == 201, first
    assert first.headers["Idempotent-Replayed"] is None
    again = api.post("/v1/sandboxes", body, headers=key)
    assert again.status == 201, again
    assert again.headers["Idempotent-Replayed"] == "true"
    one, other = first.json(), again.json()
    sessions = one.pop("session"), other.pop("session")
    assert one == other
    # Two tokens of the same minute may be one: what counts is a whole life from now.
    assert sessions[1]["expires_at"] >= sessions[0]["expires_at"], "a fresh session"
    for session in sessions:
        assert DataPlane(stack, session).bash("echo $X").stdout == b"y\n"
    other = api.post("/v1/sandboxes", body | {"metadata": {"a": "c"}}, headers=key)
    assert_error(other, 422, "idempotency_key_reused", "Idempotency-Key")
    assert len(api.list()) == 1


def test_keys_of_different_users_are_different(make_account):
    key = new_key()
    ids = set()
    for api in (make_account().api, make_account().api):
        response = api.post("/v1/sandboxes", {}, headers=key)
        assert response.status == 201, response
        ids.add(response.json()["id"])
    assert len(ids) == 2


def test_a_refused_fork_leaves_its_key_free(sandbox):
    """The copy that was made before the refusal is nothing that the client could find."""
    api, key = sandbox.api, new_key()
    assert api.request("PATCH", sandbox.path, {"name": "taken"}).status == 200
    for _ in range(2):
        assert_error(api.post(f"{sandbox.path}/fork", {"name": "taken"}, headers=key), 409, "name_taken", "/name")
    made = api.post(f"{sandbox.path}/fork", {"name": "free"}, headers=key)
    assert made.status == 201, made
    again = api.post(f"{sandbox.path}/fork", {"name": "free"}, headers=key)
    assert (again.status, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert sorted(one["name"] for one in api.list()) == ["free", "taken"]


@pytest.mark.long
def test_a_fork_is_tried_again_when_its_cause_is_gone(sandbox):
    api, key = sandbox.api, new_key()
    with traced(sandbox) as pid:
        assert_error(api.post(f"{sandbox.path}/fork", {}, headers=key), 409, "memory_not_kept")
        sandbox.data.check(f"kill -KILL {pid}")
    assert api.post(f"{sandbox.path}/fork", {}, headers=key).status == 201
    assert len(api.list()) == 2


def test_the_other_mutating_calls(sandbox):
    api = sandbox.api
    key = new_key()
    paused = api.post(f"{sandbox.path}/pause", headers=key)
    assert paused.status == 200
    key_of_resume = new_key()
    resumed = api.post(f"{sandbox.path}/resume", {"timeout": 100}, headers=key_of_resume)
    assert resumed.status == 200
    # The pause again is the old answer, and pauses nothing.
    again = api.post(f"{sandbox.path}/pause", headers=key)
    assert (again.status, again.json()) == (200, paused.json())
    assert sandbox.show()["state"] == "ready"
    replayed = api.post(f"{sandbox.path}/resume", {"timeout": 100}, headers=key_of_resume)
    assert replayed.status == 200
    assert replayed.json()["sandbox"] == resumed.json()["sandbox"]
    session = replayed.json()["session"]
    assert DataPlane(sandbox.stack, session).check("echo x") == "x\n"
    key_of_delete = new_key()
    assert api.request("DELETE", sandbox.path, headers=key_of_delete).status == 204
    assert api.request("DELETE", sandbox.path, headers=key_of_delete).status == 204
    assert_error(api.delete(sandbox.path), 404, "not_found")


def test_a_retry_after_the_worker_died_makes_one_sandbox(make_account, stack):
    account = make_account("pro")
    api, key = account.api, new_key()
    body = cold_create(account)
    killer = HolderKiller(stack, account.team, "create")
    thread, answers = in_background(lambda: api.post("/v1/sandboxes", body, headers=key))
    killer.kill()
    thread.join()
    assert answers[0].status >= 500, answers

    def retry():
        response = api.post("/v1/sandboxes", body, headers=key)
        assert response.status in (201, 409, 503), response
        return response.status == 201 and response.json()

    made = wait_until(retry, stack.lease_s * 3 + 20, "the retry", 0.5)
    assert Api(stack, account.key("read")).show(made["id"])["state"] == "ready"
    wait_until(lambda: [one["id"] for one in api.list()] == [made["id"]], 30, "exactly one", 0.2)
