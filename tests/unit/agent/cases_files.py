# SPDX-License-Identifier: GPL-2.0-or-later
"""GET and POST /files."""

import contextlib
import email
import json
import os
import random
import shutil
import socket
import subprocess
import threading
import unittest
import zlib

from agent_case import HOME, ROOT, AgentTest, quote
from agent_client import Reply


class Files(AgentTest):
    def put(self, path, data, chunked=False, **headers):
        return self.agent.send("POST", "/files?path=" + quote(path), data,
                               {"Content-Type": "application/octet-stream", **headers},
                               chunked=chunked)

    def get(self, path, **headers):
        return self.agent.send("GET", "/files?path=" + quote(path),
                               headers={k.replace("_", "-"): v for k, v in headers.items()})

    @staticmethod
    def multipart(parts, end=b"--BoUnDaRy--\r\n"):
        body = b""
        for name, file_name, data in parts:
            body += (f'--BoUnDaRy\r\nContent-Disposition: form-data; name="{name}"; '
                     f'filename="{file_name}"\r\nContent-Type: application/octet-stream\r\n\r\n'
                     ).encode() + data + b"\r\n"
        return body + end

    def put_parts(self, parts, query="", chunked=False, **more):
        return self.agent.send("POST", "/files" + query, self.multipart(parts, **more),
                               {"Content-Type": "multipart/form-data; boundary=BoUnDaRy"},
                               chunked=chunked)

    def test_octet_stream(self):
        for number, size in enumerate((0, 1, 65536, 3_000_001)):
            for chunked in (False, True):
                path = f"{self.folder}/octet/{number}/ü {chunked}"
                data = os.urandom(size)
                reply = self.put(path, data, chunked)
                self.assertEqual(reply.status, 200)
                self.assertEqual(reply.json(), [{"name": os.path.basename(path), "path": path,
                                                 "type": "file"}])
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), data)
                self.assertEqual(os.stat(path).st_mode & 0o7777, 0o644)
                self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o7777, 0o755)
                reply = self.get(path)
                self.assertEqual(int(reply.headers["content-length"]), size)
                self.assertEqual(reply.read(), data)

    def test_errors_have_the_shape_of_the_api(self):
        """For requests that nginx has given an id; E2B's clients see two members."""
        message = "path '/none' does not exist"
        self.assertEqual(self.get("/none").json(), {"code": 404, "message": message})
        reply = self.get("/none", X_Request_Id="abc")
        self.assertEqual(reply.json(), {"error": "not_found", "message": message, "request_id": "abc", "code": 404})
        self.assertNotIn("retry-after", reply.headers)
        self.assertEqual(set(self.get("/none", X_Request_Id="a" * 129).json()), {"code", "message"})

    def test_overwrite_truncates(self):
        path = self.folder + "/twice"
        self.put(path, b"a long first text").json()
        os.chmod(path, 0o755)
        self.put(path, b"short").json()
        self.assertEqual(self.get(path).read(), b"short")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o755)

    def test_multipart(self):
        parts = [("file", f"{self.folder}/multi/{n}/f{n}", os.urandom(n * 40000)) for n in range(4)]
        parts.insert(2, ("note", "ignored", b"not a file"))
        for chunked in (False, True):
            reply = self.put_parts(parts, chunked=chunked)
            self.assertEqual([entry["path"] for entry in reply.json()],
                             [path for name, path, _ in parts if name == "file"])
            for name, path, data in parts:
                if name == "file":
                    self.assertEqual(self.get(path).read(), data)

    def test_multipart_with_path(self):
        path = self.folder + "/named"
        tricky = b"\r\n--BoUnDar\r\n--\r\nBoUnDaRy--" * 9000
        self.assertEqual(self.put_parts([("file", "x", tricky)], "?path=" + quote(path)).status, 200)
        self.assertEqual(self.get(path).read(), tricky)
        message = self.error(self.put_parts([("file", "x", b"1"), ("file", "y", b"2")],
                                            "?path=" + quote(path)), 400)
        self.assertIn(path, message)
        self.assertEqual(self.get(path).read(), tricky)

    def test_multipart_byte_by_byte(self):
        path = self.folder + "/slow"
        body = self.multipart([("file", path, b"drops")])
        connection = self.agent.connect()
        connection.sendall(self.agent.head("POST", "/files", {
            "Content-Type": 'multipart/form-data; boundary="BoUnDaRy"',
            "Content-Length": len(body)}))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in body:
            connection.sendall(bytes([byte]))
        self.assertEqual(Reply(connection).status, 200)
        self.assertEqual(self.get(path).read(), b"drops")

    def test_multipart_errors(self):
        self.error(self.put_parts([("file", "", b"x")]), 400)
        self.error(self.put_parts([("file", self.folder + "/cut", b"x")], end=b""), 400)
        self.error(self.agent.send("POST", "/files", b"x", {"Content-Type": "multipart/form-data"}),
                   400)
        other = self.multipart([("upload", self.folder + "/other", b"x")])
        kind = {"Content-Type": "multipart/form-data; boundary=BoUnDaRy"}
        self.assertEqual(self.agent.send("POST", "/files", other, kind).json(), [])
        message = self.error(self.agent.send("POST", "/files", other, kind | {"X-Request-Id": "abc"}), 400)
        self.assertIn("no part with the name 'file'", message)

    # --- what an upload leaves that is refused or breaks off ---

    def old_file(self, name="kept"):
        """A file of some age, and a way to look at all of its kind."""
        path = f"{self.folder}/{name}"
        with open(path, "wb") as file:
            file.write(b"old content")
        os.chmod(path, 0o750)
        os.setxattr(path, "user.note", b"mine")
        return path

    def is_as_before(self, path, entries):
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"old content")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o750)
        self.assertEqual(os.listxattr(path), ["user.note"])
        self.assertEqual(sorted(os.listdir(os.path.dirname(path))), entries)

    def bad_bodies(self):
        packer = zlib.compressobj(wbits=31)
        packed = packer.compress(os.urandom(300_000)) + packer.flush()
        wrong_sum = packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]
        return (packed[:-5], wrong_sum, packed[:1000], b"no gzip", packed + b"junk")

    def test_a_bad_gzip_body_changes_nothing(self):
        path = self.old_file()
        entries = sorted(os.listdir(self.folder))
        for body in self.bad_bodies():
            for chunked in (False, True):
                self.error(self.put(path, body, chunked, **{"Content-Encoding": "gzip"}), 400)
                self.is_as_before(path, entries)
                self.error(self.put(path + ".new", body, **{"Content-Encoding": "gzip"}), 400)
                self.is_as_before(path, entries)
        packer = zlib.compressobj(wbits=31)
        packed = packer.compress(self.multipart([("file", path, b"x" * 99), ("file", path + "2", b"y")]))
        packed += packer.flush()
        reply = self.agent.send("POST", "/files", packed[:-1], {
            "Content-Type": "multipart/form-data; boundary=BoUnDaRy", "Content-Encoding": "gzip"})
        self.error(reply, 400)
        self.is_as_before(path, entries)

    def test_a_bad_multipart_body_changes_nothing(self):
        path = self.old_file()
        entries = sorted(os.listdir(self.folder))
        for parts, more in (([("file", path, b"x" * 70_000)], {"end": b""}),
                            ([("file", path, b"x"), ("file", "", b"nowhere")], {}),
                            ([("file", path, b"x"), ("file", path, b"again")], {}),
                            ([("file", path, b"x"), ("file", self.folder, b"a directory")], {})):
            self.error(self.put_parts(parts, **more), 400)
            self.is_as_before(path, entries)

    def test_an_upload_that_breaks_off_changes_nothing(self):
        path = self.old_file()
        entries = sorted(os.listdir(self.folder))
        part = self.multipart([("file", path, bytes(200_000))], end=b"")
        for target, kind in ((f"/files?path={quote(path)}", "application/octet-stream"),
                             ("/files", "multipart/form-data; boundary=BoUnDaRy")):
            connection = self.agent.connect()
            connection.sendall(self.agent.head("POST", target, {
                "Content-Type": kind, "Content-Length": 999_999}) + part)
            self.eventually(self.writes_beside)
            self.is_as_before(path, entries)
            connection.close()
            self.eventually(lambda: not self.writes_beside())
            self.is_as_before(path, entries)

    def writes_beside(self):
        """Whether the agent has a file open that has no name yet."""
        folder = f"/proc/{self.agent.process.pid}/fd"
        for number in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                if "(deleted)" in os.readlink(f"{folder}/{number}"):
                    return True
        return False

    def test_readers_see_the_old_file_or_the_new_one(self):
        path = self.old_file()
        with open(path, "rb") as reader:
            self.put(path, b"new content", **{"X-Metadata-Tag": "t"}).json()
            self.assertEqual(reader.read(), b"old content")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"new content")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o750)
        self.assertEqual(sorted(os.listxattr(path)), ["user.e2b.tag", "user.note"])

    def test_many_parts(self):
        """More than are held back until the end."""
        parts = [("file", f"{self.folder}/many/{n}", b"%d" % n) for n in range(300)]
        self.assertEqual(len(self.put_parts(parts).json()), 300)
        for _, path, data in parts:
            with open(path, "rb") as file:
                self.assertEqual(file.read(), data)
        self.assertEqual(len(os.listdir(self.folder + "/many")), 300)

    def test_other_names_and_links_stay(self):
        path = self.old_file()
        os.link(path, path + ".other")
        os.symlink(path, path + ".link")
        os.symlink(path + ".not yet", path + ".dangling")
        inode = os.stat(path).st_ino
        for name in (path, path + ".other", path + ".link"):
            self.put(name, name.encode()).json()
            for one in (path, path + ".other", path + ".link"):
                with open(one, "rb") as file:
                    self.assertEqual(file.read(), name.encode())
        for body in self.bad_bodies():
            for name in (path, path + ".other"):
                self.error(self.put(name, body, **{"Content-Encoding": "gzip"}), 400)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), (path + ".link").encode())
        self.assertEqual(os.stat(path).st_ino, inode)
        os.unlink(path + ".other")
        self.put(path + ".link", b"through the link").json()
        self.assertTrue(os.path.islink(path + ".link"))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"through the link")
        self.put(path + ".dangling", b"made").json()
        self.assertTrue(os.path.islink(path + ".dangling"))
        with open(path + ".not yet", "rb") as file:
            self.assertEqual(file.read(), b"made")
        for body in self.bad_bodies():
            self.error(self.put(path + ".link", body, **{"Content-Encoding": "gzip"}), 400)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"through the link")

    @unittest.skipUnless(ROOT, "needs root")
    def test_a_file_that_is_mounted_on(self):
        """No rename replaces it."""
        path, below = self.old_file(), self.old_file("below")
        if os.system(f"mount --bind {below} {path} 2>/dev/null"):
            self.skipTest("cannot mount")
        try:
            self.error(self.put(path, b"no gzip", **{"Content-Encoding": "gzip"}), 400)
            with open(below, "rb") as file:
                self.assertEqual(file.read(), b"old content")
            self.put(path, b"new").json()
            with open(below, "rb") as file:
                self.assertEqual(file.read(), b"new")
            self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])
        finally:
            os.system(f"umount -l {path}")

    def test_multipart_of_other_clients(self):
        """What is written otherwise than by browsers, and never a success without its file."""
        path = self.folder + '/a "quoted" name'
        quoted = path.replace('"', '\\"')
        for number, (disposition, kind, end) in enumerate((
                (f'form-data; name="file"; filename="{quoted}"', "; boundary=BoUnDaRy", "\r\n"),
                (f'form-data; filename="{quoted}"; name=file', "; boundary=BoUnDaRy; charset=utf-8", ""),
                (f'FORM-DATA; NAME="file"; FILENAME="{quoted}"', ';Boundary="BoUnDaRy"', "\r\n\r\nbye"))):
            body = (f"--BoUnDaRy\r\nContent-Disposition: {disposition}\r\n\r\n{number}\r\n"
                    f"--BoUnDaRy--{end}").encode()
            reply = self.agent.send("POST", "/files", body, {"Content-Type": "multipart/form-data" + kind})
            self.assertEqual([entry["path"] for entry in reply.json()], [path])
            self.assertEqual(self.get(path).read(), str(number).encode())
        for body in (b"--BoUnDaRy\r\nContent-Disposition: form-data\r\n\r\nx\r\n--BoUnDaRy--\r\n",
                     b"--OtHeR\r\n\r\nx\r\n--OtHeR--\r\n", b""):
            self.error(self.agent.send("POST", "/files", body, {
                "Content-Type": "multipart/form-data; boundary=BoUnDaRy"}), 400)

    def test_refused_bodies(self):
        self.error(self.agent.send("POST", "/files?path=/tmp/x", b"x", {"Content-Type": "text/x"}),
                   415)
        old = self.old_file()
        for path in (self.folder + "/z", old):
            reply = self.put(path, b"x", **{"Content-Encoding": "br"})
            self.error(reply, 415)
            self.assertEqual(reply.headers["accept-encoding"], "gzip, identity")
        with open(old, "rb") as file:
            self.assertEqual(file.read(), b"old content")
        self.error(self.agent.send("POST", "/files", b"x",
                                   {"Content-Type": "application/octet-stream"}), 400)
        self.assertFalse(os.path.exists(self.folder + "/z"))

    def test_bad_targets(self):
        self.error(self.put(self.folder, b"x"), 400)
        self.put(self.folder + "/plain", b"x").json()
        self.error(self.put(self.folder + "/plain/below", b"x"), 400)
        os.mkfifo(self.folder + "/fifo")
        self.error(self.put(self.folder + "/fifo", b"x"), 400)
        self.error(self.get(self.folder + "/fifo"), 400)
        self.error(self.get("/" + "a" * 5000), 400)
        self.error(self.get("~other/x"), 400)
        self.error(self.agent.send("GET", "/files?path=/etc/passwd%00x"), 400)

    def test_reading_errors(self):
        self.assertIn("directory", self.error(self.get(self.folder), 400))
        self.error(self.get(self.folder + "/missing"), 404)
        self.error(self.get("/etc/passwd/missing"), 404)
        self.error(self.agent.send("GET", "/files?path=/etc/passwd&username=nobody-here"), 401)
        self.error(self.get("/etc/passwd", Accept_Encoding="identity;q=0"), 406)

    def test_relative_paths(self):
        name = f".sandlot-test-{os.getpid()}"
        try:
            reply = self.put(f"./x/../{name}", b"home")
            self.assertEqual(reply.json()[0]["path"], os.path.join(HOME, name))
            self.assertEqual(self.get("~/" + name).read(), b"home")
        finally:
            os.unlink(os.path.join(HOME, name))

    def test_ranges(self):
        path = self.folder + "/ranges"
        data = bytes(range(256)) * 1000
        self.put(path, data).json()
        for text, first, last in (("0-9", 0, 9), ("100-", 100, len(data) - 1),
                                  ("-7", len(data) - 7, len(data) - 1), ("5-99999999", 5, None)):
            last = len(data) - 1 if last is None else last
            reply = self.get(path, Range="bytes=" + text)
            self.assertEqual(reply.status, 206)
            self.assertEqual(reply.headers["content-range"], f"bytes {first}-{last}/{len(data)}")
            self.assertEqual(reply.read(), data[first : last + 1])
        reply = self.get(path, Range=f"bytes={len(data)}-")
        self.assertEqual(reply.headers["content-range"], f"bytes */{len(data)}")
        self.assertIn(f"{len(data)} bytes", self.error(reply, 416))
        for ignored in ("bytes=5-1", "lines=1-2", "bytes=1-2,4-5x", "bytes=x"):
            self.assertEqual(self.get(path, Range=ignored).status, 200)

    def test_several_ranges(self):
        path = self.folder + "/several.txt"
        data = random.randbytes(300_000)
        self.put(path, data).json()
        wanted = ((0, 0), (5, 150_000), (299_990, 299_999))
        reply = self.get(path, Range="bytes=0-0, 5-150000,-10, 300000-")
        self.assertEqual(reply.status, 206)
        self.assertNotIn("content-range", reply.headers)
        head = f"Content-Type: {reply.headers['content-type']}\r\n\r\n".encode()
        parts = email.message_from_bytes(head + reply.read()).get_payload()
        self.assertEqual(
            [(part["Content-Type"], part["Content-Range"], part.get_payload(decode=True))
             for part in parts],
            [("text/plain; charset=utf-8", f"bytes {first}-{last}/{len(data)}", data[first : last + 1])
             for first, last in wanted])

    def test_conditions(self):
        path = self.folder + "/conditions"
        self.put(path, b"text").json()
        reply = self.get(path)
        tag, date = reply.headers["etag"], reply.headers["last-modified"]
        self.assertEqual(reply.headers["accept-ranges"], "bytes")
        same = self.get(path, If_None_Match=tag)
        self.assertEqual(same.status, 304)
        # It would be the length of the file.
        self.assertNotIn("content-length", same.headers)
        self.assertEqual(self.get(path, If_None_Match='"x", W/' + tag).status, 304)
        self.assertEqual(self.get(path, If_None_Match='"x"').status, 200)
        self.assertEqual(self.get(path, If_Modified_Since=date).status, 304)
        changed = self.get(path, If_Match='"x"')
        self.assertEqual(changed.headers["etag"], tag)
        self.assertIn("has changed", self.error(changed, 412))
        self.assertEqual(self.get(path, If_Match=tag).status, 200)
        self.assertEqual(self.get(path, If_Range=tag, Range="bytes=1-1").status, 206)
        self.assertEqual(self.get(path, If_Range='"x"', Range="bytes=1-1").status, 200)

    def test_names_and_types(self):
        path = self.folder + '/a "b" ü.html'
        self.put(path, b"x").json()
        reply = self.get(path)
        self.assertEqual(reply.headers["content-type"], "text/html; charset=utf-8")
        self.assertTrue(reply.headers["content-disposition"].startswith(
            'inline; filename="a \\"b\\" __.html"'), reply.headers["content-disposition"])
        self.assertTrue(reply.headers["content-disposition"].endswith(
            "filename*=UTF-8''a%20%22b%22%20%C3%BC.html"))

    def test_files_without_size(self):
        self.assertIn(b"MemTotal", self.get("/proc/meminfo").read())
        # Says that it has a page, and has a line.
        online = "/sys/devices/system/cpu/online"
        with open(online, "rb") as file:
            self.assertEqual(self.get(online).read(), file.read())
        reply = self.agent.send("GET", "/files?download=1&path=/proc/meminfo")
        self.assertTrue(reply.headers["content-disposition"].startswith("attachment"))
        page = self.folder + "/page"
        data = os.urandom(os.sysconf("SC_PAGESIZE"))
        self.put(page, data).json()
        self.assertEqual(self.get(page).read(), data)
        self.assertEqual(self.get(page, Range="bytes=5-9").read(), data[5:10])

    def test_a_long_file_without_size_is_whole(self):
        with open("/proc/kallsyms", "rb") as file:
            symbols = file.read(2 << 20)
        if len(symbols) < 2 << 20:
            self.skipTest("this kernel has few symbols")
        self.assertEqual(self.get("/proc/kallsyms").read()[: 2 << 20], symbols)

    def test_a_program_that_runs_is_replaced(self):
        path = shutil.copy("/bin/sleep", self.folder + "/program")
        program = subprocess.Popen([path, "300"])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.put(path, b"#!/bin/sh\necho new\n").json()
        self.assertIsNone(program.poll())
        self.assertEqual(subprocess.run([path], capture_output=True, check=True).stdout, b"new\n")

    def test_an_upload_is_of_a_whole_file_without_conditions(self):
        path = self.old_file("conditional")
        for name, value in (("Content-Range", "bytes 0-0/3"), ("If-None-Match", "*"), ("If-Match", '"x"'),
                            ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")):
            reply = self.put(path, b"x", **{name: value, "X-Request-Id": "abc"})
            self.assertEqual((reply.status, reply.json()["field"]), (400, name))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"old content")

    def test_many_notes_are_all_read(self):
        path = self.folder + "/notes"
        notes = {f"X-Metadata-{'n' * 150}{number:02}": "v" for number in range(60)}
        reply = self.put(path, b"x", **notes)
        if reply.status != 200:
            self.skipTest("no room for so many attributes here")
        status, body = self.agent.unary("filesystem.Filesystem/Stat", {"path": path})
        self.assertEqual(body["entry"]["metadata"], reply.json()[0]["metadata"])
        self.assertEqual(len(body["entry"]["metadata"]), 60)

    def test_metadata(self):
        path = self.folder + "/meta"
        try:
            open(path, "w").close()
            os.setxattr(path, "user.e2b.old", b"1")
        except OSError:
            self.skipTest("no extended attributes here")
        reply = self.put(path, b"x", **{"X-Metadata-Author": "me", "X-Metadata-Tag": "t"})
        self.assertEqual(reply.json()[0]["metadata"], {"author": "me", "tag": "t"})
        self.assertEqual(sorted(os.listxattr(path)), ["user.e2b.author", "user.e2b.tag"])
        self.assertNotIn("metadata", self.put(path, b"y").json()[0])
        self.assertEqual(os.listxattr(path), [])
        odd = {"X-Metadata-a_b": "1", "X-Metadata-c.d": "2", "X-Metadata-e!#$%&'*+^`|~": "3"}
        self.assertEqual(self.put(path, b"z", **odd).json()[0]["metadata"],
                         {name.removeprefix("X-Metadata-"): value for name, value in odd.items()})
        self.error(self.put(path, b"z", **{"X-Metadata-": "1"}), 400)

    def test_uploads_that_are_given_up_leave_nothing(self):
        """Also when their end comes together with the last bytes."""
        def descriptors():
            return len(os.listdir(f"/proc/{self.agent.process.pid}/fd"))

        before = descriptors()
        part = self.multipart([("file", self.folder + "/given up", bytes(20000))], end=b"")
        framed = b"\0\0\0\0\x1d" + b'{"start":{"process":{"pid":1}'
        for path, kind, length, body in (
                ("/files", "multipart/form-data; boundary=BoUnDaRy", 99999, part),
                (f"/files?path={quote(self.folder + '/up')}", "application/octet-stream", 99999, part),
                ("/process.Process/List", "application/json", 50, b"{"),
                ("/process.Process/StreamInput", "application/connect+json", 5000, framed)):
            for _ in range(30):
                connection = self.agent.connect()
                connection.sendall(self.agent.head("POST", path, {
                    "Content-Type": kind, "Content-Length": length}) + body)
                connection.close()
        self.eventually(lambda: descriptors() <= before)

    def test_refused_upload_is_answered_early(self):
        """A long upload that cannot be stored is answered while it is still being sent."""
        connection = self.agent.connect()
        connection.sendall(self.agent.head("POST", "/files?path=" + quote(self.folder), {
            "Content-Type": "application/octet-stream", "Content-Length": 1 << 40}))
        connection.settimeout(0.2)
        sent = 0
        try:
            while sent < 32 << 20:
                sent += connection.send(b"x" * 65536)
        except (BlockingIOError, TimeoutError):
            pass
        connection.settimeout(5)
        self.error(Reply(connection), 400)

    @unittest.skipUnless(ROOT, "needs root")
    def test_owner(self):
        path = self.folder + "/owned/by/nobody"
        os.chmod(self.folder, 0o755)
        reply = self.agent.send("POST", f"/files?path={quote(path)}&username=nobody", b"x",
                                {"Content-Type": "application/octet-stream"})
        self.assertEqual(reply.status, 200)
        nobody = os.stat(path).st_uid
        self.assertNotEqual(nobody, 0)
        self.assertEqual(os.stat(self.folder + "/owned").st_uid, nobody)

    @unittest.skipUnless(ROOT, "needs root")
    def test_no_space(self):
        small = self.folder + "/small"
        os.mkdir(small)
        if os.system(f"mount -t tmpfs -o size=1m none {small} 2>/dev/null"):
            self.skipTest("cannot mount")
        try:
            self.put(small + "/x", b"old").json()
            for chunked in (False, True):
                self.error(self.put(small + "/x", b"x" * 3_000_000, chunked), 507)
                self.assertEqual(self.get(small + "/x").read(), b"old")
                self.assertEqual(os.listdir(small), ["x"])
        finally:
            # Lazily: the answer comes before the agent has closed the file.
            os.system(f"umount -l {small}")


