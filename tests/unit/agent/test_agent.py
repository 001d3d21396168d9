# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives the built agent over loopback, as nginx and the control plane do; see test_agent."""

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

from agent_client import ME, Agent, Reply, free_port

BINARY = os.environ["SANDLOT_AGENT"]
ROOT = os.getuid() == 0
HOME = os.path.expanduser("~")


def quote(path):
    return urllib.parse.quote(path, safe="")


class AgentTest(unittest.TestCase):
    envs = {"GREETING": "hello", "PATH_LIKE": "a:b"}

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(BINARY, "--trust-local-peers")
        assert cls.agent.init(cls.envs).status == 204
        cls.folder = os.path.realpath(tempfile.mkdtemp())

    @classmethod
    def tearDownClass(cls):
        cls.agent.stop()
        shutil.rmtree(cls.folder)

    def eventually(self, check, within_s=5):
        deadline = time.monotonic() + within_s
        while not check():
            self.assertLess(time.monotonic(), deadline, "did not happen in time")
            time.sleep(0.02)

    def fault(self, reply, status, code=None):
        self.assertEqual(reply.status, status)
        body = reply.json()
        self.assertEqual(body["code"], code or status)
        self.assertTrue(body["message"])
        return body["message"]


class Secret(AgentTest):
    def test_health_needs_none(self):
        self.assertEqual(self.agent.send("GET", "/health", secret=False).status, 204)

    def test_everything_else_needs_it(self):
        for method, path in (("GET", "/files?path=/etc/passwd"), ("POST", "/files?path=/tmp/x"),
                             ("GET", "/internal/ports/80"), ("GET", "/nonesuch")):
            for secret in (False, "00" * 32, self.agent.secret[:-1], "zz" * 32):
                self.fault(self.agent.send(method, path, secret=secret), 401)
        reply = self.agent.send("POST", "/process.Process/List", b"{}",
                                {"Content-Type": "application/json"}, secret=False)
        self.fault(reply, 401, "unauthenticated")

    def test_init_again(self):
        self.assertEqual(self.agent.init({"A": "1"}).status, 204)
        self.assertEqual(self.agent.run("/bin/sh", "-c", "echo $A-$GREETING")[0], b"1-\n")
        self.assertEqual(self.agent.init(self.envs).status, 204)
        body = json.dumps({"secret": self.agent.secret}).encode()
        self.fault(self.agent.send("POST", "/init", body, secret=False), 401)
        body = json.dumps({"secret": "ab" * 32}).encode()
        self.fault(self.agent.send("POST", "/init", body), 400)
        self.fault(self.agent.send("POST", "/init", b"{"), 400)

    def test_before_init(self):
        agent = Agent(BINARY, "--trust-local-peers")
        self.assertEqual(agent.send("GET", "/health", secret=False).status, 204)
        self.fault(agent.send("GET", "/files?path=/etc/passwd"), 503)
        self.assertEqual(agent.init().status, 204)
        self.assertEqual(agent.send("GET", "/files?path=/etc/passwd").status, 200)
        self.assertEqual(agent.stop(), 0)
        with open(agent.log.name) as log:
            self.assertNotIn(agent.secret, log.read())

    def test_init_from_inside(self):
        agent = Agent(BINARY)
        self.assertIn(agent.init().status, (404,))
        agent.stop()

    def test_unknown_routes(self):
        self.fault(self.agent.send("GET", "/nonesuch"), 404)
        self.fault(self.agent.send("DELETE", "/files?path=/x"), 405)
        status, body = self.agent.unary("process.Process/Fly", {})
        self.assertEqual((status, body["code"]), (501, "unimplemented"))
        last = self.agent.stream("process.Process/Fly", {}).message()
        self.assertEqual(last[0], 2)
        self.assertEqual(last[1]["error"]["code"], "unimplemented")


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
        message = self.fault(self.put_parts([("file", "x", b"1"), ("file", "y", b"2")],
                                            "?path=" + quote(path)), 400)
        self.assertIn(path, message)
        self.assertEqual(self.get(path).read(), b"1")

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

    def test_multipart_faults(self):
        self.fault(self.put_parts([("file", "", b"x")]), 400)
        self.fault(self.put_parts([("file", self.folder + "/cut", b"x")], end=b""), 400)
        self.fault(self.agent.send("POST", "/files", b"x", {"Content-Type": "multipart/form-data"}),
                   400)

    def test_refused_bodies(self):
        self.fault(self.agent.send("POST", "/files?path=/tmp/x", b"x", {"Content-Type": "text/x"}),
                   415)
        self.fault(self.put(self.folder + "/z", b"x", **{"Content-Encoding": "br"}), 415)
        self.fault(self.agent.send("POST", "/files", b"x",
                                   {"Content-Type": "application/octet-stream"}), 400)
        self.assertFalse(os.path.exists(self.folder + "/z"))

    def test_bad_targets(self):
        self.fault(self.put(self.folder, b"x"), 400)
        self.put(self.folder + "/plain", b"x").json()
        self.fault(self.put(self.folder + "/plain/below", b"x"), 400)
        os.mkfifo(self.folder + "/fifo")
        self.fault(self.put(self.folder + "/fifo", b"x"), 400)
        self.fault(self.get(self.folder + "/fifo"), 400)
        self.fault(self.get("/" + "a" * 5000), 400)
        self.fault(self.get("~other/x"), 400)
        self.fault(self.agent.send("GET", "/files?path=/etc/passwd%00x"), 400)

    def test_reading_faults(self):
        self.assertIn("directory", self.fault(self.get(self.folder), 400))
        self.fault(self.get(self.folder + "/missing"), 404)
        self.fault(self.agent.send("GET", "/files?path=/etc/passwd&username=nobody-here"), 401)
        self.fault(self.get("/etc/passwd", Accept_Encoding="identity;q=0"), 406)

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
        self.assertEqual((reply.status, reply.headers["content-range"]), (416, f"bytes */{len(data)}"))
        for ignored in ("bytes=5-1", "lines=1-2", "bytes=1-2,4-5", "bytes=x"):
            self.assertEqual(self.get(path, Range=ignored).status, 200)

    def test_conditions(self):
        path = self.folder + "/conditions"
        self.put(path, b"text").json()
        reply = self.get(path)
        tag, date = reply.headers["etag"], reply.headers["last-modified"]
        self.assertEqual(reply.headers["accept-ranges"], "bytes")
        self.assertEqual(self.get(path, If_None_Match=tag).status, 304)
        self.assertEqual(self.get(path, If_None_Match='"x", W/' + tag).status, 304)
        self.assertEqual(self.get(path, If_None_Match='"x"').status, 200)
        self.assertEqual(self.get(path, If_Modified_Since=date).status, 304)
        self.assertEqual(self.get(path, If_Match='"x"').status, 412)
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
        self.fault(Reply(connection), 400)

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
            for chunked in (False, True):
                self.fault(self.put(small + "/x", b"x" * 3_000_000, chunked), 507)
        finally:
            os.system(f"umount {small}")


