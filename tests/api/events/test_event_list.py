# SPDX-License-Identifier: GPL-2.0-or-later
"""GET /v1/events: what happened, in order, from where one was."""

import datetime
import threading

import pytest

import events
from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture
def outbox(stack):
    """Connections to the database that write events as a transaction of a change does."""
    opened = []

    def connect():
        connection = stack.database()
        connection.autocommit(False)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()


def team_id(stack, account):
    return stack.query("SELECT id FROM teams WHERE slug = %s", account.team)[0]["id"]


def write(connection, team, sandbox_id, count=1, kind="sandbox.paused"):
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO event_outbox (team_id, kind, sandbox_id, data, at_ms)"
            " VALUES (%s, %s, %s, %s, UNIX_TIMESTAMP() * 1000)",
            [(team, kind, sandbox_id, "{}")] * count)


def test_the_life_of_a_sandbox_in_order(api, sandbox):
    sandbox.pause()
    sandbox.resume()
    assert api.post(f"{sandbox.path}/stop", {"memory": False}).status == 200
    api.destroy(sandbox.id)
    events.until(api, "sandbox.deleted")
    answer = events.page(api, f"sandbox_id={sandbox.id}")
    told = [event for event in answer["events"] if event["kind"].startswith("sandbox.")]
    names = [event["kind"].removeprefix("sandbox.") for event in told]
    assert names == ["created", "started", "paused", "resumed", "stopped", "deleted"]
    assert [event["id"] for event in told] == sorted(event["id"] for event in told)
    assert {event["sandbox_id"] for event in told} == {sandbox.id}
    assert told[0]["data"]["template"] == sandbox.document["template"]


def test_what_became_of_other_things(api, sandbox):
    checkpoint = api.post(f"{sandbox.path}/checkpoints", {"name": "one"}).json()
    api.delete(f"/v1/checkpoints/{checkpoint['id']}")
    api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": False})
    deleted = events.until(api, "checkpoint.deleted")
    created = events.until(api, "checkpoint.created")
    assert created["data"] == deleted["data"] == {"checkpoint_id": checkpoint["id"], "name": "one"}
    assert created["id"] < deleted["id"]
    applied = events.until(api, "network.applied", f"sandbox_id={sandbox.id}")
    assert applied["data"]["revision"] == 2


def test_denials_are_told_of(api, sandbox):
    assert api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": False}).status in (200, 202)
    sandbox.data.run("bash", "-c", "for i in 1 2 3; do timeout 1 bash -c 'echo >/dev/tcp/1.1.1.1/81'; done; true")
    denied = events.until(api, "network.denied")
    assert denied["sandbox_id"] == sandbox.id and denied["data"]["count"] >= 1


def test_filters(api, make_sandbox):
    first, second = make_sandbox(), make_sandbox()
    events.until(api, "sandbox.started", f"sandbox_id={second.id}")
    both = events.page(api, "kind=sandbox.started")
    assert [event["sandbox_id"] for event in both["events"]] == [first.id, second.id]
    assert events.kinds(api, f"sandbox_id={first.id}&kind=sandbox.created&kind=sandbox.started") == \
        ["sandbox.created", "sandbox.started"]
    one = events.page(api, "kind=sandbox.started&limit=1")
    assert one["last_id"] == both["events"][0]["id"]
    rest = events.page(api, f"kind=sandbox.started&after={one['last_id']}")
    assert rest["events"] == both["events"][1:]
    assert events.page(api, f"after={rest['last_id']}")["events"] == []
    later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert events.page(api, f"since={later}")["events"] == []
    assert len(events.page(api, "since=2026-01-01T00:00:00Z&kind=sandbox.started")["events"]) == 2


@pytest.mark.parametrize("query, field", [
    ("after=17", "after"), ("after=evt_9999999999999999", "after"), ("limit=0", "limit"), ("limit=1001", "limit"),
    ("wait=61", "wait"), ("wait=x", "wait"), ("since=yesterday", "since"), ("kind=sandbox.bored", "kind"),
    ("sandbox_id=1", "sandbox_id")])
def test_wrong_input_names_its_parameter(module_account, query, field):
    assert_error(module_account.api.get(f"/v1/events?{query}"), 422, "invalid_request", field)


