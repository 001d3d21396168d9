# SPDX-License-Identifier: GPL-2.0-or-later
"""Sandboxes that end by themselves are noticed by what the runtime says, and by looking where it said
nothing; those that only start anew stay what they are."""

import os
import signal
import time

import pytest

from between import Between
from tenant import Sandbox
from faults import instances, quota_in_use, settle, violations
from stack import wait_until
from doctor import assert_says, wrong


@pytest.fixture(autouse=True)
def quiet(stack):
    settle(stack)
    wait_until(lambda: hears(stack), 20, "the event stream")
    yield
    settle(stack)


def hears(stack):
    return all(host["events"] for host in stack.ctl("status")["hosts"])


def init_of(stack, sandbox):
    return stack.incus.request("GET", f"/1.0/instances/{sandbox.instance}/state")["pid"]


def kill_init(stack, sandbox):
    os.kill(init_of(stack, sandbox), signal.SIGKILL)


def stopped(sandbox):
    return sandbox.show()["state"] == "stopped"


def wait_stopped(sandbox, timeout_s=20):
    wait_until(lambda: stopped(sandbox), timeout_s, "the notice")


@pytest.fixture
def between(stack):
    with Between(stack) as relay:
        # The new address is read with the next listing, on a busy host a minute after the last one.
        wait_until(lambda: relay.streams, 90, "a stream through the relay")
        # The one before it may be marked still: a listing through the relay is behind its end.
        wait_until(lambda: hears(stack), 20, "the event stream")
        yield relay
    wait_until(lambda: hears(stack), 90, "the event stream without the relay")


@pytest.mark.long
def test_a_death_is_known_by_its_event_alone(sandbox, stack, between):
    streams = between.streams

    def is_known():
        # A stream that broke off meanwhile, as on a machine that stands still, may have lost it: then a
        # listing makes up for that.
        between.hold_listings = between.streams == streams
        return stopped(sandbox)

    between.hold_listings = True
    kill_init(stack, sandbox)
    wait_until(is_known, 20, "the notice")
    assert quota_in_use(sandbox.api) == 0
    between.hold_listings = False
    assert sandbox.resume()["resumed_from"] == "disk"


@pytest.mark.long
def test_an_event_that_is_lost_is_made_up_for(sandbox, stack, between):
    between.drop_events = True
    name = sandbox.instance.encode()
    kill_init(stack, sandbox)
    wait_stopped(sandbox)
    assert [frame for frame in between.dropped if name in frame and b"instance-shutdown" in frame]
    assert hears(stack), "the stream was up all the time"


@pytest.mark.long
def test_a_stream_that_has_died_without_a_word(make_sandbox, stack, between):
    sandboxes = [make_sandbox() for _ in range(2)]
    between.mute = True
    kill_init(stack, sandboxes[0])
    wait_stopped(sandboxes[0])
    wait_until(lambda: not hears(stack), 20, "the notice that nothing comes")
    assert_says(wrong(stack), "events", "event stream of .* is down", "WebSocket")
    assert any("event stream" in one for one in stack.ctl("status")["problems"])
    kill_init(stack, sandboxes[1])
    wait_stopped(sandboxes[1])
    between.mute = False
    wait_until(lambda: hears(stack), 30, "the stream being back")


@pytest.mark.long
def test_the_daemon_restarted_and_a_death_in_between(make_sandbox, stack):
    dies, lives = make_sandbox(), make_sandbox()
    pid = init_of(stack, dies)
    daemon = stack.daemon("incusd")
    daemon.stop()
    try:
        wait_until(lambda: not hears(stack), 20, "the end of the stream")
        os.kill(pid, signal.SIGKILL)
    finally:
        daemon.start(stack.incus.answers)
    wait_stopped(dies, 90)
    wait_until(lambda: hears(stack), 30, "the stream being back")
    assert lives.show()["state"] == "ready"
    kill_init(stack, lives)
    wait_stopped(lives)


@pytest.mark.long
def test_the_daemon_hangs(sandbox, stack):
    pid, daemon = init_of(stack, sandbox), stack.daemon("incusd")
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: not hears(stack), 30, "the notice that nothing comes")
        os.kill(pid, signal.SIGKILL)
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    wait_stopped(sandbox)
    wait_until(lambda: hears(stack), 30, "the stream being back")


