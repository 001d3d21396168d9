# SPDX-License-Identifier: GPL-2.0-or-later
"""process.Process/StreamInput: a request that is a stream."""

import base64
import json
import os
import signal
import socket
import struct
import time

from agent_case import AgentTest
from agent_client import Reply


def envelope(message, flags=0):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(text)) + text


def stdin(data):
    return {"data": {"input": {"stdin": base64.b64encode(data).decode()}}}


class Input(AgentTest):
    def open(self, secret=True, kind="application/connect+json"):
        connection = self.agent.connect()
        connection.sendall(self.agent.head("POST", "/process.Process/StreamInput", {
            "Content-Type": kind, "Transfer-Encoding": "chunked"}, secret))
        return connection

    @staticmethod
    def say(connection, *parts):
        data = b"".join(part if isinstance(part, bytes) else envelope(part) for part in parts)
        connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    @staticmethod
    def end(connection):
        connection.sendall(b"0\r\n\r\n")
        return list(Reply(connection).messages())

    def begin(self, *command):
        stream = self.agent.start(*command, stdin=True)
        return stream, stream.message()[1]["event"]["start"]["pid"]

    def refused(self, connection, code):
        reply = Reply(connection)
        self.assertEqual(reply.status, 200)
        flags, last = reply.message()
        self.assertEqual((flags, last["error"]["code"]), (2, code))

    def output(self, stream):
        parts = [base64.b64decode(message["event"]["data"]["stdout"])
                 for flags, message in stream.messages() if not flags and "data" in message["event"]]
        return b"".join(parts)

    def test_messages_arrive_one_by_one(self):
        stream, pid = self.begin("cat")
        connection = self.open()
        self.say(connection, {"start": {"process": {"pid": pid}}})
        for word in (b"one\n", b"two\n"):
            self.say(connection, {"keepalive": {}}, stdin(word))
            data = stream.message()[1]["event"]["data"]["stdout"]
            self.assertEqual(base64.b64decode(data), word)
        self.assertEqual(self.end(connection), [(0, {}), (2, {})])
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        self.assertEqual(self.output(stream), b"")

    def test_messages_in_pieces_and_several_at_once(self):
        stream, pid = self.begin("cat")
        connection = self.open()
        whole = envelope({"start": {"process": {"pid": pid}}}) + b"".join(
            envelope(stdin(b"%d\n" % number)) for number in range(50))
        for at in range(0, len(whole) - 60, 7):
            self.say(connection, whole[at : at + 7])
        self.say(connection, whole[(len(whole) - 60 + 6) // 7 * 7:])
        self.assertEqual(self.end(connection), [(0, {}), (2, {})])
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        self.assertEqual(self.output(stream), b"".join(b"%d\n" % number for number in range(50)))

    def test_a_slow_reader_slows_the_client_down(self):
        size, count = 500_000, 60
        stream, pid = self.begin("/bin/sh", "-c", "read line; sleep 0.5; cat | wc -c")
        connection = self.open()
        connection.settimeout(30)
        self.say(connection, {"start": {"process": {"pid": pid}}}, stdin(b"\n"))
        before = self.rss_kb()
        for _ in range(count):
            self.say(connection, stdin(b"x" * size))
        self.assertLess(self.rss_kb() - before, 16000)
        self.assertEqual(self.end(connection), [(0, {}), (2, {})])
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        self.assertEqual(int(self.output(stream)), size * count)

    def rss_kb(self):
        with open(f"/proc/{self.agent.process.pid}/status") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    def test_the_whole_body_is_there_while_the_program_sleeps(self):
        stream, pid = self.begin("/bin/sh", "-c", "sleep 0.5; cat | wc -c")
        connection = self.open()
        self.say(connection, {"start": {"process": {"pid": pid}}}, *[stdin(b"y" * 50_000)] * 5)
        self.assertEqual(self.end(connection), [(0, {}), (2, {})])
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        self.assertEqual(int(self.output(stream)), 250_000)

    def test_a_terminal(self):
        stream = self.agent.start("cat", pty={"size": {"cols": 80, "rows": 24}})
        pid = stream.message()[1]["event"]["start"]["pid"]
        connection = self.open()
        typed = {"data": {"input": {"pty": base64.b64encode(b"typed\n").decode()}}}
        self.say(connection, {"start": {"process": {"pid": pid}}}, typed)
        echoed = b""
        while b"typed" not in echoed:
            echoed += base64.b64decode(stream.message()[1]["event"]["data"]["pty"])
        self.assertEqual(self.end(connection), [(0, {}), (2, {})])
        os.kill(pid, signal.SIGKILL)

    def test_refusals_do_not_wait_for_the_end_of_the_body(self):
        stream, pid = self.begin("cat")
        start = envelope({"start": {"process": {"pid": pid}}})
        for parts, code in (
            ([stdin(b"x")], "invalid_argument"),
            ([{"start": {"process": {"pid": 4194000}}}], "not_found"),
            ([{"start": {"process": {"tag": "none"}}}], "not_found"),
            ([{"start": {}}], "invalid_argument"),
            ([start, {"data": {"input": {}}}], "invalid_argument"),
            ([start, {"data": {"input": {"stdin": 7}}}], "invalid_argument"),
            ([start, {"data": {"input": {"pty": "eA=="}}}], "internal"),
            ([start, {"data": 1}], "invalid_argument"),
            ([envelope(b"{")], "invalid_argument"),
            ([envelope(b"[1]")], "invalid_argument"),
            ([envelope({}, 1)], "invalid_argument"),
            ([envelope({}, 4)], "invalid_argument"),
            ([struct.pack(">BI", 0, 1 << 30)], "resource_exhausted"),
        ):
            with self.subTest(parts=parts):
                connection = self.open()
                self.say(connection, *parts)
                self.refused(connection, code)
        connection = self.open()
        self.say(connection, start + b"\0\0")
        connection.sendall(b"0\r\n\r\n")
        self.refused(connection, "invalid_argument")
        self.assertEqual(self.end(self.open()), [(0, {}), (2, {})])
        self.assertEqual(Reply(self.open(secret=False)).status, 401)
        self.assertEqual(Reply(self.open(kind="application/json")).status, 415)
        os.kill(pid, signal.SIGKILL)
        stream.close()

    def test_the_program_ends_before_it_has_read(self):
        stream, pid = self.begin("/bin/sh", "-c", "sleep 0.3")
        connection = self.open()
        self.say(connection, {"start": {"process": {"pid": pid}}}, *[stdin(b"z" * 100_000)] * 3)
        self.refused(connection, "internal")
        stream.close()

    def test_a_client_that_goes_away(self):
        stream, pid = self.begin("/bin/sh", "-c", "sleep 0.3; wc -c")
        connection = self.open()
        self.say(connection, {"start": {"process": {"pid": pid}}}, *[stdin(b"z" * 100_000)] * 3)
        time.sleep(0.1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        time.sleep(0.1)
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        # What was taken is delivered; what was not yet is gone with its sender.
        self.assertIn(int(self.output(stream)), (100_000, 200_000, 300_000))
