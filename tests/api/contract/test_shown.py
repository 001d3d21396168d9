# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers remember how they have shown a sandbox: whatever changes is in the next answer of each of them."""

import concurrent.futures

import pytest

from stack import wait_until

pytestmark = pytest.mark.parallel

ANSWERS = 24  # of four workers, which take what comes


def by_all(call):
    """What the workers answer, asked at once."""
    with concurrent.futures.ThreadPoolExecutor(8) as callers:
        return list(callers.map(lambda _: call(), range(ANSWERS)))


def shown_everywhere(sandbox):
    """As each worker shows it, by itself and in the list; all agree."""
    shows = by_all(sandbox.show)
    lists = by_all(lambda: next(one for one in sandbox.api.list() if one["id"] == sandbox.id))
    assert all(one == shows[0] for one in shows + lists)
    return shows[0]


def settles(sandbox):
    """Its policy is in force, so that nothing more happens to it by itself."""
    def is_settled():
        now = sandbox.show()
        return now["state"] == "stopped" or now["network"]["status"] == "applied"

    wait_until(is_settled, 60, "its policy in force")


def ok(answer):
    assert answer.status in (200, 201, 202, 204), answer
    return answer


def test_every_change_is_in_the_next_answer(make_sandbox):
    sandbox = make_sandbox(metadata={"a": "1"})
    api, path = sandbox.api, sandbox.path
    settles(sandbox)
    before = shown_everywhere(sandbox)
    changes = [
        (lambda: api.request("PATCH", path, {"metadata": {"b": "\"\\\u0007é"}}),
         lambda s: s["metadata"] == {"a": "1", "b": "\"\\\u0007é"}),
        (lambda: api.request("PATCH", path, {"timeout": 1234}), lambda s: s["timeout"] == 1234),
        (lambda: api.request("PATCH", path, {"mask_request_host": "a.example"}),
         lambda s: s["mask_request_host"] == "a.example"),
        (lambda: api.request("PUT", f"{path}/ports/3000", {"public": True}),
         lambda s: [one["port"] for one in s["exposed_ports"]] == [3000]),
        (lambda: api.delete(f"{path}/ports/3000"), lambda s: s["exposed_ports"] == []),
        (lambda: api.request("PUT", f"{path}/network", {"allow_out": ["a.example"]}),
         lambda s: s["network"]["allow_out"] == ["a.example"]),
        (lambda: api.post(f"{path}/pause", {"memory": False}), lambda s: s["state"] == "stopped"),
        (lambda: api.post(f"{path}/resume"), lambda s: s["state"] == "ready" and s["stopped_at"] is None),
    ]
    for change, is_there in changes:
        ok(change())
        settles(sandbox)
        after = shown_everywhere(sandbox)
        assert is_there(after), after
        assert after != before
        before = after


def test_one_that_is_deleted_is_shown_no_more(make_sandbox):
    kept, gone = make_sandbox(), make_sandbox()
    shown_everywhere(gone)
    ok(gone.api.delete(gone.path))
    assert {answer.status for answer in by_all(lambda: gone.api.get(gone.path))} == {404}
    assert all([one["id"] for one in rows] == [kept.id] for rows in by_all(kept.api.list))


def test_who_does_not_reach_it_sees_nothing_of_it(sandbox, other_account):
    shown_everywhere(sandbox)
    assert {answer.status for answer in by_all(lambda: other_account.api.get(sandbox.path))} == {404}
    assert by_all(other_account.api.list) == [[]] * ANSWERS


def test_limits_and_plan_are_those_of_now(account, stack, make_sandbox):
    def used():
        return by_all(lambda: account.api.get("/v1/sandbox_limits").json())

    before = used()[0]["quota"]["usage"]["sandboxes"]
    made = make_sandbox()
    assert {one["quota"]["usage"]["sandboxes"] for one in used()} == {before + 1}
    ok(made.api.delete(made.path))
    stack.ctl("team", "set-plan", account.team, "enterprise")
    assert {one["plan"]["name"] for one in used()} == {"enterprise"}
    teams = by_all(lambda: account.api.get("/v1/me").json()["teams"])
    assert {one["plan"] for rows in teams for one in rows} == {"enterprise"}
