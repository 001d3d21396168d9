# SPDX-License-Identifier: GPL-2.0-or-later
"""What of the data plane a pause ends, and what it leaves: requests are cut off, what they started
lives on in the memory of the sandbox."""

import base64
import http.client
import pytest

from dataplane import Stream, collect, envelope
from faults import InBackground


def read_to_the_end(stream):
    for _ in stream:
        pass


def test_open_streams_are_cut_by_a_pause(sandbox):
    """Within the pause, not at the resume; the process is found again by Connect."""
    data = sandbox.data
    stream = data.start("/bin/bash", "-c", "while read line; do echo $line; done", stdin=True)
    pid = next(stream)["event"]["start"]["pid"]
    data.call("filesystem.Filesystem/MakeDir", {"path": "watched"})
    watching = Stream(*data.open_stream("filesystem.Filesystem/WatchDir", {"path": "watched"}))
    assert "start" in next(watching)
    waiting = [InBackground(cut, one) for one in (stream, watching)]
    sandbox.pause()
    assert [one.result(10) for one in waiting] == [True, True]
    sandbox.resume()
    data = sandbox.data
    again = Stream(*data.open_stream("process.Process/Connect", {"process": {"pid": pid}}))
    assert next(again)["event"]["start"]["pid"] == pid
    line = base64.b64encode(b"still there\n").decode()
    answer = data.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": line}})
    assert answer.status == 200, answer
    assert base64.b64decode(next(again)["event"]["data"]["stdout"]) == b"still there\n"
    data.call("process.Process/CloseStdin", {"process": {"pid": pid}})
    assert collect(again).exit_code == 0


def cut(stream):
    """Whether it was cut off; a clean end without an end envelope would be an EOFError."""
    try:
        read_to_the_end(stream)
    except (http.client.IncompleteRead, ConnectionError):
        return True
    return False


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
