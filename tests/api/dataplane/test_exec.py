# SPDX-License-Identifier: GPL-2.0-or-later
"""POST /exec of the data plane: a command as one plain request."""

import base64
import json
import threading

import pytest

from stack import wait_until

pytestmark = pytest.mark.parallel

HOG = "b = bytearray(8 << 30)"


def post(data, body, **headers):
    return data.request("POST", "/exec", json.dumps(body).encode(),
                        {"Content-Type": "application/json", **headers})


def run(data, cmd, **fields):
    response = post(data, {"cmd": cmd, **fields})
    assert response.status == 200, response
    return response.json()


def events(data, cmd, **fields):
    """Those of the stream, (name, data); comments have the name None."""
    connection, response = data.origin.open(
        "POST", "/exec", json.dumps({"cmd": cmd, **fields}).encode(),
        {"Content-Type": "application/json", "Accept": "text/event-stream", **data.headers(),
         "Keepalive-Ping-Interval": "1"})
    assert response.status == 200
    assert response.headers.get_content_type() == "text/event-stream"
    try:
        for block in iter(lambda: read_block(response), ""):
            lines = dict(line.split(": ", 1) for line in block.splitlines())
            yield lines.get("event"), json.loads(lines["data"]) if "data" in lines else None
    finally:
        connection.close()


def read_block(response):
    block = ""
    while line := response.readline().decode():
        if line == "\n":
            break
        block += line
    return block


def test_a_shell_line(data):
    answer = run(data, "echo out; echo err >&2; exit 3")
    assert answer.pop("duration_ms") >= 0 and answer.pop("pid") > 1
    assert answer == {"exit_code": 3, "signal": None, "timed_out": False, "oom": False, "reason": None,
                      "message": None, "truncated": False,
                      "stdout": "out\n", "stdout_encoding": "utf-8",
                      "stderr": "err\n", "stderr_encoding": "utf-8"}


def test_with_args_it_is_a_program_and_no_shell_reads_them(data):
    assert run(data, "echo", args=["$HOME", "a; b"])["stdout"] == "$HOME a; b\n"
    assert run(data, "/bin/pwd", args=[])["stdout"] == "/home/user\n"


def test_environment_directory_and_user(data):
    answer = run(data, "echo $MINE; pwd; id -un", envs={"MINE": "a b"}, cwd="/usr/lib")
    assert answer["stdout"] == "a b\n/usr/lib\nuser\n"
    assert run(data, "id -un; pwd", user="root")["stdout"] == "root\n/root\n"


def test_without_a_home_it_runs_in_the_root_directory(data):
    assert run(data, "pwd", user="nobody")["stdout"] == "/\n"
    response = post(data, {"cmd": "pwd", "user": "nobody", "cwd": "~"})
    assert response.status == 400 and "/nonexistent" in response.json()["message"], response


def test_standard_input(data):
    assert run(data, "cat", stdin="grüße\n")["stdout"] == "grüße\n"
    sent = bytes(range(256)) * 1000
    answer = run(data, "cat", stdin=base64.b64encode(sent).decode(), stdin_encoding="base64")
    assert answer["stdout_encoding"] == "base64"
    assert base64.b64decode(answer["stdout"]) == sent
    assert run(data, "cat")["stdout"] == ""
    assert run(data, "true", stdin="x" * 1000000)["exit_code"] == 0


def test_output_is_text_where_it_can_be(data):
    answer = run(data, r"printf 'a\0b'; printf '\377' >&2")
    assert (answer["stdout"], answer["stdout_encoding"]) == ("a\0b", "utf-8")
    assert (answer["stderr"], answer["stderr_encoding"]) == ("/w==", "base64")


def test_long_output_is_cut_and_the_program_goes_on(data):
    """Cut between characters: what is text stays text. The program writes on to its end."""
    answer = run(data, "yes ä | head -c 8000000; echo end >&2")
    assert answer["truncated"] and answer["exit_code"] == 0
    assert answer["stderr"] == "end\n"
    assert answer["stdout_encoding"] == "utf-8"
    assert len(answer["stdout"].encode()) in (1024 * 1024, 1024 * 1024 - 1)


def test_the_time_limit_ends_the_process_group_and_is_told(data):
    answer = run(data, "sleep 4321 & echo begun; sleep 4321", timeout=0.5)
    assert answer["timed_out"] and answer["exit_code"] == 137 and answer["signal"] == "SIGKILL"
    assert answer["stdout"] == "begun\n"
    wait_until(lambda: run(data, "pgrep", args=["-f", "^sleep 4321"])["exit_code"] == 1,
               30, "the group has ended")


def test_a_server_in_its_own_session_outlives_the_time_limit_and_writes_on(data):
    server = "echo begun; until [ -e limit-go ]; do sleep 0.1; done; echo late && touch limit-done"
    answer = run(data, f"setsid sh -c '{server}' & sleep 300", timeout=1)
    assert answer["timed_out"] and answer["stdout"] == "begun\n", answer
    data.upload("/home/user/limit-go", b"")
    wait_until(lambda: run(data, "test -e limit-done")["exit_code"] == 0, 30, "the end of the server")
    run(data, "rm limit-done limit-go")


