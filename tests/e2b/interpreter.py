# SPDX-License-Identifier: GPL-2.0-or-later
"""In a sandbox: as much of the program behind @e2b/code-interpreter as shows that a template can carry one. It
listens on port 49999; each context keeps its variables."""

import ast
import contextlib
import http.server
import json
import traceback
import uuid

contexts = {}


def make_context(language="python", cwd="/home/user"):
    one = {"id": str(uuid.uuid4()), "language": language, "cwd": cwd}
    contexts[one["id"]] = (one, {}, [0])
    return one


class Lines:
    def __init__(self, say, kind):
        self.say, self.kind = say, kind

    def write(self, text):
        self.say({"type": self.kind, "text": text, "timestamp": 0})

    def flush(self):
        pass


def run(code, variables, say):
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), variables)  # pylint: disable=exec-used
    if last:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), variables)  # pylint: disable=eval-used
        if value is not None:
            say({"type": "result", "text": repr(value), "is_main_result": True})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def say(self, message):
        line = json.dumps(message).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def execute(self, wish):
        _, variables, count = contexts[wish.get("context_id") or default["id"]]
        variables.setdefault("env", {}).update(wish.get("env_vars") or {})
        count[0] += 1
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            with contextlib.redirect_stdout(Lines(self.say, "stdout")), contextlib.redirect_stderr(Lines(self.say, "stderr")):
                run(wish["code"], variables, self.say)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.say({"type": "error", "name": type(error).__name__, "value": str(error), "traceback": traceback.format_exc()})
        self.say({"type": "number_of_executions", "execution_count": count[0]})
        self.say({"type": "end_of_execution"})
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        self.answer(200, [one for one, _, _ in contexts.values()])

    def do_POST(self):
        wish = self.body()
        if self.path == "/execute":
            self.execute(wish)
        elif self.path.endswith("/restart"):
            contexts[self.path.split("/")[2]][1].clear()
            self.answer(200, {})
        else:
            self.answer(201, make_context(**{key: value for key, value in wish.items() if value}))

    def do_DELETE(self):
        contexts.pop(self.path.split("/")[2], None)
        self.answer(200, {})


default = make_context()
http.server.ThreadingHTTPServer(("127.0.0.1", 49999), Handler).serve_forever()
