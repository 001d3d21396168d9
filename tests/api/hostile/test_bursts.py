# SPDX-License-Identifier: GPL-2.0-or-later
"""One key that asks for as much as it can at once, beside an honest tenant."""

import collections
import concurrent.futures
import contextlib
import os
import time

import pytest

import events
from faults import settle
from stack import wait_until
from tenant import Sandbox

MANY = 16
# 409: another call changes the sandbox; 422, 507: beyond the plan, or the host; 429, 503: later.
ANSWERS = {200, 201, 204, 404, 409, 422, 429, 503, 507}


def test_streams_of_one_key_in_many_teams(stack, make_account, bystander):
    """A hundred streams: the key has its user's share, also when it names several teams."""
    hostile = make_account()
    share = int(stack.settings.get("event_followers_per_team", 32))
    teams = [hostile.team, *(hostile.make_team() for _ in range(4))]
    with contextlib.ExitStack() as opened:
        def open_one(number):
            stream = opened.enter_context(events.Stream(hostile.api, f"team={teams[number % len(teams)]}"))
            return stream.response.status
        statuses = collections.Counter(open_one(number) for number in range(100))
        assert statuses == {200: share, 429: 100 - share}
        with events.Stream(bystander.api) as honest:
            assert honest.response.status == 200
            bystander.goes_on()
            assert honest.event()["kind"] == "sandbox.created"

    def is_let_in():
        with events.Stream(hostile.api) as stream:
            return stream.response.status == 200
    wait_until(is_let_in, 30, "a stream after the end of the others")


def counts_until_done(stack, team, state, calls):
    """The numbers of sandboxes of a team in a state, again and again until all calls are answered."""
    counts = []
    while not all(one.done() for one in calls):
        row = stack.query("SELECT COUNT(*) AS n FROM sandboxes WHERE state = %s AND team_id ="
                          " (SELECT id FROM teams WHERE slug = %s)", state, team)[0]
        counts.append(row["n"])
        time.sleep(0.02)
    return counts


