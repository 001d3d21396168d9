# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages in protobuf, in the framing of Connect and of gRPC-web, byte for byte."""

import base64
import gzip
import json
import os
import struct
import urllib.parse

from agent_case import AgentTest
from agent_client import Reply

BODY_MAX = 4 << 20
TYPES_OF_STREAMS = ("application/connect+proto", "application/grpc-web", "application/grpc-web+proto",
                    "application/grpc-web-text", "application/grpc-web-text+proto")


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def frame(data, flags=0):
    return struct.pack(">BI", flags, len(data)) + data


def fields(data):
    """[(number, value)] of a message of numbers and bytes."""
    found = []

    def number():
        nonlocal data
        value = shift = 0
        while True:
            byte, data = data[0], data[1:]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while data:
        tag = number()
        if tag & 7 == 0:
            found.append((tag >> 3, number()))
        else:
            size = number()
            found.append((tag >> 3, data[:size]))
            data = data[size:]
    return found


def decode_text(body):
    """Base64 in pieces with padding of their own."""
    out = b""
    for piece in body.replace(b"=", b"= ").split(b" "):
        out += base64.b64decode(piece + b"=" * (-len(piece) % 4)) if piece.strip(b"=") else b""
    return out


def frames(body):
    while body:
        flags, size = struct.unpack(">BI", body[:5])
        yield flags, body[5 : 5 + size]
        body = body[5 + size :]


def program(cmd, *args):
    return field(1, field(1, cmd) + b"".join(field(2, arg) for arg in args))