def test_another_team_sees_nothing(api, account, other_account, sandbox):
    events.until(api, "sandbox.started")
    assert events.page(other_account.api)["events"] == []
    assert events.page(other_account.api, f"sandbox_id={sandbox.id}")["events"] == []
    assert_error(other_account.api.get(f"/v1/events?team={account.team}"), 403, "team_forbidden")


def test_a_transaction_that_commits_late_is_not_skipped(api, account, stack, outbox):
    """The first number of the outbox is committed last: who has read the second sees the first too."""
    team = team_id(stack, account)
    early, late = outbox(), outbox()
    write(early, team, "sbx_" + "0" * 25 + "1")
    write(late, team, "sbx_" + "0" * 25 + "2")
    late.commit()
    seen = wait_until(lambda: (answer := events.page(api))["events"] and answer, 30, "what was committed")
    assert [event["sandbox_id"][-1] for event in seen["events"]] == ["2"]
    early.commit()
    rest = wait_until(
        lambda: (answer := events.page(api, f"after={seen['last_id']}"))["events"] and answer, 30, "what came late")
    assert [event["sandbox_id"][-1] for event in rest["events"]] == ["1"]
    assert stack.query("SELECT COUNT(*) AS n FROM event_outbox WHERE team_id = %s", team)[0]["n"] == 0


def test_a_reader_misses_none_of_many_writers(api, account, stack, outbox):
    """Writers that commit in any order, some of them not at all; a reader that goes on from page to page."""
    team, writers, turns = team_id(stack, account), 6, 25

    def run(number, connection):
        for turn in range(turns):
            write(connection, team, f"sbx_{number:026d}", kind="sandbox.paused" if turn % 2 else "sandbox.resumed")
            if turn % 5 == 4:
                connection.rollback()
            else:
                connection.commit()

    threads = [threading.Thread(target=run, args=(number, outbox())) for number in range(writers)]
    for thread in threads:
        thread.start()
    seen, after = [], "evt_0000000000000000"

    def read():
        nonlocal after
        answer = events.page(api, f"after={after}&limit=7")
        seen.extend(answer["events"])
        after = answer["last_id"]
        return len(seen) >= writers * turns * 4 // 5

    wait_until(read, 60, "all that was committed", 0)
    for thread in threads:
        thread.join()
    assert len(seen) == writers * turns * 4 // 5
    identifiers = [event["id"] for event in seen]
    assert identifiers == sorted(set(identifiers))
    expected = [("sandbox.paused" if turn % 2 else "sandbox.resumed") for turn in range(turns) if turn % 5 != 4]
    for number in range(writers):
        assert [event["kind"] for event in seen if event["sandbox_id"] == f"sbx_{number:026d}"] == expected


def test_a_change_that_is_undone_is_not_told(api, account, stack, outbox):
    team = team_id(stack, account)
    connection = outbox()
    write(connection, team, None)
    connection.rollback()
    write(connection, team, None, kind="quota.near")
    connection.commit()
    assert events.until(api, "quota.near")["sandbox_id"] is None
    assert events.kinds(api) == ["quota.near"]


def test_deadline_near_is_told_once_for_each_deadline(api, make_sandbox):
    sandbox = make_sandbox(timeout=50, lifecycle={"on_timeout": "kill"})
    near = events.until(api, "sandbox.deadline_near")
    assert near["sandbox_id"] == sandbox.id and near["data"]["deadline"] == sandbox.show()["deadline"]
    assert near["data"]["on_timeout"] == "kill"
    api.post(f"{sandbox.path}/connect", {"timeout": 55})
    wait_until(lambda: events.kinds(api).count("sandbox.deadline_near") == 2, 30, "the new deadline")


@pytest.fixture
def plan_of_one(account, own_plan):
    """The account's team may run one sandbox."""
    own_plan(account, sandboxes=1)


def test_a_quota_that_is_near_and_one_that_refuses(api, plan_of_one, sandbox):
    near = events.until(api, "quota.near")
    assert near["data"]["sandboxes"] == {"used": 1, "limit": 1}
    body = assert_error(api.post("/v1/sandboxes", {}), 422, "sandbox_quota_exceeded")
    assert_error(api.post("/v1/sandboxes", {}), 422, "sandbox_quota_exceeded")
    assert events.until(api, "quota.refused")["data"]["message"] == body["message"]
    sandbox.pause()
    events.until(api, "sandbox.paused")
    assert events.kinds(api).count("quota.refused") == 1, "told once in a minute"
