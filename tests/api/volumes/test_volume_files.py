# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of volumes from outside of sandboxes: what they are, and what a stranger's volume does to it."""

import base64
import collections
import http.client
import os
import secrets
import time

import pytest

from client import Api, assert_error
from faults import InBackground
from tenant import Sandbox
from volumes import OCTETS, Volume

pytestmark = pytest.mark.parallel


@pytest.fixture
def volume(api):
    return Volume(api)


@pytest.fixture(scope="module")
def kept(module_account):
    """A volume for tests that write below paths of their own."""
    return Volume(module_account.api)


# --- files ---


def test_a_file_written_and_read(kept):
    made = kept.put("/one/two/hello.txt", b"hello")
    assert made.status == 201
    document = made.json()
    assert (document["path"], document["type"], document["size"], document["mode"]) == (
        "/one/two/hello.txt", "file", 5, "0644")
    answer = kept.get("/one/two/hello.txt").json()
    assert base64.b64decode(answer["content_b64"]) == b"hello"
    assert answer["modified_at"] == document["modified_at"] and answer["mode"] == "0644"
    octets = kept.get_octets("/one/two/hello.txt")
    assert octets.body == b"hello" and octets.headers["Content-Type"] == OCTETS
    assert octets.headers["X-Mode"] == "0644" and octets.headers["Content-Length"] == "5"
    again = kept.put("/one/two/hello.txt", b"")
    assert again.status == 200 and again.json()["size"] == 0
    assert kept.read("/one/two/hello.txt") == b""
    assert kept.get_octets("/one/two/hello.txt").body == b""


@pytest.mark.parametrize("accept, octets", [
    ("application/octet-stream, application/json", True), ("application/octet-stream;q=0.1", True),
    ("application/json, application/octet-stream;q=0.5", False), ("application/octet-stream;q=0, */*", False), ("*/*", False)])
def test_the_form_that_the_client_prefers(kept, accept, octets):
    kept.write("/preferred", b"x")
    answer = kept.call("GET", "files", "/preferred", headers={"Accept": accept})
    assert answer.headers["Content-Type"] == (OCTETS if octets else "application/json")


def test_modes(kept):
    for mode, shown in (("0755", "0755"), ("600", "0600"), ("0000", "0000"), ("4711", "4711")):
        assert kept.write(f"/modes/{mode}", b"x", mode=mode)["mode"] == shown
        assert kept.read(f"/modes/{mode}") == b"x", "the mode keeps nobody from it who may"
    assert kept.write("/modes/0755", b"other")["mode"] == "0755", "it keeps its mode"
    assert kept.write("/modes/0755", b"other", mode="0640")["mode"] == "0640"
    assert kept.put_octets("/modes/octets", b"x", mode="0750").json()["mode"] == "0750"
    assert kept.make("/modes/dir", mode="1777").json()["mode"] == "1777"
    assert kept.make("/modes/usual").json()["mode"] == "0755"


@pytest.mark.parametrize("size", [1, 65536, 8 * 2**20])
def test_sizes_in_json(kept, size):
    content = secrets.token_bytes(size)
    assert kept.write("/sizes/json", content)["size"] == size
    assert kept.read("/sizes/json") == content


def test_more_than_json_can_carry(kept):
    answer = kept.put("/sizes/much", bytes(10 * 2**20))
    assert_error(answer, 413, "body_too_large")
    assert kept.stat("/sizes/much").status == 404
    content = secrets.token_bytes(8 * 2**20 + 1)
    assert kept.put_octets("/sizes/much", content).status == 201
    assert_error(kept.get("/sizes/much"), 413, "body_too_large", "path")
    assert kept.get_octets("/sizes/much").body == content


def test_octets_chunked_and_with_a_head_alone(kept):
    pieces = [secrets.token_bytes(100_000) for _ in range(30)]
    answer = kept.put_octets("/chunked", iter(pieces))
    assert answer.status == 201 and answer.json()["size"] == 3_000_000
    assert kept.get_octets("/chunked").body == b"".join(pieces)
    head = kept.call("HEAD", "files", "/chunked", headers={"Accept": OCTETS})
    assert head.status == 200 and head.headers["Content-Length"] == "3000000"


def test_a_cut_upload_leaves_nothing(kept):
    kept.write("/cut/file", b"old")
    connection = kept.api.origin.connect()
    connection.putrequest("PUT", f"{kept.address}/files?path=/cut/file")
    for name, value in (("Authorization", f"Bearer {kept.api.key}"), ("Content-Type", OCTETS),
                        ("Content-Length", "1000000")):
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(bytes(500_000))
    connection.close()
    assert kept.read("/cut/file") == b"old"
    assert kept.names("/cut") == ["file"]


