# SPDX-License-Identifier: GPL-2.0-or-later
"""Watchers, signed links, codings and numbers of the data plane, through nginx and the gate."""

import base64
import gzip
import json
import secrets
import time
import urllib.parse

import pytest

from client import assert_error
from dataplane import DataPlane, Stream, StreamError, collect, envelope, signed
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture
def directory(data):
    path = f"/home/user/{secrets.token_hex(6)}"
    data.call("filesystem.Filesystem/MakeDir", {"path": path})
    return path


def watcher_events(data, watcher):
    return data.call("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher}).json()["events"]


def test_a_watcher_survives_a_pause(sandbox):
    data = sandbox.data
    data.check("mkdir -p w/deep")
    answer = data.call("filesystem.Filesystem/CreateWatcher", {"path": "w", "recursive": True})
    watcher = answer.json()["watcherId"]
    data.check("touch w/deep/before")
    sandbox.pause()
    sandbox.resume()
    data = sandbox.data
    data.check("touch w/deep/after; mkdir w/deep/new")
    names = set()

    def all_there():
        names.update(event["name"] for event in watcher_events(data, watcher))
        return names >= {"deep/before", "deep/after", "deep/new"}

    wait_until(all_there, 10, "the changes before and after the pause")


def test_signed_links(data, directory):
    origin = data.origin
    soon = int(time.time()) + 60
    path = f"{directory}/f ü"
    upload = signed(data, path, "write", soon)
    octets = {"Content-Type": "application/octet-stream"}
    assert origin.request("POST", upload, b"signed", octets).status == 200
    assert origin.request("GET", signed(data, path, "read", soon)).body == b"signed"
    assert origin.request("GET", signed(data, path, "read")).body == b"signed"
    # What a link opened is not open to who comes next without one.
    assert origin.request("GET", "/files?" + urllib.parse.urlencode({"path": path})).status == 401


def test_signed_links_that_are_refused(data, directory, account):
    origin = data.origin
    path = f"{directory}/f"
    data.upload(path, b"x")

    def refused(target, method="GET"):
        response = origin.request(method, target, b"x" if method == "POST" else None)
        assert response.status == 401, (target, response)
        return response.json()

    expired = refused(signed(data, path, "read", int(time.time()) - 5))
    assert expired == {"code": 401, "message": "signature is already expired"}
    invalid = {"code": 401, "message": "invalid signature"}
    good = signed(data, path, "read")
    assert refused(good + "&username=root") == invalid
    assert refused(good + "&path=/etc/shadow") == invalid
    assert refused("/files?PATH=/etc/shadow&" + good.partition("?")[2]) == invalid
    assert refused(good, "POST") == invalid
    assert refused(signed(data, path, "read", token="slt_" + "A" * 80)) == invalid
    refused(good.replace("/files", "/metrics"))
    other = DataPlane(account.stack, account.api.create()["session"])
    assert refused(signed(other, path, "read")) == invalid


def test_errors_have_one_shape_at_one_address(sandbox):
    """The gate's and the agent's: the members of the API, and the code of the agent's protocol."""
    data, members = sandbox.data, {"error", "message", "request_id", "code"}
    body = assert_error(data.origin.request("GET", "/files?path=/etc/passwd"), 401, "unauthorized")
    assert body["code"] == 401 and set(body) == members
    body = assert_error(data.request("GET", "/files?path=/none"), 404, "not_found")
    assert body["code"] == 404 and set(body) == members
    stat = "filesystem.Filesystem/Stat"
    body = assert_error(data.origin.request("POST", f"/{stat}", b"{}"), 401, "unauthorized")
    assert body["code"] == "unauthenticated" and set(body) == members
    body = assert_error(data.call(stat, {"path": "/none"}), 404, "not_found")
    assert body["code"] == "not_found" and set(body) == members
    sandbox.pause()
    body = assert_error(data.request("GET", "/files?path=/etc/passwd"), 409, "sandbox_not_running")
    assert body["code"] == 409


def test_gzip_both_ways(data, directory):
    content = b"over and over again\n" * 50000
    packed = gzip.compress(content)
    data.upload(f"{directory}/f", packed, headers={"Content-Encoding": "gzip"})
    assert data.read(f"{directory}/f") == content
    response = data.download(f"{directory}/f", {"Accept-Encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(response.body) == content
    corrupt = data.upload_octets(f"{directory}/g", packed[:-9], headers={"Content-Encoding": "gzip"})
    assert corrupt.status == 400, corrupt
    refused = data.download(f"{directory}/f", {"Accept-Encoding": "identity;q=0"})
    assert refused.status == 406, refused


def test_metadata_of_any_name(data, directory):
    """All names that a header can have pass the edge."""
    notes = {"plain": "1", "with_underscore": "2", "with.dot": "3", "odd!#$%&'*+^`|~": "4"}
    headers = {f"X-Metadata-{name}": value for name, value in notes.items()}
    assert data.upload(f"{directory}/f", b"x", headers=headers)[0]["metadata"] == notes
    stat = data.call("filesystem.Filesystem/Stat", {"path": f"{directory}/f"}).json()
    assert stat["entry"]["metadata"] == notes


def test_numbers(shared_sandbox, data, directory):
    """The disk's are those of the sandbox, not of the pool, and know what was just written."""
    numbers = data.request("GET", "/metrics").json()
    assert numbers["cpu_count"] == 1
    assert numbers["mem_total"] == 512 << 20
    assert 0 < numbers["mem_used"] < numbers["mem_total"]
    assert numbers["disk_total"] == shared_sandbox.document["disk_gb"] << 30
    assert 0 < numbers["disk_used"] < numbers["disk_total"] / 4
    data.upload(f"{directory}/large", bytes(64 << 20))
    grown = data.request("GET", "/metrics").json()["disk_used"] - numbers["disk_used"]
    assert 60 << 20 < grown < 120 << 20
    assert data.request("GET", "/envs").status == 200
    assert data.origin.request("GET", "/metrics").status == 401


def typed(text):
    return envelope({"data": {"input": {"stdin": base64.b64encode(text).decode()}}})


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_input_as_a_stream(data, version):
    """Each message reaches the program while the request goes on."""
    with data.start("/bin/cat", stdin=True) as stream:
        pid = next(stream)["event"]["start"]["pid"]
        call = data.curl(version, "/process.Process/StreamInput", "-X", "POST", "-T", "-",
                         "-H", "Content-Type: application/connect+json", "-H", "Expect:")
        call.stdin.write(envelope({"start": {"process": {"pid": pid}}}))
        for word in (b"one", b"two"):
            call.stdin.write(typed(word))
            call.stdin.flush()
            assert stream.output() == word
        answer, error = call.communicate(timeout=30)
        assert call.returncode == 0, error
        assert answer == envelope({}) + envelope({}, 2)
        data.close_stdin(pid)
        assert collect(stream).exit_code == 0


def test_input_that_is_refused_in_the_middle(data):
    """The answer comes while the request has no end yet."""
    connection = data.origin.connect(timeout_s=20)
    connection.putrequest("POST", "/process.Process/StreamInput")
    for name, value in {"Content-Type": "application/connect+json", **data.headers(),
                        "Transfer-Encoding": "chunked"}.items():
        connection.putheader(name, value)
    connection.endheaders()
    message = envelope({"start": {"process": {"pid": 4194000}}})
    connection.send(b"%x\r\n%s\r\n" % (len(message), message))
    response = connection.getresponse()
    assert response.status == 200
    answer = response.read()
    connection.close()
    assert answer[:1] == b"\2" and b"not_found" in answer, answer


def test_files_put_together(data, directory):
    parts = [f"{directory}/part {number}" for number in range(3)]
    for number, part in enumerate(parts):
        data.upload(part, bytes([number]) * 100_000)

    def compose(sources, destination, **more):
        body = {"source_paths": sources, "destination": destination, **more}
        return data.request("POST", "/files/compose", json.dumps(body).encode(),
                            {"Content-Type": "application/json"})

    answer = compose([part.removeprefix("/home/user/") for part in parts], f"{directory}/new/whole")
    assert answer.status == 200, answer
    assert answer.json() == {"name": "whole", "path": f"{directory}/new/whole", "type": "file"}
    assert data.read(f"{directory}/new/whole") == b"".join(
        bytes([number]) * 100_000 for number in range(3))
    assert data.check(f"stat -c '%U:%G %a' {directory}/new/whole") == "user:user 644\n"
    assert [data.download(part).status for part in parts] == [404] * 3
    assert compose([parts[0]], f"{directory}/other").status == 404
    assert compose([f"{directory}/new/whole"], "/root/whole", username="root").status == 200
    assert data.check("stat -c '%U:%G' /root/whole; rm /root/whole", user="root") == "root:root\n"
    assert compose([parts[0]], "x", username="nobody-by-that-name").status == 401
    assert data.origin.request("POST", "/files/compose", b"{}").status == 401


def test_network_mounts(data, directory):
    """lxcfs is a FUSE file system, which may be one as well as any: its changes are not all seen."""
    fuse = "/sys/devices/system/cpu"
    assert data.check(f"stat -f -c %T {fuse}") == "fuseblk\n"
    for options, ok in (({}, False), ({"allowNetworkMounts": True}, True)):
        with Stream(*data.open_stream("filesystem.Filesystem/WatchDir",
                                      {"path": fuse, **options}, user="root")) as stream:
            if ok:
                assert "start" in next(stream)
            else:
                with pytest.raises(StreamError) as refused:
                    next(stream)
                assert refused.value.code == "invalid_argument"
        answer = data.call("filesystem.Filesystem/CreateWatcher", {"path": fuse, **options})
        assert answer.status == (200 if ok else 400), answer
    data.watch(directory).close()
