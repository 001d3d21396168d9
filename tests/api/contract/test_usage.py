# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bill is made of: no gap, nothing twice, whatever crashes."""

import datetime
import time

import pytest

from client import Api, assert_error
from tenant import Sandbox
from faults import InBackground, fault_points, settle, settled_row  # noqa: F401
from killing import stopped
from stack import wait_until

pytestmark = pytest.mark.parallel


def intervals(stack, sandbox_id):
    return stack.query(
        "SELECT * FROM usage_intervals WHERE sandbox_id = %s ORDER BY incarnation", sandbox_id
    )


def assert_seamless(stack, sandbox_id, *kinds):
    """These kinds in this order, each where the one before it ended; the last is open, or closed by
    the delete."""
    rows = intervals(stack, sandbox_id)
    assert [row["kind"] for row in rows] == list(kinds), rows
    for one, other in zip(rows, rows[1:]):
        assert one["ended_at_ms"] == other["started_at_ms"], rows
    for row in rows:
        assert row["ended_at_ms"] is None or row["ended_at_ms"] >= row["started_at_ms"], rows
    gone = stack.row(sandbox_id)["state"] in ("destroying", "destroyed")
    assert (rows[-1]["ended_at_ms"] is not None) == gone, rows
    return rows


def usage(api, query=""):
    response = api.get("/v1/usage" + query)
    assert response.status == 200, response
    return response.json()


def test_runtime_and_storage_follow_the_sandbox(make_account, stack):
    account = make_account("pro")
    sandbox = Sandbox.create(account.api, cpu=2, memory_mb=1024)
    time.sleep(1)
    sandbox.pause()
    time.sleep(1)
    before = usage(account.api)
    sandbox.resume()
    sandbox.api.destroy(sandbox.id)
    rows = assert_seamless(stack, sandbox.id, "runtime", "storage", "runtime")
    answer = usage(account.api)
    assert answer["team"] == account.team
    spent = [(row["ended_at_ms"] - row["started_at_ms"]) / 1000 for row in rows]
    (size,) = answer["runtime"]["sizes"]
    assert (size["cpu"], size["memory_mb"], size["sandboxes"]) == (2, 1024, 1)
    assert size["seconds"] == pytest.approx(spent[0] + spent[2])
    assert answer["runtime"]["seconds"] == pytest.approx(size["seconds"])
    assert answer["runtime"]["vcpu_seconds"] == pytest.approx(2 * size["seconds"])
    assert answer["runtime"]["memory_gb_seconds"] == pytest.approx(size["seconds"])
    (disk,) = answer["storage"]["sizes"]
    assert (disk["disk_gb"], disk["sandboxes"]) == (20, 1)
    assert disk["seconds"] == pytest.approx(spent[1])
    assert answer["storage"]["gb_seconds"] == pytest.approx(20 * spent[1])
    assert before["storage"]["gb_seconds"] > 0, "an open interval counts to now"
    # It is over: time passes and nothing is added.
    time.sleep(0.3)
    assert usage(account.api)["runtime"] == answer["runtime"]


def test_a_clock_that_was_set_back_counts_nothing_twice(sandbox, stack):
    """As if the clock had been an hour ahead until the sandbox was paused."""
    sandbox.pause()
    hour = 3600 * 1000
    stack.query("UPDATE usage_intervals SET ended_at_ms = ended_at_ms + %s"
                " WHERE sandbox_id = %s AND kind = 'runtime'", hour, sandbox.id)
    stack.query("UPDATE usage_intervals SET started_at_ms = started_at_ms + %s"
                " WHERE sandbox_id = %s AND kind = 'storage'", hour, sandbox.id)
    sandbox.resume()
    assert_seamless(stack, sandbox.id, "runtime", "storage", "runtime")