class Memory(AgentTest):
    """A file of any size passes through the same few pages."""

    SIZE = 48 << 20
    LIMIT_KB = 2500

    def peak_kb(self, work):
        """How far the agent's own memory grows meanwhile."""
        def own():
            with open(f"/proc/{self.agent.process.pid}/status") as status:
                return int(next(line for line in status if line.startswith("RssAnon")).split()[1])

        before, peak, done = own(), [0], threading.Event()

        def sample():
            while not done.wait(0.005):
                peak[0] = max(peak[0], own())

        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            work()
        finally:
            done.set()
            sampler.join()
        return peak[0] - before

    def put_long(self, path, head, body, tail=b""):
        connection = self.agent.connect(60)
        headers = {"Transfer-Encoding": "chunked", **head}
        connection.sendall(self.agent.head("POST", "/files?path=" + quote(path), headers))
        for part in (*body, tail):
            if part:
                connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        connection.sendall(b"0\r\n\r\n")
        self.assertEqual(Reply(connection).status, 200)
        self.assertEqual(os.stat(path).st_size, self.SIZE)

    def drain(self, headers=None):
        reply = self.agent.send("GET", "/files?path=" + quote(self.path), headers=headers)
        self.assertEqual(reply.status, 200)
        size = 0
        while (piece := reply._more()):
            size += len(piece)
        return size

    def test_memory_stays_flat(self):
        block = os.urandom(1 << 16) * 16
        blocks = [block] * (self.SIZE >> 20)
        self.path = self.folder + "/long"
        octets = {"Content-Type": "application/octet-stream"}
        begin = (b'--BoUnDaRy\r\nContent-Disposition: form-data; name="file"; '
                 b'filename="x"\r\n\r\n')
        packer = zlib.compressobj(1, wbits=31)
        packed = [packer.compress(one) for one in blocks] + [packer.flush()]
        for name, work in (
            ("octets", lambda: self.put_long(self.path, octets, blocks)),
            ("gzip", lambda: self.put_long(self.path, {**octets, "Content-Encoding": "gzip"}, packed)),
            ("multipart", lambda: self.put_long(
                self.path, {"Content-Type": "multipart/form-data; boundary=BoUnDaRy"}, [begin, *blocks],
                b"\r\n--BoUnDaRy--\r\n")),
            ("download", lambda: self.assertEqual(self.drain(), self.SIZE)),
            ("packed download", lambda: self.assertLess(0, self.drain({"Accept-Encoding": "gzip"}))),
        ):
            with self.subTest(name):
                self.assertLess(self.peak_kb(work), self.LIMIT_KB)


