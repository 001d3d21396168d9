# SPDX-License-Identifier: GPL-2.0-or-later
"""One sandbox that opens connections en masse: its share of the host's connection table is bounded."""

import contextlib
import pathlib
import socket
import subprocess
import sys

import pytest

from stack import wait_until
from tenant import GUEST, Sandbox

# conf/nftables: so many at the same time, so many at once and a second, and for so long an entry of
# a flow that was refused an answer or has ended.
SHARE, BURST, RATE, ENDED_S = 4096, 2000, 500, 10
BOUND = SHARE + BURST + RATE * ENDED_S
OUTSIDE = "203.0.113.7"
PORT = 5900
# Longer than a busy machine takes to make them; the test ends them itself.
HELD_S = 600


@pytest.fixture
def hostile(account, internet):
    sandbox = Sandbox.create(account.api, timeout=1800, allow_internet_access=True)
    sandbox.put_guest("connect.py")
    return sandbox


def entries(sandbox, key="src"):
    """Of the host's connection table, those that name the sandbox first."""
    wanted = f" {key}={sandbox.address} "
    table = subprocess.run(sandbox.stack.on_host("cat", "/proc/net/nf_conntrack"), check=True, capture_output=True, text=True).stdout
    return [line for line in table.splitlines() if wanted in line.partition("dport=")[0] + " "]


def established(sandbox):
    return [line for line in entries(sandbox) if "ESTABLISHED" in line]


def counter(stack, name):
    text = subprocess.run(
        stack.on_host("nft", "list", "counter", "inet", stack.settings["firewall_table"], name), check=True, capture_output=True, text=True
    ).stdout
    return int(text.split("packets ")[1].split()[0])


def limits(sandbox):
    denials = sandbox.api.get(f"{sandbox.path}/network/denials").json()["denials"]
    return [one for one in denials if one["kind"] == "limit"]


def begin(sandbox, kind, count, seconds):
    sandbox.data.background("python3", "/tmp/connect.py", kind, OUTSIDE, str(count), str(seconds))


@pytest.mark.long
def test_datagrams_without_end(stack, hostile, bystander):
    before = counter(stack, "connections_refused")
    begin(hostile, "udp", 10**9, 30)
    wait_until(lambda: counter(stack, "connections_refused") > before + 10000, 60, "refused datagrams")
    bystander.goes_on()
    assert SHARE / 2 < len(entries(hostile)) <= BOUND
    wait_until(lambda: limits(hostile), 20, "a word about the limit in the denials")
    (said,) = limits(hostile)
    assert (said["target"], said["protocol"]) == (OUTSIDE, "udp") and said["count"] > 1
    wait_until(lambda: len(entries(hostile)) < 100, 120, "the end of what was never answered", 1)
    assert hostile.data.check(
        f"python3 -c \"import socket; socket.create_connection(('{OUTSIDE}', 80), 20)\" && echo again"
    ).strip() == "again"


@contextlib.contextmanager
def acceptor(internet):
    command = internet.in_namespace(sys.executable, str(GUEST / "accept.py"), str(PORT))
    process = subprocess.Popen(command)
    try:
        wait_until(lambda: f":{PORT} " in internet.inside("ss", "-Hltn"), 15, "who takes the connections")
        yield
    finally:
        process.kill()
        process.wait()


def test_handshakes_without_end(stack, hostile, internet, bystander):
    before = counter(stack, "connections_refused")
    with acceptor(internet):
        begin(hostile, "tcp", 2 * SHARE, HELD_S)
        wait_until(lambda: counter(stack, "connections_refused") > before + 100, 60, "refused handshakes")
        bystander.goes_on()
        # The rate refuses the first ones; only what goes on beyond it fills the share.
        wait_until(lambda: len(established(hostile)) > SHARE * 3 / 4, 60, "a share that is nearly full", 1)
        held = established(hostile)
        assert len(held) <= SHARE
        # The kernel's own would be five days.
        assert max(int(line.split()[4]) for line in held) <= 7440
        hostile.data.check("pkill -f /tmp/connect.py")
        wait_until(lambda: len(entries(hostile)) < 100, 120, "the end of what has ended", 1)
        assert hostile.data.check(
            f"python3 -c \"import socket; socket.create_connection(('{OUTSIDE}', {PORT}), 20)\" && echo again"
        ).strip() == "again"


@pytest.mark.long
def test_visitors_without_end(stack, hostile, bystander):
    """What comes to a sandbox has a bound of its own, and takes nothing of what it begins itself."""
    hostile.put_guest("accept.py")
    hostile.data.background("python3", "/tmp/accept.py", str(PORT), user="root")

    def visit():
        return socket.create_connection((hostile.address, PORT), 5)

    def listens():
        with contextlib.suppress(OSError):
            visit().close()
            return True
        return False

    wait_until(listens, 20, "a server in the sandbox")
    with contextlib.ExitStack() as held:
        refused = 0
        for _ in range(SHARE + 500):
            try:
                held.enter_context(visit())
            except ConnectionRefusedError:
                refused += 1
        assert 400 <= refused <= 600, refused
        assert len(entries(hostile, "dst")) <= SHARE + 100
        bystander.goes_on(pause=False)
        answered = f"import socket; socket.create_connection(('{OUTSIDE}', 80), 20)"
        assert hostile.data.bash(f"""python3 -c "{answered}" """).exit_code == 0


def test_the_table_is_as_large_as_the_memory_wants_it():
    memory_kb = int(pathlib.Path("/proc/meminfo").read_text(encoding="ascii").split()[1])
    table = pathlib.Path("/proc/sys/net/netfilter")
    for name, share in (("nf_conntrack_max", 1), ("nf_conntrack_buckets", 8)):
        assert int((table / name).read_text(encoding="ascii")) >= memory_kb // 32 // share
