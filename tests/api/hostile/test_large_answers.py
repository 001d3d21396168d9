# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of a false agent that are small on the wire and large once they are read."""

import pathlib
import re

import pytest

from client import Origin
from false_agent import replace_agent
from pools import workers_of
from tenant import Sandbox

MOST_MIB = 64  # above rest, for one request


def peak_mib(pids):
    peaks = [re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")) for pid in pids]
    return max(int(peak[1]) for peak in peaks) // 1024


@pytest.mark.parametrize("answer", ["values", "lines", "command", "stream", "tag"])
def test_no_log_costs_much_more_than_its_size(account, answer):
    """Nor ends the worker that reads it."""
    sandbox = replace_agent(Sandbox.create(account.api, lifecycle={"on_timeout": "pause"}), answer)
    route = sandbox.document["data_plane_url"].removeprefix("https://").split(".")[0]
    workers = workers_of(account.stack, "api") | workers_of(account.stack, "pauses")
    for pid in workers:
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak begins again
    before = peak_mib(workers)
    front = Origin(account.stack.ca_file, account.stack.base_url)
    keys = {"X-API-Key": account.api.key, "Authorization": f"Bearer {account.api.key}"}
    for path in (f"{sandbox.path}/logs", f"/sandboxes/{route}/logs", f"/v2/sandboxes/{route}/logs?search=none"):
        answered = front.request("GET", path, headers=keys, timeout_s=60)
        assert answered.status in (200, 503), answered
        assert len(answered.body) < 8 << 20
    sandbox.pause()
    for path in (f"{sandbox.path}/logs", f"/sandboxes/{route}/logs"):
        answered = front.request("GET", path, headers=keys, timeout_s=60)
        assert answered.status in (200, 409, 503), answered
    assert workers <= workers_of(account.stack, "api") | workers_of(account.stack, "pauses"), "no worker has ended"
    assert peak_mib(workers) - before < MOST_MIB