def test_volumes_count_from_their_making_to_their_deletion(make_account, own_plan, stack):
    account = make_account("enterprise")
    own_plan(account, volume_gb=3)
    volume = account.api.create_volume(name="metered")
    time.sleep(1)
    before = usage(account.api)["storage"]
    assert before["volumes"]["gb_seconds"] > 0, "an open interval counts to now"
    assert account.api.delete(f"/v1/volumes/{volume['id']}").status == 204
    (row,) = intervals(stack, volume["id"])
    assert (row["kind"], row["disk_gb"], row["team_id"]) == ("volume", 3, volume_team(stack, volume["id"]))
    span_s = (row["ended_at_ms"] - row["started_at_ms"]) / 1000
    assert span_s >= 1
    time.sleep(0.3)
    answer = usage(account.api)["storage"]
    assert answer["volumes"]["volumes"] == 1
    assert answer["volumes"]["seconds"] == pytest.approx(span_s)
    assert answer["volumes"]["gb_seconds"] == pytest.approx(3 * span_s)
    assert answer["gb_seconds"] == pytest.approx(3 * span_s), "nothing else was stored"
    assert answer["sizes"] == [] and answer["checkpoints"]["checkpoints"] == 0


def volume_team(stack, volume_id):
    return stack.query("SELECT team_id FROM volumes WHERE id = %s", volume_id)[0]["team_id"]


@pytest.mark.parametrize("point", ["volume.made", "volume.deleting"])
def test_a_crash_while_a_volume_is_made_or_removed(account, stack, fault_points, point):
    """Never open beside a volume that is gone, nor missing beside one that is there."""
    name = "crash" + point.replace(".", "")
    fault_points.arm(point, "kill", "sandlot-api")
    answer = account.api.post("/v1/volumes", {"name": name})
    if answer.status == 201:
        assert account.api.delete(f"/v1/volumes/{answer.json()['id']}").status >= 500
    settle(stack)
    for row in stack.query("SELECT id, state FROM volumes WHERE name = %s", name):
        open_ones = [one for one in intervals(stack, row["id"]) if one["ended_at_ms"] is None]
        assert len(open_ones) == (row["state"] == "ready"), row


def test_a_volume_whose_commit_got_no_answer_is_ready(account, stack, fault_points):
    fault_points.arm("volume.made", "wait", "sandlot-api")
    making = InBackground(account.api.post, "/v1/volumes", {"name": "unanswered"})
    fault_points.reached("volume.made")
    (row,) = stack.query("SELECT id FROM volumes WHERE name = 'unanswered' AND state = 'creating'")
    stack.query("INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb, size_mb,"
                " started_at_ms) SELECT id, 0, team_id, 'volume', 0, 0, size_gb, 0, created_at_ms FROM volumes WHERE id = %s", row["id"])
    stack.query("UPDATE volumes SET state = 'ready', visible = 1, lease_until_ms = 0 WHERE id = %s", row["id"])
    fault_points.release("volume.made")
    answer = making.result()
    assert answer.status == 201 and answer.json()["id"] == row["id"], answer
    assert account.api.delete(f"/v1/volumes/{row['id']}").status == 204
    (interval,) = intervals(stack, row["id"])
    assert interval["ended_at_ms"]


def test_the_span_is_cut_out_exactly(api, sandbox, stack):
    time.sleep(1)
    sandbox.api.destroy(sandbox.id)
    (row,) = intervals(stack, sandbox.id)

    def at(ms):
        stamp = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
        return stamp.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"

    middle = (row["started_at_ms"] + row["ended_at_ms"]) // 2
    first = usage(api, f"?from={at(row['started_at_ms'] - 5000)}&to={at(middle)}")["runtime"]["seconds"]
    second = usage(api, f"?from={at(middle)}&to={at(row['ended_at_ms'] + 5000)}")["runtime"]["seconds"]
    assert first + second == pytest.approx((row["ended_at_ms"] - row["started_at_ms"]) / 1000)
    assert first == pytest.approx((middle - row["started_at_ms"]) / 1000)
    assert usage(api, f"?from={at(row['ended_at_ms'])}")["runtime"] == {
        "seconds": 0, "vcpu_seconds": 0, "memory_gb_seconds": 0, "sizes": [],
    }


def summed(parts, *path):
    """A number of each part, together."""
    total = 0
    for part in parts:
        for name in path:
            part = part[name]
        total += part
    return total


