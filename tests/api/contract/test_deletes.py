# SPDX-License-Identifier: GPL-2.0-or-later
"""One rule for all deletes: the first is 204, each further one 404, and a repetition with the same Idempotency-Key is the
first answer again."""

import secrets
import threading

import pytest

from client import Api, assert_error

pytestmark = pytest.mark.parallel

MADE = {
    "sandbox": lambda account: f"/v1/sandboxes/{account.api.create()['id']}",
    "volume": lambda account: f"/v1/volumes/{account.api.create_volume(name='v' + secrets.token_hex(4))['id']}",
    "checkpoint": lambda account: "/v1/checkpoints/" + account.api.post(
        f"/v1/sandboxes/{account.api.create()['id']}/checkpoints").json()["id"],
    "key": lambda account: f"/v1/keys/{account.api.post('/v1/keys', {'scopes': ['read']}).json()['id']}",
    "webhook": lambda account: "/v1/webhooks/" + account.api.post(
        "/v1/webhooks", {"url": "https://hooks.example.com/"}).json()["id"],
    "secret": lambda account: put(account.api, f"/v1/secrets/S{secrets.token_hex(4)}", {"value": "v", "hosts": ["a.example"]}),
    "port": lambda account: put(account.api, f"/v1/sandboxes/{account.api.create()['id']}/ports/3000", {}),
    "link": lambda account: f"/v1/teams/{team_of(account)}/links/" + account.api.post(
        f"/v1/teams/{team_of(account)}/links", {"role": "viewer"}).json()["id"],
}


def put(api, path, body):
    response = api.request("PUT", path, body)
    assert response.status in (200, 201), response
    return path


def team_of(account):
    """A team that people can be invited into."""
    if not hasattr(account, "shared_team"):
        account.shared_team = account.make_team()
    return account.shared_team


@pytest.mark.parametrize("kind", MADE)
def test_a_second_delete_finds_nothing(account, kind):
    api = account.api
    path = MADE[kind](account)
    once = {"Idempotency-Key": secrets.token_hex(8)}
    for replayed in (None, "true"):
        response = api.request("DELETE", path, headers=once)
        assert (response.status, response.headers["Idempotent-Replayed"]) == (204, replayed), response
    assert_error(api.delete(path), 404, "not_found")
    assert_error(api.request("DELETE", path, headers={"Idempotency-Key": secrets.token_hex(8)}), 404, "not_found")


@pytest.mark.parametrize("kind", ["webhook", "key", "secret", "volume"])
def test_one_of_many_deletes_is_done(account, kind):
    path = MADE[kind](account)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(account.api.delete(path).status)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [204] + [404] * 5


def test_what_is_turned_off_may_be_off(account):
    sandbox = f"/v1/sandboxes/{account.api.create()['id']}"
    for _ in range(2):
        assert account.api.delete(f"{sandbox}/hold").status == 200
        assert account.api.delete(f"{sandbox}/sessions").status == 204


def test_a_revoked_key_and_what_it_created(account, stack):
    """Also of a key that its thief has revoked himself."""
    first = account.api.post("/v1/keys", {"scopes": ["write"]}).json()
    kept = Api(stack, first["key"]).post("/v1/keys", {"scopes": ["read"]}).json()
    assert Api(stack, first["key"]).delete(f"/v1/keys/{first['id']}").status == 204
    assert Api(stack, kept["key"]).get("/v1/me").status == 200
    assert_error(account.api.delete(f"/v1/keys/{first['id']}"), 404, "not_found")
    assert account.api.delete(f"/v1/keys/{first['id']}?with_created=true").status == 204
    assert_error(Api(stack, kept["key"]).get("/v1/me"), 401, "unauthorized")
    assert_error(account.api.delete(f"/v1/keys/{first['id']}?with_created=true"), 404, "not_found")
