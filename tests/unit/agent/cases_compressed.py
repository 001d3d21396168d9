# SPDX-License-Identifier: GPL-2.0-or-later
"""The Connect protocol with messages of gzip, which a client may send without being asked."""

import base64
import gzip
import json
import os
import struct

from agent_case import AgentTest
from agent_client import Reply

BODY_MAX = 4 << 20


def packed(message):
    return gzip.compress(message if isinstance(message, bytes) else json.dumps(message).encode())


def envelope(data, flags=1):
    return struct.pack(">BI", flags, len(data)) + data


class Compressed(AgentTest):
    def unary(self, body, method="filesystem.Filesystem/Stat", coding="gzip"):
        reply = self.agent.send("POST", "/" + method, body,
                                {"Content-Type": "application/json", "Content-Encoding": coding})
        return reply.status, reply.json()

    def stream(self, body, method="process.Process/Start", coding="gzip"):
        headers = {"Content-Type": "application/connect+json"}
        if coding:
            headers["Connect-Content-Encoding"] = coding
        return self.agent.send("POST", "/" + method, body, headers)

    def last(self, reply):
        return [message for flags, message in reply.messages() if flags & 2][0]

    def test_unary(self):
        status, answer = self.unary(packed({"path": self.folder}))
        self.assertEqual((status, answer["entry"]["path"]), (200, self.folder))
        self.assertEqual(self.unary(json.dumps({"path": self.folder}).encode(), coding="identity")[0], 200)
        # Several members are one text, as gzip has it.
        text = json.dumps({"path": self.folder}).encode()
        self.assertEqual(self.unary(gzip.compress(text[:5]) + gzip.compress(text[5:]))[0], 200)
        self.assertEqual(self.unary(b"", "process.Process/List")[0], 200)

    def test_what_is_no_gzip(self):
        whole = packed({"path": self.folder})
        for body in (b"{}", whole[:-5], whole[:9] + b"\xff" * 9, whole + b"x"):
            with self.subTest(body):
                status, answer = self.unary(body)
                self.assertEqual((status, answer["code"]), (400, "invalid_argument"))
        status, answer = self.unary(packed(b"not JSON"))
        self.assertEqual((status, answer["code"]), (400, "invalid_argument"))

    def test_other_codings(self):
        for coding in ("br", "zstd", "deflate", "gzip, gzip"):
            status, answer = self.unary(b"", coding=coding)
            self.assertEqual((status, answer["code"]), (501, "unimplemented"))
            self.assertIn("gzip", answer["message"])
            self.assertEqual(self.last(self.stream(envelope(b"", 0), coding=coding))["error"]["code"], "unimplemented")

    def test_a_bomb_has_a_bound(self):
        """What a message becomes is no larger than a plain one may be."""
        fits = json.dumps({"path": self.folder, "fill": ""}).encode()
        fits = fits[:-2] + b"x" * (BODY_MAX - len(fits)) + fits[-2:]
        self.assertEqual(len(fits), BODY_MAX)
        self.assertEqual(self.unary(gzip.compress(fits))[0], 200)
        self.assertEqual(self.unary(gzip.compress(fits + b" "))[0], 429)
        bomb = gzip.compress(bytes(1 << 30), 9)
        self.assertLess(len(bomb), BODY_MAX)
        before = self.resident()
        status, answer = self.unary(bomb)
        self.assertEqual((status, answer["code"]), (429, "resource_exhausted"))
        self.assertEqual(self.last(self.stream(envelope(bomb)))["error"]["code"], "resource_exhausted")
        self.assertLess(self.resident() - before, 64 << 20)

    def resident(self):
        with open(f"/proc/{self.agent.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def test_stream(self):
        reply = self.stream(envelope(packed({"process": {"cmd": "echo", "args": ["packed"]}})))
        data = [message["event"].get("data", {}).get("stdout", "") for flags, message in reply.messages() if not flags]
        self.assertEqual(base64.b64decode("".join(data)), b"packed\n")
        # The flag says it of each message; the header alone of none.
        plain = envelope(json.dumps({"process": {"cmd": "true"}}).encode(), 0)
        self.assertNotIn("error", self.last(self.stream(plain)))
        for coding in (None, "identity"):
            error = self.last(self.stream(envelope(packed({"process": {"cmd": "true"}})), coding=coding))["error"]
            self.assertEqual(error["code"], "invalid_argument")
            self.assertIn("Connect-Content-Encoding", error["message"])

    def test_a_request_that_is_a_stream(self):
        stream = self.agent.start("cat", stdin=True)
        pid = stream.message()[1]["event"]["start"]["pid"]
        connection = self.agent.connect()
        connection.sendall(self.agent.head("POST", "/process.Process/StreamInput", {
            "Content-Type": "application/connect+json", "Connect-Content-Encoding": "gzip",
            "Transfer-Encoding": "chunked"}))
        content = os.urandom(30000).hex().encode()
        messages = [{"start": {"process": {"pid": pid}}}] + [
            {"data": {"input": {"stdin": base64.b64encode(content[at : at + 20000]).decode()}}}
            for at in range(0, len(content), 20000)]
        body = b"".join(envelope(packed(message)) for message in messages)
        body += envelope(json.dumps({"keepalive": {}}).encode(), 0)
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        self.assertEqual(list(Reply(connection).messages()), [(0, {}), (2, {})])
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        got = b"".join(base64.b64decode(message["event"]["data"]["stdout"])
                       for flags, message in stream.messages() if not flags and "data" in message["event"])
        self.assertEqual(got, content)
