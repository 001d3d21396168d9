# SPDX-License-Identifier: GPL-2.0-or-later
"""Watchers, signed links, codings and numbers of the data plane, through nginx and the gate."""

import base64
import gzip
import hashlib
import secrets
import time
import urllib.parse

import pytest

from dataplane import DataPlane
from stack import wait_until


@pytest.fixture(scope="module")
def data(shared_sandbox):
    return shared_sandbox.data


@pytest.fixture
def directory(data):
    path = f"/home/user/{secrets.token_hex(6)}"
    data.call("filesystem.Filesystem/MakeDir", {"path": path})
    return path


def watcher_events(data, watcher):
    return data.call("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher}).json()["events"]


def signed(data, path, operation, expires_at_s=None, user=None, token=None):
    """The path and query of a signed link."""
    text = f"{path}:{operation}:{user or ''}:{token or data.token}"
    query = {"path": path}
    if user:
        query["username"] = user
    if expires_at_s is not None:
        text += f":{expires_at_s}"
        query["signature_expiration"] = str(expires_at_s)
    digest = hashlib.sha256(text.encode()).digest()
    query["signature"] = "v1_" + base64.b64encode(digest).decode().rstrip("=")
    return "/files?" + urllib.parse.urlencode(query)


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


def test_numbers(data):
    numbers = data.request("GET", "/metrics").json()
    assert numbers["cpu_count"] == 1
    assert numbers["mem_total"] == 512 << 20
    assert 0 < numbers["mem_used"] < numbers["mem_total"]
    assert 0 < numbers["disk_used"] < numbers["disk_total"]
    assert data.request("GET", "/envs").status == 200
    assert data.origin.request("GET", "/metrics").status == 401