def test_parts_are_the_whole(stack, account):
    """By day and by sandbox, with what began days ago, what is kept and what goes on."""
    day = 86400
    sandboxes = [Sandbox.create(account.api) for _ in range(2)]
    sandboxes[1].pause()
    volume = account.api.create_volume(name="kept")
    ids = [sandboxes[0].id, sandboxes[1].id, volume["id"]]
    for id in ids:  # as if it all had begun two days and a bit before
        stack.query("UPDATE usage_intervals SET started_at_ms = started_at_ms - %s WHERE sandbox_id = %s"
                    " ORDER BY started_at_ms LIMIT 1", 2 * day * 1000 + 3600000, id)
    now = datetime.datetime.now(datetime.timezone.utc)
    span = f"?from={(now - datetime.timedelta(days=4)).isoformat()[:19]}Z&to={now.isoformat()[:19]}Z"
    whole = usage(account.api, span)
    assert "parts" not in whole
    days = usage(account.api, span + "&by=day")["parts"]
    sources = usage(account.api, span + "&by=sandbox")["parts"]
    for parts in (days, sources):
        for path in (("runtime", "seconds"), ("runtime", "vcpu_seconds"), ("runtime", "memory_gb_seconds"),
                     ("storage", "gb_seconds")):
            expected = whole[path[0]][path[1]]
            assert summed(parts, *path) == pytest.approx(expected, rel=1e-6), path
    assert [part["day"] for part in days] == sorted({part["day"] for part in days})
    assert days[-1]["day"] == now.date().isoformat() and len(days) in (3, 4)
    full = [part for part in days if part["day"] == (now.date() - datetime.timedelta(days=1)).isoformat()]
    assert full[0]["runtime"]["seconds"] == pytest.approx(2 * day, abs=10)
    assert {part["id"] for part in sources} == set(ids)
    by_id = {part["id"]: part for part in sources}
    assert by_id[volume["id"]]["runtime"]["seconds"] == 0 and by_id[volume["id"]]["storage"]["gb_seconds"] > 0


def test_parts_are_asked_for_as_it_says(account, other_account):
    assert usage(account.api, "?by=day")["parts"] == usage(account.api, "?by=sandbox")["parts"] == []
    assert_error(account.api.get("/v1/usage?by=hour"), 422, "invalid_request", "by")
    assert_error(account.api.get("/v1/usage?by=day&from=2020-01-01T00:00:00Z"), 422, "invalid_request", "from")
    assert_error(other_account.api.get(f"/v1/usage?by=sandbox&team={account.team}"), 403, "team_forbidden")


def test_who_may_ask_and_how(account, other_account, stack):
    Sandbox.create(account.api)
    reader = Api(stack, account.key("read"))
    assert usage(reader)["runtime"]["sizes"]
    assert usage(other_account.api)["runtime"]["sizes"] == []
    assert_error(other_account.api.get(f"/v1/usage?team={account.team}"), 403, "team_forbidden")
    assert_error(account.api.get("/v1/usage?from=yesterday"), 422, "invalid_request", "from")
    assert_error(account.api.get("/v1/usage?to=2026"), 422, "invalid_request", "to")
    assert_error(account.api.get("/v1/usage?from=2999-01-01T00:00:00Z"), 422, "invalid_request", "from")
    assert_error(account.api.get("/v1/usage?fro=2026-01-01T00:00:00Z"), 422, "invalid_request", "fro")


def test_a_failed_or_undone_create_costs_nothing(account, stack, fault_points):
    fault_points.arm("create.agent", "kill", "sandlot-api")
    assert account.api.post("/v1/sandboxes", {}).status >= 500
    settle(stack)
    assert usage(account.api)["runtime"]["sizes"] == []


