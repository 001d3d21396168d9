# SPDX-License-Identifier: GPL-2.0-or-later
"""tls_echo.py DIRECTORY ADDRESS: a server outside that sandboxes reach through the egress proxy.

TLS on port 443, and HTTP on port 80. It answers with JSON of
what it got: {"method", "target", "headers": [[name, value], …], "body": bytes, "name": SNI, or null for HTTP,
"peer": port of the client, "from": its address, "dropped": no answer}. Each request is
such a line in DIRECTORY/requests. Some paths do more:

    /redirect       302 to https://elsewhere.test/
    /accel          an answer with X-Accel-Redirect into nginx
    /events         five server-sent events, one each 0.3 s
    /socket         a WebSocket that sends back what it gets
    /close          the connection ends after the answer, which does not say so
    /drop           the connection ends without an answer
    /silent         neither an answer nor the end of the connection, for a minute
    /last           an answer as to other paths, and the connection ends without an answer to its next request

A client that takes HTTP/2 alone gets such JSON as the one message of a gRPC call, with the status in a trailer.

The file DIRECTORY/certificate names the certificate of new connections.
"""

import base64
import hashlib
import json
import pathlib
import socketserver
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

import h2.config
import h2.connection
import h2.events

DIRECTORY, ADDRESS = pathlib.Path(sys.argv[1]), sys.argv[2]
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.name = None
        self.was_last = False
        if self.server.server_address[1] == 443:
            self.request = self.secured()
        super().setup()

    def secured(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(DIRECTORY / (DIRECTORY / "certificate").read_text().strip())

        def note_name(_socket, name, _context):
            self.name = name

        context.sni_callback = note_name
        context.set_alpn_protocols(["http/1.1", "h2"])
        return context.wrap_socket(self.request, server_side=True)

    def handle(self):
        if isinstance(self.request, ssl.SSLSocket) and self.request.selected_alpn_protocol() == "h2":
            self.serve_grpc()
        else:
            super().handle()

    def serve_grpc(self):
        calls = {}
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        self.request.sendall(connection.data_to_send())
        while data := self.request.recv(65536):
            for event in connection.receive_data(data):
                call = getattr(event, "stream_id", None)
                if isinstance(event, h2.events.RequestReceived):
                    given = dict(event.headers)
                    calls[call] = {"method": given[":method"], "target": given[":path"], "body": 0, "name": self.name,
                                   "headers": [list(header) for header in event.headers], "peer": self.client_address[1]}
                elif isinstance(event, h2.events.DataReceived):
                    calls[call]["body"] += len(event.data)
                    connection.acknowledge_received_data(event.flow_controlled_length, call)
                elif isinstance(event, h2.events.StreamEnded):
                    self.note(calls[call])
                    message = json.dumps(calls.pop(call)).encode()
                    connection.send_headers(call, [(":status", "200"), ("content-type", "application/grpc")])
                    connection.send_data(call, b"\0" + len(message).to_bytes(4, "big") + message)
                    connection.send_headers(call, [("grpc-status", "0"), ("grpc-message", "done")], end_stream=True)
            self.request.sendall(connection.data_to_send())

    def finish(self):
        super().finish()
        self.request.close()

    @staticmethod
    def note(got):
        with lock, open(DIRECTORY / "requests", "a", encoding="utf-8") as log:
            log.write(json.dumps(got) + "\n")

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            size = 0
            while length := int(self.rfile.readline().split(b";")[0], 16):
                self.rfile.read(length + 2)
                size += length
            self.rfile.readline()
            return size
        return len(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def serve(self):
        got = {
            "method": self.command,
            "target": self.path,
            "headers": [[name, value] for name, value in self.headers.items()],
            "body": self.body(),
            "name": self.name,
            "peer": self.client_address[1],
            "dropped": self.was_last,
            "from": self.client_address[0],
        }
        self.note(got)
        special = getattr(self, "serve_" + self.path.strip("/").split("?")[0], None)
        if self.was_last:
            self.serve_drop()
        elif special:
            special()
        else:
            self.answer(200, json.dumps(got).encode())

    def answer(self, status, body, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def serve_redirect(self):
        self.answer(302, b"", Location="https://elsewhere.test/")

    def serve_accel(self):
        self.answer(200, b"as it is\n", X_Accel_Redirect="/_sandlot/egress")

    def serve_close(self):
        self.answer(200, b"bye\n")
        self.close_connection = True

    def serve_last(self):
        self.answer(200, b"bye\n")
        self.was_last = True

    def serve_drop(self):
        self.close_connection = True

    def serve_silent(self):
        time.sleep(60)
        self.close_connection = True

    def serve_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for number in range(5):
            self.wfile.write(f"data: {number}\n\n".encode())
            time.sleep(0.3)

    def serve_socket(self):
        """One short text frame."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        head = self.rfile.read(2)
        mask = self.rfile.read(4)
        text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(head[1] & 127)))
        self.wfile.write(bytes([0x81, len(text)]) + text)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = do_TRACE = serve

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


threading.Thread(target=Server((ADDRESS, 80), Handler).serve_forever).start()
Server((ADDRESS, 443), Handler).serve_forever()
