# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes over the data plane: process.Process/Start, List, SendSignal."""

import base64
import http.client
import json
import threading
import time

import pytest

from dataplane import StreamError, collect
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def data(shared_sandbox):
    return shared_sandbox.data


def test_output_of_both_kinds_and_success(data):
    result = data.bash("echo out; echo err >&2")
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert result.exit_code == 0
    assert result.pid > 0


@pytest.mark.parametrize("code", [1, 3, 127, 255])
def test_exit_codes(data, code):
    result = data.bash(f"exit {code}")
    assert result.exit_code == code
    assert result.status == f"exit status {code}"
    assert result.error == f"exit status {code}"


def test_output_arrives_while_the_process_runs(data):
    result = data.bash("for i in 1 2 3; do echo $i; sleep 0.5; done")
    assert result.stdout == b"1\n2\n3\n"
    times = [seconds for seconds, _ in result.arrivals]
    assert len(times) == 3, result.arrivals
    assert times[1] - times[0] > 0.4 and times[2] - times[1] > 0.4, result.arrivals


def test_the_start_event_comes_before_any_output(data):
    started = time.monotonic()
    with data.start("/bin/sleep", "20") as stream:
        assert next(stream)["event"]["start"]["pid"] > 0
        assert time.monotonic() - started < 15


@pytest.mark.parametrize("name, word", [("SIGKILL", "killed"), ("SIGTERM", "terminated")])
def test_signals(data, name, word):
    with data.start("/bin/sleep", "1000") as stream:
        pid = next(stream)["event"]["start"]["pid"]
        response = data.signal(pid, name)
        assert response.status == 200, response
        assert response.json() == {}
        result = collect(stream)
    assert result.exit_code == -1
    assert result.status == f"signal: {word}"
    assert data.bash(f"kill -0 {pid}").exit_code == 1


def test_signal_to_a_process_that_is_not_there(data):
    response = data.signal(4194000, "SIGTERM")
    assert response.status == 404, response
    assert response.json()["code"] == "not_found"


def test_a_killed_process_ends_the_stream_though_a_child_holds_its_output(data):
    with data.start("/bin/bash", "-c", "sleep 1000 & echo ready; wait") as stream:
        pid = next(stream)["event"]["start"]["pid"]
        assert "data" in next(stream)["event"]
        started = time.monotonic()
        data.signal(pid, "SIGKILL")
        assert collect(stream).status == "signal: killed"
        assert time.monotonic() - started < 60


def test_the_working_directory(data):
    assert data.check("pwd") == "/home/user\n"
    assert data.check("pwd", cwd="/usr/lib") == "/usr/lib\n"
    assert data.check("pwd", user="root") == "/root\n"
    with pytest.raises(StreamError) as refused:
        data.bash("pwd", cwd="/no/such/directory")
    assert refused.value.code == "invalid_argument"


def test_a_program_that_is_not_there(data):
    with pytest.raises(StreamError) as refused:
        data.run("/no/such/program")
    assert refused.value.code == "invalid_argument"


def test_environment(data):
    text = data.run("/usr/bin/env", envs={"MINE": "a=b c", "EMPTY": ""}).stdout.decode()
    variables = dict(line.split("=", 1) for line in text.splitlines())
    assert variables["MINE"] == "a=b c"
    assert variables["EMPTY"] == ""
    assert variables["HOME"] == "/home/user"
    assert variables["USER"] == variables["LOGNAME"] == "user"
    assert "/usr/bin" in variables["PATH"].split(":")
    assert not [name for name in variables if "SECRET" in name or "TOKEN" in name]


def test_users(data):
    assert data.check("id -un; id -gn").split() == ["user", "user"]
    assert data.check("id -u", user="root") == "0\n"
    assert data.check("sudo -n id -u") == "0\n"
    connection, response = data.open_stream(
        "process.Process/Start", {"process": {"cmd": "/bin/true"}}, user="nobody-by-that-name"
    )
    body = response.read()
    connection.close()
    assert response.status == 401 or b"unauthenticated" in body, (response.status, body)


def test_without_standard_input_a_reader_ends_at_once(data):
    result = data.run("/bin/cat", stdin=False, timeout_s=10)
    assert (result.exit_code, result.stdout) == (0, b"")


