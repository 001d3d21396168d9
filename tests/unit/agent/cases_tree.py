# SPDX-License-Identifier: GPL-2.0-or-later
"""filesystem.Filesystem."""

import json
import os
import select
import signal
import tempfile
import time

from agent_case import HOME, AgentTest
from agent_client import ME, Reply


class Tree(AgentTest):
    def call(self, method, **message):
        return self.agent.unary("filesystem.Filesystem/" + method, message)

    def refused(self, status_and_body, code):
        status, body = status_and_body
        self.assertGreaterEqual(status, 400)
        self.assertEqual(body["code"], code)
        self.assertTrue(body["message"])

    def setUp(self):
        self.tree = tempfile.mkdtemp(dir=self.folder)
        for path in ("b/two", "b/one", "a", "c/d/e/f"):
            os.makedirs(os.path.dirname(f"{self.tree}/{path}"), exist_ok=True)
            with open(f"{self.tree}/{path}", "w") as file:
                file.write(path)

    def test_stat(self):
        path = self.tree + "/a"
        os.chmod(path, 0o640)
        os.utime(path, ns=(0, 1700000000123456789))
        status, body = self.call("Stat", path=path)
        entry = body["entry"]
        self.assertEqual(entry, {
            "name": "a", "type": "FILE_TYPE_FILE", "path": path, "size": "1", "mode": 0o640,
            "permissions": "-rw-r-----", "owner": ME, "group": entry["group"],
            "modifiedTime": "2023-11-14T22:13:20.123456789Z"})
        for missing in ("/none", "/none/below", "/a/below"):
            for method in ("Stat", "ListDir", "CreateWatcher"):
                self.refused(self.call(method, path=self.tree + missing), "not_found")
            self.refused(self.call("Move", source=self.tree + missing, destination=self.tree + "/x"),
                         "not_found")
        entry = self.call("Stat", path="/tmp")[1]["entry"]
        self.assertEqual((entry["type"], entry["permissions"]),
                         ("FILE_TYPE_DIRECTORY", "dtrwxrwxrwx"))
        self.assertEqual(self.call("Stat", path="")[1]["entry"]["path"], HOME)
        self.assertNotIn("type", self.call("Stat", path="/dev/null")[1]["entry"])

    def test_a_change_needs_a_path(self):
        for method, message in (("Remove", {}), ("Remove", {"path": ""}), ("MakeDir", {"path": ""}),
                                ("Move", {"source": "", "destination": self.tree + "/x"}),
                                ("Move", {"source": self.tree + "/a"})):
            answer = self.call(method, **message)
            self.refused(answer, "invalid_argument")
            self.assertIn("is missing", answer[1]["message"])
        self.assertTrue(os.path.isdir(HOME))
        self.assertTrue(os.path.exists(self.tree + "/a"))

    def test_a_number_out_of_its_range_names_the_range(self):
        answer = self.call("ListDir", path=self.tree, depth=-1)
        self.refused(answer, "invalid_argument")
        self.assertEqual(answer[1]["message"], "depth must be 0 to 4294967295")

    def test_links(self):
        os.symlink("b", self.tree + "/to-b")
        os.symlink("nowhere", self.tree + "/broken")
        entry = self.call("Stat", path=self.tree + "/to-b")[1]["entry"]
        self.assertEqual((entry["type"], entry["permissions"], entry["symlinkTarget"]),
                         ("FILE_TYPE_DIRECTORY", "Lrwxrwxrwx", self.tree + "/b"))
        self.assertEqual(entry["mode"], os.stat(self.tree + "/b").st_mode & 0o777)
        entry = self.call("Stat", path=self.tree + "/broken")[1]["entry"]
        self.assertEqual((entry["symlinkTarget"], entry["mode"]), ("nowhere", 0))
        self.assertNotIn("type", entry)
        listed = self.call("ListDir", path=self.tree + "/to-b")[1]["entries"]
        self.assertEqual([e["path"] for e in listed],
                         [self.tree + "/to-b/one", self.tree + "/to-b/two"])
        os.symlink("loop", self.tree + "/loop")
        self.refused(self.call("ListDir", path=self.tree + "/loop"), "failed_precondition")

    def names(self, **message):
        status, body = self.call("ListDir", path=self.tree, **message)
        self.assertEqual(status, 200)
        return [os.path.relpath(entry["path"], self.tree) for entry in body["entries"]]

    def test_a_listing_is_bounded(self):
        os.mkdir(self.tree + "/many")
        for number in range(20000):
            os.symlink("x", f"{self.tree}/many/{number}")
        self.assertEqual(len(self.call("ListDir", path=self.tree + "/many")[1]["entries"]), 20000)
        os.symlink("x", self.tree + "/many/more")
        self.refused(self.call("ListDir", path=self.tree + "/many"), "resource_exhausted")
        self.refused(self.call("ListDir", path=self.tree, depth=2), "resource_exhausted")

    def test_list(self):
        self.assertEqual(self.names(), ["a", "b", "c"])
        self.assertEqual(self.names(depth=0), ["a", "b", "c"])
        self.assertEqual(self.names(depth=2), ["a", "b", "b/one", "b/two", "c", "c/d"])
        self.assertEqual(self.names(depth=2**32 - 1), self.names(depth=99))
        self.assertEqual(self.names(depth=99),
                         ["a", "b", "b/one", "b/two", "c", "c/d", "c/d/e", "c/d/e/f"])
        self.assertEqual(self.call("ListDir", path=self.tree + "/b/")[1]["entries"][0]["path"],
                         self.tree + "/b/one")
        self.refused(self.call("ListDir", path=self.tree + "/a"), "invalid_argument")
        self.refused(self.call("ListDir", path=self.tree + "/none"), "not_found")

    def test_names_that_are_no_text(self):
        with open(os.fsencode(self.tree) + b"/\xff\xc3\xa4\xc3", "w"):
            pass
        self.assertIn("\ufffd\xe4\ufffd", self.names())

    def test_make_dir(self):
        path = self.tree + "/new/deep"
        status, body = self.call("MakeDir", path=path)
        self.assertEqual((status, body["entry"]["path"]), (200, path))
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o755)
        self.refused(self.call("MakeDir", path=path), "already_exists")
        self.refused(self.call("MakeDir", path=self.tree + "/a"), "invalid_argument")
        self.refused(self.call("MakeDir", path=self.tree + "/a/b"), "invalid_argument")

    def test_move(self):
        status, body = self.call("Move", source=self.tree + "/a", destination=self.tree + "/x/y/z")
        self.assertEqual((status, body["entry"]["name"]), (200, "z"))
        self.assertFalse(os.path.exists(self.tree + "/a"))
        self.call("Move", source=self.tree + "/x/y/z", destination=self.tree + "/b/one")
        self.assertEqual(open(self.tree + "/b/one").read(), "a")
        self.refused(self.call("Move", source=self.tree + "/none", destination="/tmp/x"),
                     "not_found")

    def test_remove(self):
        for path in ("a", "c", "none", "none/below"):
            self.assertEqual(self.call("Remove", path=f"{self.tree}/{path}"), (200, {}))
        self.assertEqual(self.names(), ["b"])
        os.symlink(self.tree + "/b", self.tree + "/link")
        self.assertEqual(self.call("Remove", path=self.tree + "/link"), (200, {}))
        self.assertEqual(self.names(), ["b"])
        self.refused(self.call("Remove", path="/"), "invalid_argument")
        self.assertEqual(self.call("Remove", path=self.tree), (200, {}))
        self.assertFalse(os.path.exists(self.tree))

    def test_a_worker_that_is_killed_gives_no_part_of_an_answer(self):
        """The agent stands while the worker fills the pipe, and finds its beginning there."""
        for number in range(15000):
            os.close(os.open(f"{self.tree}/b/{number:05}", os.O_CREAT | os.O_WRONLY))
        body = json.dumps({"path": self.tree + "/b"}).encode()
        agent = self.agent.process.pid

        def workers():
            with open(f"/proc/{agent}/task/{agent}/children") as file:
                return file.read().split()

        def state_of(worker):
            with open(f"/proc/{worker}/stat") as file:
                return file.read().rpartition(")")[2].split()[0]

        def killed():
            """The answer to a call whose worker was killed; None if the worker had ended before."""
            connection = self.agent.connect()
            connection.sendall(self.agent.head("POST", "/filesystem.Filesystem/ListDir", {
                "Content-Type": "application/json", "Content-Length": len(body)}) + body)
            while not workers() and not select.select([connection], [], [], 0)[0]:
                pass
            os.kill(agent, signal.SIGSTOP)
            try:
                worker = next(iter(workers()), None)
                if worker:
                    self.eventually(lambda: state_of(worker) in "SZ", 20)
                waits = worker and state_of(worker) == "S"
                if waits:
                    os.kill(int(worker), signal.SIGKILL)
            finally:
                os.kill(agent, signal.SIGCONT)
            reply = Reply(connection)
            return reply if waits else None

        reply = next(filter(None, (killed() for _ in range(50))))
        self.error(reply, 500, "internal")

    def test_large_trees_do_not_stop_the_agent(self):
        for number in range(19990):
            os.close(os.open(f"{self.tree}/b/{number:05}", os.O_CREAT | os.O_WRONLY))
        replies = []
        body = json.dumps({"path": self.tree, "depth": 5}).encode()
        for _ in range(3):
            connection = self.agent.connect()
            connection.sendall(self.agent.head("POST", "/filesystem.Filesystem/ListDir", {
                "Content-Type": "application/json", "Content-Length": len(body)}) + body)
            replies.append(connection)
        began = time.monotonic()
        self.assertEqual(self.agent.send("GET", "/health").status, 204)
        self.assertLess(time.monotonic() - began, 0.5)
        replies.pop().close()
        for connection in replies:
            self.assertEqual(len(Reply(connection).json()["entries"]), 19998)
        self.assertEqual(self.call("Remove", path=self.tree), (200, {}))
