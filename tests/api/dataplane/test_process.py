# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes over the data plane: process.Process/Start, List, SendSignal."""

import http.client
import time

import pytest

from dataplane import StreamError

pytestmark = pytest.mark.parallel


def test_output_arrives_while_the_process_runs(data):
    result = data.bash("for i in 1 2 3; do echo $i; sleep 0.5; done")
    assert result.stdout == b"1\n2\n3\n"
    times = [seconds for seconds, _ in result.arrivals]
    assert len(times) == 3, result.arrivals
    assert times[1] - times[0] > 0.4 and times[2] - times[1] > 0.4, result.arrivals


def test_environment(data):
    text = data.run("/usr/bin/env", envs={"MINE": "a=b c", "EMPTY": ""}).stdout.decode()
    variables = dict(line.split("=", 1) for line in text.splitlines())
    assert variables["MINE"] == "a=b c"
    assert variables["EMPTY"] == ""
    assert variables["HOME"] == "/home/user"
    assert variables["USER"] == variables["LOGNAME"] == "user"
    assert variables["LANG"] == "C.UTF-8"
    assert "/usr/bin" in variables["PATH"].split(":")
    assert not [name for name in variables if "SECRET" in name or "TOKEN" in name]


def test_a_lifetime_of_its_own(data):
    started = time.monotonic()
    with pytest.raises(StreamError) as ended:
        data.run("/bin/sleep", "1000", headers={"Connect-Timeout-Ms": "700"})
    assert ended.value.code == "deadline_exceeded"
    assert 0.6 < time.monotonic() - started < 60


def test_shared_memory(shared_sandbox, data):
    """What semaphores and shared memory of programs live in; it cannot take all of the memory."""
    out = data.check("python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'")
    assert out == "[1, 2]\n"
    size = int(data.check("df -B1 --output=size /dev/shm | tail -n 1"))
    assert 0 < size <= shared_sandbox.document["memory_mb"] << 19


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