@pytest.mark.long
def test_many_at_once(make_account, stack):
    account = make_account("pro")
    sandboxes = [Sandbox.create(account.api) for _ in range(6)]
    pids = [init_of(stack, sandbox) for sandbox in sandboxes[:5]]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for sandbox in sandboxes[:5]:
        wait_stopped(sandbox)
    assert sandboxes[5].show()["state"] == "ready"
    assert quota_in_use(account.api) == 1


# --- guests that start anew ---


def reboot(stack, sandbox):
    """From inside; returns when a new init runs."""
    before = init_of(stack, sandbox)
    sandbox.data.background("sudo", "reboot", "-f")

    def has_another_init():
        try:
            return init_of(stack, sandbox) not in (0, before)
        except AssertionError:  # Incus' answer in the moment between the two
            return False

    wait_until(has_another_init, 30, "the new start")


def shown_states(sandbox, seconds):
    end, seen = time.monotonic() + seconds, set()
    while time.monotonic() < end:
        seen.add(sandbox.show()["state"])
        time.sleep(0.02)
    return seen


def answers(sandbox, command):
    try:
        done = sandbox.data.run("sh", "-c", command)
    except (AssertionError, OSError):  # nobody is there yet, or nobody who knows us
        return None
    return done.stdout if done.exit_code == 0 else None


@pytest.mark.long
def test_a_guest_that_reboots_stays_ready(make_sandbox, stack):
    sandbox = make_sandbox(envs={"KEPT": "value"},
                           exposed_ports=[{"port": 3000, "protocol": "http", "public": True}])
    sandbox.data.upload("/home/user/kept", b"kept")
    row = stack.row(sandbox.id)
    for _ in range(3):
        reboot(stack, sandbox)
        wait_until(lambda: answers(sandbox, "echo $KEPT") == b"value\n", 10, "the agent with its environment")
        assert shown_states(sandbox, 2) == {"ready"}
    now = stack.row(sandbox.id)
    assert (now["incarnation"], now["deadline_at_ms"]) == (row["incarnation"], row["deadline_at_ms"])
    assert sandbox.data.read("/home/user/kept") == b"kept"
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "127.0.0.1", "3000")
    wait_until(lambda: sandbox.preview(3000).request("GET", "/").status == 200, 10, "the preview")
    assert quota_in_use(sandbox.api) == 1
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    assert answers(sandbox, "echo $KEPT") == b"value\n"


@pytest.mark.long
def test_a_reboot_without_its_event(make_sandbox, stack, between):
    """The listing meets it while it is down, and looks again; the agent is found by its round."""
    sandbox = make_sandbox(envs={"KEPT": "value"})
    between.drop_events = True
    reboot(stack, sandbox)
    assert shown_states(sandbox, 8) == {"ready"}
    interval_s = int(stack.settings.get("metrics_interval_s", "30"))
    wait_until(lambda: answers(sandbox, "echo $KEPT") == b"value\n", interval_s + 10, "the agent's round")


@pytest.mark.long
def test_an_instance_that_runs_beside_its_record_is_stopped(make_sandbox, stack):
    """Started by hand, or up again after it was taken for dead."""
    sandbox = make_sandbox()
    kill_init(stack, sandbox)
    wait_stopped(sandbox)
    stack.incus.request("PUT", f"/1.0/instances/{sandbox.instance}/state", {"action": "start"})
    assert violations(stack)
    wait_until(lambda: instances(stack)[sandbox.instance] == "Stopped", 3 * stack.lease_s + 30, "the sweep")
    assert sandbox.show()["state"] == "stopped"
    assert sandbox.resume()["resumed_from"] == "disk"


@pytest.mark.long
def test_our_own_orders_are_no_deaths(make_sandbox, stack):
    """Each pause, resume and checkpoint makes events; none of them says that something went wrong."""
    sandbox = make_sandbox()
    marks = stack.row(sandbox.id)["incarnation"]
    for _ in range(3):
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.show()["state"] == "ready"
    assert stack.row(sandbox.id)["incarnation"] == marks + 6
