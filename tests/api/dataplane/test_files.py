# SPDX-License-Identifier: GPL-2.0-or-later
"""Files over the data plane: GET and POST /files."""

import gzip
import hashlib
import os
import secrets

import pytest

from client import assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture
def directory():
    return f"/home/user/{secrets.token_hex(6)}"


def test_octets_there_and_back(data, directory):
    written = data.upload(f"{directory}/a.bin", b"\0\1\2\xff")
    assert written == [{"name": "a.bin", "path": f"{directory}/a.bin", "type": "file"}]
    response = data.download(f"{directory}/a.bin")
    assert response.status == 200
    assert response.body == b"\0\1\2\xff"
    assert response.headers["Content-Length"] == "4"


def test_root_may_write_anywhere(data):
    name = f"/{secrets.token_hex(4)}/f"
    response = data.upload_multipart([(name, b"x")], user="root")
    assert response.status == 200, response
    assert data.check(f"stat -c '%U %a' {name}") == "root 644\n"


def test_owner_and_modes(data, directory):
    data.upload(f"{directory}/deep/er/f.txt", b"x")
    assert data.check(f"stat -c '%U:%G %a' {directory}/deep/er/f.txt") == "user:user 644\n"
    assert data.check(f"stat -c '%U:%G %a' {directory}/deep {directory}/deep/er") == (
        "user:user 755\nuser:user 755\n"
    )


def test_an_upload_that_breaks_off_changes_nothing(data, directory):
    data.upload(f"{directory}/f", b"old content")
    connection = data.origin.connect()
    connection.putrequest("POST", f"/files?path={directory}/f")
    for name, value in {**data.headers(), "Content-Type": "application/octet-stream",
                        "Content-Length": str(1 << 20)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(b"x" * 200_000)
    written = "ls -l /proc/$(pgrep -o sandlot-agent)/fd 2>/dev/null | grep -c deleted"
    wait_until(lambda: data.bash(f"sudo sh -c \"{written}\"").stdout.strip() not in (b"", b"0"), 20, "the bytes")
    assert data.read(f"{directory}/f") == b"old content"
    connection.close()
    wait_until(lambda: data.bash(f"sudo sh -c \"{written}\"").stdout.strip() == b"0", 20, "the end of it")
    assert data.read(f"{directory}/f") == b"old content"
    assert data.check(f"ls -A {directory}") == "f\n"


def test_names_of_any_letters(data, directory):
    name = f"{directory}/mit Leerzeichen & Umläuten €?.txt"
    data.upload(name, b"x")
    assert data.read(name) == b"x"


def test_an_empty_file(data, directory):
    data.upload(f"{directory}/empty", b"")
    response = data.download(f"{directory}/empty")
    assert (response.status, response.body) == (200, b"")
    assert response.headers["Content-Length"] == "0"


def test_a_chunked_upload(data, directory):
    pieces = [os.urandom(1 << 16) for _ in range(20)]
    response = data.upload_octets(f"{directory}/chunked", iter(pieces))
    assert response.status == 200, response
    assert data.read(f"{directory}/chunked") == b"".join(pieces)


def test_64_mib_both_ways(data, directory):
    block = os.urandom(1 << 20)
    content = b"".join(bytes([number]) + block[1:] for number in range(64))
    data.upload(f"{directory}/large", content)
    digest = hashlib.sha256(content).hexdigest()
    assert data.check(f"sha256sum {directory}/large").split()[0] == digest
    response = data.download(f"{directory}/large")
    assert hashlib.sha256(response.body).hexdigest() == digest


def test_ranges(data, directory):
    data.upload(f"{directory}/f", b"0123456789")
    part = data.download(f"{directory}/f", {"Range": "bytes=2-4"})
    assert (part.status, part.body) == (206, b"234")
    assert part.headers["Content-Range"] == "bytes 2-4/10"
    end = data.download(f"{directory}/f", {"Range": "bytes=-3"})
    assert (end.status, end.body) == (206, b"789")
    past = data.download(f"{directory}/f", {"Range": "bytes=20-30"})
    assert past.headers["Content-Range"] == "bytes */10"
    assert "10 bytes" in assert_error(past, 416, "out_of_range")["message"]
    changed = data.download(f"{directory}/f", {"If-Match": '"other"'})
    assert changed.headers["ETag"] == part.headers["ETag"]
    assert_error(changed, 412, "precondition_failed")
    head = data.request("HEAD", f"/files?path={directory}/f", None, {"Range": "bytes=20-30"})
    assert (head.status, head.body) == (416, b""), head
    several = data.download(f"{directory}/f", {"Range": "bytes=0-1,5-6"})
    assert several.status == 206
    assert several.headers.get_content_type() == "multipart/byteranges"
    assert several.body.count(b"Content-Range: bytes ") == 2
    assert b"\r\n01\r\n" in several.body and b"\r\n56\r\n" in several.body


def test_an_upload_takes_no_condition(data, directory):
    data.upload(f"{directory}/f", b"kept")
    for name, value in (("If-None-Match", "*"), ("Content-Range", "bytes 0-0/4")):
        response = data.upload_octets(f"{directory}/f", b"x", headers={name: value})
        assert assert_error(response, 400, "invalid_request")["field"] == name
    assert data.read(f"{directory}/f") == b"kept"


def test_a_running_program_is_replaced(data, directory):
    data.upload(f"{directory}/f", b"")
    pid = data.check(f"cp /bin/sleep {directory}/program && {{ {directory}/program 300 >/dev/null 2>&1 & echo $!; }}")
    data.upload(f"{directory}/program", b"#!/bin/sh\necho new\n")
    assert data.check(f"{directory}/program; kill {pid}") == "new\n"


def test_a_full_disk_is_said(make_sandbox):
    sandbox = make_sandbox()
    data = sandbox.data
    data.upload("kept", b"old content")
    # Space that is taken and not written, in ever smaller pieces, to the last that the quota gives.
    sizes = [f"{number}{unit}" for unit in "GMK" for number in (512, 64, 8, 1)]
    data.bash(f"for size in {' '.join(sizes)}; do while fallocate -l $size $size.$((++n)); do :; done; done")
    numbers = data.request("GET", "/metrics").json()
    assert numbers["disk_total"] == sandbox.document["disk_gb"] << 30
    assert numbers["disk_total"] - numbers["disk_used"] < 4 << 20, numbers
    for response in (data.upload_octets("f", bytes(8 << 20)),
                     data.upload_multipart([("new/g", bytes(8 << 20))]),
                     data.upload_octets("h", gzip.compress(bytes(8 << 20)),
                                        headers={"Content-Encoding": "gzip"})):
        assert (response.status, response.json()["code"]) == (507, 507), response
        assert int(response.headers["Retry-After"]) > 0
    assert data.upload_octets("kept", bytes(8 << 20)).status == 507
    assert data.read("kept") == b"old content"
    made = data.call("filesystem.Filesystem/MakeDir", {"path": "new/" + "deep/" * 500})
    assert made.json()["code"] == "resource_exhausted", made
    assert data.check("echo still runs") == "still runs\n"
    # And it can be emptied again.
    assert data.call("filesystem.Filesystem/Remove", {"path": "/home/user"}).status == 200
    data.upload("f", bytes(8 << 20))
