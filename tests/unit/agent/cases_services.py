# SPDX-License-Identifier: GPL-2.0-or-later
"""Services: started with the first POST /init, and again by their policies. And hooks."""

import contextlib
import json
import os
import signal

from agent_case import BINARY, AgentTest
from agent_client import ME, Agent


class Services(AgentTest):
    def setUp(self):
        self.fresh = Agent(BINARY, "--trust-local-peers")
        self.addCleanup(self.end)

    def end(self):
        """Stop the agent and then its services, which run on without it."""
        running = []
        with contextlib.suppress(OSError):
            running = [one["pid"] for one in self.list().values() if one["pid"]]
        self.fresh.stop()
        for pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def init(self, *services, **more):
        body = {"secret": self.fresh.secret, "sandbox_id": "sbx_test", "default_user": ME,
                "envs": {"OUTER": "o"}, "services": list(services), **more}
        return self.fresh.send("POST", "/init", json.dumps(body).encode()).status

    def list(self):
        return {one["name"]: one for one in self.fresh.send("GET", "/internal/services").json()["services"]}

    def until(self, name, within_s=20, **members):
        self.eventually(lambda: {**self.list()[name], **members} == self.list()[name], within_s)
        return self.list()[name]

    def log(self, name):
        logs = self.fresh.send("GET", f"/internal/services/{name}?order=asc").json()["logs"]
        return "".join(entry["data"] for entry in logs)

    def restart(self, name):
        return self.fresh.send("POST", f"/internal/services/{name}").status

    def test_a_service_runs_with_its_environment_and_folder(self):
        command = "echo $OUTER $INNER $PWD; exec sleep 1000"
        self.assertEqual(self.init({"name": "a", "command": command, "cwd": self.folder, "envs": {"INNER": "i"}}), 204)
        shown = self.until("a", state="running")
        self.assertEqual(shown["command"], command)
        self.assertEqual((shown["restart"], shown["restarts"], shown["health"]), ("on-failure", 0, None))
        self.assertNotIn("INNER", json.dumps([shown["user"], shown["cwd"]]))
        self.eventually(lambda: self.log("a") == f"o i {self.folder}\n")
        processes = self.fresh.send("POST", "/process.Process/List", b"{}", {"Content-Type": "application/json"}).json()
        self.assertEqual([(one["pid"], one["tag"]) for one in processes["processes"]], [(shown["pid"], "a")])

    def test_the_policy_decides_about_a_restart(self):
        ends = [{"name": f"{policy}{code}", "command": f"exit {code}", "restart": policy}
                for policy in ("no", "on-failure", "always") for code in (0, 3)]
        self.assertEqual(self.init(*ends), 204)
        self.until("always0", restarts=2)
        shown = {name: (one["state"], one["restarts"] > 0, one["exit_code"]) for name, one in self.list().items()}
        self.assertEqual({name: shown[name] for name in ("no0", "no3", "on-failure0")},
                         {"no0": ("ended", False, 0), "no3": ("failed", False, 3), "on-failure0": ("ended", False, 0)})
        self.assertTrue(shown["on-failure3"][1] and shown["always3"][1])
        # The third start is 1 + 2 s after the first, the fourth 4 s after the third.
        waiting = self.until("always3", state="waiting", restarts=2)
        self.assertEqual(round((waiting["next_start_at_ms"] - waiting["ended_at_ms"]) / 1000), 4)
        self.assertEqual(waiting["reason"], "exit status 3")

    def test_a_kill_is_a_failure_and_takes_the_rest_of_the_session(self):
        self.init({"name": "a", "command": "sleep 987 & echo $!; wait"})
        pid = self.until("a", state="running")["pid"]
        self.eventually(lambda: self.log("a"))
        child = int(self.log("a"))
        os.kill(pid, signal.SIGKILL)
        self.until("a", restarts=1, state="running")
        self.eventually(lambda: not os.path.exists(f"/proc/{child}"))
        self.assertEqual(self.list()["a"]["exit_code"], None)

    def test_a_restart_by_hand(self):
        self.init({"name": "polite", "command": "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.1; done"},
                  {"name": "over", "command": "echo once", "restart": "no"})
        self.until("over", state="ended")
        self.eventually(lambda: self.log("polite"))
        self.assertEqual([self.restart("polite"), self.restart("over"), self.restart("none")], [204, 204, 404])
        self.until("polite", restarts=1, state="running", exit_code=0)
        self.eventually(lambda: [line for line in self.log("polite").split() if line in ("hello", "bye")]
                        == ["hello", "bye", "hello"])
        self.eventually(lambda: self.log("over") == "once\nonce\n")

    def test_a_restart_sends_the_stop_signal(self):
        command = "trap 'echo bye; exit 0' {}; trap 'echo term' TERM; echo hello; while :; do sleep 0.1; done"
        self.init({"name": "quits", "command": command.format("QUIT"), "stop_signal": "SIGQUIT"},
                  {"name": "numbered", "command": command.format("USR1"), "stop_signal": "10"},
                  {"name": "unknown", "command": "true", "stop_signal": "SIGNONE"})
        for name in ("quits", "numbered"):
            self.eventually(lambda name=name: self.log(name))
            self.assertEqual(self.restart(name), 204)
            self.until(name, restarts=1, state="running", exit_code=0)
            self.eventually(lambda name=name: [line for line in self.log(name).split() if line in ("hello", "bye", "term")]
                            == ["hello", "bye", "hello"])
        self.assertNotIn("unknown", self.list())

    def test_the_first_start_waits_for_a_hook(self):
        self.init({"name": "a", "command": "exec sleep 1000"}, hold_services=30)
        self.assertEqual((self.list()["a"]["state"], self.list()["a"]["pid"]), ("waiting", None))
        self.assertEqual(self.fresh.send("POST", "/internal/services").status, 204)
        pid = self.until("a", state="running")["pid"]
        self.assertEqual(self.fresh.send("POST", "/internal/services").status, 204)
        self.assertEqual((self.list()["a"]["pid"], self.list()["a"]["restarts"]), (pid, 0))

    def test_the_wait_for_a_hook_has_an_end(self):
        self.init({"name": "a", "command": "exec sleep 1000"}, hold_services=1)
        self.until("a", state="running")

    def test_a_health_command(self):
        flag = os.path.join(self.folder, "well")
        open(flag, "w").close()
        self.init({"name": "a", "command": "exec sleep 1000",
                   "health": {"command": f"test -e {flag}", "interval": 1, "timeout": 1}})
        self.assertEqual(self.until("a", state="running", health="healthy")["restarts"], 0)
        os.unlink(flag)
        shown = self.until("a", restarts=1)
        self.assertEqual(shown["reason"], "its health command failed 3 times")
        open(flag, "w").close()
        self.until("a", state="running", health="healthy")

    def test_a_health_command_that_never_ends(self):
        self.init({"name": "a", "command": "exec sleep 1000", "health": {"command": "sleep 100", "interval": 1, "timeout": 1}})
        self.until("a", restarts=1)

    def test_a_list_is_replaced_in_memory(self):
        same = {"name": "same", "command": "exec sleep 1000"}
        self.init(same, {"name": "other", "command": "exec sleep 1001"}, {"name": "gone", "command": "exec sleep 1002"})
        before = self.list()
        self.assertEqual(self.init(same, {"name": "other", "command": "exec sleep 1003"}), 204)
        after = self.list()
        self.assertEqual(after["same"]["pid"], before["same"]["pid"])
        self.assertEqual(set(after), {"same", "other"})
        for name in ("other", "gone"):
            self.eventually(lambda: not os.path.exists(f"/proc/{before[name]['pid']}"))

    def test_wrong_ones_are_skipped(self):
        good = {"name": "good", "command": "true"}
        self.assertEqual(self.init(good, 7, {}, {"name": "a b", "command": "true"}, {"name": "x"},
                                   {"name": "x", "command": "true", "restart": "often"},
                                   {"name": "x", "command": "true", "health": {}},
                                   {"name": "x", "command": 1}), 204)
        self.assertEqual(list(self.list()), ["good"])

    def test_a_user_who_does_not_exist(self):
        self.init({"name": "a", "command": "true", "user": "nobody-here"}, {"name": "b", "command": "true", "user": "nobody-here", "restart": "no"})
        self.assertIn("nobody-here", self.until("a", state="waiting")["reason"])
        self.until("b", state="failed", exit_code=None)

    def test_an_output_of_any_length_is_bounded(self):
        self.init({"name": "a", "command": "head -c 3000000 /dev/zero | tr '\\0' x; echo end", "restart": "no"})
        self.until("a", state="ended")
        log = self.log("a")
        self.assertTrue(log.endswith("end\n"))
        self.assertLessEqual(len(log), 65536)

    def test_what_a_client_outside_needs(self):
        for method, path in (("GET", "/internal/services"), ("POST", "/internal/services/a"), ("GET", "/internal/services/a")):
            self.init()
            self.error(self.fresh.send(method, path, secret="00" * 32), 401)


