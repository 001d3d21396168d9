# SPDX-License-Identifier: GPL-2.0-or-later
"""What of the data plane a pause ends, and what it leaves: requests are cut off, what they started
lives on in the memory of the sandbox."""

import base64
import http.client

import pytest

from client import assert_error
from dataplane import Stream, StreamError, collect, envelope, is_cut_off
from faults import InBackground, fault_points, settle, settled_row  # noqa: F401
from killing import TRACER
from stack import wait_until
from tenant import Sandbox, checkpoint_of

pytestmark = pytest.mark.parallel


def test_open_streams_are_cut_by_a_pause(sandbox):
    """Within the pause, not at the resume; the process is found again by Connect."""
    data = sandbox.data
    stream, pid = data.echoing()
    data.call("filesystem.Filesystem/MakeDir", {"path": "watched"})
    watching = data.watch("watched")
    waiting = [InBackground(is_cut_off, one) for one in (stream, watching)]
    sandbox.pause()
    assert [one.result(10) for one in waiting] == [True, True]
    sandbox.resume()
    data = sandbox.data
    again = data.follow(pid)
    data.type(pid, b"still there\n")
    assert again.output() == b"still there\n"
    data.close_stdin(pid)
    assert collect(again).exit_code == 0


# curl's names of an answer that broke off: transfer closed with data outstanding, HTTP/2 stream
# not closed cleanly.
CUT_OFF = {"--http1.1": (18, 56), "--http2": (92,)}


@pytest.mark.parametrize("version", CUT_OFF)
def test_clients_see_an_abort_in_both_versions_of_http(sandbox, version, tmp_path):
    body = tmp_path / "start"
    body.write_bytes(envelope({"process": {"cmd": "/bin/sleep", "args": ["1000"]}, "stdin": False}))
    stream = sandbox.data.curl(version, "/process.Process/Start", "--data-binary", f"@{body}",
                  "-H", "Content-Type: application/connect+json")
    assert stream.stdout.read(5)
    sandbox.data.check("head -c 300M /dev/zero >large")
    download = sandbox.data.curl(version, "/files?path=large", "--limit-rate", "1M")
    assert download.stdout.read(5)
    sandbox.pause()
    for transfer in (stream, download):
        _, error = transfer.communicate(timeout=60)
        assert transfer.returncode in CUT_OFF[version], (transfer.returncode, error)
    sandbox.resume()
    assert len(sandbox.data.call("process.Process/List", {}).json()["processes"]) == 1


LISTENER = """
import socket
server = socket.create_server(("127.0.0.1", 3000))
print("listening", flush=True)
while True:
    client, _ = server.accept()
    client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhere\\n")
    client.close()
"""