def test_the_duration_is_that_of_the_program(data):
    """Not with the wait for what a program in the background may write."""
    assert min(run(data, "sleep 5 & echo begun")["duration_ms"] for _ in range(5)) < 200


def test_a_signal_is_told(data):
    answer = run(data, "kill -TERM $$")
    assert (answer["exit_code"], answer["signal"], answer["timed_out"]) == (143, "SIGTERM", False)


def test_what_runs_in_the_background_is_not_waited_for(data):
    answer = run(data, "sleep 5432 & echo $!")
    assert answer["exit_code"] == 0
    pid = int(answer["stdout"])
    assert run(data, f"kill -0 {pid}")["exit_code"] == 0
    run(data, f"kill {pid}")


def test_a_client_that_hangs_up_ends_the_process_group(data):
    for accept in ("application/json", "text/event-stream"):
        with data.origin.tls_socket() as sock:
            body = json.dumps({"cmd": "touch began; sleep 6543 & sleep 6543"}).encode()
            sock.sendall(f"POST /exec HTTP/1.1\r\nHost: {data.origin.host}\r\nAccept: {accept}\r\n"
                         f"X-Access-Token: {data.token}\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            wait_until(lambda: run(data, "pgrep -cf '^sleep 6543'")["stdout"] == "2\n", 30, "it runs")
        wait_until(lambda: run(data, "pgrep -cf '^sleep 6543'")["stdout"] == "0\n", 30, "it is ended")


def test_the_answer_is_what_the_client_prefers(data):
    for accept, kind in ((None, "application/json"), ("*/*", "application/json"), ("text/event-streams", "application/json"),
                         ("text/event-stream;q=0, */*", "application/json"),
                         ("application/json, text/event-stream;q=0.9", "application/json"),
                         ("application/json, text/event-stream", "text/event-stream"),
                         ("application/json;q=0.5, Text/Event-Stream; q=0.6", "text/event-stream")):
        response = post(data, {"cmd": "true"}, **({"Accept": accept} if accept else {}))
        assert response.status == 200 and response.headers.get_content_type() == kind, (accept, response)


def test_a_body_in_another_charset_is_refused(data):
    for path, body in (("/exec", b'{"cmd": "true"}'), ("/process.Process/List", b"{}")):
        for charset, status in (("utf-8", 200), ('"UTF-8"', 200), ("latin1", 415), ("utf-16", 415)):
            answer = data.request("POST", path, body, {"Content-Type": f"application/json; charset={charset}"})
            assert answer.status == status, (path, charset, answer)


def test_as_a_stream(data):
    said = list(events(data, r"echo one; sleep 0.2; echo two >&2; sleep 0.2; printf '\377'; exit 5"))
    name, end = said.pop()
    assert name == "exit"
    assert end.pop("duration_ms") >= 400
    assert said.pop(0) == ("start", {"pid": end.pop("pid")})
    assert end == {"exit_code": 5, "signal": None, "timed_out": False, "oom": False, "reason": None, "message": None}
    assert said == [("stdout", {"data": "one\n", "encoding": "utf-8"}),
                    ("stderr", {"data": "two\n", "encoding": "utf-8"}),
                    ("stdout", {"data": "/w==", "encoding": "base64"})]


def test_a_stream_is_whole_and_keeps_characters_whole(data):
    text = ""
    for name, event in events(data, "yes äöü | head -c 3500000"):
        if name == "stdout":
            assert event["encoding"] == "utf-8"
            text += event["data"]
    assert text == "äöü\n" * 500000


def test_a_silent_stream_is_kept_alive(data):
    said = events(data, "sleep 2.5; echo end")
    assert [next(said)[0] for _ in range(2)] == ["start", None]
    assert [name for name, _ in said if name] == ["stdout", "exit"]


def test_the_process_id_is_that_of_lists_and_signals(data):
    said = events(data, "echo $$; exec sleep 7654")
    name, started = next(said)
    assert name == "start" and next(said)[1]["data"] == f"{started['pid']}\n"
    assert started["pid"] in [one["pid"] for one in data.call("process.Process/List", {}).json()["processes"]]
    data.signal(started["pid"], "SIGTERM")
    assert list(said)[-1][1]["signal"] == "SIGTERM"
    answer = run(data, "echo $$")
    assert answer["stdout"] == f"{answer['pid']}\n"


def test_a_stream_tells_of_the_time_limit(data):
    name, end = list(events(data, "sleep 4321", timeout=0.3))[-1]
    assert name == "exit" and end["timed_out"] and end["signal"] == "SIGKILL"


def test_a_line_may_be_longer_than_an_argument(data):
    line = "echo " + "x" * 300_000 + " | wc -c; exit 7"
    answer = run(data, line)
    assert (answer["stdout"], answer["exit_code"]) == ("300001\n", 7)
    result = data.run("/bin/bash", "-l", "-c", line)
    assert (result.stdout, result.exit_code) == (b"300001\n", 7)


def test_what_is_too_long_for_the_kernel_is_refused_with_the_number_and_the_way_out(data):
    for fields in ({"cmd": "echo", "args": ["x" * 200_000]}, {"cmd": "true", "envs": {"LONG": "x" * 200_000}}):
        response = post(data, fields)
        message = response.json()["message"]
        assert response.status == 400 and "131071" in message and "file" in message, response


@pytest.mark.parametrize("command, fields", [
    (f"python3 -c '{HOG}'", {}), pytest.param("python3", {"args": ["-c", HOG]}, marks=pytest.mark.long)],
    ids=["in a shell", "by itself"])
def test_out_of_memory_is_told(make_sandbox, command, fields):
    sandbox = make_sandbox()
    assert run(sandbox.data, "false")["oom"] is False
    answer = run(sandbox.data, command, **fields)
    assert answer["exit_code"] == 137 and answer["oom"] is True and not answer["timed_out"], answer
    assert sandbox.show()["state"] == "ready"
    logs = sandbox.api.get(f"{sandbox.path}/logs").json()["logs"]
    assert [one for one in logs if one["command"] == "kernel" and "out of memory" in one["data"]]

    def told():
        found = sandbox.api.get(f"/v1/events?kind=sandbox.out_of_memory&sandbox_id={sandbox.id}").json()
        return [event["data"]["count"] >= 1 for event in found["events"]]

    wait_until(lambda: told() == [True], 90, "the event, with the next sample")


@pytest.mark.parametrize("body, field", [
    ({}, "cmd"), ({"cmd": 5}, "cmd"), ({"cmd": "a", "args": "b"}, "args"),
    ({"cmd": "a", "envs": {"A": 1}}, "'A'"), ({"cmd": "a", "timeout": -1}, "timeout"),
    ({"cmd": "a", "cwd": "/no/such"}, "cwd"), ({"cmd": "a", "user": "no-such"}, "user"),
    ({"cmd": "/no/such", "args": []}, "/no/such"), ({"cmd": "a", "shell": True}, "shell"),
], ids=str)
def test_bad_fields_are_named(data, body, field):
    response = post(data, body)
    assert response.status == 400, response
    assert response.json()["code"] == 400 and field in response.json()["message"], response
    assert response.json()["field"].startswith("/"), response


def test_an_unknown_user_has_a_code_of_its_own(data):
    assert post(data, {"cmd": "a", "user": "no-such"}).json()["error"] == "user_not_found"


def test_null_is_no_value(data):
    nulls = dict.fromkeys(("args", "envs", "cwd", "user", "timeout", "stdin", "stdin_encoding"))
    assert run(data, "echo yes", **nulls)["stdout"] == "yes\n"


def test_what_is_no_such_request(data):
    assert data.request("GET", "/exec").status == 405
    assert post(data, [1]).status == 400
    for body in (b"{", b'{"cmd": "true", "cmd": "false"}'):
        assert data.request("POST", "/exec", body, {"Content-Type": "application/json"}).status == 400
    assert data.request("POST", "/exec", b"{}", {"Content-Type": "text/plain"}).status == 415
    coded = data.request("POST", "/exec", b"{}", {"Content-Type": "application/json", "Content-Encoding": "br"})
    assert (coded.status, coded.headers["accept-encoding"]) == (415, "gzip, identity"), coded
    large = post(data, {"cmd": "cat", "stdin": "x" * (5 << 20)})
    assert large.status == 413, large


@pytest.mark.long
def test_many_at_once_are_bounded(data):
    """Sixty-four run, the next is refused, and all is well when they have ended."""
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(
        post(data, {"cmd": "until [ -e go ]; do sleep 2; done", "timeout": 60}).status))
               for _ in range(66)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(statuses) == 2, 30, "two are refused")
    assert statuses == [429, 429]
    data.upload("/home/user/go", b"")
    for thread in threads:
        thread.join(60)
    assert statuses[2:] == [200] * 64
    assert run(data, "rm go")["exit_code"] == 0


def test_a_pause_cuts_the_client_off_and_the_next_call_finds_the_program(make_sandbox):
    """The next call also wakes the sandbox."""
    sandbox = make_sandbox(lifecycle={"on_timeout": "pause", "auto_resume": True})
    cut = []

    def ask():
        try:
            cut.append(post(sandbox.data, {"cmd": "touch began; sleep 7654"}).status)
        except OSError:
            cut.append(0)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: run(sandbox.data, "test -e began")["exit_code"] == 0, 30, "it runs")
    sandbox.pause()
    thread.join(60)
    assert cut and cut[0] != 200
    assert run(sandbox.data, "pgrep", args=["-f", "^sleep 7654"])["exit_code"] == 0
