# SPDX-License-Identifier: GPL-2.0-or-later
"""GET /v1/sandboxes/:id/metrics: samples by the runtime, gaps over pauses, spans."""

import datetime
import time

import pytest

from client import assert_error
from stack import wait_until

MIB = 1 << 20


def at(seconds):
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def metrics(api, sandbox_id, query=""):
    response = api.get(f"/v1/sandboxes/{sandbox_id}/metrics{query}")
    assert response.status == 200, response
    return response.json()


def points(sandbox):
    return metrics(sandbox.api, sandbox.id)["points"]


def add_samples(stack, sandbox_id, times):
    connection = stack.database()
    try:
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO sandbox_samples (sandbox_id, at_ms, span_ms, cpu_ms, memory_bytes,"
                " cache_bytes, disk_bytes) VALUES (%s, %s, 10000, 2500, 1000, 100, NULL)",
                [(sandbox_id, int(one * 1000)) for one in times],
            )
    finally:
        connection.close()


@pytest.mark.long
def test_a_busy_and_an_idle_sandbox_and_a_pause(make_sandbox, stack):
    interval_s = int(stack.settings.get("metrics_interval_s", "30"))
    busy, idle = make_sandbox(timeout=900), make_sandbox(timeout=900)
    busy.data.check(f"head -c {40 * MIB} /dev/urandom >large; sync")
    busy.data.background(
        "/usr/bin/python3", "-c", f"held = b'x' * {100 * MIB}\nwhile True: pass")
    # Older than anything that is kept: the next round removes it.
    add_samples(stack, busy.id, [time.time() - 721 * 3600])

    def measured(sandbox):
        return [one for one in points(sandbox) if one["vcpus_used"] is not None]

    wait_until(lambda: len(measured(busy)) >= 1 and len(measured(idle)) >= 1, 3 * interval_s + 10,
               "samples with processor time", 0.5)
    used, unused = measured(busy)[-1], measured(idle)[-1]
    assert 0.1 < used["vcpus_used"] <= 1.2, used
    assert unused["vcpus_used"] < used["vcpus_used"] / 2, (used, unused)
    assert 100 * MIB < used["memory_used_bytes"] < busy.document["memory_mb"] * MIB
    assert unused["memory_used_bytes"] < 100 * MIB
    assert 40 * MIB <= used["disk_used_bytes"] < 400 * MIB
    assert unused["disk_used_bytes"] < 40 * MIB
    assert points(busy)[0]["vcpus_used"] is None, "of the time before the first look nothing is known"

    busy.pause()
    paused_at = time.time()
    time.sleep(interval_s + 2)
    busy.resume()
    resumed_at = time.time()

    def after_resume():
        return [one for one in points(busy) if seconds(one["at"]) > resumed_at]

    wait_until(after_resume, 2 * interval_s + 10, "a sample after the resume", 0.5)
    between = [one for one in points(busy) if paused_at < seconds(one["at"]) <= resumed_at]
    assert between == [], (paused_at, resumed_at)
    assert after_resume()[0]["vcpus_used"] is None
    old = stack.query("SELECT COUNT(*) AS n FROM sandbox_samples WHERE sandbox_id = %s AND at_ms < %s",
                      busy.id, (time.time() - 3600) * 1000)
    assert old[0]["n"] == 0


def test_a_long_span_has_a_bounded_number_of_points(sandbox, stack):
    now = time.time()
    add_samples(stack, sandbox.id, [now - 10 * number for number in range(1, 1500)])
    span = f"?from={at(now - 15000)}&to={at(now - 1)}"
    answer = metrics(sandbox.api, sandbox.id, span)
    assert 300 < len(answer["points"]) <= 500
    assert answer["step_s"] > 10
    assert {one["vcpus_used"] for one in answer["points"]} == {0.25}
    assert {one["disk_used_bytes"] for one in answer["points"]} == {None}
    times = [seconds(one["at"]) for one in answer["points"]]
    assert times == sorted(times) and times[0] >= now - 15001
    short = metrics(sandbox.api, sandbox.id, f"?from={at(now - 1005)}&to={at(now - 1)}")
    assert len(short["points"]) == 100
    assert short["step_s"] is None
    # The hour before now when nothing is said; only the hour before `to` when that is.
    assert len(metrics(sandbox.api, sandbox.id)["points"]) in range(350, 370)
    early = metrics(sandbox.api, sandbox.id, f"?to={at(now - 7200)}")
    assert (early["from"], early["to"]) == (at(seconds(at(now - 7200)) - 3600), at(now - 7200))
    assert (early["cpu"], early["memory_mb"], early["sandbox"]) == (
        sandbox.document["cpu"], sandbox.document["memory_mb"], sandbox.id)


