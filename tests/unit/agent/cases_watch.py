# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes below a directory: WatchDir and the polled watchers."""

import os
import shutil
import signal
import tempfile
import time
from urllib.parse import quote

from agent_case import AgentTest

SERVICE = "filesystem.Filesystem/"


class Watch(AgentTest):
    def setUp(self):
        self.tree = tempfile.mkdtemp(dir=self.folder)

    def watch(self, **message):
        """An open stream that has started."""
        stream = self.agent.stream(SERVICE + "WatchDir", {"path": self.tree, **message},
                                   {"Keepalive-Ping-Interval": "1"})
        self.addCleanup(stream.close)
        self.assertEqual(stream.message(), (0, {"start": {}}))
        return stream

    def changes(self, stream, until):
        """(type, name) up to the change of that name and type."""
        seen = []
        while not seen or seen[-1] != until:
            flags, message = stream.message()
            self.assertEqual(flags, 0, message)
            if "filesystem" in message:
                event = message["filesystem"]
                seen.append((event["type"].removeprefix("EVENT_TYPE_"), event["name"]))
        return seen

    def call(self, method, **message):
        return self.agent.unary(SERVICE + method, message)

    def test_kinds(self):
        stream = self.watch()
        path = self.tree + "/a"
        with open(path, "w") as file:
            file.write("x")
        self.assertEqual(self.changes(stream, ("WRITE", "a")), [("CREATE", "a"), ("WRITE", "a")])
        os.chmod(path, 0o600)
        self.assertEqual(self.changes(stream, ("CHMOD", "a")), [("CHMOD", "a")])
        os.rename(path, self.tree + "/b")
        self.assertEqual(self.changes(stream, ("CREATE", "b")), [("RENAME", "a"), ("CREATE", "b")])
        os.unlink(self.tree + "/b")
        self.assertEqual(self.changes(stream, ("REMOVE", "b")), [("REMOVE", "b")])

    def test_uploads(self):
        """A file that an upload makes or replaces was written, whatever became of it on the way."""
        stream = self.watch()
        for text, before in ((b"x", [("CREATE", "u"), ("CHMOD", "u")]), (b"", [("CREATE", "u")]),
                             (b"longer than that", [("CREATE", "u")])):
            self.agent.send("POST", "/files?path=" + quote(self.tree + "/u"), text,
                            {"Content-Type": "application/octet-stream"}).json()
            self.assertEqual(self.changes(stream, ("WRITE", "u")), before + [("WRITE", "u")])
        self.agent.send("POST", "/files?path=" + quote(self.tree + "/u"), b"no gzip",
                        {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"})
        open(self.tree + "/last", "w").close()
        self.assertEqual(self.changes(stream, ("CREATE", "last")), [("CREATE", "last")])

    def test_only_this_directory(self):
        os.mkdir(self.tree + "/sub")
        stream = self.watch()
        open(self.tree + "/sub/unseen", "w").close()
        open(self.tree + "/seen", "w").close()
        self.assertEqual(self.changes(stream, ("CREATE", "seen")), [("CREATE", "seen")])

    def test_recursive(self):
        os.makedirs(self.tree + "/there/deep")
        stream = self.watch(recursive=True)
        open(self.tree + "/there/deep/one", "w").close()
        self.assertEqual(self.changes(stream, ("CREATE", "there/deep/one")),
                         [("CREATE", "there/deep/one")])
        os.makedirs(self.tree + "/new/deeper")
        open(self.tree + "/new/deeper/two", "w").close()
        seen = self.changes(stream, ("CREATE", "new/deeper/two"))
        self.assertEqual(set(seen), {("CREATE", "new"), ("CREATE", "new/deeper"),
                                     ("CREATE", "new/deeper/two")})
        time.sleep(0.1)
        with open(self.tree + "/new/deeper/two", "w") as file:
            file.write("x")
        self.changes(stream, ("WRITE", "new/deeper/two"))

    def test_a_directory_that_moves(self):
        os.makedirs(self.tree + "/old/in")
        stream = self.watch(recursive=True)
        os.rename(self.tree + "/old", self.tree + "/new")
        self.changes(stream, ("CREATE", "new"))
        self.changes(stream, ("CREATE", "new/in"))
        open(self.tree + "/new/in/f", "w").close()
        self.assertIn(("CREATE", "new/in/f"), self.changes(stream, ("CREATE", "new/in/f")))
        outside = tempfile.mkdtemp(dir=self.folder)
        os.rename(self.tree + "/new", outside + "/gone")
        self.changes(stream, ("RENAME", "new"))
        open(outside + "/gone/in/unseen", "w").close()
        open(self.tree + "/last", "w").close()
        self.assertEqual(self.changes(stream, ("CREATE", "last")), [("CREATE", "last")])

    def test_large_tree_moved_in_and_removed(self):
        outside = tempfile.mkdtemp(dir=self.folder)
        for number in range(500):
            os.makedirs(f"{outside}/t/{number:03}/x")
        stream = self.watch(recursive=True)
        os.rename(outside + "/t", self.tree + "/t")
        seen = set()
        while len(seen) < 1001:
            message = stream.message()[1]
            if "filesystem" in message:
                seen.add(message["filesystem"]["name"])
        shutil.rmtree(self.tree + "/t")
        self.changes(stream, ("REMOVE", "t"))

    def test_a_watched_directory_that_goes(self):
        """The watch ends. It could report nothing, or what happens elsewhere."""
        for go, kind in ((lambda: os.rename(self.tree, self.tree + ".old"), "RENAME"),
                         (lambda: shutil.rmtree(self.tree), "REMOVE")):
            stream = self.watch(recursive=True)
            watcher = self.call("CreateWatcher", path=self.tree)[1]["watcherId"]
            go()
            self.changes(stream, (kind, "."))
            flags, message = list(stream.messages())[-1]
            self.assertEqual((flags, message["error"]["code"]), (2, "not_found"))
            events = []

            def ended():
                status, body = self.call("GetWatcherEvents", watcherId=watcher)
                events.extend(body.get("events", []))
                return status == 404 and "watch its path again" in body["message"]

            self.eventually(ended)
            self.assertEqual([event["name"] for event in events if event["type"] == f"EVENT_TYPE_{kind}"], ["."])
            self.assertEqual(self.call("RemoveWatcher", watcherId=watcher), (200, {}))
            os.mkdir(self.tree)

    def test_entries(self):
        stream = self.watch(includeEntry=True)
        with open(self.tree + "/f", "w") as file:
            file.write("12345")
        flags, message = stream.message()
        self.assertEqual(message["filesystem"]["entry"]["path"], self.tree + "/f")
        self.assertEqual(message["filesystem"]["entry"]["type"], "FILE_TYPE_FILE")
        self.changes(stream, ("WRITE", "f"))
        os.unlink(self.tree + "/f")
        self.assertNotIn("entry", stream.message()[1]["filesystem"])

    def test_keepalive(self):
        self.assertEqual(self.watch().message(), (0, {"keepalive": {}}))

    def test_refusals(self):
        open(self.tree + "/f", "w").close()
        for path, code in ((self.tree + "/none", "not_found"), (self.tree + "/f", "invalid_argument")):
            stream = self.agent.stream(SERVICE + "WatchDir", {"path": path})
            flags, message = stream.message()
            self.assertEqual((flags, message["error"]["code"]), (2, code))
            status, body = self.call("CreateWatcher", path=path)
            self.assertEqual(body["code"], code)
        for method in ("GetWatcherEvents", "RemoveWatcher"):
            self.assertEqual(self.call(method, watcherId="none")[1]["code"], "not_found")

    def test_two_watchers_of_one_directory(self):
        first, second = self.watch(), self.watch(recursive=True)
        open(self.tree + "/f", "w").close()
        self.changes(first, ("CREATE", "f"))
        self.changes(second, ("CREATE", "f"))
        first.close()
        time.sleep(0.1)
        open(self.tree + "/g", "w").close()
        self.changes(second, ("CREATE", "g"))

    def test_polled(self):
        status, body = self.call("CreateWatcher", path=self.tree, recursive=True, includeEntry=True)
        self.assertEqual(status, 200)
        watcher = body["watcherId"]
        self.assertEqual(self.call("GetWatcherEvents", watcherId=watcher), (200, {"events": []}))
        os.makedirs(self.tree + "/d/e")
        events = []

        def all_there():
            events.extend(self.call("GetWatcherEvents", watcherId=watcher)[1]["events"])
            return {event["name"] for event in events} == {"d", "d/e"}

        self.eventually(all_there)
        self.assertEqual(events[0]["entry"]["type"], "FILE_TYPE_DIRECTORY")
        self.assertEqual(self.call("GetWatcherEvents", watcherId=watcher)[1], {"events": []})
        self.assertEqual(self.call("RemoveWatcher", watcherId=watcher), (200, {}))
        self.assertEqual(self.call("GetWatcherEvents", watcherId=watcher)[1]["code"], "not_found")

    def test_what_nobody_reads_is_bounded(self):
        watcher = self.call("CreateWatcher", path=self.tree)[1]["watcherId"]
        for number in range(12000):
            name = f"{self.tree}/{number:05}{'n' * 100}"
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
            os.unlink(name)

        def refused():
            body = self.call("GetWatcherEvents", watcherId=watcher)[1]
            return body.get("code") == "resource_exhausted"

        time.sleep(0.3)
        self.assertTrue(refused())
        self.assertEqual(self.call("GetWatcherEvents", watcherId=watcher)[1], {"events": []})

    def test_a_tree_after_more_changes_than_the_kernel_keeps(self):
        """Directories whose events were lost are watched too, by the names that they have now."""
        with open("/proc/sys/fs/inotify/max_queued_events") as file:
            most = int(file.read())
        if most > 100000:
            self.skipTest(f"the kernel keeps {most} changes")
        os.makedirs(self.tree + "/old/in")
        watcher = self.call("CreateWatcher", path=self.tree, recursive=True)[1]["watcherId"]
        self.agent.process.send_signal(signal.SIGSTOP)
        try:
            for number in range(most // 2 + 1):
                name = f"{self.tree}/{number:05}"
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
                os.unlink(name)
            os.makedirs(self.tree + "/late/deep")
            os.rename(self.tree + "/old", self.tree + "/new")
        finally:
            self.agent.process.send_signal(signal.SIGCONT)
        self.eventually(lambda: self.call("GetWatcherEvents", watcherId=watcher)[1].get("code") == "resource_exhausted")
        self.eventually(lambda: self.call("GetWatcherEvents", watcherId=watcher)[0] == 200)
        for name in ("late/deep/f", "new/in/f"):
            open(f"{self.tree}/{name}", "w").close()
        seen = set()

        def all_there():
            events = self.call("GetWatcherEvents", watcherId=watcher)[1]["events"]
            seen.update(event["name"] for event in events)
            return {"late/deep/f", "new/in/f"} <= seen

        self.eventually(all_there)
        self.assertNotIn("old/in/f", seen)
        self.assertEqual(self.call("RemoveWatcher", watcherId=watcher), (200, {}))

    def test_a_slow_reader_of_a_stream(self):
        stream = self.watch()
        for number in range(60000):
            name = f"{self.tree}/{number:05}{'n' * 100}"
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
            os.unlink(name)
        last = None
        for flags, message in stream.messages():
            last = message
        self.assertEqual(last["error"]["code"], "resource_exhausted")

    def test_nothing_is_left(self):
        def instances():
            # One line for a descriptor's watch, so not without any.
            folder = f"/proc/{self.agent.process.pid}/fdinfo"
            return sum("inotify" in open(f"{folder}/{fd}").read() for fd in os.listdir(folder))

        streams = [self.watch(recursive=True) for _ in range(5)]
        self.assertEqual(instances(), 1)
        for stream in streams:
            stream.close()
        time.sleep(0.2)
        self.eventually(lambda: not instances())