def test_an_upload_ends_with_its_key(stack, account, volume):
    volume.write("/file", b"old")
    document = account.key_document("write")
    theirs = Volume(Api(stack, document["key"]), document=volume.document)

    def pieces():
        yield bytes(300_000)
        stack.ctl("key", "revoke", document["id"])
        for _ in range(10):
            time.sleep(0.5)
            yield bytes(300_000)

    try:
        assert_error(theirs.put_octets("/file", pieces()), 401, "unauthorized")
    except OSError:  # nginx has closed the connection while more was sent
        pass
    assert volume.read("/file") == b"old" and volume.names() == ["file"]


def test_a_slow_upload_does_not_prolong_its_sign_in(stack, person, volume):
    """Its access is checked every two seconds, which is no use of the sign-in."""
    which = person.browser.cookie[:30]
    seen = "SELECT last_seen_at_ms FROM logins WHERE id = %s"
    before = stack.query(seen, which)[0]["last_seen_at_ms"]

    def pieces():
        yield bytes(300_000)
        time.sleep(3)  # until the request has begun, also on a busy machine
        stack.query("UPDATE logins SET last_seen_at_ms = last_seen_at_ms - 3600000 WHERE id = %s", which)
        for _ in range(12):
            time.sleep(0.5)
            yield bytes(300_000)

    headers = person.browser.headers() | {"Content-Type": OCTETS, "Content-Length": str(13 * 300_000)}
    response = person.browser.raw("PUT", f"{volume.address}/files?path=/file", pieces(), headers)
    assert response.status == 201, response
    assert stack.query(seen, which)[0]["last_seen_at_ms"] < before


def test_a_download_ends_with_its_key(stack, account, volume):
    piece = 1 << 20
    size = 64 * piece
    assert volume.put_octets("/file", (bytes(piece) for _ in range(64))).status == 201
    document = account.key_document("read")
    headers = {"Authorization": f"Bearer {document['key']}", "Accept": OCTETS}
    connection, response = volume.api.origin.open("GET", f"{volume.address}/files?path=/file", headers=headers)
    assert response.status == 200 and response.headers["Content-Length"] == str(size)
    stack.ctl("key", "revoke", document["id"])
    got = 0
    try:
        for _ in range(10):
            got += len(response.read(piece))
            time.sleep(0.5)
        got += len(response.read())
    except http.client.IncompleteRead as cut:
        got += len(cut.partial)
    except OSError:
        pass
    finally:
        connection.close()
    assert got < size


@pytest.mark.parametrize("body, field", [
    ({"content_b64": ""}, "/path"),
    ({"path": "/a"}, "/content_b64"),
    ({"path": "a", "content_b64": ""}, "/path"),
    ({"path": "", "content_b64": ""}, "/path"),
    ({"path": "/", "content_b64": ""}, "/path"),
    ({"path": "/a/", "content_b64": ""}, "/path"),
    ({"path": "/../a", "content_b64": ""}, "/path"),
    ({"path": "/a/./b", "content_b64": ""}, "/path"),
    ({"path": "/a/..", "content_b64": ""}, "/path"),
    ({"path": "/.sandlot-new.1", "content_b64": ""}, "/path"),
    ({"path": "//.sandlot-removed.1/a", "content_b64": ""}, "/path"),
    ({"path": "/a\0b", "content_b64": ""}, "/path"),
    ({"path": "/" + "x" * 256, "content_b64": ""}, "/path"),
    ({"path": "/x" * 2048, "content_b64": ""}, "/path"),
    ({"path": "/a", "content_b64": "a"}, "/content_b64"),
    ({"path": "/a", "content_b64": "aGVsbG8"}, "/content_b64"),
    ({"path": "/a", "content_b64": "aGVs bG8="}, "/content_b64"),
    ({"path": "/a", "content_b64": "_-8="}, "/content_b64"),
    ({"path": "/a", "content_b64": 1}, "/content_b64"),
    ({"path": "/a", "content_b64": "", "mode": "9"}, "/mode"),
    ({"path": "/a", "content_b64": "", "mode": "0888"}, "/mode"),
    ({"path": "/a", "content_b64": "", "mode": 420}, "/mode"),
    ({"path": "/a", "content_b64": "", "mode": "00644"}, "/mode"),
    ({"path": "/a", "content_b64": "", "owner": "root"}, "/owner"),
])
def test_bodies_that_are_refused(kept, body, field):
    assert_error(kept.call("PUT", "files", body=body), 422, "invalid_request", field)


@pytest.mark.parametrize("query", ["", "path=", "path=a", "path=/a%00b", "path=/../a", "path=/a&path=/b",
                                   "path=/a/%2E%2E/b", "path=/%2e", "path=/" + "x" * 256])