class Processes(AgentTest):
    def test_run(self):
        out, err, end, last = self.agent.run("/bin/sh", "-c", "echo out; echo err >&2")
        self.assertEqual((out, err, last), (b"out\n", b"err\n", {}))
        self.assertEqual(end, {"exitCode": 0, "exited": True, "status": "exit status 0"})

    def test_exit_code(self):
        end = self.agent.run("/bin/sh", "-c", "exit 7")[2]
        self.assertEqual(end, {"exitCode": 7, "exited": True, "status": "exit status 7",
                               "error": "exit status 7"})

    def test_signal(self):
        end = self.agent.run("/bin/sh", "-c", "kill -9 $$")[2]
        self.assertEqual(end, {"exitCode": -1, "exited": False, "status": "signal: killed",
                               "error": "signal: killed"})

    def test_headers_and_start_come_at_once(self):
        began = time.monotonic()
        stream = self.agent.start("sleep", "1")
        self.assertEqual(stream.headers["content-type"], "application/connect+json")
        flags, message = stream.message()
        self.assertLess(time.monotonic() - began, 0.5)
        self.assertEqual(flags, 0)
        pid = message["event"]["start"]["pid"]
        self.assertEqual(os.getsid(pid), pid)
        self.assertIn("sleep", open(f"/proc/{pid}/cmdline").read())
        stream.close()

    def test_output_of_any_bytes(self):
        data = bytes(range(256)) * 4096
        path = self.folder + "/bytes"
        with open(path, "wb") as file:
            file.write(data)
        self.assertEqual(self.agent.run("cat", path)[0], data)

    def test_messages_are_small(self):
        for flags, message in self.agent.start("head", "-c", "1000000", "/dev/zero").messages():
            text = message.get("event", {}).get("data", {}).get("stdout", "")
            self.assertLessEqual(len(base64.b64decode(text)), 32768)

    def test_environment(self):
        script = "echo $HOME $USER $LOGNAME $E2B_SANDBOX $GREETING $PATH_LIKE $MINE"
        out = self.agent.run("/bin/sh", "-c", script, envs={"MINE": "x", "PATH_LIKE": "over"})[0]
        self.assertEqual(out.decode().split(), [HOME, ME, ME, "true", "hello", "over", "x"])

    def test_working_directory(self):
        self.assertEqual(self.agent.run("pwd")[0].decode(), HOME + "\n")
        self.assertEqual(self.agent.run("pwd", cwd=self.folder)[0].decode(), self.folder + "\n")
        last = self.agent.start("pwd", cwd="/nonesuch").message()
        self.assertEqual((last[0], last[1]["error"]["code"]), (2, "invalid_argument"))

    def test_what_cannot_start(self):
        for more in ({"cmd": "/nonesuch"}, {"cmd": "no-such-command"}, {"cmd": ""}, {"cmd": "/etc"}):
            flags, last = self.agent.start(more["cmd"]).message()
            self.assertEqual((flags, last["error"]["code"]), (2, "invalid_argument"))
        flags, last = self.agent.start("true", user="nobody-here").message()
        self.assertEqual((flags, last["error"]["code"]), (2, "unauthenticated"))

    @unittest.skipUnless(ROOT, "needs root")
    def test_user(self):
        out = self.agent.run("/bin/sh", "-c", "id -un; id -Gn; umask", user="nobody", cwd="/")[0]
        self.assertEqual(out, b"nobody\nnogroup\n0022\n")

    def test_clean_start(self):
        out = self.agent.run(sys.executable, "-c", """
import os, signal
print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:4])
print([s for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN
       and s not in (signal.SIGPIPE, signal.SIGXFSZ)], signal.pthread_sigmask(0, []))
print(open('/proc/self/oom_score_adj').read().strip())
print([l.split()[1] for l in open('/proc/self/status') if l.startswith('SigIgn')])
""")[0].decode().split("\n")
        self.assertEqual(out[0], "[0, 1, 2, 3]")
        self.assertEqual(out[1], "[] set()")
        own = int(open("/proc/self/oom_score_adj").read())
        self.assertEqual(int(out[2]), min(1000, own + 200))

    def test_no_descriptor_is_inherited(self):
        out = self.agent.run("/bin/sh", "-c", "ls -l /proc/$$/fd")[0].decode()
        self.assertNotIn("socket", out)
        self.assertNotIn("eventpoll", out)

    def test_stdin(self):
        stream = self.agent.start("cat")
        pid = stream.message()[1]["event"]["start"]["pid"]
        for text in (b"one\n", b"two\n"):
            status, body = self.agent.unary("process.Process/SendInput", {
                "process": {"pid": pid}, "input": {"stdin": base64.b64encode(text).decode()}})
            self.assertEqual((status, body), (200, {}))
            self.assertEqual(base64.b64decode(stream.message()[1]["event"]["data"]["stdout"]), text)
        self.assertEqual(self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}}),
                         (200, {}))
        self.assertEqual(stream.message()[1]["event"]["end"]["exitCode"], 0)

    def test_much_input(self):
        data = os.urandom(700_000)
        stream = self.agent.start("sh", "-c", "sleep 0.5; sha256sum")
        pid = stream.message()[1]["event"]["start"]["pid"]
        status, body = self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"stdin": base64.b64encode(data).decode()}})
        self.assertEqual((status, body), (200, {}))
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        out = base64.b64decode(stream.message()[1]["event"]["data"]["stdout"])
        self.assertEqual(out.decode().split()[0], hashlib.sha256(data).hexdigest())

    def test_input_to_a_process_that_never_reads(self):
        stream = self.agent.start("sleep", "100")
        pid = stream.message()[1]["event"]["start"]["pid"]
        text = base64.b64encode(b"x" * 700_000).decode()
        message = {"process": {"pid": pid}, "input": {"stdin": text}}
        body = json.dumps(message).encode()
        headers = {"Content-Type": "application/json", "Content-Length": len(body)}
        waiting = self.agent.connect()
        waiting.sendall(self.agent.head("POST", "/process.Process/SendInput", headers) + body)
        gone = self.agent.connect()
        gone.sendall(self.agent.head("POST", "/process.Process/SendInput", headers) + body)
        time.sleep(0.2)
        gone.close()
        self.assertEqual(self.agent.unary("process.Process/SendSignal", {
            "process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})[0], 200)
        reply = Reply(waiting)
        self.fault(reply, 500, "internal")

    def test_no_stdin(self):
        stream = self.agent.start("cat", stdin=False)
        pid = stream.message()[1]["event"]["start"]["pid"]
        self.assertEqual(stream.message()[1]["event"]["end"]["exitCode"], 0)
        stream = self.agent.start("sleep", "5", stdin=False)
        pid = stream.message()[1]["event"]["start"]["pid"]
        status, body = self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"stdin": "eA=="}})
        self.assertEqual((status, body["code"]), (500, "internal"))
        os.kill(pid, signal.SIGKILL)

    def test_list_and_signal(self):
        stream = self.agent.start("sleep", "100", tag="night", envs={"A": "b"}, cwd="/tmp")
        pid = stream.message()[1]["event"]["start"]["pid"]
        status, body = self.agent.unary("process.Process/List", {})
        self.assertIn({"config": {"cmd": "sleep", "args": ["100"], "envs": {"A": "b"},
                                  "cwd": "/tmp"}, "pid": pid, "tag": "night"}, body["processes"])
        self.assertEqual(self.agent.unary("process.Process/SendSignal", {
            "process": {"tag": "night"}, "signal": "SIGNAL_SIGTERM"}), (200, {}))
        self.assertEqual(stream.message()[1]["event"]["end"]["status"], "signal: terminated")
        status, body = self.agent.unary("process.Process/SendSignal", {
            "process": {"pid": pid}, "signal": "SIGNAL_SIGTERM"})
        self.assertEqual((status, body["code"]), (404, "not_found"))
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_killed_process_does_not_wait_for_its_children(self):
        stream = self.agent.start("/bin/bash", "-c", "echo ready; sleep 100 & sleep 100")
        pid = stream.message()[1]["event"]["start"]["pid"]
        stream.message()
        began = time.monotonic()
        self.agent.unary("process.Process/SendSignal", {"process": {"pid": pid},
                                                        "signal": "SIGNAL_SIGKILL"})
        self.assertEqual(stream.message()[1]["event"]["end"]["status"], "signal: killed")
        self.assertLess(time.monotonic() - began, 1)

    def test_children_keep_a_stream_open(self):
        began = time.monotonic()
        out = self.agent.run("/bin/bash", "-c", "(sleep 0.5; echo late) & echo early")[0]
        self.assertEqual(out, b"early\nlate\n")
        self.assertGreater(time.monotonic() - began, 0.4)

    def test_connect(self):
        first = self.agent.start("/bin/sh", "-c", "read x; echo $x; exit 3")
        pid = first.message()[1]["event"]["start"]["pid"]
        second = self.agent.stream("process.Process/Connect", {"process": {"pid": pid}})
        self.assertEqual(second.message()[1]["event"]["start"]["pid"], pid)
        self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"both\n").decode()}})
        for stream in (first, second):
            data = stream.message()[1]["event"]["data"]["stdout"]
            self.assertEqual(base64.b64decode(data), b"both\n")
            self.assertEqual(stream.message()[1]["event"]["end"]["exitCode"], 3)
            self.assertEqual(stream.message(), (2, {}))
        late = self.agent.stream("process.Process/Connect", {"process": {"pid": pid}})
        self.assertEqual([message for _, message in late.messages()][1]["event"]["end"]["exitCode"], 3)
        last = self.agent.stream("process.Process/Connect", {"process": {"pid": 2**30}}).message()
        self.assertEqual((last[0], last[1]["error"]["code"]), (2, "not_found"))

    def test_dropped_client_does_not_kill(self):
        mark = self.folder + "/survived"
        stream = self.agent.start("/bin/sh", "-c",
                                  f"for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; touch {mark}")
        stream.message()
        stream.close()
        self.eventually(lambda: os.path.exists(mark))

    def test_timeout_kills(self):
        began = time.monotonic()
        messages = list(self.agent.start("sleep", "100",
                                         headers={"Connect-Timeout-Ms": "300"}).messages())
        self.assertLess(time.monotonic() - began, 2)
        pid = messages[0][1]["event"]["start"]["pid"]
        self.assertEqual(messages[-1][1]["error"]["code"], "deadline_exceeded")
        self.eventually(lambda: not os.path.exists(f"/proc/{pid}"))

    def test_timeout_of_connect_does_not_kill(self):
        stream = self.agent.start("sleep", "100")
        pid = stream.message()[1]["event"]["start"]["pid"]
        messages = list(self.agent.stream("process.Process/Connect", {"process": {"pid": pid}},
                                          {"Connect-Timeout-Ms": "200"}).messages())
        self.assertEqual(messages[-1][1]["error"]["code"], "deadline_exceeded")
        self.assertTrue(os.path.exists(f"/proc/{pid}"))
        os.kill(pid, signal.SIGKILL)

    def test_keepalive(self):
        stream = self.agent.start("sleep", "2.6", headers={"Keepalive-Ping-Interval": "1"})
        names = [next(iter(m["event"])) for f, m in stream.messages() if not f]
        self.assertEqual(names, ["start", "keepalive", "keepalive", "end"])

    def rss_kb(self):
        with open(f"/proc/{self.agent.process.pid}/status") as status:
            return int(next(line for line in status if line.startswith("RssAnon")).split()[1])

    def test_slow_reader(self):
        """Memory stays small, the producer waits, and nothing is lost."""
        size = 40_000_000
        before = self.rss_kb()
        stream = self.agent.start("head", "-c", str(size), "/dev/zero")
        time.sleep(1)
        self.assertLess(self.rss_kb() - before, 1500)
        got = sum(len(base64.b64decode(m["event"].get("data", {}).get("stdout", "")))
                  for f, m in stream.messages() if not f)
        self.assertEqual(got, size)

    def test_stopped_agent_aborts_streams(self):
        agent = Agent(BINARY, "--trust-local-peers")
        agent.init()
        stream = agent.start("sleep", "100")
        pid = stream.message()[1]["event"]["start"]["pid"]
        agent.process.kill()
        agent.process.wait()
        with self.assertRaises((ConnectionError, EOFError)):
            stream.message()
        os.kill(pid, signal.SIGKILL)

    def test_bad_requests(self):
        headers = {"Content-Type": "application/connect+json"}
        for body in (b"", b"\0\0\0\0\7{}", b"\0\0\0\0\1{", b"\2\0\0\0\2{}", b"\0\0\0\0\2{}x",
                     b"\0\0\0\0\2[]", b"\0\0\0\0\2{}"):
            reply = self.agent.send("POST", "/process.Process/Start", body, headers)
            self.assertEqual(reply.status, 200)
            flags, last = reply.message()
            self.assertEqual((flags, last["error"]["code"]), (2, "invalid_argument"))
        reply = self.agent.send("POST", "/process.Process/Start", b"\1\0\0\0\2{}", headers)
        self.assertEqual(reply.message()[1]["error"]["code"], "unimplemented")
        self.assertEqual(self.agent.send("POST", "/process.Process/Start", b"{}",
                                         {"Content-Type": "application/json"}).status, 415)
        reply = self.agent.send("POST", "/process.Process/List", b"x" * 2_000_000,
                                {"Content-Type": "application/json"})
        self.fault(reply, 429, "resource_exhausted")

    def test_many_at_once(self):
        streams = [self.agent.start("/bin/sh", "-c", f"sleep 0.3; echo {n}") for n in range(100)]
        for number, stream in enumerate(streams):
            texts = [base64.b64decode(m["event"]["data"]["stdout"])
                     for f, m in stream.messages() if not f and "data" in m["event"]]
            self.assertEqual(b"".join(texts), b"%d\n" % number)