def test_a_burst_of_creates_leaves_others_their_turn(stack, make_account, bystander):
    """Beside a burst of one team a create of another is done while creates of the burst still wait."""
    hostile = make_account("pro")
    most = min(max(os.cpu_count() // 2, 2), 8)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        Sandbox.create(hostile.api)
        bystander.create()
        burst = [pool.submit(hostile.api.request, "POST", "/v1/sandboxes", {}, timeout_s=120) for _ in range(20)]
        own = pool.submit(bystander.create)
        starting = counts_until_done(stack, hostile.team, "creating", burst)
        own.result()
        statuses = collections.Counter(one.result().status for one in burst)
    assert set(statuses) <= ANSWERS and statuses[201] >= 2, statuses
    assert 0 < max(starting) <= most, starting


@pytest.mark.long
def test_a_burst_of_pauses_leaves_others_their_turn(stack, make_account, bystander):
    """A pause writes memory: beside others a team has as many at once as half of the processors."""
    hostile = make_account("pro")
    most = min(max(os.cpu_count() // 2, 2), 4)
    sandboxes = [Sandbox.create(hostile.api) for _ in range(10)]
    own = Sandbox.create(bystander.api)
    sandboxes.pop().pause()
    own.pause()
    own.resume()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        burst = [pool.submit(hostile.api.request, "POST", f"{one.path}/pause", {}, timeout_s=120) for one in sandboxes]
        pause = pool.submit(own.pause)
        stopping = counts_until_done(stack, hostile.team, "stopping", burst)
        assert pause.result()["state"] == "stopped"
        statuses = collections.Counter(one.result().status for one in burst)
    assert set(statuses) <= ANSWERS and statuses[200] >= 2, statuses
    assert 0 < max(stopping) <= most, stopping


def test_pauses_that_wait_for_their_sandbox_leave_a_turn(stack, make_account, bystander):
    """Beside others a team has few pauses at once. One that waits for another operation of its sandbox writes no memory."""
    hostile = make_account("pro")
    most = max(os.cpu_count() // 2, 2)
    if most >= 4:
        pytest.skip("half of the worker pool is the narrower bound")
    first, busy, last = (Sandbox.create(hostile.api) for _ in range(3))
    own = Sandbox.create(bystander.api)
    first.pause()
    own.pause()
    stack.query("UPDATE sandboxes SET state = 'checkpointing' WHERE id = %s", busy.id)
    try:
        with concurrent.futures.ThreadPoolExecutor(most) as pool:
            waiting = [pool.submit(hostile.api.request, "POST", f"{busy.path}/pause", {}, timeout_s=120) for _ in range(most)]
            time.sleep(1)
            began = time.monotonic()
            last.pause()
            took = time.monotonic() - began
            assert not any(one.done() for one in waiting), [one.result() for one in waiting if one.done()]
            stack.query("UPDATE sandboxes SET state = 'ready' WHERE id = %s", busy.id)
            assert {one.result().status for one in waiting} == {200}
    finally:
        stack.query("UPDATE sandboxes SET state = 'ready' WHERE id = %s AND state = 'checkpointing'", busy.id)
    assert took < 15, "less than pool_wait_ms"


@pytest.mark.long
def test_a_burst_of_connects_leaves_others_their_turn(stack, make_account, bystander):
    """A connect resumes a paused sandbox, and takes as much of the processors as a create."""
    hostile = make_account("pro")
    most = min(max(os.cpu_count() // 2, 2), 8)
    sandboxes = [Sandbox.create(hostile.api) for _ in range(10)]
    for one in sandboxes:
        one.pause()
    own = Sandbox.create(bystander.api)
    own.pause()
    sandboxes.pop().resume()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        burst = [pool.submit(hostile.api.request, "POST", f"{one.path}/connect", {}, timeout_s=120) for one in sandboxes]
        resume = pool.submit(own.resume)
        restoring = counts_until_done(stack, hostile.team, "restoring", burst)
        assert resume.result()["state"] == "ready"
        statuses = collections.Counter(one.result().status for one in burst)
    assert set(statuses) <= ANSWERS and statuses[200] >= 2, statuses
    assert 0 < max(restoring) <= most, restoring
    # A connect to a sandbox that runs starts nothing, and does not wait.
    assert hostile.api.post(f"{sandboxes[0].path}/connect", {}).status == 200


@pytest.mark.long
def test_creates_pauses_and_deletes_at_once(stack, make_account, own_plan, bystander):
    """Many of each at the same time: each is answered, the other tenant's calls succeed, and the service is clean after."""
    hostile = make_account("enterprise")
    own_plan(hostile, sandboxes=MANY + 4, stopped_sandboxes=MANY + 4)
    api = hostile.api
    with concurrent.futures.ThreadPoolExecutor(3 * MANY) as pool:
        def burst(*calls):
            return [pool.submit(api.request, *call, timeout_s=300) for call in calls]

        def create(count):
            return burst(*[("POST", "/v1/sandboxes", {"timeout": 1800})] * count)

        made = [answer.json() for one in create(MANY) if (answer := one.result()).status == 201]
        assert len(made) > MANY / 4
        waiting = create(MANY)
        ids = [one["id"] for one in made] * MANY
        waiting += burst(*(("POST", f"/v1/sandboxes/{id}/pause", {}) for id in ids[:MANY]))
        waiting += burst(*(("DELETE", f"/v1/sandboxes/{id}") for id in ids[len(made) // 2:][:MANY]))
        bystander.goes_on()
        statuses = collections.Counter(one.result().status for one in waiting)
    assert set(statuses) <= ANSWERS, statuses
    assert statuses[200] or statuses[204], statuses
    settle(stack)
    hostile.clean_up()
    settle(stack)