@pytest.mark.parametrize("point", ["pause.begun", "pause.stopped", "finishing", "pause.finished"])
def test_a_crash_in_a_pause(sandbox, stack, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/pause").status >= 500
    assert settled_row(stack, sandbox.id)["state"] == "stopped"
    assert_seamless(stack, sandbox.id, "runtime", "storage")


@pytest.mark.parametrize("point", ["resume.begun", "resume.agent", "finishing", "resume.finished"])
def test_a_crash_in_a_resume(sandbox, stack, fault_points, point):
    sandbox.pause()
    fault_points.arm(point, "kill", "sandlot-api")
    assert sandbox.api.post(f"{sandbox.path}/resume").status >= 500
    assert settled_row(stack, sandbox.id)["state"] == "ready"
    assert_seamless(stack, sandbox.id, "runtime", "storage", "runtime")


@pytest.mark.parametrize("point", ["delete.begun", "delete.removed", "finishing"])
def test_a_crash_in_a_delete(sandbox, stack, fault_points, point):
    fault_points.arm(point, "kill", "sandlot-dispatcher")
    assert sandbox.api.delete(sandbox.path).status == 204
    wait_until(lambda: not (fault_points.directory / point).exists(), 60, "a dispatcher having died over it")
    ended = assert_seamless(stack, sandbox.id, "runtime")[0]["ended_at_ms"]
    assert settled_row(stack, sandbox.id)["state"] == "destroyed"
    assert assert_seamless(stack, sandbox.id, "runtime")[0]["ended_at_ms"] == ended


def test_a_delete_in_the_middle_of_a_pause(sandbox, stack, fault_points):
    fault_points.arm("pause.stopped", "wait", "sandlot-api")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached("pause.stopped")
    sandbox.api.destroy(sandbox.id)
    fault_points.release("pause.stopped")
    assert pausing.result().status == 404
    assert_seamless(stack, sandbox.id, "runtime")


def test_a_sandbox_that_dies(sandbox, stack):
    sandbox.data.background("/usr/bin/sudo", "/sbin/poweroff", "-f")
    while sandbox.show()["state"] != "stopped":
        time.sleep(0.1)
    assert_seamless(stack, sandbox.id, "runtime", "storage")


@pytest.mark.long
@pytest.mark.alone
def test_without_samples_the_runtime_ends_with_the_sandbox(sandbox, stack):
    """The lists of the host's instances say that it lived."""
    interval_s = int(stack.settings.get("metrics_interval_s", "30"))
    samples = "SELECT at_ms FROM sandbox_samples WHERE sandbox_id = %s ORDER BY at_ms DESC LIMIT 1"
    wait_until(lambda: stack.query(samples, sandbox.id), 3 * interval_s + 10, "a sample")
    rest_s = 4.5 * interval_s + 20
    stack.query("UPDATE leases SET holder = 'a test', until_ms = UNIX_TIMESTAMP() * 1000 + %s WHERE name = 'samples'",
                int(rest_s + 60) * 1000)
    try:
        time.sleep(rest_s)
        ended_ms = int(time.time() * 1000)
        sandbox.data.background("/usr/bin/sudo", "/sbin/poweroff", "-f")
        wait_until(lambda: sandbox.show()["state"] == "stopped", 60, "the end")
    finally:
        stack.query("UPDATE leases SET until_ms = 0 WHERE name = 'samples'")
    rows = assert_seamless(stack, sandbox.id, "runtime", "storage")
    assert rows[0]["ended_at_ms"] > ended_ms - 15_000, (ended_ms, rows)


@pytest.mark.alone
def test_the_time_in_which_nobody_noticed_the_end_is_not_runtime(sandbox, stack):
    """As with a host that was off: its sandboxes have ended, and that is noticed when it is back."""
    interval_s = int(stack.settings.get("metrics_interval_s", "30"))
    samples = "SELECT at_ms FROM sandbox_samples WHERE sandbox_id = %s ORDER BY at_ms DESC LIMIT 1"
    first = wait_until(lambda: stack.query(samples, sandbox.id), 3 * interval_s + 10, "a sample")
    wait_until(lambda: stack.query(samples, sandbox.id) != first, 3 * interval_s + 10, "another sample")
    time.sleep(1)  # until the sampling process rests again
    with stopped(stack.processes("sandlot-dispatcher")):
        (last,) = stack.query(samples, sandbox.id)
        stopped_ms = int(time.time() * 1000)
        sandbox.data.background("/usr/bin/sudo", "/sbin/poweroff", "-f")
        time.sleep(4.5 * interval_s)
    wait_until(lambda: sandbox.show()["state"] == "stopped", 60, "the end")
    rows = assert_seamless(stack, sandbox.id, "runtime", "storage")
    assert last["at_ms"] <= rows[0]["ended_at_ms"] <= stopped_ms, (last, rows)
