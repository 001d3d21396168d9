# SPDX-License-Identifier: GPL-2.0-or-later
"""What workers remember of keys, teams and plans holds until it changes, and not a request longer."""

import concurrent.futures

import pytest

from client import Api, Origin, assert_error

ASKED = 48  # many times the workers of the pool, at once: each of them has met the key
AT_ONCE = 12
ANY_ID = "sbx_00000000000000000000000000"


def by_all_workers(api, path):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda _: api.get(path), range(ASKED)))


def statuses(answers):
    return {answer.status for answer in answers}


@pytest.fixture
def paths(sandbox):
    return [f"/v1/sandboxes/{sandbox.id}", "/v1/sandboxes?limit=10", "/v1/sandbox_limits", "/v1/me",
            f"/v1/sandboxes/{sandbox.id}/network"]


def test_a_revoked_key_is_refused_by_every_worker(stack, account, paths):
    for path in paths:
        document = account.key_document("write")
        api = Api(stack, document["key"])
        assert statuses(by_all_workers(api, path)) == {200}, path
        stack.ctl("key", "revoke", document["id"])
        assert statuses(by_all_workers(api, path)) == {401}, path


def test_a_revoked_key_learns_nothing_of_its_request(stack, account, sandbox):
    document = account.key_document("read")
    api = Api(stack, document["key"])
    assert statuses(by_all_workers(api, f"/v1/sandboxes/{sandbox.id}")) == {200}
    stack.ctl("key", "revoke", document["id"])
    for path in ("/v1/sandboxes/nothing", f"/v1/sandboxes/{ANY_ID}", f"/v1/sandboxes/{sandbox.id}?x=1",
                 "/v1/sandboxes?limit=0", "/v1/sandbox_limits?team=other"):
        assert_error(api.get(path), 401, "unauthorized")
    assert_error(api.post("/v1/sandboxes", {"cpu": -1}), 401, "unauthorized")
    assert_error(api.delete(f"/v1/sandboxes/{sandbox.id}"), 401, "unauthorized")


@pytest.mark.parametrize("path", [f"/v1/sandboxes/{ANY_ID}", f"/v1/sandboxes/{ANY_ID}/ports/80",
                                  "/v1/volumes/vol_00000000000000000000000000",
                                  "/v1/checkpoints/ckp_00000000000000000000000000"])
def test_a_revoked_key_does_not_learn_that_an_object_is_missing(stack, account, path):
    document = account.key_document("read")
    api = Api(stack, document["key"])
    assert statuses(by_all_workers(api, path)) == {404}
    stack.ctl("key", "revoke", document["id"])
    assert statuses(by_all_workers(api, path)) == {401}


def test_who_left_a_team_sees_its_sandboxes_no_more(stack, account, make_account):
    guest = make_account()
    team = account.make_team()
    document = account.api.create(team=team)
    stack.ctl("team", "add-member", team, "--user", guest.user)
    path = f"/v1/sandboxes/{document['id']}"
    assert statuses(by_all_workers(guest.api, path)) == {200}
    stack.ctl("team", "remove-member", team, "--user", guest.user)
    assert statuses(by_all_workers(guest.api, path)) == {404}
    account.api.destroy(document["id"])


def test_a_disabled_user_is_refused_and_let_in_again(stack, account, sandbox):
    path = f"/v1/sandboxes/{sandbox.id}"
    assert statuses(by_all_workers(account.api, path)) == {200}
    stack.ctl("user", "disable", account.user)
    assert statuses(by_all_workers(account.api, path)) == {401}
    stack.ctl("user", "enable", account.user)
    assert statuses(by_all_workers(account.api, path)) == {200}


def test_a_changed_plan_is_seen_by_every_worker(stack, account, set_plan):
    def told(member):
        answers = [answer.json() for answer in by_all_workers(account.api, "/v1/sandbox_limits")]
        return {(answer["plan"]["name"], answer[member]) for answer in answers}

    before = account.api.get("/v1/sandbox_limits").json()["max_timeout"]
    assert told("max_timeout") == {("basic", before)}
    set_plan("basic", max_timeout_s=before - 1)
    assert told("max_timeout") == {("basic", before - 1)}
    stack.ctl("team", "set-plan", account.team, "pro")
    assert {name for name, _ in told("max_timeout")} == {"pro"}


def test_plans_come_and_go(stack, account):
    def names():
        answers = by_all_workers(account.api, "/v1/sandbox_limits")
        return {tuple(one["name"] for one in answer.json()["plans"]) for answer in answers}

    (before,) = names()
    name = account.team[:20]
    stack.ctl("plan", "create", name, "--from", "basic")
    stack.ctl("team", "set-plan", account.team, name)
    plan = account.api.get("/v1/sandbox_limits").json()["plan"]
    assert (plan["name"], plan["public"]) == (name, False)
    assert names() == {before}
    stack.ctl("plan", "set", name, "is_public=1")
    assert names() == {(*before, name)}
    stack.ctl("team", "set-plan", account.team, "basic")
    stack.ctl("plan", "remove", name)
    assert names() == {before}


def test_who_says_nothing_comes_between_those_who_wait(stack, account):
    """Of a team's requests at once some wait for room in a worker, which serves others meanwhile: with no key at all, too."""
    account.api.get("/v1/sandbox_limits")
    stranger = Origin(stack.ca_file, stack.console_url)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE + 4) as pool:
        strangers = [pool.submit(lambda: [stranger.request("GET", "/v1/login").status for _ in range(60)]) for _ in range(4)]
        for _ in range(4):
            assert statuses(by_all_workers(account.api, "/v1/sandbox_limits")) == {200}
        assert {status for one in strangers for status in one.result()} == {200}