class Terminal(AgentTest):
    def read_until(self, stream, text):
        got = b""
        while text not in got:
            message = stream.message()[1]
            got += base64.b64decode(message["event"].get("data", {}).get("pty", ""))
        return got

    def send(self, pid, text):
        self.assertEqual(self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"pty": base64.b64encode(text).decode()}}), (200, {}))

    def test_terminal(self):
        stream = self.agent.start("/bin/bash", "--norc", "-i", envs={"TERM": "xterm", "PS1": "$ "},
                                  pty={"size": {"cols": 91, "rows": 17}})
        pid = stream.message()[1]["event"]["start"]["pid"]
        self.send(pid, b"stty size; tty\n")
        self.read_until(stream, b"17 91\r\n/dev/pts/")
        self.assertEqual(self.agent.unary("process.Process/Update", {
            "process": {"pid": pid}, "pty": {"size": {"cols": 50, "rows": 20}}}), (200, {}))
        self.send(pid, b"stty size\n")
        self.read_until(stream, b"20 50")
        self.send(pid, b"sleep 100\n")
        self.read_until(stream, b"sleep 100\r\n")
        self.send(pid, b"\x03")
        self.read_until(stream, b"$ ")
        self.send(pid, b"exit 5\n")
        end = [m for f, m in stream.messages() if not f][-1]
        self.assertEqual(end["event"]["end"]["exitCode"], 5)

    def test_background_job_does_not_hold_it(self):
        stream = self.agent.start("/bin/bash", "--norc", "-i", envs={"PS1": "$ "},
                                  pty={"size": {"cols": 80, "rows": 24}})
        pid = stream.message()[1]["event"]["start"]["pid"]
        self.send(pid, b"sleep 100 &\n")
        self.send(pid, b"exit\n")
        end = [m for f, m in stream.messages() if not f][-1]
        self.assertIn("end", end["event"])

    def test_faults(self):
        stream = self.agent.start("sleep", "5")
        pid = stream.message()[1]["event"]["start"]["pid"]
        status, body = self.agent.unary("process.Process/Update", {
            "process": {"pid": pid}, "pty": {"size": {"cols": 50, "rows": 20}}})
        self.assertEqual((status, body["code"]), (400, "failed_precondition"))
        status, body = self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"pty": "eA=="}})
        self.assertEqual((status, body["code"]), (500, "internal"))
        os.kill(pid, signal.SIGKILL)


