# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiver of webhooks on this machine, and the check of a signature as Standard Webhooks has it."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time

from stack import wait_until


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.receiver.take(self, dict(self.headers.items()), body)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class Receiver:
    """Answers 200, or what `answer` says: a status, or a function of the handler that answers itself."""

    def __init__(self):
        self.requests = []
        self.answer = 200
        self.lock = threading.Lock()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.receiver = self
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, handler, headers, body):
        with self.lock:
            self.requests.append((headers, body))
            answer = self.answer
        if callable(answer):
            answer(handler)
            return
        handler.send_response(answer)
        if 300 <= answer < 400:
            handler.send_header("Location", self.url + "/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def bodies(self):
        with self.lock:
            return [json.loads(body) for _, body in self.requests]

    def kinds(self):
        return [body["type"] for body in self.bodies()]

    def wait(self, count, timeout_s=60):
        wait_until(lambda: len(self.requests) >= count, timeout_s, f"{count} deliveries")
        return self.requests[count - 1]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def signature(secret, headers, body):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def is_signed(secret, headers, body):
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return signature(secret, headers, body) in headers["webhook-signature"].split(" ")