class Binary(AgentTest):
    def call(self, method, body, kind="application/proto", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.agent.send("POST", "/" + method, body, {"Content-Type": kind, **named})

    def grpc(self, method, message, kind="application/grpc-web", flags=0, **headers):
        """(messages, trailers)"""
        body = frame(message, flags)
        text = "-text" in kind
        reply = self.call(method, base64.b64encode(body) if text else body, kind, **headers)
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, kind))
        body = reply.read()
        *messages, (last, trailers) = frames(decode_text(body) if text else body)
        self.assertEqual(last, 0x80)
        lines = dict(line.split(": ", 1) for line in trailers.decode("ascii").strip().split("\r\n"))
        return messages, {**lines, "grpc-message": urllib.parse.unquote(lines.get("grpc-message", ""))}

    def output(self, messages):
        """What standard output said in StartResponses."""
        told = b""
        for _, message in messages:
            event = dict(fields(dict(fields(message))[1]))
            told += dict(fields(event.get(2, b""))).get(1, b"")
        return told

    def test_unary(self):
        reply = self.call("filesystem.Filesystem/Stat", field(1, self.folder))
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/proto"))
        entry = dict(fields(dict(fields(reply.read()))[1]))
        status = os.stat(self.folder)
        self.assertEqual(entry[3], self.folder.encode())
        self.assertEqual((entry[2], entry[5]), (2, status.st_mode & 0o777))
        self.assertEqual(fields(entry[9]), [(1, int(status.st_mtime)), (2, status.st_mtime_ns % 10**9)])
        reply = self.call("process.Process/List", b"")
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/proto"))

    def test_errors_of_unary_calls_are_json(self):
        reply = self.call("filesystem.Filesystem/Stat", field(1, "/none/ä"))
        self.assertEqual((reply.status, reply.headers["content-type"]), (404, "application/json"))
        self.assertEqual(reply.json()["code"], "not_found")

    def test_hostile_messages(self):
        for body, word in ((b"\x0a\x05x", "longer than the message"), (b"\x0a\x02\xc3\x28", "UTF-8"),
                           (b"\x0a\x03a\x00b", "NUL"), (b"\x08\x01", "wire type"), (b"\x80", "cut off"),
                           (b"\xff" * 11, "64 bits"), (b"\x00\x00", "number"), (b"\x9b\x06" * 40, "too deep"),
                           (b"{}", "")):
            with self.subTest(body):
                reply = self.call("filesystem.Filesystem/Stat", body)
                self.assertEqual(reply.status, 400)
                answer = reply.json()
                self.assertEqual(answer["code"], "invalid_argument")
                self.assertIn(word, answer["message"])
                _, trailers = self.grpc("filesystem.Filesystem/Stat", body)
                self.assertEqual(trailers["grpc-status"], "3")
                self.assertIn(word, trailers["grpc-message"])

    def test_a_message_of_many_values_has_a_bound(self):
        many = field(1, field(1, "true") + b"\x12\x00" * 1_000_000)
        before = self.resident()
        [(flags, end)] = list(frames(self.call("process.Process/Start", frame(many), TYPES_OF_STREAMS[0]).read()))
        self.assertEqual((flags, json.loads(end)["error"]["code"]), (2, "resource_exhausted"))
        self.assertLess(self.resident() - before, 64 << 20)

    def resident(self):
        with open(f"/proc/{self.agent.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def test_a_bomb_has_a_bound(self):
        bomb = gzip.compress(bytes(1 << 28), 9)
        self.assertLess(len(bomb), BODY_MAX)
        self.assertEqual(self.call("process.Process/List", bomb, Content_Encoding="gzip").status, 429)
        _, trailers = self.grpc("process.Process/List", bomb, flags=1, Grpc_Encoding="gzip")
        self.assertEqual(trailers["grpc-status"], "8")

    def test_programs_in_every_framing(self):
        for kind in TYPES_OF_STREAMS[1:]:
            with self.subTest(kind):
                messages, trailers = self.grpc("process.Process/Start", program("echo", "ä", "b"), kind)
                self.assertEqual((self.output(messages), trailers["grpc-status"]), ("ä b\n".encode(), "0"))
        reply = self.call("process.Process/Start", frame(program("echo", "x")), TYPES_OF_STREAMS[0])
        *messages, (flags, end) = frames(reply.read())
        self.assertEqual((self.output(messages), flags, end), (b"x\n", 2, b"{}"))

    def test_text_in_pieces(self):
        """Each piece with its padding, as a client that flushes sends them."""
        whole = frame(field(1, self.folder))
        for cut in range(1, len(whole)):
            body = base64.b64encode(whole[:cut]) + base64.b64encode(whole[cut:])
            reply = self.call("filesystem.Filesystem/Stat", body, "application/grpc-web-text")
            self.assertIn(b"grpc-status: 0", decode_text(reply.read()))
        for body in (b"%", b"AAAA=", b"A", b"AAAAAAA=\n"):
            reply = self.call("filesystem.Filesystem/Stat", body, "application/grpc-web-text")
            self.assertIn(b"grpc-status: 3", decode_text(reply.read()))

    def test_errors_of_grpc(self):
        _, trailers = self.grpc("filesystem.Filesystem/Stat", field(1, "/none/ä%"))
        self.assertEqual(trailers["grpc-status"], "5")
        self.assertIn("/none/ä%", trailers["grpc-message"])
        _, trailers = self.grpc("filesystem.Filesystem/None", b"")
        self.assertEqual(trailers["grpc-status"], "12")
        _, trailers = self.grpc("process.Process/List", b"", Grpc_Encoding="br")
        self.assertEqual(trailers["grpc-status"], "12")
        for body in (b"", b"\x00", frame(b"") * 2, b"\x00\x00\x00\x00\x05x", frame(b"", 0x80)):
            reply = self.call("process.Process/List", body, "application/grpc-web")
            self.assertIn(b"grpc-status: 3", reply.read())

    def test_time_limits_of_grpc(self):
        for limit in ("300m", "300000u", "90000000n"):
            messages, trailers = self.grpc("process.Process/Start", program("sleep", "60"), Grpc_Timeout=limit)
            self.assertEqual((len(messages), trailers["grpc-status"]), (1, "4"))
        for limit in ("1S", "1M", "99999999m"):
            _, trailers = self.grpc("process.Process/Start", program("true"), Grpc_Timeout=limit)
            self.assertEqual(trailers["grpc-status"], "0")
        for limit in ("", "S", "1", "1s", "-1S", "1SS", "999999999S", "99999999H"):
            _, trailers = self.grpc("process.Process/Start", program("true"), Grpc_Timeout=limit)
            self.assertEqual(trailers["grpc-status"], "3", limit)

    def test_types_that_do_not_fit(self):
        body = frame(program("true"))
        for method, kind in (("process.Process/Start", "application/proto"),
                             ("process.Process/List", "application/connect+proto"),
                             ("process.Process/Start", "application/grpc"),
                             ("process.Process/List", "application/protobuf"),
                             ("process.Process/StreamInput", "application/proto")):
            reply = self.call(method, body, kind)
            answer = reply.read().decode("utf-8", "replace")
            self.assertIn("content type must be", answer)
            self.assertIn(reply.status, (415, 200))
        for kind in ("application/grpc", "application/grpc+proto", "application/protobuf"):
            self.assertEqual(self.call("process.Process/List", b"", kind).status, 415)
        reply = self.call("process.Process/StreamInput", b"", "application/grpc-web-text")
        self.assertIn(b"grpc-status: 3", decode_text(reply.read()))
        self.assertEqual(self.call("exec", b"{}", "application/proto").status, 415)

    def test_answers_are_packed_where_it_pays(self):
        for name in range(60):
            os.mkdir(os.path.join(self.folder, f"packed-{name}"))
        for kind in ("application/json", "application/proto"):
            request = json.dumps({"path": self.folder}).encode() if kind.endswith("json") else field(1, self.folder)
            plain = self.call("filesystem.Filesystem/ListDir", request, kind)
            packed = self.call("filesystem.Filesystem/ListDir", request, kind, Accept_Encoding="gzip, deflate")
            self.assertNotIn("content-encoding", plain.headers)
            self.assertEqual(packed.headers["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(packed.read()), plain.read())
            short = self.call("process.Process/List", b"", kind, Accept_Encoding="gzip")
            self.assertNotIn("content-encoding", short.headers)
        refused = self.call("filesystem.Filesystem/ListDir", field(1, self.folder), Accept_Encoding="gzip;q=0")
        self.assertNotIn("content-encoding", refused.headers)
        [(flags, message)], trailers = self.grpc("filesystem.Filesystem/ListDir", field(1, self.folder),
                                                 Grpc_Accept_Encoding="gzip")
        self.assertEqual((flags, trailers["grpc-status"]), (1, "0"))
        self.assertEqual(len(fields(gzip.decompress(message))), len(os.listdir(self.folder)))

    def test_messages_of_streams_are_packed(self):
        start = json.dumps({"process": {"cmd": "head", "args": ["-c", "100000", "/dev/zero"]}}).encode()
        reply = self.call("process.Process/Start", frame(start), "application/connect+json",
                          Connect_Accept_Encoding="gzip")
        self.assertEqual(reply.headers["connect-content-encoding"], "gzip")
        told, packed = 0, 0
        for flags, message in frames(reply.read()):
            packed += flags & 1
            event = json.loads(gzip.decompress(message) if flags & 1 else message).get("event", {})
            told += len(base64.b64decode(event.get("data", {}).get("stdout", "")))
        self.assertEqual(told, 100_000)
        self.assertTrue(packed)
        messages, _ = self.grpc("process.Process/Start", program("head", "-c", "100000", "/dev/zero"),
                                Grpc_Accept_Encoding="gzip")
        plain = [(0, gzip.decompress(message) if flags else message) for flags, message in messages]
        self.assertEqual(self.output(plain), bytes(100_000))

    def test_a_stream_of_input(self):
        stream = self.agent.start("cat", stdin=True)
        pid = stream.message()[1]["event"]["start"]["pid"]
        data = os.urandom(70_000)
        messages = [field(1, field(1, field(1, pid))), field(3, b"")]
        messages += [field(2, field(2, field(1, data[at : at + 20_000]))) for at in range(0, len(data), 20_000)]
        body = b"".join(frame(message) for message in messages)
        connection = self.agent.connect()
        connection.sendall(self.agent.head("POST", "/process.Process/StreamInput", {
            "Content-Type": "application/grpc-web+proto", "Content-Length": len(body)}) + body)
        (flags, message), (last, trailers) = frames(Reply(connection).read())
        self.assertEqual((flags, message, last), (0, b"", 0x80))
        self.assertIn(b"grpc-status: 0", trailers)
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        got = b"".join(base64.b64decode(message["event"]["data"]["stdout"])
                       for flags, message in stream.messages() if not flags and "data" in message["event"])
        self.assertEqual(got, data)

    def test_without_the_secret(self):
        for kind in ("application/proto", "application/grpc-web"):
            reply = self.agent.send("POST", "/process.Process/List", b"", {"Content-Type": kind}, secret=False)
            self.assertEqual(reply.status, 401)
