# SPDX-License-Identifier: GPL-2.0-or-later
"""Hooks that never end, of two teams together, beside an honest tenant: they wait in workers and processes that others do
not need."""

import concurrent.futures

import pytest

from stack import wait_until
from tenant import Sandbox

EACH = 4  # the half of the smallest pool, which a team may have


def slow(kind, timeout=30, **fields):
    return {"hooks": {kind: {"command": "until [ -e /tmp/go ]; do sleep 0.1; done", "timeout": timeout}}, **fields}


def let_go(sandboxes):
    """Their hooks end."""
    for one in sandboxes:
        one.stack.incus.write_file(one.instance, "/tmp/go", b"")


@pytest.fixture
def two(make_account):
    return [make_account("pro") for _ in range(2)]


def made(accounts, count, **fields):
    return [Sandbox.create(account.api, timeout=1800, **fields) for account in accounts for _ in range(count)]


@pytest.fixture
def asked():
    """Asks in the background: a function of sandboxes and an act."""
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        yield lambda sandboxes, act: [
            pool.submit(one.api.request, "POST", f"{one.path}/{act}", {}, timeout_s=300) for one in sandboxes]


def in_state(stack, state, accounts):
    teams = [one.team for one in accounts]
    rows = stack.query("SELECT COUNT(*) AS n FROM sandboxes WHERE state = %s AND team_id IN"
                       f" (SELECT id FROM teams WHERE slug IN ({', '.join(['%s'] * len(teams))}))", state, *teams)
    return rows[0]["n"]


def test_pauses_that_wait_for_hooks(stack, two, asked, bystander):
    (running,) = made(two[:1], 1, **slow("before_pause"))
    own = Sandbox.create(bystander.api, timeout=1800, hooks={"before_pause": {"command": "true"}})
    sandboxes = made(two, EACH, **slow("before_pause"))
    waiting = asked(sandboxes, "pause")
    wait_until(lambda: in_state(stack, "stopping", two) >= 2, 30, "pauses that wait")
    for act in ("connect", "resume"):
        answer = running.api.post(f"{running.path}/{act}", {})
        assert answer.status == 200, ("one that runs already waits for no hook", answer)
    own.pause()
    assert in_state(stack, "stopping", two) <= 3, "the other workers for hooks are for tenants who have none"
    bystander.goes_on()
    assert not any(one.done() and one.result().status == 200 for one in waiting), "no hook has ended meanwhile"
    let_go(sandboxes)
    assert {one.result().status for one in waiting} <= {200, 429}


@pytest.mark.long
def test_hooks_of_e2b_time_outs_of_0_wait_in_the_same_share(stack, two, bystander):
    """A time-out of 0 is a pause, with its hook, in the pool of the creates."""
    def end_now(one):
        path = f"/sandboxes/{one.document['data_plane_url'].removeprefix('https://').split('.')[0]}/timeout"
        return one.api.request("POST", path, {"timeout": 0}, {"X-API-Key": one.api.key}, timeout_s=300)

    (plain,) = made(two[:1], 1, lifecycle={"on_timeout": "pause"})
    sandboxes = made(two[:1], EACH + 2, **slow("before_pause", lifecycle={"on_timeout": "pause"}))
    with concurrent.futures.ThreadPoolExecutor(len(sandboxes)) as pool:
        for one in sandboxes:
            pool.submit(end_now, one)
        wait_until(lambda: in_state(stack, "stopping", two) >= EACH, 30, "pauses that wait")
        bystander.goes_on(pause=False)
        assert in_state(stack, "stopping", two) == EACH, "a quarter of sixteen workers"
        assert end_now(plain).status == 204, "one without a hook needs no place for hooks"
        let_go(sandboxes)


@pytest.mark.long
def test_resumes_that_wait_for_hooks(stack, two, asked, bystander):
    sandboxes = made(two, EACH, **slow("after_resume", timeout=20))
    for one in sandboxes:
        one.pause()
    waiting = asked(sandboxes, "resume")
    wait_until(lambda: in_state(stack, "restoring", two) >= 2, 30, "resumes that wait")
    bystander.goes_on()
    assert not any(one.done() and one.result().status == 200 for one in waiting), "no hook has ended meanwhile"
    assert {one.result().status for one in waiting} <= {200, 202, 429, 503}


@pytest.fixture
def many(make_account):
    """More users than the processes of a dispatcher for hooks, two of which one user may have."""
    return [make_account("pro") for _ in range(8)]


def test_deadlines_with_hooks(stack, many, bystander):
    """The dispatcher pauses them: a sandbox of another team, with a hook too, is paused at its deadline meanwhile."""
    own = Sandbox.create(bystander.api, timeout=1800, hooks={"before_pause": {"command": "true"}})
    hostile = made(many, 2, **slow("before_pause", lifecycle={"on_timeout": "pause"}))
    for one in hostile:
        one.api.request("PATCH", one.path, {"timeout": 1})
    wait_until(lambda: in_state(stack, "stopping", many) == len(hostile), 30, "all deadlines")
    own.api.request("PATCH", own.path, {"timeout": 1, "lifecycle": {"on_timeout": "pause"}})
    wait_until(lambda: own.show()["state"] == "stopped", 60, "the pause of another team")
    assert in_state(stack, "stopping", many) == len(hostile), "no hook has ended meanwhile"


@pytest.mark.long
def test_forks_with_hooks(stack, many, asked, bystander):
    own = Sandbox.create(bystander.api, timeout=1800, hooks={"after_fork": {"command": "true"}})
    waiting = asked(made(many, 1, **slow("after_fork")), "fork")
    wait_until(lambda: in_state(stack, "restoring", many) == len(many), 30, "forks that wait")
    (fork,) = own.api.post(f"{own.path}/fork", {}).json()["forks"]
    wait_until(lambda: own.api.show(fork["sandbox"]["id"])["state"] == "ready", 60, "a fork of another team")
    assert in_state(stack, "restoring", many) == len(many), "no hook has ended meanwhile"
    assert {one.result().status for one in waiting} == {201}
    wait_until(lambda: in_state(stack, "ready", many) == 2 * len(many), 90, "the forks, without their hooks")
