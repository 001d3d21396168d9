# SPDX-License-Identifier: GPL-2.0-or-later
"""Room that deleted sandboxes give back: the quota at once, the host's while a create waits."""

import concurrent.futures

import pytest

from client import when_served


@pytest.fixture
def small_host(stack):
    """The only host has room for four sandboxes of the smallest size."""
    (host,) = stack.query("SELECT id, used_memory_mb, memory_mb FROM hosts WHERE state = 'active'")
    stack.query("UPDATE hosts SET memory_mb = %s * 100 DIV memory_overcommit WHERE id = %s",
                host["used_memory_mb"] + 4 * 256, host["id"])
    yield
    stack.query("UPDATE hosts SET memory_mb = %s WHERE id = %s", host["memory_mb"], host["id"])


def test_who_creates_and_deletes_one_at_a_time_is_never_refused(make_account, small_host):
    """Of the team's quota nothing is taken once a delete is answered, and a create waits for its host."""
    api = make_account("pro").api
    for _ in range(12):
        answer = when_served(api.post, "/v1/sandboxes", {"memory_mb": 256})
        assert answer.status == 201, answer
        api.destroy(answer.json()["id"])
        usage = api.get("/v1/sandbox_limits").json()["quota"]["usage"]
        assert usage == {"sandboxes": 0, "vcpus": 0, "memory_mb": 0}


def test_three_at_once_who_create_and_delete(make_account, small_host):
    api = make_account("pro").api

    def turn(_):
        answer = when_served(api.post, "/v1/sandboxes", {"memory_mb": 256})
        if answer.status == 201:
            api.destroy(answer.json()["id"])
        return answer

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(turn, range(15)))
    assert [answer for answer in answers if answer.status != 201] == []


def test_deletes_faster_than_instances_go(make_account, stack, set_plan):
    """As many deletes as the plan has sandboxes are under way, and the quota is free all the same."""
    set_plan("basic", sandboxes=2)
    api = make_account().api
    for _ in range(4):
        made = [when_served(api.post, "/v1/sandboxes", {}) for _ in range(2)]
        assert [answer.status for answer in made] == [201, 201], made
        for answer in made:
            api.destroy(answer.json()["id"])
        assert api.get("/v1/sandbox_limits").json()["quota"]["usage"]["sandboxes"] == 0
