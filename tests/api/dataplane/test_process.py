# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes over the data plane: process.Process/Start, List, SendSignal."""

import http.client
import threading
import time

import pytest

from dataplane import StreamError

pytestmark = pytest.mark.parallel


def test_output_of_both_kinds_and_success(data):
    result = data.bash("echo out; echo err >&2")
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert result.exit_code == 0
    assert result.pid > 0


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


def test_the_working_directory(data):
    assert data.check("pwd") == "/home/user\n"
    assert data.check("pwd", cwd="/usr/lib") == "/usr/lib\n"
    assert data.check("pwd", user="root") == "/root\n"
    with pytest.raises(StreamError) as refused:
        data.bash("pwd", cwd="/no/such/directory")
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


def test_long_and_binary_output_is_whole(data):
    result = data.run("/bin/sh", "-c", "head -c 8388608 /dev/zero | tr '\\0' '\\377'")
    assert result.stdout == b"\xff" * 8388608


def test_arguments_are_passed_as_they_are(data):
    words = ["a b", "", "$HOME", "ä€", "-n"]
    result = data.run("/usr/bin/printf", "%s|", *words)
    assert result.stdout.decode() == "".join(word + "|" for word in words)


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
