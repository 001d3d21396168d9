# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a command failed, in each way of running one."""

import json

import pytest

from cli import Cli
from tenant import Sandbox

pytestmark = pytest.mark.parallel

FORKS = """
import os, signal, time
children = []
try:
    while True:
        children.append(os.fork())
        if not children[-1]:
            time.sleep(1000)
finally:
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
"""
FILLS = """
cd /home/user
for size in 1G 64M 4M 1M; do
    while fallocate -l $size full.$size.$((n += 1)) 2>/dev/null; do :; done
done
cat /dev/zero >full
"""
HOG = "python3 -c 'b = bytearray(8 << 30)'"
# reason: its command, and words of the message
REASONS = {
    "out_of_memory": (f"exec {HOG}", ["the kernel killed python3", " MiB"]),
    "out_of_memory of a child": (f"{HOG}; exit 3", ["the kernel killed a process of the sandbox", " MiB"]),
    "process_limit": ("exec python3 /tmp/forks.py", ["process limit", "500"]),
    "disk_full": ("sh /tmp/fills.sh", ["disk full", " MiB"]),
    "time_limit": ("sleep 1000", ["time limit"]),
    "signal": ("kill -SEGV $$", ["SIGSEGV"]),
    "nothing": ("exit 3", []),
}


@pytest.fixture(scope="module")
def sandbox(module_account):
    sandbox = Sandbox.create(module_account.api, timeout=1800, name="fails")
    sandbox.data.upload("/tmp/forks.py", FORKS.encode())
    sandbox.data.upload("/tmp/fills.sh", FILLS.encode())
    return sandbox


@pytest.fixture(scope="module")
def cli(stack, module_account, tmp_path_factory):
    return Cli(stack, tmp_path_factory.mktemp("cli"), module_account.api.key)


@pytest.fixture
def clean(sandbox):
    """A sandbox as it was before the reason."""
    yield sandbox
    sandbox.data.check("rm -f /home/user/full*")


def ask(data, cmd, timeout, **headers):
    body = json.dumps({"cmd": cmd, "timeout": timeout}).encode()
    return data.request("POST", "/exec", body, {"Content-Type": "application/json", **headers})


@pytest.mark.long
@pytest.mark.parametrize("kind", REASONS)
def test_it_is_told_in_each_way(clean, cli, ssh, kind):
    cmd, words = REASONS[kind]
    name = None if kind == "nothing" else kind.split()[0]
    timeout = 1 if kind == "time_limit" else 60
    data = clean.data

    answer = ask(data, cmd, timeout).json()
    streamed = json.loads(ask(data, cmd, timeout, Accept="text/event-stream").body.decode().split("data: ")[-1])
    for end in (answer, streamed):
        assert (end["reason"], end["oom"], end["timed_out"]) == (name, name == "out_of_memory", name == "time_limit"), end
        assert (end["message"] is None) == (name is None), end
        assert all(word in (end["message"] or "") for word in words), end

    # A signal is in the status, which E2B's clients, shells and SSH show.
    said = [] if name == "signal" else words
    if name == "time_limit":  # for E2B's clients an error of the protocol, deadline_exceeded
        return
    ended = data.run("/bin/sh", "-c", cmd)
    assert ended.error.startswith(ended.status) and all(word in ended.error for word in said), ended
    for program in (cli("exec", clean.id, "--", "sh", "-c", cmd), ssh("fails", cmd)):
        assert program.returncode != 0, program
        assert all(word in program.stderr.decode() for word in said), program
        assert said or b"sandlot:" not in program.stderr, program