@pytest.mark.parallel
def test_who_is_asked_for_is_known(sandbox, stack):
    assert points(sandbox) is not None
    assert stack.query("SELECT COUNT(*) AS n FROM sample_wants WHERE sandbox_id = %s", sandbox.id) == [{"n": 1}]


@pytest.mark.long  # a busy machine looks less often
def test_samples_come_soon_while_somebody_asks(sandbox, stack):
    """Two of them closer to each other than rounds are."""
    interval_s = int(stack.settings.get("metrics_interval_s", "30"))

    def closest():
        times = [seconds(one["at"]) for one in points(sandbox)]
        return min([after - before for before, after in zip(times, times[1:])], default=interval_s)

    wait_until(lambda: closest() < 0.75 * interval_s, 120, "two samples between two rounds", 1)


@pytest.mark.parallel
def test_refusals(sandbox, other_account):
    path = f"/v1/sandboxes/{sandbox.id}/metrics"
    api = sandbox.api
    assert_error(other_account.api.get(path), 404, "not_found")
    assert_error(api.get("/v1/sandboxes/sbx_nonesuch/metrics"), 404, "not_found")
    assert_error(api.get(path + "?from=yesterday"), 422, "invalid_request", "from")
    assert_error(api.get(path + "?to=2026"), 422, "invalid_request", "to")
    assert_error(api.get(path + "?from=2999-01-01T00:00:00Z"), 422, "invalid_request", "from")
    past = "?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z"
    assert_error(api.get(path + past), 422, "invalid_request", "from")
    assert_error(api.get(path + "?fro=2026-01-01T00:00:00Z"), 422, "invalid_request", "fro")
    assert metrics(api, sandbox.id, "?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z")["points"] == []
    sandbox.pause()
    assert api.get(path).status == 200
    api.destroy(sandbox.id)
    assert_error(api.get(path), 404, "not_found")


def test_the_last_samples_of_several_sandboxes(make_sandbox, stack, other_account):
    one, other, unsampled = make_sandbox(timeout=600), make_sandbox(timeout=600), make_sandbox(timeout=600)
    foreign = other_account.api.create(timeout=600)["id"]
    now = time.time()
    for sandbox_id in (one.id, other.id, foreign):
        stack.query("DELETE FROM sandbox_samples WHERE sandbox_id = %s", sandbox_id)
        add_samples(stack, sandbox_id, [now + 1, now + 2])
    stack.query("DELETE FROM sandbox_samples WHERE sandbox_id = %s", unsampled.id)
    add_samples(stack, unsampled.id, [now - 7200])
    api, path = one.api, "/v1/sandbox_metrics"
    items = api.get(f"{path}?ids={','.join([one.id, other.id, one.id, unsampled.id, foreign])}").json()["items"]
    found = {item["sandbox"]: item for item in items}
    assert len(items) == len(found), "one that is named twice has one sample"
    assert foreign not in found and {one.id, other.id} <= found.keys()
    assert {found[sandbox.id]["vcpus_used"] for sandbox in (one, other)} == {0.25}
    assert {found[sandbox.id]["memory_used_bytes"] for sandbox in (one, other)} == {1000}
    for ids in ("", "sbx_nonesuch", ",".join([one.id] * 101)):
        assert_error(api.get(f"{path}?ids={ids}"), 422, "invalid_request", "ids")
    one.pause()
    items = api.get(f"{path}?ids={one.id},{other.id}").json()["items"]
    assert [item["sandbox"] for item in items] == [other.id], "a paused one uses nothing"
