# SPDX-License-Identifier: GPL-2.0-or-later
"""A team's quota holds under any concurrency, and what ends gives its share back."""

import concurrent.futures

import pytest

from client import assert_error
from tenant import Sandbox

pytestmark = pytest.mark.parallel


@pytest.fixture
def three(account, own_plan):
    """The account's plan allows three sandboxes at a time."""
    own_plan(account, sandboxes=3)
    return 3


def create_at_once(api, count):
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda _: api.post("/v1/sandboxes", {}), range(count)))


@pytest.mark.alone
def test_ten_at_once_make_exactly_three(api, account, three, stack):
    answers = create_at_once(api, 10)
    made = [answer.json() for answer in answers if answer.status == 201]
    refused = [answer for answer in answers if answer.status != 201]
    assert len(made) == three, answers
    for answer in refused:
        body = assert_error(answer, 422, "sandbox_quota_exceeded")
        quota = body["quota"]
        assert set(quota) == {"limits", "usage", "reservation"}
        assert quota["limits"]["sandboxes"] == three
        assert quota["usage"]["sandboxes"] == three
        assert quota["reservation"]["sandboxes"] == 1
        assert quota["reservation"]["memory_mb"] == made[0]["memory_mb"]
        assert set(quota["limits"]) == {"sandboxes", "vcpus", "memory_mb"}
    assert len(api.list()) == three

    api.destroy(made[0]["id"])
    answers = create_at_once(api, 4)
    assert sorted(answer.status for answer in answers) == [201, 422, 422, 422], answers
    reserved = stack.query(
        "SELECT COUNT(*) AS n FROM sandboxes JOIN teams ON teams.id = team_id"
        " WHERE slug = %s AND reserved = 1",
        account.team,
    )
    assert reserved[0]["n"] == three


def test_a_paused_sandbox_holds_no_quota_and_reserves_again(api, three):
    first, *_ = [Sandbox.create(api) for _ in range(three)]
    assert_error(api.post("/v1/sandboxes", {}), 422, "sandbox_quota_exceeded")
    first.pause()
    fourth = Sandbox.create(api)
    body = assert_error(api.post(f"{first.path}/resume"), 422, "sandbox_quota_exceeded")
    assert body["quota"]["usage"]["sandboxes"] == three
    assert first.show()["state"] == "stopped"
    api.destroy(fourth.id)
    assert first.resume()["resumed_from"] == "memory"


def test_memory_counts_too(make_account, own_plan):
    account = make_account("pro")
    own_plan(account, memory_mb=1024)
    account.api.create(memory_mb=768)
    body = assert_error(account.api.post("/v1/sandboxes", {"memory_mb": 384}), 422, "sandbox_quota_exceeded")
    assert body["quota"]["usage"]["memory_mb"] == 768
    assert body["quota"]["reservation"]["memory_mb"] == 384
    account.api.create(memory_mb=256)