def test_paths_in_queries_that_are_refused(kept, query):
    for what in ("files", "directories", "path"):
        answer = kept.api.get(f"{kept.address}/{what}?{query}")
        assert_error(answer, 422, "invalid_request", "path")
    assert_error(kept.api.request("DELETE", f"{kept.address}/path?{query}"), 422, "invalid_request", "path")


def test_what_else_is_refused(kept):
    assert_error(kept.put_octets("/a", b"", mode="rw"), 422, "invalid_request", "mode")
    assert_error(kept.call("PUT", "files", "/a", {"path": "/a", "content_b64": ""}), 422, "invalid_request", "path")
    assert_error(kept.call("PUT", "files"), 422, "invalid_request")
    assert_error(kept.call("PUT", "files", "/a", b"x", {"Content-Type": "text/plain"}),
                 415, "unsupported_media_type")
    coded = kept.put_octets("/a", b"x", headers={"Content-Encoding": "gzip"})
    assert_error(coded, 415, "unsupported_media_type")
    assert coded.headers["accept-encoding"] == "identity"
    ranged = kept.put_octets("/a", b"x", headers={"Content-Range": "bytes 0-0/2"})
    assert_error(ranged, 422, "invalid_request", "Content-Range")
    assert_error(kept.list("/", limit="0"), 422, "invalid_request", "limit")
    assert_error(kept.list("/", limit="1001"), 422, "invalid_request", "limit")
    assert_error(kept.remove("/a", recursive="yes"), 422, "invalid_request", "recursive")


# --- directories and paths ---


def test_directories(volume):
    assert volume.names() == []
    made = volume.make("/a/b/c", mode="0700")
    assert made.status == 201 and made.json()["type"] == "directory" and made.json()["mode"] == "0700"
    assert volume.stat("/a/b").json()["mode"] == "0755"
    again = volume.make("/a/b/c", mode="0777")
    assert again.status == 200 and again.json()["mode"] == "0700"
    assert volume.make("/").status == 200 and volume.make("/a/b/c/").status == 200
    volume.write("/a/file", b"12345")
    listed = volume.list("/a").json()["entries"]
    assert [(e["name"], e["type"], e["size"]) for e in listed] == [("b", "directory", 0), ("file", "file", 5)]
    assert_error(volume.make("/a/file"), 409, "name_taken", "/path")
    assert_error(volume.make("/a/file/x"), 422, "invalid_request", "/path")
    assert_error(volume.put("/a/file/x"), 422, "invalid_request", "/path")
    assert_error(volume.put("/a/b"), 422, "invalid_request", "/path")
    assert_error(volume.list("/a/file"), 422, "invalid_request", "path")
    assert_error(volume.get("/a/b"), 422, "invalid_request", "path")
    assert_error(volume.list("/nothing"), 404, "not_found")
    assert_error(volume.get("/nothing"), 404, "not_found")
    assert_error(volume.get_octets("/nothing"), 404, "not_found")


def test_removing(volume):
    volume.write("/a/b/file", b"x")
    volume.make("/empty")
    assert_error(volume.remove("/a"), 422, "invalid_request", "recursive")
    assert volume.remove("/empty").status == 204
    assert volume.remove("/a", recursive="true").status == 204
    assert_error(volume.stat("/a"), 404, "not_found")
    assert_error(volume.remove("/a", recursive="true"), 404, "not_found")
    for query in ({}, {"recursive": "true"}):
        assert "root" in assert_error(volume.remove("/", **query), 422, "invalid_request", "path")["message"]
    volume.write("/file", b"x")
    assert volume.remove("/file", recursive="true").status == 204
    assert volume.names() == []


def test_moving(volume):
    volume.write("/a/file", b"content", mode="0600")
    moved = volume.move("/a/file", "/new/place/file")
    assert moved.status == 200 and moved.json()["path"] == "/new/place/file" and moved.json()["mode"] == "0600"
    assert volume.read("/new/place/file") == b"content" and volume.names("/a") == []
    assert volume.move("/new/place", "/a/place").status == 200
    assert volume.read("/a/place/file") == b"content"
    volume.write("/other", b"other")
    assert_error(volume.move("/other", "/a/place/file"), 409, "name_taken", "/to")
    assert volume.read("/a/place/file") == b"content"
    assert_error(volume.move("/a", "/a/place/a"), 422, "invalid_request", "/to")
    assert_error(volume.move("/nothing", "/made/for/nothing"), 404, "not_found")
    assert "made" not in volume.names()
    for path in ("/", "/a/"):
        assert_error(volume.move(path, "/x"), 422, "invalid_request", "/from")
        assert_error(volume.move("/a", path), 422, "invalid_request", "/to")
    assert_error(volume.call("POST", "path", body={"to": "/x"}), 422, "invalid_request", "/from")
    assert_error(volume.call("POST", "path", body={"from": "/a", "from_b64": "L2E=", "to": "/x"}),
                 422, "invalid_request", "/from")
    assert_error(volume.call("POST", "path", body={"from": "/a"}), 422, "invalid_request", "/to")