class Compose(AgentTest):
    def compose(self, sources, destination, **more):
        body = {"source_paths": sources, "destination": destination, **more}
        return self.agent.send("POST", "/files/compose", json.dumps(body).encode(),
                               {"Content-Type": "application/json"})

    def write(self, name, data):
        path = f"{self.folder}/{name}"
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_pieces_become_one_file(self):
        parts = [os.urandom(size) for size in (0, 1, 3_000_001, 70_000)]
        paths = [self.write(f"part{number}", part) for number, part in enumerate(parts)]
        target = f"{self.folder}/new folder/whole"
        reply = self.compose(paths, target)
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json(), {"name": "whole", "path": target, "type": "file"})
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"".join(parts))
        self.assertEqual(os.stat(target).st_mode & 0o7777, 0o644)
        self.assertFalse(any(os.path.exists(path) for path in paths))
        self.assertEqual(os.listdir(os.path.dirname(target)), ["whole"])

    def test_replaces_at_once(self):
        target = self.write("old", b"old")
        with open(target, "rb") as reader:
            self.assertEqual(self.compose([self.write("new", b"new")], target).status, 200)
            self.assertEqual(reader.read(), b"old")
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"new")

    def test_a_source_by_another_path_is_no_destination(self):
        """It would be deleted with the sources."""
        os.mkdir(f"{self.folder}/real")
        os.symlink("real", f"{self.folder}/way")
        one, more = self.write("real/one", b"1"), self.write("more", b"2")
        os.symlink(one, f"{self.folder}/name")
        for destination in (f"{self.folder}/way/one", f"{self.folder}/name", one):
            self.error(self.compose([more, one], destination), 400)
            self.assertEqual([open(path, "rb").read() for path in (one, more)], [b"1", b"2"])

    def test_the_destination_is_written_as_by_an_upload(self):
        """Through a link, with its mode, and with a name of any length."""
        target = self.write("m" * 255, b"old")
        os.chmod(target, 0o700)
        link = f"{self.folder}/to the long name"
        os.symlink(target, link)
        self.assertEqual(self.compose([self.write("piece", b"new")], link).status, 200)
        self.assertTrue(os.path.islink(link))
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"new")
        self.assertEqual(os.stat(target).st_mode & 0o7777, 0o700)
        self.assertEqual(self.compose([self.write("piece", b"x")], f"{self.folder}/{'n' * 255}").status, 200)

    def test_a_source_without_a_length(self):
        target = f"{self.folder}/status"
        self.assertEqual(self.compose(["/proc/self/status"], target).status, 200)
        with open(target, "rb") as file:
            self.assertIn(b"VmRSS", file.read())

    def test_refusals_change_nothing(self):
        one, target = self.write("one", b"1"), self.write("target", b"kept")
        for sources, destination, status in (
            ([], target, 400), ([one], "", 400), ([one, target], target, 400),
            ([one, self.folder], target, 400), ([one, f"{self.folder}/none"], target, 404),
            ([one], self.folder, 400), ([one], f"{one}/below", 400), ([7], target, 400),
            ("x", target, 400), ([one], "/dev/null", 400),
        ):
            with self.subTest(sources=sources, destination=destination):
                self.error(self.compose(sources, destination), status)
        self.error(self.compose([one], target, username="nobody-by-that-name"), 401)
        for body in (b"", b"{", b"[]"):
            self.error(self.agent.send("POST", "/files/compose", body), 400)
        self.error(self.agent.send("GET", "/files/compose"), 405)
        self.assertEqual([open(path, "rb").read() for path in (one, target)], [b"1", b"kept"])

    @unittest.skipUnless(ROOT, "needs root")
    def test_no_space(self):
        small = f"{self.folder}/small"
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=True)
        try:
            part = self.write("big", b"x" * (2 << 20))
            with open(f"{small}/target", "wb") as file:
                file.write(b"kept")
            self.error(self.compose([part], f"{small}/target"), 507)
            self.assertEqual(os.listdir(small), ["target"])
            self.assertTrue(os.path.exists(part))
        finally:
            subprocess.run(["umount", "-l", small], check=True)
