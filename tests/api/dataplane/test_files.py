# SPDX-License-Identifier: GPL-2.0-or-later
"""Files over the data plane: GET and POST /files."""

import gzip
import hashlib
import os
import secrets

import pytest

from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def data(shared_sandbox):
    return shared_sandbox.data


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


def test_multipart_with_a_path(data, directory):
    response = data.upload_multipart([("ignored.txt", b"one")], path=f"{directory}/named.txt")
    assert response.status == 200, response
    assert [entry["path"] for entry in response.json()] == [f"{directory}/named.txt"]
    assert data.read(f"{directory}/named.txt") == b"one"


def test_multipart_of_several_files_takes_paths_from_their_names(data, directory):
    parts = [(f"{directory}/{number}/f.txt", f"content {number}".encode()) for number in range(4)]
    response = data.upload_multipart(parts)
    assert response.status == 200, response
    assert [entry["path"] for entry in response.json()] == [name for name, _ in parts]
    for name, content in parts:
        assert data.read(name) == content


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


def test_a_shorter_file_replaces_a_longer_one(data, directory):
    data.upload(f"{directory}/f", b"a long content")
    data.upload(f"{directory}/f", b"short")
    assert data.read(f"{directory}/f") == b"short"


def bad_uploads(data, path):
    """Uploads that are refused, each with its status."""
    packed = gzip.compress(os.urandom(200_000))
    gzipped = {"Content-Encoding": "gzip"}
    yield 400, data.upload_octets(path, packed[:-4], headers=gzipped)
    yield 400, data.upload_octets(path, iter([packed[:1000], b"x" * 9999]), headers=gzipped)
    yield 400, data.upload_octets(path, b"no gzip at all", headers=gzipped)
    yield 415, data.upload_octets(path, b"x", headers={"Content-Encoding": "br"})
    yield 400, data.upload_multipart([(path, b"x"), (path, b"y")])
    yield 400, data.upload_multipart([(path, b"x"), ("/tmp", b"y")])


@pytest.mark.parametrize("kind", ["plain", "linked", "two names", "new"])
def test_a_refused_upload_changes_nothing(data, directory, kind):
    path = f"{directory}/f"
    data.upload(path, b"old content")
    data.check(f"cd {directory}; chmod 640 f; ln -s f link; ln f other")
    if kind != "two names":
        data.check(f"rm {directory}/other")
    target = path if kind not in ("linked", "new") else f"{directory}/{'link' if kind == 'linked' else 'new'}"
    before = data.check(f"cd {directory}; ls -A; stat -c '%i %a %h %U' f")
    for status, answer in bad_uploads(data, target):
        assert (answer.status, answer.json()["code"]) == (status, status), answer
        assert answer.headers.get("accept-encoding") == ("gzip, identity" if status == 415 else None)
        assert data.read(path) == b"old content"
        assert data.check(f"cd {directory}; ls -A; stat -c '%i %a %h %U' f") == before
    data.upload(target, b"new")
    assert data.read(target) == b"new"
    assert data.check(f"stat -c %a {path}") == "640\n"
    assert data.check(f"test -L {directory}/link; ls -A {directory} | wc -l").strip() in ("2", "3")


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


def test_relative_paths_and_home(data):
    name = secrets.token_hex(6)
    written = data.upload(name, b"at home")
    assert written[0]["path"] == f"/home/user/{name}"
    assert data.read(f"~/{name}") == b"at home"
    assert data.read(f"/home/user/{name}") == b"at home"


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
    assert past.status == 416
    several = data.download(f"{directory}/f", {"Range": "bytes=0-1,5-6"})
    assert several.status == 206
    assert several.headers.get_content_type() == "multipart/byteranges"
    assert several.body.count(b"Content-Range: bytes ") == 2
    assert b"\r\n01\r\n" in several.body and b"\r\n56\r\n" in several.body


def test_what_cannot_be_read(data, directory):
    missing = data.download(f"{directory}/none")
    assert missing.status == 404
    assert missing.json()["code"] == 404
    assert missing.json()["message"]
    folder = data.download("/home/user")
    assert folder.status == 400
    assert folder.json()["code"] == 400


def test_what_cannot_be_written(data):
    over_directory = data.upload_octets("/tmp", b"x")
    assert over_directory.status == 400, over_directory
    through_file = data.upload_octets("/etc/passwd/below", b"x")
    assert through_file.status == 400, through_file
    without_path = data.request(
        "POST", "/files", b"x", {"Content-Type": "application/octet-stream"}
    )
    assert without_path.status == 400, without_path
    strange_type = data.request("POST", "/files?path=/tmp/x", b"x", {"Content-Type": "text/plain"})
    assert strange_type.status in (400, 415), strange_type


def test_an_unknown_user(data):
    assert data.download("/etc/passwd", user="nobody-by-that-name").status == 401
    assert data.upload_octets("/tmp/x", b"x", user="nobody-by-that-name").status == 401


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


def test_health_needs_no_token(shared_sandbox):
    response = shared_sandbox.data.origin.request("GET", "/health")
    assert (response.status, response.body) == (204, b"")