def test_owner_and_mode(volume, make_sandbox):
    volume.write("/a/file", b"x", uid=7, gid=65535)
    volume.put_octets("/a/octets", b"x", mode="0640", uid="0", gid="1001")
    assert volume.make("/a/dir", uid=1001).json()["uid"] == 1001
    changed = volume.change("/a/file", mode="0600")
    assert changed.status == 200
    assert [changed.json()[key] for key in ("path", "mode", "uid", "gid", "size")] == ["/a/file", "0600", 7, 65535, 1]
    assert volume.change("/a/file", gid=0).json()["uid"] == 7
    assert volume.change("/a/octets", mode="6755", uid=1000, gid=1000).json()["mode"] == "6755"
    assert volume.change("/a/octets", uid=0).json()["mode"] == "0755", "as the kernel has it"
    assert volume.change("/", mode="0711").status == 200
    assert volume.write("/a/file", b"new")["uid"] == 7, "the owner of what is replaced stays"
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    assert sandbox.data.check("stat -c '%u:%g %a %n' /data /data/a/*") == (
        "1000:1000 711 /data\n1001:1000 755 /data/a/dir\n7:0 600 /data/a/file\n0:1000 755 /data/a/octets\n")


@pytest.mark.parametrize("fields, field", [
    ({}, "/mode"), ({"mode": "9"}, "/mode"), ({"mode": 420}, "/mode"), ({"uid": -1}, "/uid"), ({"uid": 65536}, "/uid"),
    ({"gid": "0"}, "/gid"), ({"owner": 0}, "/owner"), ({"path": "a", "uid": 0}, "/path"),
])
def test_changes_that_are_refused(kept, fields, field):
    kept.write("/changed", b"x")
    assert_error(kept.change(**{"path": "/changed", **fields}), 422, "invalid_request", field)
    assert_error(kept.change("/no-such", mode="0600"), 404, "not_found")
    assert_error(kept.put_octets("/changed", b"x", uid="65536"), 422, "invalid_request", "uid")


def test_several_levels(volume):
    for path in ("/a/b/c/d", "/a/f", "/e", "/\u00e9/\u4e2d"):
        volume.write(path, b"x")
    volume.make("/empty")

    def tree(path="/", **query):
        answer = volume.list(path, **query)
        assert answer.status == 200 and "next_token" not in answer.json(), answer
        return [entry["name"] for entry in answer.json()["entries"]]

    top = ["a", "e", "empty", "\u00e9"]
    second = ["a/b", "a/f", "\u00e9/\u4e2d"]
    assert sorted(tree(depth="1")) == sorted(tree()) == top
    assert sorted(tree(depth="2")) == sorted(top + second)
    assert set(tree(depth="2")[:4]) == set(top), "level by level"
    assert sorted(tree(depth="64")) == sorted(top + second + ["a/b/c", "a/b/c/d"])
    assert sorted(tree("/a/", depth="2")) == ["b", "b/c", "f"]
    assert tree("/empty", depth="9") == []
    (found,) = [one for one in volume.list("/a", depth="3").json()["entries"] if one["name"] == "b/c/d"]
    assert (found["type"], found["size"]) == ("file", 1)
    for query, field in (({"depth": "0"}, "depth"), ({"depth": "65"}, "depth"), ({"depth": "x"}, "depth"),
                         ({"depth": "2", "limit": "5"}, "limit"), ({"depth": "2", "next_token": "x"}, "next_token")):
        assert_error(volume.list("/", **query), 422, "invalid_request", field)
    assert_error(volume.list("/e", depth="2"), 422, "invalid_request", "path")
    assert_error(volume.list("/no-such", depth="2"), 404, "not_found")


@pytest.mark.long
def test_a_tree_too_large_for_an_answer(make_sandbox, api, volume):
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    sandbox.data.check("mkdir -p /data/many /data/long; cd /data/many; seq 4990 | xargs touch; "
                       "cd /data/long; for i in $(seq -f %0250.0f 60); do mkdir $i; (cd $i; seq -f %0250.0f 80 | xargs touch); done")
    assert len(volume.list("/many", depth="2").json()["entries"]) == 4990
    assert_error(volume.list("/", depth="2"), 422, "invalid_request", "path")
    assert_error(volume.list("/long", depth="2"), 422, "invalid_request", "path")
    assert len(volume.list("/", depth="1").json()["entries"]) == 2


