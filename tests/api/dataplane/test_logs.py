# SPDX-License-Identifier: GPL-2.0-or-later
"""What processes wrote, after they ended and after a broken connection."""

import base64
import urllib.parse

import pytest

from client import Api, assert_error
from dataplane import Stream, StreamError
from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.parallel


def started(stream):
    return next(stream)["event"]["start"]


def ask(api, sandbox_id, **query):
    return api.get(f"/v1/sandboxes/{sandbox_id}/logs?{urllib.parse.urlencode(query)}")


def logs(api, sandbox_id, **query):
    """All entries that the query matches, page by page."""
    found = []
    while True:
        after = {"after": found[-1]["position"]} if found else {}
        page = ask(api, sandbox_id, **{**query, **after})
        assert page.status == 200, page
        if not page.json()["logs"]:
            return found
        found += page.json()["logs"]


def is_stopped(sandbox):
    try:
        return ask(sandbox.api, sandbox.id).status >= 500
    except OSError:
        return True


def text(entries, stream):
    return "".join(entry["data"] for entry in entries if entry["stream"] == stream)


def test_logs_are_there_after_the_end(sandbox):
    first = sandbox.data.bash("echo one; echo two >&2")
    second = sandbox.data.bash("printf '\\377'; exit 3")
    sandbox.data.request("POST", "/exec", b'{"cmd": "echo three"}', {"Content-Type": "application/json"})
    entries = logs(sandbox.api, sandbox.id)
    assert text([one for one in entries if one["pid"] == first.pid], "stdout") == "one\n"
    assert text([one for one in entries if one["pid"] == first.pid], "stderr") == "two\n"
    assert [(one["data"], one["encoding"]) for one in entries if one["pid"] == second.pid] == [("/w==", "base64")]
    assert text(entries, "stdout").endswith("three\n")
    assert [one["position"] for one in entries] == sorted({one["position"] for one in entries})
    newest = logs(sandbox.api, sandbox.id, order="desc", limit=1)
    assert newest == entries[::-1]
    assert logs(sandbox.api, sandbox.id, pid=second.pid) == [one for one in entries if one["pid"] == second.pid]
    assert logs(sandbox.api, sandbox.id, **{"from": entries[0]["at"], "to": entries[-1]["at"]}) == entries
    assert logs(sandbox.api, sandbox.id, to="2001-01-01T00:00:00Z") == []


def test_a_pause_keeps_them_and_a_reader_reads_them(account, sandbox):
    sandbox.data.bash("echo kept")
    sandbox.api.pause(sandbox.id)
    sandbox.api.resume(sandbox.id)
    assert sandbox.stack.row(sandbox.id)["resumed_from"] == "memory"
    reader = Api(sandbox.stack, account.key("read"))
    assert text(logs(reader, sandbox.id), "stdout") == "kept\n"


def kept_rows(stack, sandbox_id):
    return stack.query("SELECT sandbox_id, size, sealed FROM kept_logs WHERE sandbox_id = %s", sandbox_id)


def test_of_one_that_is_paused(account, other_account, sandbox):
    first = sandbox.data.bash("echo one; echo two >&2")
    sandbox.data.bash("printf '\\377'; exit 3")
    running = logs(sandbox.api, sandbox.id)
    sandbox.api.pause(sandbox.id)
    reader = Api(sandbox.stack, account.key("read"))
    assert logs(reader, sandbox.id) == running
    assert logs(reader, sandbox.id, limit=1) == running, "page by page"
    assert logs(reader, sandbox.id, order="desc", limit=1) == running[::-1]
    assert logs(reader, sandbox.id, pid=first.pid) == [one for one in running if one["pid"] == first.pid]
    assert logs(reader, sandbox.id, **{"from": running[0]["at"], "to": running[-1]["at"]}) == running
    assert logs(reader, sandbox.id, to="2001-01-01T00:00:00Z") == []
    assert_error(ask(other_account.api, sandbox.id), 404, "not_found")
    row = kept_rows(sandbox.stack, sandbox.id)[0]
    assert b"one" not in row["sealed"] and len(row["sealed"]) == row["size"]
    # What is kept ends where the sandbox goes on, which has it in its memory.
    sandbox.api.resume(sandbox.id)
    assert logs(reader, sandbox.id) == running
    assert kept_rows(sandbox.stack, sandbox.id) == ()
    sandbox.data.bash("echo three")
    sandbox.api.pause(sandbox.id)
    assert text(logs(reader, sandbox.id), "stdout").endswith("three\n")
    sandbox.api.destroy(sandbox.id)
    assert_error(ask(sandbox.api, sandbox.id), 404, "not_found")
    sandbox.wait_until_removed()
    assert kept_rows(sandbox.stack, sandbox.id) == ()


