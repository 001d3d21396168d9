# SPDX-License-Identifier: GPL-2.0-or-later
"""/files with gzip both ways."""

import gzip
import os
import random
import tempfile
import zlib

from agent_case import AgentTest, quote


class Coding(AgentTest):
    def setUp(self):
        self.path = tempfile.mktemp(dir=self.folder)

    def get(self, **headers):
        return self.agent.send("GET", "/files?path=" + quote(self.path),
                               headers={name.replace("_", "-"): text for name, text in headers.items()})

    def put(self, body, chunked=False, content_type="application/octet-stream", query=True):
        return self.agent.send(
            "POST", "/files" + ("?path=" + quote(self.path) if query else ""), body,
            {"Content-Type": content_type, "Content-Encoding": "gzip"}, chunked=chunked)

    def write(self, content):
        with open(self.path, "wb") as file:
            file.write(content)

    def test_download(self):
        content = b"all work and no play\n" * 100000
        self.write(content)
        reply = self.get(Accept_Encoding="gzip, deflate, br")
        body = reply.read()
        self.assertEqual((reply.status, reply.headers["content-encoding"]), (200, "gzip"))
        self.assertEqual(reply.headers["vary"], "Accept-Encoding")
        self.assertLess(len(body), len(content) / 20)
        self.assertEqual(gzip.decompress(body), content)
        plain = self.get()
        self.assertNotIn("content-encoding", plain.headers)
        self.assertEqual(plain.read(), content)
        self.assertNotEqual(plain.headers["etag"], reply.headers["etag"])
        again = self.get(Accept_Encoding="gzip", If_None_Match=reply.headers["etag"])
        self.assertEqual(again.status, 304)

    def test_what_is_asked_for(self):
        self.write(b"x" * 1000)
        for accepted, coding in (
            ("gzip", "gzip"), ("GZip;q=0.5, identity;q=0.5", "gzip"), ("x-gzip", "gzip"),
            ("gzip;q=0.4, identity;q=0.5", None), ("gzip;q=0", None), ("*", None), ("br", None),
            ("", None), ("identity", None), ("gzip;q=0.001", "gzip"), ("*;q=0, gzip", "gzip"),
            ("identity;q=0, *", "gzip"), ("identity;q=0.0, gzip;q=0.2", "gzip"),
        ):
            with self.subTest(accepted):
                reply = self.get(Accept_Encoding=accepted)
                self.assertEqual((reply.status, reply.headers.get("content-encoding")), (200, coding))
        for accepted in ("identity;q=0", "*;q=0", "br, *;q=0", "identity;q=0, gzip;q=0"):
            self.error(self.get(Accept_Encoding=accepted), 406)

    def test_parts_are_plain(self):
        self.write(b"0123456789")
        reply = self.get(Accept_Encoding="gzip", Range="bytes=2-4")
        self.assertEqual((reply.status, reply.read()), (206, b"234"))
        self.assertNotIn("content-encoding", reply.headers)

    def test_packed_files_are_not_packed_again(self):
        self.write(random.randbytes(1 << 20))
        self.assertNotIn("content-encoding", self.get(Accept_Encoding="gzip").headers)

    def test_empty_file(self):
        self.write(b"")
        reply = self.get(Accept_Encoding="gzip")
        self.assertEqual((reply.status, reply.headers.get("content-length")), (200, "0"))
        reply = self.get(Accept_Encoding="gzip, identity;q=0")
        self.assertEqual(gzip.decompress(reply.read()), b"")

    def test_upload(self):
        content = b"".join(random.randbytes(1000) + bytes(5000) for _ in range(500))
        for chunked in (False, True):
            self.assertEqual(self.put(gzip.compress(content), chunked).status, 200)
            with open(self.path, "rb") as file:
                self.assertEqual(file.read(), content)
        two_members = gzip.compress(b"one ") + gzip.compress(b"two")
        self.assertEqual(self.put(two_members).status, 200)
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), b"one two")

    def test_upload_of_parts(self):
        body = (f'--bound\r\nContent-Disposition: form-data; name="file"; filename="{self.path}"\r\n\r\n'
                "content\r\n--bound--\r\n").encode()
        reply = self.put(gzip.compress(body), content_type="multipart/form-data; boundary=bound",
                         query=False)
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json()[0]["path"], self.path)

    def test_corrupt_uploads(self):
        whole = gzip.compress(b"content" * 1000)
        for body in (b"no gzip", whole[:-1], whole[:20], whole + b"rest",
                     whole[:-8] + bytes(8), zlib.compress(b"x"), b""):
            with self.subTest(body[:20]):
                self.error(self.put(body), 400)

    def test_much_from_little(self):
        """256 MiB of zeros: others are answered meanwhile, and no memory is taken."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = b"".join(packer.compress(bytes(1 << 20)) for _ in range(256)) + packer.flush()
        self.assertEqual(self.put(body).status, 200)
        self.assertEqual(os.stat(self.path).st_size, 256 << 20)
        with open(f"/proc/{self.agent.process.pid}/status") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        self.assertLess(peak, 8192)


class Numbers(AgentTest):
    def test_metrics(self):
        numbers = self.agent.send("GET", "/metrics").json()
        self.assertEqual(set(numbers), {"ts", "cpu_count", "cpu_used_pct", "mem_total", "mem_used",
                                        "mem_cache", "disk_used", "disk_total"})
        self.assertGreater(numbers["cpu_count"], 0)
        self.assertLess(0, numbers["mem_used"])
        self.assertLess(numbers["mem_used"], numbers["mem_total"])
        self.assertLess(numbers["disk_used"], numbers["disk_total"])
        self.assertTrue(0 <= numbers["cpu_used_pct"] <= 100)
        self.assertEqual(self.agent.send("GET", "/metrics", secret=False).status, 401)

    def test_envs(self):
        self.assertLessEqual(self.envs.items(), self.agent.send("GET", "/envs").json().items())
        # From inside no secret is needed; GET alone.
        self.assertEqual(self.agent.send("GET", "/envs", secret=False).json(), self.agent.send("GET", "/envs").json())
        self.assertEqual(self.agent.send("GET", "/envs", secret="00" * 32).status, 200)
        self.assertEqual(self.agent.send("POST", "/envs", secret=False).status, 401)