class Hooks(AgentTest):
    JSON = {"Content-Type": "application/json"}

    def ask(self, key, command, wait_ms=10000):
        body = {"key": key, "wait_ms": wait_ms, "exec": {"cmd": command, "timeout": 30}}
        return self.agent.send("POST", "/internal/hook", json.dumps(body).encode(), self.JSON)

    def test_a_caller_comes_back_for_the_end(self):
        flag = os.path.join(self.folder, "go")
        command = f"until [ -e {flag} ]; do sleep 0.1; done; exit 3"
        self.assertEqual(self.ask("a", command, 1).status, 202)
        open(flag, "w").close()
        for _ in range(2):
            reply = self.ask("a", command)
            self.assertEqual((reply.status, reply.json()), (200, {"exit_code": 3}))

    def test_a_hook_runs_while_clients_have_all_calls_of_exec(self):
        call, counted = b'{"cmd": "sleep 1000"}', b'{"cmd": "true"}'
        waiting = [self.agent.connect() for _ in range(64)]
        for connection in waiting:
            connection.sendall(self.agent.head("POST", "/exec", {**self.JSON, "Content-Length": len(call)}) + call)
        self.eventually(lambda: self.agent.send("POST", "/exec", counted, self.JSON).status == 429, 60)
        reply = self.ask("b", "exit 4")
        self.assertEqual((reply.status, reply.json()), (200, {"exit_code": 4}))
        for connection in waiting:
            connection.close()
        self.eventually(lambda: self.agent.send("POST", "/exec", counted, self.JSON).status == 200, 60)