def test_the_newest_is_kept_of_much(sandbox):
    sandbox.data.bash("seq 1 100000; echo end")
    running = logs(sandbox.api, sandbox.id)
    sandbox.api.post(f"{sandbox.path}/pause", {"memory": False})
    kept = logs(sandbox.api, sandbox.id)
    assert 64 * 1024 < len(text(kept, "stdout")) <= 256 * 1024 < len(text(running, "stdout"))
    assert kept == running[-len(kept):] and text(kept, "stdout").endswith("100000\nend\n")
    # Its memory is gone, and with it the rest.
    sandbox.api.resume(sandbox.id)
    assert logs(sandbox.api, sandbox.id) == []


def test_one_that_wrote_nothing_has_an_empty_log(sandbox):
    sandbox.api.pause(sandbox.id)
    assert logs(sandbox.api, sandbox.id) == []


def test_an_agent_that_stands_still_keeps_no_pause_from_being_made(sandbox):
    sandbox.data.bash("echo lost")
    agent = sandbox.data.check("sudo pgrep -o sandlot-agent").strip()
    sandbox.data.background("/usr/bin/sudo", "/bin/kill", "-STOP", agent)
    wait_until(lambda: is_stopped(sandbox), 20, "the agent stands still")
    assert sandbox.api.post(f"{sandbox.path}/pause", {"memory": False}).json()["state"] == "stopped"
    refused = assert_error(ask(sandbox.api, sandbox.id), 409, "sandbox_not_running")
    assert "its logs were not saved" in refused["message"]


@pytest.mark.parametrize("query, field", [
    ({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"after": "x"}, "after"), ({"order": "up"}, "order"),
    ({"pid": -1}, "pid"), ({"from": "now"}, "from"), ({"from": "1970-01-01T00:00:00+01:00"}, "from"),
    ({"to": "1970-01-01T00:00:00.5+01:00"}, "to")])
def test_a_bad_query_is_named(shared_sandbox, query, field):
    refused = ask(shared_sandbox.api, shared_sandbox.id, **query)
    assert_error(refused, 422, "invalid_request")
    assert refused.json()["field"] == field


def test_they_are_bounded_by_the_plan(account, own_plan):
    own_plan(account, process_log_kib=64)
    sandbox = Sandbox.create(account.api)
    sandbox.data.bash("seq 1 100000; echo end")
    entries = logs(sandbox.api, sandbox.id)
    assert text(entries, "stdout").endswith("100000\nend\n")
    assert 16 * 1024 < len(text(entries, "stdout")) < 64 * 1024
    assert entries[0]["offset"] > 0


# --- output that goes on where a connection broke ---


def follow(data, pid, **resume):
    return Stream(*data.open_stream("process.Process/Connect", {"process": {"pid": pid}, "resumeFrom": resume}))


def read_until(stream, wanted):
    """Its pieces until that text has come, and where each began."""
    said, offsets = b"", []
    while wanted not in said:
        event = next(stream)["event"]
        if "data" not in event:
            continue
        said += base64.b64decode(event["data"]["stdout"])
        offsets.append(int(event["data"]["offset"]))
    return said, offsets