class Ports(AgentTest):
    def listener(self, port):
        reply = self.agent.send("GET", f"/internal/ports/{port}")
        self.assertEqual(reply.status, 200)
        return reply.json()["listener"]

    def listen(self, address, family=socket.AF_INET, v6only=None):
        server = socket.socket(family)
        if v6only is not None:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
        server.bind((address, 0))
        server.listen()
        self.addCleanup(server.close)
        return server

    def test_listeners(self):
        self.assertEqual(self.listener(free_port()), "none")
        self.assertEqual(self.listener(self.listen("127.0.0.1").getsockname()[1]), "loopback")
        self.assertEqual(self.listener(self.listen("127.0.0.5").getsockname()[1]), "loopback")
        self.assertEqual(self.listener(self.listen("0.0.0.0").getsockname()[1]), "any")
        for bad in ("0", "65536", "x", ""):
            self.fault(self.agent.send("GET", f"/internal/ports/{bad}"), 400)

    def test_listeners_v6(self):
        try:
            self.assertEqual(self.listener(self.listen("::1", socket.AF_INET6).getsockname()[1]),
                             "loopback")
        except OSError:
            self.skipTest("no IPv6 here")
        self.assertEqual(self.listener(self.listen("::", socket.AF_INET6, 1).getsockname()[1]),
                         "loopback")
        self.assertEqual(self.listener(self.listen("::", socket.AF_INET6, 0).getsockname()[1]), "any")

    def relay(self, head, secret=None, port=None):
        connection = socket.create_connection(("127.0.0.1", self.agent.relay_port), 10)
        lines = [head]
        if port is not None:
            lines.append(f"X-Sandlot-Port: {port}")
        lines.append(f"X-Sandlot-Agent-Secret: {secret or self.agent.secret}")
        lines.append("User-Agent: test")
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return connection

    def serve(self, handler, address="127.0.0.1", family=socket.AF_INET):
        server = self.listen(address, family)

        def run():
            connection, _ = server.accept()
            connection.settimeout(10)
            handler(connection)
            connection.close()

        threading.Thread(target=run, daemon=True).start()
        return server.getsockname()[1]

    def test_relay(self):
        seen = []

        def handler(connection):
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(65536)
            seen.append(data)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

        for address, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
            try:
                port = self.serve(handler, address, family)
            except OSError:
                continue
            connection = self.relay("GET /a?b HTTP/1.1", port=port)
            self.assertEqual(Reply(connection).read(), b"hello")
            self.assertEqual(seen.pop(), b"GET /a?b HTTP/1.1\r\nUser-Agent: test\r\n\r\n")

    def test_relay_of_many_bytes(self):
        """Both ways at once, and half-closed at the end."""
        up, down = os.urandom(20_000_000), os.urandom(20_000_000)
        got = []

        def handler(connection):
            sender = threading.Thread(target=lambda: (connection.sendall(down),
                                                      connection.shutdown(socket.SHUT_WR)))
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(1000)
            parts = [data.split(b"\r\n\r\n", 1)[1]]
            sender.start()
            while (piece := connection.recv(65536)):
                parts.append(piece)
            got.append(b"".join(parts))
            sender.join()

        connection = self.relay("POST / HTTP/1.1", port=self.serve(handler))
        sender = threading.Thread(target=lambda: (connection.sendall(up),
                                                  connection.shutdown(socket.SHUT_WR)))
        sender.start()
        time.sleep(0.3)
        parts = []
        while (piece := connection.recv(65536)):
            parts.append(piece)
        sender.join()
        self.assertEqual(b"".join(parts), down)
        self.eventually(lambda: got)
        self.assertEqual(got[0], up)

    def test_relay_refusals(self):
        self.assertEqual(Reply(self.relay("GET / HTTP/1.1", port=free_port())).status, 502)
        self.assertEqual(Reply(self.relay("GET / HTTP/1.1", "00" * 32, 80)).status, 401)
        self.assertEqual(Reply(self.relay("GET / HTTP/1.1")).status, 400)
        self.assertEqual(Reply(self.relay("GET / HTTP/1.1", port="80x")).status, 400)
        big = self.relay("GET / HTTP/1.1\r\n" + "X: " + "y" * 70000, port=80)
        self.assertEqual(Reply(big).status, 431)


class Tap(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0

    def say(self, test, word, more=""):
        self.count += 1
        print(f"{word} {self.count} - {test.id().removeprefix('__main__.')}{more}", flush=True)

    def addSuccess(self, test):
        self.say(test, "ok")

    def addSkip(self, test, reason):
        self.say(test, "ok", f" # SKIP {reason}")

    def complain(self, test, error):
        self.say(test, "not ok")
        for line in self._exc_info_to_string(error, test).splitlines():
            print("# " + line)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.complain(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.complain(test, error)


if __name__ == "__main__":
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    suite = (loader.loadTestsFromNames(names, sys.modules["__main__"]) if names
             else loader.loadTestsFromModule(sys.modules["__main__"]))
    print(f"1..{suite.countTestCases()}")
    sys.exit(not suite.run(Tap()).wasSuccessful())
