# SPDX-License-Identifier: GPL-2.0-or-later
"""process.Process."""

import base64
import hashlib
import json
import os
import shutil
import signal
import sys
import time
import unittest
import unittest.mock

from agent_case import BINARY, HOME, ROOT, AgentTest
from agent_client import ME, Agent, Reply


class Processes(AgentTest):
    def test_run(self):
        out, err, end, last = self.agent.run("/bin/sh", "-c", "echo out; echo err >&2")
        self.assertEqual((out, err, last), (b"out\n", b"err\n", {}))
        self.assertEqual(end, {"exitCode": 0, "exited": True, "status": "exit status 0"})

    def test_exit_code(self):
        for code in (1, 127, 255):
            end = self.agent.run("/bin/sh", "-c", f"exit {code}")[2]
            self.assertEqual(end, {"exitCode": code, "exited": True, "status": f"exit status {code}",
                                   "error": f"exit status {code}"})

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

    def test_the_language_of_commands(self):
        """That of the agent, unless the sandbox or the call sets another one."""
        with unittest.mock.patch.dict(os.environ, {"LANG": "C.UTF-8"}):
            agent = Agent(BINARY, "--trust-local-peers")
        self.addCleanup(agent.stop)
        for envs, more, language in (({}, {}, "C.UTF-8"), ({}, {"LANG": "C"}, "C"), ({"LANG": "POSIX"}, {}, "POSIX")):
            self.assertEqual(agent.init(envs).status, 204)
            self.assertEqual(agent.run("/bin/sh", "-c", 'echo "$LANG"', envs=more)[0].decode(), language + "\n")

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

    def test_a_program_that_is_written(self):
        """Linux does not start it. Later it can be started."""
        program = shutil.copy("/bin/true", self.folder)
        with open(program, "r+b"):
            flags, last = self.agent.start(program).message()
            self.assertEqual((flags, last["error"]["code"]), (2, "unavailable"))
        self.assertEqual(self.agent.run(program)[3], {})

    @unittest.skipUnless(ROOT, "needs root")
    def test_user(self):
        out = self.agent.run("/bin/sh", "-c", "id -un; id -Gn; umask", user="nobody", cwd="/")[0]
        self.assertEqual(out, b"nobody\nnogroup\n0022\n")

    @unittest.skipUnless(ROOT, "needs root")
    def test_a_user_opens_its_output_and_input_by_name(self):
        """A server logs to /dev/stderr as in Docker, also if it does not run as root."""
        out, err, end, _ = self.agent.run("/bin/sh", "-c", "echo out >/dev/stdout; echo err >/dev/stderr", user="nobody", cwd="/")
        self.assertEqual((out, err, end["exitCode"]), (b"out\n", b"err\n", 0))
        stream = self.agent.start("cat", "/dev/stdin", user="nobody", cwd="/")
        pid = stream.message()[1]["event"]["start"]["pid"]
        self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"in\n").decode()}})
        self.assertEqual(base64.b64decode(stream.message()[1]["event"]["data"]["stdout"]), b"in\n")
        self.agent.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        self.assertEqual(stream.message()[1]["event"]["end"]["exitCode"], 0)

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
        data = os.urandom(2_500_000)
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
        self.error(reply, 500, "internal")

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
        listed = self.agent.unary("process.Process/List", {})[1].get("processes", [])
        self.assertNotIn(pid, [process["pid"] for process in listed])
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

    def test_programs_in_the_background_do_not_hold_a_stream_up(self):
        go = self.folder + "/go"
        script = f"(until [ -e {go} ]; do sleep 0.02; done; echo late; echo $$ >{go}.done) & echo early"
        out, _, end, _ = self.agent.run("/bin/bash", "-c", script)
        self.assertEqual((out, end["exitCode"]), (b"early\n", 0))
        open(go, "w").close()
        self.eventually(lambda: os.path.exists(go + ".done"))
        logs = self.agent.send("GET", "/internal/logs?order=desc&limit=5").json()["logs"]
        self.assertIn("late\n", "".join(entry["data"] for entry in logs))

    def test_what_was_written_before_the_exit_is_told_to_a_slow_reader(self):
        stream = self.agent.start("/bin/bash", "-c",
                                  "sleep 100 & disown; head -c 1000000 /dev/zero")
        time.sleep(0.5)
        messages = [message for _, message in stream.messages()]
        got = sum(len(base64.b64decode(message["event"].get("data", {}).get("stdout", "")))
                  for message in messages if "event" in message)
        self.assertEqual(got, 1000000)
        pid = messages[0]["event"]["start"]["pid"]
        listed = self.agent.unary("process.Process/List", {})[1]["processes"]
        self.assertIn(pid, [entry["pid"] for entry in listed])
        late = self.agent.stream("process.Process/Connect", {"process": {"pid": pid}})
        self.assertEqual([m for _, m in late.messages()][1]["event"]["end"]["exitCode"], 0)
        self.agent.unary("process.Process/SendSignal", {"process": {"pid": pid},
                                                        "signal": "SIGNAL_SIGKILL"})
        self.eventually(lambda: not self.session(pid))

    @staticmethod
    def session(leader):
        """The processes of a session that live."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    state, _, _, session = file.read().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(session) == leader and state not in "ZX":
                found.append(int(pid))
        return found

    # One in the same process group, one in another.
    FAMILY = "sleep 300 & set -m; sleep 300 & set +m; sleep 300 & echo ready; wait"

    def family(self, **more):
        stream = self.agent.start("/bin/bash", "-c", self.FAMILY, **more)
        pid = stream.message()[1]["event"]["start"]["pid"]
        stream.message()
        # A child that is still the shell does not yet ignore a signal that sleep will ignore.
        self.eventually(lambda: sorted(map(self.name, self.session(pid))) == ["bash", "sleep", "sleep", "sleep"])
        return stream, pid

    @staticmethod
    def name(pid):
        try:
            with open(f"/proc/{pid}/comm") as file:
                return file.read().rstrip()
        except OSError:
            return ""

    def test_limit_outlives_the_stream(self):
        stream, pid = self.family(headers={"Connect-Timeout-Ms": "4000"})
        stream.close()
        self.eventually(lambda: not self.session(pid), 20)

    def test_limit_takes_the_session(self):
        stream, pid = self.family(headers={"Connect-Timeout-Ms": "4000"})
        self.assertEqual(list(stream.messages())[-1][1]["error"]["code"], "deadline_exceeded")
        self.eventually(lambda: not self.session(pid))

    def test_kill_takes_the_session(self):
        stream, pid = self.family()
        self.agent.unary("process.Process/SendSignal", {"process": {"pid": pid},
                                                        "signal": "SIGNAL_SIGKILL"})
        self.assertEqual(stream.message()[1]["event"]["end"]["status"], "signal: killed")
        self.eventually(lambda: not self.session(pid))

    def test_a_program_in_another_session_writes_on(self):
        """After a kill, a time limit and a signal, the log gets its output, and it gets no SIGPIPE."""
        for number, way in enumerate(("kill", "limit", "crash")):
            go = f"{self.folder}/go {number}"
            daemon = f"echo ready; until [ -e '{go}' ]; do sleep 0.02; done; echo late {number} && touch '{go}.done'"
            last = 'sleep 0.5; kill -SEGV $$' if way == "crash" else "sleep 300"
            stream = self.agent.start("/bin/bash", "-c", 'setsid sh -c "$0" & ' + last, daemon,
                                      headers={"Connect-Timeout-Ms": "4000"} if way == "limit" else None)
            pid = stream.message()[1]["event"]["start"]["pid"]
            stream.message()
            if way == "kill":
                self.agent.unary("process.Process/SendSignal", {"process": {"pid": pid},
                                                                "signal": "SIGNAL_SIGKILL"})
            self.assertTrue(list(stream.messages())[-1][0] & 2)
            self.eventually(lambda: not os.path.exists(f"/proc/{pid}"))
            open(go, "w").close()
            self.eventually(lambda: os.path.exists(go + ".done"))
            logs = self.agent.send("GET", "/internal/logs?order=desc&limit=5").json()["logs"]
            self.assertIn(f"late {number}\n", "".join(entry["data"] for entry in logs))

    def test_signals_of_terminals_go_to_the_group(self):
        for name in ("TERM", "INT", "HUP"):
            stream, pid = self.family()
            self.agent.unary("process.Process/SendSignal", {"process": {"pid": pid},
                                                            "signal": f"SIGNAL_SIG{name}"})
            self.eventually(lambda: len(self.session(pid)) == (3 if name == "INT" else 1))
            self.agent.unary("process.Process/SendSignal", {"process": {"pid": pid},
                                                            "signal": "SIGNAL_SIGKILL"})
            for other in self.session(pid):
                os.kill(other, signal.SIGKILL)
            stream.close()

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

    def test_connect_to_the_latest_of_a_tag(self):
        for code in (1, 2):
            self.agent.run("/bin/sh", "-c", f"exit {code}", tag="again")
        stream = self.agent.stream("process.Process/Connect", {"process": {"tag": "again"}})
        self.assertEqual([message for _, message in stream.messages()][1]["event"]["end"]["exitCode"], 2)

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

    def test_idle_streams_are_cheap(self):
        first = self.agent.start("sleep", "100")
        pid = first.message()[1]["event"]["start"]["pid"]
        before = self.rss_kb()
        streams = [self.agent.stream("process.Process/Connect", {"process": {"pid": pid}})
                   for _ in range(300)]
        for stream in streams:
            stream.message()
        self.assertLess((self.rss_kb() - before) / len(streams), 15)
        os.kill(pid, signal.SIGKILL)
        for stream in streams:
            self.assertIn("end", stream.message()[1]["event"])
            stream.close()

    def test_stopped_agent_aborts_streams(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            agent = Agent(BINARY, "--trust-local-peers")
            agent.init()
            stream = agent.start("sleep", "100")
            pid = stream.message()[1]["event"]["start"]["pid"]
            agent.process.send_signal(number)
            self.assertEqual(agent.process.wait(10), -9 if number == signal.SIGKILL else 0)
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
        self.assertEqual(reply.message()[1]["error"]["code"], "invalid_argument")
        self.assertEqual(self.agent.send("POST", "/process.Process/Start", b"{}",
                                         {"Content-Type": "application/json"}).status, 415)
        reply = self.agent.send("POST", "/process.Process/List", b"x" * 5_000_000,
                                {"Content-Type": "application/json"})
        self.error(reply, 429, "resource_exhausted")
        _, _, _, last = self.agent.run("echo", "a\0b")
        self.assertEqual(last["error"]["message"], "a text in the message contains a NUL character")

    def test_many_at_once(self):
        streams = [self.agent.start("/bin/sh", "-c", f"sleep 0.3; echo {n}") for n in range(100)]
        for number, stream in enumerate(streams):
            texts = [base64.b64decode(m["event"]["data"]["stdout"])
                     for f, m in stream.messages() if not f and "data" in m["event"]]
            self.assertEqual(b"".join(texts), b"%d\n" % number)


class Terminal(AgentTest):
    PROMPT = "[next]"

    def read_until(self, stream, text, then=""):
        """Read until text, and after it then."""
        got = b""
        while text.encode() not in got or then.encode() not in got.partition(text.encode())[2]:
            message = stream.message()[1]
            got += base64.b64decode(message["event"].get("data", {}).get("pty", ""))
        return got

    def send(self, pid, text):
        self.assertEqual(self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"pty": base64.b64encode(text).decode()}}), (200, {}))

    # What is typed before the shell asks for it is echoed twice, and a ^C before a program has
    # the terminal goes to the shell: each line waits for the prompt, ^C for the program's words.
    def test_terminal(self):
        stream = self.agent.start("/bin/bash", "--norc", "-i",
                                  envs={"TERM": "dumb", "PS1": self.PROMPT},
                                  pty={"size": {"cols": 91, "rows": 17}})
        pid = stream.message()[1]["event"]["start"]["pid"]
        self.read_until(stream, self.PROMPT)
        self.send(pid, b"stty size; tty\n")
        self.read_until(stream, "17 91\r\n/dev/pts/", self.PROMPT)
        self.assertEqual(self.agent.unary("process.Process/Update", {
            "process": {"pid": pid}, "pty": {"size": {"cols": 50, "rows": 20}}}), (200, {}))
        self.send(pid, b"stty size\n")
        self.read_until(stream, "20 50\r\n", self.PROMPT)
        # A side that is not named, or is 0, stays.
        for size in ({"cols": 60}, {"cols": 60, "rows": 0}, {}):
            self.assertEqual(self.agent.unary("process.Process/Update", {
                "process": {"pid": pid}, "pty": {"size": size}}), (200, {}))
        self.send(pid, b"stty size\n")
        self.read_until(stream, "20 60\r\n", self.PROMPT)
        self.send(pid, b"sh -c 'echo as\"\"leep; exec sleep 100'\n")
        self.read_until(stream, "asleep")
        self.send(pid, b"\x03")
        self.read_until(stream, "^C", self.PROMPT)
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

    def test_errors(self):
        stream = self.agent.start("sleep", "5")
        pid = stream.message()[1]["event"]["start"]["pid"]
        status, body = self.agent.unary("process.Process/Update", {
            "process": {"pid": pid}, "pty": {"size": {"cols": 50, "rows": 20}}})
        self.assertEqual((status, body["code"]), (400, "failed_precondition"))
        status, body = self.agent.unary("process.Process/SendInput", {
            "process": {"pid": pid}, "input": {"pty": "eA=="}})
        self.assertEqual((status, body["code"]), (500, "internal"))
        os.kill(pid, signal.SIGKILL)
