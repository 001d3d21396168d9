# SPDX-License-Identifier: GPL-2.0-or-later
"""What may stand between a client and the service, and fail: a proxy that does to the next requests what it
is told, and a wire that is cut."""

import contextlib
import http.server
import json
import socket
import threading

REFUSALS = {"429": "rate_limited", "500": "internal", "502": None, "503": "runtime_unavailable"}


class Handler(http.server.BaseHTTPRequestHandler):
    """/control/FAULT,… orders faults and /seen tells of requests since then; all else goes to the service."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/control/"):
            proxy.faults = [fault for fault in self.path.removeprefix("/control/").split(",") if fault]
            proxy.seen = []
            self.answer(200, b"")
        elif self.path == "/seen":
            self.answer(200, json.dumps(proxy.seen).encode())
        else:
            proxy.seen.append({"method": self.command, "key": self.headers["Idempotency-Key"]})
            self.fail(proxy, proxy.faults.pop(0) if proxy.faults else "pass", body)

    def fail(self, proxy, fault, body):
        if fault in REFUSALS:
            said = json.dumps({"error": REFUSALS[fault], "message": "Not now.", "request_id": "r"}) if REFUSALS[fault] else "<h1>"
            self.answer(int(fault), said.encode(), [("Retry-After", "1")] if fault in ("429", "503") else [])
        elif fault == "page":
            self.answer(404, b"<html>a hotel's page</html>", [("Content-Type", "text/html")])
        elif fault == "silence":
            proxy.released.wait(30)
        elif fault == "stall":
            self.answer(200, b'{"half', length=100)
            self.wfile.flush()
            proxy.released.wait(30)
        elif fault != "close":
            response = proxy.origin.request(self.command, self.path, body or None, self.onward())
            if fault != "lose":
                kept = [(name, value) for name, value in response.headers.items()
                        if name.lower() in ("content-type", "x-request-id", "retry-after")]
                self.answer(response.status, response.body, kept)
                return
        self.close_connection = fault not in REFUSALS and fault != "page"

    def onward(self):
        return {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request


class Proxy:
    def __init__(self, origin):
        self.origin = origin
        self.faults = []
        self.seen = []
        self.released = threading.Event()


@contextlib.contextmanager
def faulty_proxy(origin):
    """The address of a proxy in front of that origin."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.proxy = Proxy(origin)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.proxy.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


class Wire:
    """A way to a port of this machine, which can be cut: connections break without a word."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.refused = 0
        self.made = 0
        self.ends = []
        threading.Thread(target=self._accept, daemon=True).start()

    def refuse(self, count):
        """The next connections are closed at once."""
        self.refused = count

    def cut(self):
        ends, self.ends = self.ends, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.cut()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                self.made += 1
                if self.refused:
                    self.refused -= 1
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.target))
                self.ends += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def _copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
