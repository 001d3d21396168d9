# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pause begins with: everything open is cut off, what runs goes on."""

import base64
import os
import signal
import socket
import time

from agent_case import BINARY, AgentTest, quote
from agent_client import Agent


class HangUp(AgentTest):
    def hang_up(self):
        self.assertEqual(self.agent.send("POST", "/internal/hang-up").status, 204)

    def assert_cut(self, reply):
        with self.assertRaises((ConnectionError, EOFError)):
            while True:
                reply.message()

    def tearDown(self):
        self.assertEqual(self.agent.init(self.envs).status, 204)

    def test_streams_are_cut_and_what_they_follow_lives_on(self):
        stream = self.agent.start("/bin/sh", "-c", "while read line; do echo $line; done", stdin=True)
        pid = stream.message()[1]["event"]["start"]["pid"]
        watch = self.agent.stream("filesystem.Filesystem/WatchDir", {"path": self.folder})
        self.assertIn("start", watch.message()[1])
        self.assertEqual(self.agent.send("POST", "/internal/hang-up", secret=False).status, 401)
        self.hang_up()
        self.assert_cut(stream)
        self.assert_cut(watch)
        self.agent.init(self.envs)
        again = self.agent.stream("process.Process/Connect", {"process": {"pid": pid}})
        self.assertEqual(again.message()[1]["event"]["start"]["pid"], pid)
        status, _ = self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"still\n").decode()}})
        self.assertEqual(status, 200)
        data = again.message()[1]["event"]["data"]
        self.assertEqual(base64.b64decode(data["stdout"]), b"still\n")
        os.kill(pid, signal.SIGKILL)

    def test_a_stream_whose_reader_is_stuck(self):
        stream = self.agent.start("yes")
        pid = stream.message()[1]["event"]["start"]["pid"]
        time.sleep(0.3)
        self.hang_up()
        self.assert_cut(stream)
        os.kill(pid, signal.SIGKILL)

    def test_transfers_are_cut(self):
        path = os.path.join(self.folder, "large")
        with open(path, "wb") as file:
            file.truncate(256 << 20)
        download = self.agent.send("GET", f"/files?path={quote(path)}")
        self.assertEqual(download.status, 200)
        upload = self.agent.connect()
        upload.sendall(self.agent.head("POST", f"/files?path={quote(path + '-2')}", {
            "Content-Type": "application/octet-stream", "Content-Length": 1 << 20}) + b"x" * 1000)
        idle = self.agent.connect()
        time.sleep(0.2)
        self.hang_up()
        with self.assertRaises(ConnectionError):
            download.read()
        for connection in (upload, idle):
            with self.assertRaises(ConnectionResetError):
                connection.recv(100)

    def test_input_that_waits_to_be_read(self):
        stream = self.agent.start("sleep", "100", stdin=True)
        pid = stream.message()[1]["event"]["start"]["pid"]
        connection = self.agent.connect()
        body = b'{"process":{"pid":%d},"input":{"stdin":"%s"}}' % (pid, b"eHh4" * 100000)
        connection.sendall(self.agent.head("POST", "/process.Process/SendInput", {
            "Content-Type": "application/json", "Content-Length": len(body)}) + body)
        connection.settimeout(0.5)
        with self.assertRaises(socket.timeout):
            connection.recv(1)
        self.hang_up()
        connection.settimeout(10)
        with self.assertRaises(ConnectionResetError):
            connection.recv(1)
        os.kill(pid, signal.SIGKILL)

    def test_nothing_new_until_the_next_init(self):
        self.hang_up()
        self.error(self.agent.send("GET", "/files?path=/etc/passwd"), 503)
        self.assertEqual(self.agent.unary("process.Process/List", {})[1]["code"], "unavailable")
        self.assertEqual(self.agent.send("GET", "/health", secret=False).status, 204)
        self.assertEqual(self.agent.send("GET", "/internal/ports/80").status, 200)
        self.agent.init(self.envs)
        self.assertEqual(self.agent.send("GET", "/files?path=/etc/passwd").status, 200)

    def test_a_pause_that_does_not_come(self):
        agent = Agent(BINARY, "--trust-local-peers")
        agent.init()
        self.assertEqual(agent.send("POST", "/internal/hang-up").status, 204)
        self.eventually(lambda: agent.send("GET", "/files?path=/etc/passwd").status == 200, 20)
        agent.stop()
