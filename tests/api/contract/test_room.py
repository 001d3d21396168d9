# SPDX-License-Identifier: GPL-2.0-or-later
"""A deleted sandbox gives its quota back at once, and its room on the host while a create waits."""

import concurrent.futures

import pytest

from client import when_served

pytestmark = pytest.mark.parallel


@pytest.fixture
def small_host(stack):
    """The only host has room for four sandboxes of the smallest size."""
    (host,) = stack.query("SELECT id, used_memory_mb, memory_mb FROM hosts WHERE state = 'active'")
    stack.query("UPDATE hosts SET memory_mb = %s * 100 DIV memory_overcommit WHERE id = %s",
                host["used_memory_mb"] + 4 * 256, host["id"])
    yield
    stack.query("UPDATE hosts SET memory_mb = %s WHERE id = %s", host["memory_mb"], host["id"])


@pytest.mark.alone
def test_a_user_who_creates_and_deletes_is_never_refused(make_account):
    """One at a time, faster than instances are removed: each create finds quota, and room on a host."""
    api = make_account("pro").api
    for _ in range(24):
        answer = api.post("/v1/sandboxes", {})
        assert answer.status == 201, answer
        assert api.delete(f"/v1/sandboxes/{answer.json()['id']}").status == 204
        assert api.get("/v1/sandbox_limits").json()["quota"]["usage"] == {"sandboxes": 0, "vcpus": 0, "memory_mb": 0}


@pytest.mark.alone
def test_a_create_waits_for_the_room_of_a_deleted_sandbox(make_account, small_host):
    api = make_account("pro").api
    for _ in range(6):
        answer = api.post("/v1/sandboxes", {"memory_mb": 256})
        assert answer.status == 201, answer
        api.destroy(answer.json()["id"])


@pytest.mark.alone
def test_three_creates_at_once_wait_for_room(make_account, small_host):
    api = make_account("pro").api

    def turn(_):
        answer = when_served(api.post, "/v1/sandboxes", {"memory_mb": 256})
        if answer.status == 201:
            api.destroy(answer.json()["id"])
        return answer

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(turn, range(9)))
    assert [answer for answer in answers if answer.status != 201] == []


def test_deletes_faster_than_instances_go(account, own_plan):
    """The quota is free even while as many deletes are under way as the plan has sandboxes."""
    own_plan(account, sandboxes=2)
    api = account.api
    for _ in range(2):
        made = [when_served(api.post, "/v1/sandboxes", {}) for _ in range(2)]
        assert [answer.status for answer in made] == [201, 201], made
        for answer in made:
            api.destroy(answer.json()["id"])
        assert api.get("/v1/sandbox_limits").json()["quota"]["usage"]["sandboxes"] == 0