def test_what_a_memory_pause_keeps(make_sandbox):
    """A process at its pipes, a terminal, a polled watcher, a listening socket, a deadline, and the
    agent with them."""
    sandbox = make_sandbox(exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    data = sandbox.data
    agent = data.check("pgrep -x sandlot-agent").strip()
    shell = data.background("/bin/bash", "-c", "n=0; while read line; do echo $((++n)) $line; done",
                            stdin=True)
    data.type(shell, b"one\n")
    data.check("echo in shared memory >/dev/shm/note")
    connection, response = data.open_stream("process.Process/Start", {
        "process": {"cmd": "/bin/bash", "args": ["-i"], "envs": {"TERM": "xterm"}},
        "pty": {"size": {"cols": 70, "rows": 20}}})
    terminal = next(Stream(connection, response))["event"]["start"]["pid"]
    connection.close()
    data.type(terminal, b"kept=in-memory\n", "pty")
    data.call("filesystem.Filesystem/MakeDir", {"path": "watched"})
    watcher = data.call("filesystem.Filesystem/CreateWatcher", {"path": "watched"}).json()["watcherId"]
    with data.start("/usr/bin/python3", "-c", LISTENER) as stream:
        next(stream)
        next(stream)
    assert sandbox.preview(3000).request("GET", "/").body == b"here\n"

    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    data = sandbox.data
    assert data.check("pgrep -x sandlot-agent").strip() == agent
    assert data.read("/dev/shm/note") == b"in shared memory\n"
    follow = data.follow(shell)
    data.type(shell, b"two\n")
    assert follow.output() == b"2 two\n"
    follow.close()
    follow = data.follow(terminal)
    answer = data.call("process.Process/Update", {
        "process": {"pid": terminal}, "pty": {"size": {"cols": 90, "rows": 30}}})
    assert answer.status == 200, answer
    data.type(terminal, b"echo $kept $(stty size)\n", "pty")
    shown = b""
    while b"in-memory 30 90" not in shown:
        shown += base64.b64decode(next(follow)["event"].get("data", {}).get("pty", ""))
    follow.close()
    data.check("touch watched/new")
    events = data.call("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher}).json()
    assert "new" in [event["name"] for event in events["events"]]
    assert sandbox.preview(3000).request("GET", "/").body == b"here\n"


def test_a_start_from_disk_has_a_clean_agent(make_sandbox):
    sandbox = make_sandbox(envs={"GIVEN": "at the create"})
    data = sandbox.data
    data.upload("kept", b"on the disk")
    pid = data.background("/bin/sleep", "1000")
    watcher = data.call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp"}).json()["watcherId"]
    sandbox.pause()
    for image in (sandbox.stack.instance_dir(sandbox.instance) / "state").glob("pages-*.img"):
        image.unlink()
    assert sandbox.resume()["resumed_from"] == "disk"
    data = sandbox.data
    assert data.call("process.Process/List", {}).json()["processes"] == []
    gone = data.call("process.Process/SendSignal", {"process": {"pid": pid},
                                                    "signal": "SIGNAL_SIGTERM"})
    assert gone.status == 404, gone
    gone = data.call("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher})
    assert gone.status == 404, gone
    assert data.read("kept") == b"on the disk"
    assert data.check("echo $GIVEN") == "at the create\n"


HOG = "held = []\nwhile True: held.append(b'x' * (1 << 20))"


@pytest.mark.long
def test_running_out_of_memory(make_sandbox):
    """Who took it dies and its stream says so; the agent, what it knows, and who took little do not.
    Root is no exception, nor is a program that asks to be spared."""
    sandbox = make_sandbox(envs={"GIVEN": "at the create"})
    data = sandbox.data
    agent = data.check("pgrep -x sandlot-agent")
    modest, pid = data.echoing()
    spare_me = f"open('/proc/self/oom_score_adj', 'w').write('0')\n{HOG}"
    for user, program in ((None, HOG), ("root", HOG), ("root", spare_me)):
        hog = data.run("/usr/bin/python3", "-c", program, user=user)
        assert (hog.exit_code, hog.status) == (-1, "signal: killed"), hog
    within = data.bash(f"python3 -c \"{HOG}\"; echo $?")
    assert within.stdout == b"137\n", within
    assert data.check("pgrep -x sandlot-agent; echo $GIVEN") == agent + "at the create\n"
    data.type(pid, b"all the while\n")
    assert modest.output() == b"all the while\n"
    modest.close()


@pytest.mark.parametrize("victim", ["sandlot-agent", pytest.param("sandlot-guard", marks=pytest.mark.long)])
def test_an_agent_that_was_killed_comes_back(make_sandbox, victim):
    """Its guard has a new one that knows everything, after a pause with the memory as before; with the
    guard gone too, the new ones are told everything again. Nobody calls connect."""
    sandbox = make_sandbox(envs={"GIVEN": "at the create"})
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    data = sandbox.data
    interval_s = int(sandbox.stack.settings.get("metrics_interval_s", "30"))
    pids = "pgrep -x sandlot-guard; pgrep -x sandlot-agent"
    guard, agent = data.check(pids).split()
    data.background("/bin/sh", "-c", f"sleep 1; kill -9 $(pgrep -x {victim})", user="root")

    def is_back():
        try:
            lines = data.check(f"{pids}; echo $GIVEN").splitlines()
        except (AssertionError, StreamError, OSError, http.client.HTTPException, EOFError):
            return None
        return lines if lines[1] != agent else None

    back = wait_until(is_back, 3 * interval_s + 20, "the new agent", 0.1)
    assert back[2] == "at the create"
    assert (back[0] == guard) == (victim == "sandlot-agent")


@pytest.mark.long
def test_a_memory_that_cannot_be_kept(sandbox):
    """A traced process cannot be dumped: after the streams are cut the pause goes on with the disk
    alone, says so at the resume, and everything can be opened anew."""
    data = sandbox.data
    data.upload("kept", b"on the disk")
    with data.start("/usr/bin/python3", "-c", TRACER) as tracing:
        next(tracing)
        assert tracing.output() == b"0"
        stream, _ = data.echoing()
        waiting = [InBackground(is_cut_off, one) for one in (stream, tracing)]
        assert sandbox.pause()["state"] == "stopped"
        assert [one.result(10) for one in waiting] == [True, True]
    assert sandbox.resume()["resumed_from"] == "disk"
    data = sandbox.data
    assert data.call("process.Process/List", {}).json()["processes"] == []
    assert data.read("kept") == b"on the disk"
    stream, pid = data.echoing()
    data.type(pid, b"anew\n")
    assert stream.output() == b"anew\n"
    stream.close()
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory", "the trace is gone, the reason with it"


def test_a_runtime_that_is_gone_when_the_streams_are_cut(sandbox, stack, fault_points):
    """The answer says so, nothing is half: the pause is brought to its end when it is back."""
    stream, pid = sandbox.data.echoing()
    waiting = InBackground(is_cut_off, stream)
    fault_points.arm("pause.hung_up", "wait", "sandlot-api")
    pausing = InBackground(sandbox.api.post, f"{sandbox.path}/pause")
    fault_points.reached("pause.hung_up")
    assert waiting.result(10)
    refused = sandbox.data.call("process.Process/List", {})
    assert refused.status in (409, 503), refused
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        fault_points.release("pause.hung_up")
        assert_error(pausing.result(), 503, "runtime_unavailable")
        assert sandbox.show()["state"] == "stopping"
    finally:
        daemon.start(stack.incus.answers)
    assert settled_row(stack, sandbox.id)["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "memory"
    again = sandbox.data.follow(pid)
    sandbox.data.type(pid, b"still there\n")
    assert again.output() == b"still there\n"
    again.close()
    settle(stack)


def state_of(data, pid):
    return data.read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1]


@pytest.mark.long
def test_a_stopped_process_is_kept_and_stays_stopped(sandbox):
    """As one is that a person has stopped in a terminal with Ctrl-Z."""
    pid = int(sandbox.data.check("sleep 1000 >/dev/null 2>&1 & kill -STOP $!; echo $!"))
    assert state_of(sandbox.data, pid) == b"T"
    checkpoint = checkpoint_of(sandbox, memory=True)
    assert checkpoint["memory"] is True and state_of(sandbox.data, pid) == b"T"
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    copy = Sandbox.create(sandbox.api, snapshot_id=checkpoint["id"])
    for one in (sandbox, copy):
        assert state_of(one.data, pid) == b"T"
        one.data.check(f"kill -CONT {pid}")
        wait_until(lambda: state_of(one.data, pid) == b"S", 10, "the process to continue")
