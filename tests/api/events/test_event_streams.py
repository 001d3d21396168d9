# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that wait for events: long polls and streams."""

import concurrent.futures
import time

import pytest

import events
from client import Api, assert_error
from faults import InBackground

pytestmark = pytest.mark.parallel


def head(api):
    return events.page(api)["last_id"]


def test_a_long_poll_ends_with_the_first_event(api, make_sandbox):
    after = head(api)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(events.page, api, f"after={after}&wait=50&kind=sandbox.started")
        sandbox = make_sandbox()
        answer = waiting.result()
    assert [event["sandbox_id"] for event in answer["events"]] == [sandbox.id]
    assert answer["last_id"] >= answer["events"][-1]["id"]


def test_a_long_poll_without_events_ends_and_says_where_to_go_on(api):
    answer = events.page(api, "wait=1")
    assert answer["events"] == [] and answer["last_id"].startswith("evt_")


def test_a_stream_tells_what_happens(api, other_account, make_sandbox):
    with events.Stream(api) as stream, events.Stream(other_account.api, timeout_s=5) as other:
        assert stream.response.status == 200
        assert stream.response.headers["Content-Type"] == "text/event-stream"
        assert stream.response.headers["X-Request-Id"]
        sandbox = make_sandbox()
        told = [stream.event() for _ in range(2)]
        assert [event["kind"] for event in told] == ["sandbox.created", "sandbox.started"]
        assert {event["sandbox_id"] for event in told} == {sandbox.id}
        with pytest.raises(TimeoutError):
            other.event()


def test_a_stream_goes_on_where_it_was_cut(api, make_sandbox):
    start = head(api)
    with events.Stream(api) as stream:
        sandbox = make_sandbox()
        first = stream.event()
    sandbox.pause()
    with events.Stream(api, last_id=first["id"]) as stream:
        kinds = [stream.event()["kind"] for _ in range(2)]
    assert kinds[0] == "sandbox.started" and kinds[1] in ("sandbox.paused", "sandbox.stopped")
    with events.Stream(api, query=f"after={start}&kind=sandbox.created") as stream:
        assert stream.event() == first


def test_a_stream_since_1970_begins_with_the_first_event(api, make_sandbox):
    sandbox = make_sandbox()
    with events.Stream(api, query="since=1970-01-01T00:00:00Z&kind=sandbox.created") as stream:
        assert stream.event()["sandbox_id"] == sandbox.id


@pytest.mark.parametrize("last_id", ["17", "evt_9999999999999999"])
def test_a_wrong_last_id_is_named(api, last_id):
    with events.Stream(api, last_id=last_id) as stream:
        assert_error(stream.answer(), 422, "invalid_request", "Last-Event-ID")


def test_waiting_takes_no_worker(api, account):
    """Twice as many wait as the pool of records has workers, and others are served meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(api.request, "GET", "/v1/events?wait=8") for _ in range(16)]
        time.sleep(1)
        assert not any(one.done() for one in waiting)
        for _ in range(5):
            assert api.get("/v1/me").status == 200
        assert not any(one.done() for one in waiting)
        assert {one.result().status for one in waiting} == {200}


def test_one_team_waits_only_so_many_times(account, other_account):
    streams = []
    try:
        while (stream := events.Stream(account.api)).response.status == 200 and len(streams) < 40:
            streams.append(stream)
        answer = stream.answer()
        assert_error(answer, 429, "rate_limited")
        assert int(answer.headers["Retry-After"]) > 0
        assert len(streams) == 32
        with events.Stream(other_account.api) as other:
            assert other.response.status == 200
        streams.pop().connection.close()
        end = time.monotonic() + 30
        while (again := events.Stream(account.api)).response.status != 200:
            assert time.monotonic() < end
        again.connection.close()
    finally:
        for stream in streams:
            stream.connection.close()


@pytest.mark.parametrize("end", ["key", "expiry", "member", "user"])
def test_a_stream_ends_with_the_access(stack, account, other_account, end):
    team = account.make_team()
    stack.ctl("team", "add-member", team, "--user", other_account.user, "--role", "member")
    key = other_account.key_document("read", *(["--expires", "20s"] if end == "expiry" else []))
    with events.Stream(Api(stack, key["key"]), f"team={team}") as stream, events.Stream(account.api, f"team={team}") as other:
        assert (stream.response.status, other.response.status) == (200, 200)
        rest = InBackground(lambda: list(iter(stream.event, None)))
        if end == "key":
            stack.ctl("key", "revoke", key["id"])
        elif end == "expiry":
            pass  # the key ends while the stream is open
        elif end == "member":
            assert account.api.delete(f"/v1/teams/{team}/members/{other_account.user}").status == 204
        else:
            stack.ctl("user", "disable", other_account.user)
        told = rest.result(60)
        sandbox = account.api.create(team=team)
        while (event := other.event())["kind"] != "sandbox.created":
            assert event["data"]["user"] == other_account.user
        assert event["sandbox_id"] == sandbox["id"] and sandbox["id"] not in [one["sandbox_id"] for one in told]
    stack.ctl("user", "enable", other_account.user)


def test_no_key_no_events(api):
    answer = api.origin.request("GET", "/v1/events?wait=5", headers={"Accept": "text/event-stream"})
    assert_error(answer, 401, "unauthorized")
    answer = api.origin.request("GET", "/_sandlot/events?t=x&m=y")
    assert_error(answer, 404, "not_found")