@pytest.mark.long
def test_long_targets_make_shorter_pages(make_sandbox, api, volume):
    """As JSON, a control character is six bytes."""
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    sandbox.data.check("mkdir -p /data/links/d; cd /data/links; t=$(printf '\\001%.0s' $(seq 3900)); "
                       "for i in $(seq 600); do ln -s \"$t\" $i; done")
    api.destroy(sandbox.id)
    assert_error(volume.list("/links", depth="2"), 422, "invalid_request", "path")
    seen, query, pages = [], {}, 0
    while pages == 0 or query:
        page = volume.list("/links", **query).json()
        seen += [entry["name"] for entry in page["entries"]]
        query, pages = {"next_token": page["next_token"]} if "next_token" in page else {}, pages + 1
    assert pages > 1 and sorted(seen) == sorted(["d", *map(str, range(1, 601))])


def late(*pieces):
    """A chunked body whose pieces come after the head."""
    for piece in pieces:
        time.sleep(0.3)
        yield piece


def put_in_one_segment(volume, path, chunks, headers):
    """Send a head and a chunked body together. nginx then knows the length of the body before the workers read it."""
    sent = {"Host": volume.api.origin.host, "Authorization": f"Bearer {volume.api.key}", "Content-Type": OCTETS,
            "Transfer-Encoding": "chunked", "Connection": "close", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    with volume.api.origin.tls_socket() as connection:
        connection.sendall(f"PUT {volume.address}/files?path={path} HTTP/1.1\r\n{head}\r\n".encode() + chunks)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_key_for_each_call(volume):
    """What a key is bound to: the query too, and each byte of the body, also of one that is streamed."""
    key = {"Idempotency-Key": secrets.token_urlsafe(12)}
    volume.write("/one", b"1"), volume.write("/two", b"2")
    assert volume.call("DELETE", "path", "/one", headers=key).status == 204
    volume.write("/one", b"again")
    replayed = volume.call("DELETE", "path", "/one", headers=key)
    assert replayed.status == 204 and replayed.headers["Idempotent-Replayed"] == "true"
    assert volume.read("/one") == b"again"
    assert_error(volume.call("DELETE", "path", "/two", headers=key), 422, "idempotency_key_reused")
    assert volume.read("/two") == b"2"
    key = {"Idempotency-Key": secrets.token_urlsafe(12)}
    first = volume.put_octets("/octets", b"12345", key)
    assert first.status == 201 and volume.put_octets("/octets", b"12345", key).json() == first.json()
    assert_error(volume.put_octets("/octets", b"123456", key), 422, "idempotency_key_reused", "Idempotency-Key")
    assert_error(volume.put_octets("/octets", b"54321", key), 422, "idempotency_key_reused", "Idempotency-Key")
    assert volume.put_octets("/octets", b"12345", key).json() == first.json() and volume.read("/octets") == b"12345"
    key = {"Idempotency-Key": secrets.token_urlsafe(12)}
    first = volume.put_octets("/chunks", late(b"123", b"45"), key)
    assert first.status == 201 and "streamed_body_hash" not in first.json()
    for again in (late(b"1", b"2345"), b"12345"):
        replayed = volume.put_octets("/chunks", again, key)
        assert replayed.headers["Idempotent-Replayed"] == "true" and replayed.json() == first.json()
    at_once = put_in_one_segment(volume, "/chunks", b"5\r\n12345\r\n0\r\n\r\n", key)
    assert b"idempotent-replayed: true" in at_once.lower(), at_once
    assert_error(volume.put_octets("/chunks", iter([b"123", b"46"]), key), 422, "idempotency_key_reused", "Idempotency-Key")
    assert volume.read("/chunks") == b"12345"


def test_nobody_else_reaches_the_files(stack, account, other_account, volume):
    volume.write("/secret", b"x")
    narrow = Api(stack, account.key("write", "--team", account.make_team()))
    for stranger in (other_account.api, narrow):
        for method, target, body in (
            ("GET", "files?path=/secret", None), ("GET", "directories?path=/", None),
            ("GET", "path?path=/secret", None), ("DELETE", "path?path=/secret", None),
            ("PUT", "files", {"path": "/secret", "content_b64": ""}),
            ("PUT", "directories", {"path": "/secret"}), ("PATCH", "path", {"path": "/secret", "mode": "0777"}), ("POST", "path", {"from": "/secret", "to": "/x"}),
        ):
            assert_error(stranger.request(method, f"{volume.address}/{target}", body), 404, "not_found")
        answer = stranger.request("PUT", f"{volume.address}/files?path=/secret", b"y", {"Content-Type": OCTETS})
        assert_error(answer, 404, "not_found")
    assert volume.read("/secret") == b"x"
    reader = Api(stack, account.key("read"))
    assert reader.get(f"{volume.address}/files?path=/secret").status == 200
    answer = reader.request("PUT", f"{volume.address}/files?path=/a", b"y", {"Content-Type": OCTETS})
    assert_error(answer, 403, "insufficient_scope")


# --- with sandboxes ---


def test_what_is_written_is_the_users(make_sandbox, volume):
    volume.write("/way/to/file", b"from outside")
    volume.make("/dir")
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    assert sandbox.data.check("stat -c '%U:%G %a %n' /data /data/way /data/way/to/file /data/dir") == (
        "user:user 755 /data\nuser:user 755 /data/way\nuser:user 644 /data/way/to/file\nuser:user 755 /data/dir\n")
    assert sandbox.data.check("cat /data/way/to/file; echo more >>/data/way/to/file") == "from outside"
    assert sandbox.data.check("find /data | sort") == "/data\n/data/dir\n/data/way\n/data/way/to\n/data/way/to/file\n"
    assert volume.read("/way/to/file") == b"from outsidemore\n", "reads work while it is attached"


def test_the_owner_of_a_file_stays(api, make_sandbox, volume):
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    sandbox.data.run("sh", "-c", "echo x >/data/roots; chmod 640 /data/roots; chown 0:7 /data/roots", user="root")
    api.destroy(sandbox.id)
    assert volume.write("/roots", b"new")["mode"] == "0640"
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    assert sandbox.data.check("stat -c '%u:%g %a' /data/roots") == "0:7 640\n"


CHANGES = [
    lambda volume: volume.put("/new", b"x"),
    lambda volume: volume.put_octets("/new", b"x" * 100_000),
    lambda volume: volume.make("/new"),
    lambda volume: volume.move("/there", "/new"),
    lambda volume: volume.change("/there", mode="0600"),
    lambda volume: volume.remove("/there"),
    lambda volume: volume.remove("/there", recursive="true"),
]


def test_changes_need_a_volume_at_rest(api, make_sandbox, volume):
    volume.write("/there", b"x")
    sandbox = make_sandbox(volume_mounts=volume.mounts())
    for change in CHANGES:
        assert_error(change(volume), 409, "volume_attached")
    assert volume.read("/there") == b"x" and volume.names() == ["there"]
    assert volume.stat("/there").status == 200 and volume.get_octets("/there").body == b"x"
    sandbox.pause()
    assert volume.put("/while-stopped", b"x").status == 201
    sandbox.resume()
    assert sandbox.data.check("ls /data") == "there\nwhile-stopped\n"
    assert_error(volume.put("/new"), 409, "volume_attached")
    api.destroy(sandbox.id)
    assert [change(volume).status for change in CHANGES[:6]] == [201, 200, 409, 409, 200, 204]


# --- a stranger's volume ---

HOSTILE = r"""
import os, socket
os.chdir("/data")
os.mkdir("dir"); open("dir/file", "w").write("in")
links = {"abs": "/etc/passwd", "up": "../../../../etc/passwd", "root": "/", "out": "..", "self": "self",
         "a": "b", "b": "a", "proc": "/proc/self/root/etc/passwd", "magic": "/proc/1/root",
         "within": "dir/file", "withindir": "dir", "roundabout": "dir/../dir/./file", "dangling": "nothing",
         "abshere": "/data/dir/file", "dir/updown": "../dir/file", "deepout": "dir/../../data/dir"}
for name, target in links.items():
    os.symlink(target, name)
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
os.mknod("whiteout", 0o20600, os.makedev(0, 0))
for name in (b"\xff\xfe", b"new\nline", b"tab\there", b"quo\"te", b"back\\slash", b" ", "\u00e9\u4e2d".encode(),
             b"half-\xe4\xb8", b"%2e%2e", b"-rf", b"*", b"a" * 255, b"\xed\xa0\x80"):
    open(os.path.join(b"names", name), "wb").write(name) if os.path.isdir("names") else (
        os.mkdir("names"), open(os.path.join(b"names", name), "wb").write(name))
os.truncate(os.open("sparse", os.O_CREAT | os.O_RDWR), 1 << 40)
open("locked", "w").write("x"); os.chmod("locked", 0)
os.mkdir("closed", 0)
for name, ns in (("before", -1500 * 10**6), ("after", 2**61 * 10**9)):
    open(name, "w").close(); os.utime(name, ns=(ns, ns))
"""


@pytest.fixture(scope="module")
def hostile(module_account):
    volume = Volume(module_account.api)
    sandbox = Sandbox.create(module_account.api, volume_mounts=volume.mounts())
    sandbox.data.upload("/tmp/hostile.py", HOSTILE.encode())
    sandbox.data.check("sudo python3 /tmp/hostile.py && sudo chown -hR user: /data")
    module_account.api.destroy(sandbox.id)
    return volume


OUTSIDE = ["abs", "up", "root/etc/passwd", "out/etc/passwd", "proc", "magic/etc/passwd", "abshere", "deepout/file",
           "magic"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_links_that_lead_out(hostile, path):
    for answer in (hostile.get("/" + path), hostile.get_octets("/" + path), hostile.list("/" + path)):
        assert_error(answer, 422, "invalid_request", "path")


@pytest.mark.parametrize("directory", ["root", "out", "magic", "deepout"])
def test_nothing_is_changed_through_them(hostile, directory):
    assert_error(hostile.put(f"/{directory}/tmp/x", b"x"), 422, "invalid_request", "/path")
    assert_error(hostile.put_octets(f"/{directory}/x", b"x"), 422, "invalid_request", "path")
    assert_error(hostile.make(f"/{directory}/x/y"), 422, "invalid_request", "/path")
    assert_error(hostile.remove(f"/{directory}/file"), 422, "invalid_request", "path")
    assert_error(hostile.move("/dir/file", f"/{directory}/x"), 422, "invalid_request", "/to")
    assert_error(hostile.move(f"/{directory}/file", "/x"), 422, "invalid_request", "/from")


# A folder and a link that leads out take each other's name all the time.
EXCHANGE = """
import ctypes, os
os.chdir("/data")
os.mkdir("one"); open("one/passwd", "w").write("inside"); os.symlink("/etc", "other")
libc = ctypes.CDLL(None)
open("/tmp/begun", "w").close()
while True:
    libc.renameat2(-100, b"one", -100, b"other", 2)
"""


def test_a_folder_and_a_link_that_change_places(module_account):
    """Reads beside a running sandbox, and changes at its pauses and resumes, while a volume may be changed."""
    volume = Volume(module_account.api)
    sandbox = Sandbox.create(module_account.api, volume_mounts=volume.mounts())
    sandbox.data.upload("/tmp/exchange.py", EXCHANGE.encode())
    sandbox.data.background("python3", "/tmp/exchange.py", user="root")
    sandbox.data.check("until [ -e /tmp/begun ]; do sleep 0.1; done")
    answers = collections.Counter()

    def ask():
        for name in ("one", "other"):
            for answer in (volume.get_octets(f"/{name}/passwd"), volume.list(f"/{name}"),
                           volume.put(f"/{name}/sandlot-raced", b"x"), volume.make(f"/{name}/sandlot-folder")):
                assert b"root:" not in answer.body and b"shadow" not in answer.body, answer
                answers[answer.status] += 1
    pausing = InBackground(sandbox.pause)
    while pausing.is_alive():
        ask()
    ask()
    resuming = InBackground(sandbox.resume)
    while resuming.is_alive():
        ask()
    assert set(answers) <= {200, 201, 404, 409, 422} and answers[200] + answers[201] > 0 and answers[422] > 0, answers
    pid = sandbox.stack.incus.request("GET", f"/1.0/instances/{sandbox.instance}/state")["pid"]
    for place in ("/etc", f"/proc/{pid}/root/etc"):
        assert not {"sandlot-raced", "sandlot-folder"} & set(os.listdir(place)), place
    module_account.api.destroy(sandbox.id)


def test_links_within(hostile):
    for path in ("/within", "/roundabout", "/withindir/file", "/dir/updown"):
        assert hostile.read(path) == b"in", path
    shown = hostile.stat("/abs").json()
    assert shown["type"] == "symlink" and shown["target"] == "/etc/passwd" and shown["size"] == 0
    for path in ("/self", "/a", "/b"):
        assert_error(hostile.get(path), 422, "invalid_request", "path")
    assert_error(hostile.get("/dangling"), 404, "not_found")
    assert_error(hostile.put("/dangling/x", b""), 404, "not_found")


def test_a_link_is_replaced_and_removed_itself(hostile):
    assert hostile.move("/within", "/replaced").status == 200
    assert hostile.put("/replaced", b"new").status == 200
    assert hostile.stat("/replaced").json()["type"] == "file" and hostile.read("/dir/file") == b"in"
    assert hostile.remove("/abshere").status == 204
    assert hostile.put("/self", b"a file now").status == 200


@pytest.mark.parametrize("path", ["/fifo", "/socket", "/whiteout"])
def test_what_is_no_file_blocks_nothing(hostile, path):
    assert hostile.stat(path).json()["type"] in ("fifo", "socket", "device")
    assert_error(hostile.get(path), 422, "invalid_request", "path")
    assert_error(hostile.get_octets(path), 422, "invalid_request", "path")
    assert_error(hostile.put(path + "/x"), 422, "invalid_request", "/path")
    assert hostile.put(path, b"x").status == 200, "it is replaced, not opened"
    assert hostile.read(path) == b"x"


def test_names_of_any_bytes(hostile):
    entries = hostile.list("/names").json()["entries"]
    assert len(entries) == 13
    for entry in entries:
        name = base64.b64decode(entry["name_b64"]) if "name_b64" in entry else entry["name"].encode()
        assert ("name_b64" in entry) == ("\ufffd" in entry["name"])
        answer = hostile.get_octets(b"/names/" + name)
        assert answer.status == 200 and answer.body == name
        assert hostile.get(b"/names/" + name).status == 200
    odd = [entry for entry in entries if "name_b64" in entry]
    assert {base64.b64decode(entry["name_b64"]) for entry in odd} == {b"\xff\xfe", b"half-\xe4\xb8", b"\xed\xa0\x80"}
    start = base64.b64encode(b"/names/\xff\xfe").decode()
    assert hostile.call("POST", "path", body={"from_b64": start, "to": "/names/good"}).status == 200
    assert hostile.read("/names/good") == b"\xff\xfe"
    assert hostile.remove(b"/names/half-\xe4\xb8").status == 204
    assert hostile.put_octets(b"/names/\xfd\n", b"x").status == 201
    assert hostile.get_octets(b"/names/\xfd\n").body == b"x"


def test_times_of_any_year(hostile):
    """Of the future, the file system keeps what it can."""
    for name, least, most in (("before", "1969-12-31T23:59:58.500Z", "1969-12-31T23:59:58.500Z"),
                              ("after", "2400-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000Z")):
        at = hostile.stat(f"/{name}").json()["modified_at"]
        assert len(at) == len(most) and least <= at <= most, at
        assert hostile.get_octets(f"/{name}").headers["X-Modified-At"] == at


def test_what_only_seems_large_or_closed(hostile):
    assert_error(hostile.get("/sparse"), 413, "body_too_large")
    assert hostile.stat("/sparse").json()["size"] == 1 << 40
    head = hostile.call("HEAD", "files", "/sparse", headers={"Accept": OCTETS})
    assert head.status == 200 and int(head.headers["Content-Length"]) == 1 << 40
    assert hostile.read("/locked") == b"x" and hostile.names("/closed") == []


def test_many_entries_and_a_deep_tree(module_account):
    volume = Volume(module_account.api)
    sandbox = Sandbox.create(module_account.api, volume_mounts=volume.mounts())
    sandbox.data.upload("/tmp/many.py", b"""
import os
os.mkdir("/data/many"); os.chdir("/data/many")
for i in range(6000): os.close(os.open(str(i), os.O_CREAT))
os.mkdir("/data/deep"); os.chdir("/data/deep")
for i in range(3000):
    os.mkdir("d"); os.close(os.open("f", os.O_CREAT)); os.chdir("d")
""")
    sandbox.data.check("python3 /tmp/many.py")
    module_account.api.destroy(sandbox.id)
    seen, query = [], {"limit": "1000"}
    while True:
        page = volume.list("/many", **query).json()
        assert len(page["entries"]) <= 1000
        seen += [entry["name"] for entry in page["entries"]]
        if "next_token" not in page:
            break
        if len(seen) == 1000: # what comes and goes meanwhile moves nothing else
            volume.write("/many/new", b""), volume.remove("/many/5999")
        query["next_token"] = page["next_token"]
    assert len(seen) == len(set(seen)) and set(seen) >= {str(i) for i in range(5999)}
    assert_error(volume.list("/deep", next_token=query["next_token"]), 422, "invalid_next_token", "next_token")
    assert_error(volume.list("/many", next_token="x"), 422, "invalid_next_token", "next_token")
    assert volume.remove("/deep", recursive="true").status == 204
    assert volume.remove("/many", recursive="true").status == 204
    assert volume.names() == []
    assert volume.api.delete(volume.address).status == 204


def test_a_full_volume(stack, volume):
    """Made small on its host, because what a plan gives takes long to fill."""
    pool = stack.query("SELECT pool FROM hosts LIMIT 1")[0]["pool"]
    stack.incus.request("PATCH", f"/1.0/storage-pools/{pool}/volumes/custom/vol-{volume.id[4:]}",
                        {"config": {"size": "64MiB"}})
    volume.write("/kept", b"kept")
    piece = secrets.token_bytes(2**20)
    answer = volume.put_octets("/big", iter([piece] * 90))
    assert "full" in assert_error(answer, 422, "plan_restricts_resources")["message"]
    assert volume.names() == ["kept"], "what did not fit left nothing"
    assert volume.put_octets("/fits", iter([piece] * 50)).status == 201
    for more in (30, 400):
        assert_error(volume.put_octets("/kept", iter([piece] * more)), 422, "plan_restricts_resources")
    assert volume.read("/kept") == b"kept"
    assert volume.remove("/fits").status == 204
    assert volume.put_octets("/again", iter([piece] * 50)).status == 201, "the room is there at once"