def test_a_client_goes_on_where_it_was_cut_off(shared_sandbox):
    data = shared_sandbox.data
    with data.start("/bin/sh", "-c", "echo first; read line; echo second; read line; echo third",
                    stdin=True) as stream:
        start = started(stream)
        assert start["offsets"] == {"stdout": "0", "stderr": "0"}
        assert read_until(stream, b"first\n") == (b"first\n", [0])
    for _ in range(2):
        data.type(start["pid"], b"\n")
    with follow(data, start["pid"], stdout=6) as stream:
        assert started(stream)["offsets"] == {"stdout": "6", "stderr": "0"}
        said, offsets = read_until(stream, b"third\n")
        assert (said, offsets[0]) == (b"second\nthird\n", 6)
        assert next(stream)["event"]["end"]["exitCode"] == 0
    with follow(data, start["pid"]) as stream:  # it has ended, and all of it is asked for
        started(stream)
        assert read_until(stream, b"third\n")[0] == b"first\nsecond\nthird\n"
        assert next(stream)["event"]["end"]["exitCode"] == 0


def test_much_that_was_missed_comes_whole_and_once(shared_sandbox):
    data = shared_sandbox.data
    whole = b"".join(b"%d\n" % number for number in range(1, 60001))
    with data.start("/bin/sh", "-c", "seq 1 60000; exec sleep 600") as stream:
        pid = started(stream)["pid"]
        assert read_until(stream, b"60000\n")[0] == whole
    with follow(data, pid, stdout="3") as stream:
        started(stream)
        assert read_until(stream, b"60000\n")[0] == whole[3:]
    data.signal(pid, "SIGKILL")


def test_what_is_gone_is_said(shared_sandbox):
    data = shared_sandbox.data
    with data.start("/bin/sh", "-c", "head -c 3000000 /dev/zero; echo; echo all; exec sleep 600") as stream:
        pid = started(stream)["pid"]
        read_until(stream, b"all\n")
    with pytest.raises(StreamError) as gone, follow(data, pid) as stream:
        next(stream)
    assert gone.value.code == "out_of_range"
    with pytest.raises(StreamError) as ahead, follow(data, pid, stdout=10**12) as stream:
        next(stream)
    assert ahead.value.code == "invalid_argument"
    data.signal(pid, "SIGKILL")


# --- what a sandbox says of itself ---


def test_a_sandbox_knows_its_name(sandbox):
    name = sandbox.document["data_plane_url"].removeprefix("https://").split(".")[0]
    said = sandbox.data.bash("echo $E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID $SANDLOT_SANDBOX_ID; "
                             "cd /run/e2b; cat .E2B_SANDBOX .E2B_SANDBOX_ID .E2B_TEMPLATE_ID; ")
    template = sandbox.document["template"]
    assert said.stdout.decode().split() == [
        "true", name, template, sandbox.id, f"true{name}{template}"], said


@pytest.mark.long
def test_a_fork_begins_with_empty_logs(make_sandbox):
    sandbox = make_sandbox()
    sandbox.data.bash("echo of the original")
    forked = sandbox.api.post(f"{sandbox.path}/fork", {"count": 1})
    assert forked.status < 300, forked
    document = forked.json()["forks"][0]["sandbox"]
    session = sandbox.api.post(f"/v1/sandboxes/{document['id']}/sessions", {}).json()["session"]
    child = Sandbox(sandbox.api, {**document, "session": session})
    wait_until(lambda: child.show()["state"] == "ready", 120, "the fork")
    try:
        child.data.bash("echo of the child")
        assert text(logs(child.api, child.id), "stdout") == "of the child\n"
        assert "of the original\n" in text(logs(sandbox.api, sandbox.id), "stdout")
    finally:
        child.api.delete(child.path)