def test_long_and_binary_output_is_whole(data):
    result = data.run("/bin/sh", "-c", "head -c 8388608 /dev/zero | tr '\\0' '\\377'")
    assert result.stdout == b"\xff" * 8388608


def test_arguments_are_passed_as_they_are(data):
    words = ["a b", "", "$HOME", "ä€", "-n"]
    result = data.run("/usr/bin/printf", "%s|", *words)
    assert result.stdout.decode() == "".join(word + "|" for word in words)


def test_list_shows_live_processes_only(data):
    pid = data.background("/bin/sleep", "1000", envs={"A": "b"}, cwd="/tmp")
    listed = data.call("process.Process/List", {}).json()["processes"]
    mine = [process for process in listed if process["pid"] == pid]
    assert mine[0]["config"]["cmd"] == "/bin/sleep"
    assert mine[0]["config"]["args"] == ["1000"]
    assert mine[0]["config"]["cwd"] == "/tmp"
    data.signal(pid, "SIGKILL")

    def gone():
        answer = data.call("process.Process/List", {}).json().get("processes", [])
        return pid not in [process["pid"] for process in answer]

    wait_until(gone, 5, "the end of the process in the list")


def test_a_dropped_connection_does_not_end_the_process(data):
    pid = data.background("/bin/bash", "-c", "sleep 0.5; echo done >/tmp/dropped")
    wait_until(lambda: data.download("/tmp/dropped").status == 200, 5, "what it wrote")
    assert data.read("/tmp/dropped") == b"done\n"
    assert pid


def test_a_lifetime_of_its_own(data):
    started = time.monotonic()
    with pytest.raises(StreamError) as ended:
        data.run("/bin/sleep", "1000", headers={"Connect-Timeout-Ms": "700"})
    assert ended.value.code == "deadline_exceeded"
    assert 0.6 < time.monotonic() - started < 60


def test_an_idle_stream_is_kept_alive(data):
    with data.start("/bin/sleep", "3", headers={"Keepalive-Ping-Interval": "1"}) as stream:
        assert "start" in next(stream)["event"]
        assert "keepalive" in next(stream)["event"]


def test_shared_memory(shared_sandbox, data):
    """What semaphores and shared memory of programs live in; it cannot take all of the memory."""
    out = data.check("python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'")
    assert out == "[1, 2]\n"
    size = int(data.check("df -B1 --output=size /dev/shm | tail -n 1"))
    assert 0 < size <= shared_sandbox.document["memory_mb"] << 19


def test_many_processes_at_once(data):
    results = {}

    def run(number):
        results[number] = data.bash(f"sleep 0.2; echo {number}").stdout

    threads = [threading.Thread(target=run, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n".encode() for number in range(24)}


def test_an_unknown_method(data):
    response = data.call("process.Process/NoSuchMethod", {})
    assert response.status in (404, 501), response
    assert response.json()["code"] == "unimplemented"


def test_a_body_that_is_no_message(data):
    response = data.request(
        "POST", "/process.Process/List", b"not json", {"Content-Type": "application/json"}
    )
    assert response.status == 400, response
    assert response.json()["code"] == "invalid_argument"


def test_a_stream_is_cut_and_not_ended_when_the_sandbox_dies(sandbox):
    with sandbox.data.start("/bin/sleep", "1000") as stream:
        assert "start" in next(stream)["event"]
        sandbox.api.destroy(sandbox.id)
        # A clean end without the end envelope would be an EOFError.
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            for _ in stream:
                pass


def test_envelopes_of_a_whole_answer(data):
    """The bytes themselves: start, data, end, end of stream."""
    connection, response = data.open_stream(
        "process.Process/Start", {"process": {"cmd": "/bin/echo", "args": ["x"]}, "stdin": False}
    )
    raw = response.read()
    connection.close()
    messages = []
    while raw:
        flags, size = raw[0], int.from_bytes(raw[1:5], "big")
        messages.append((flags, json.loads(raw[5 : 5 + size])))
        raw = raw[5 + size :]
    assert [flags for flags, _ in messages] == [0, 0, 0, 2]
    assert messages[1][1]["event"]["data"]["stdout"] == base64.b64encode(b"x\n").decode()
    assert messages[3][1] == {}
