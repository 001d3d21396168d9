# SPDX-License-Identifier: GPL-2.0-or-later
"""A small web application: preview_server.py ADDRESS PORT [CERTIFICATE-AND-KEY].

GET anything         what arrived, as JSON
OPTIONS anything     a yes to whoever asks from another origin
POST /digest         size and SHA-256 of the body
GET /events          five server-sent events, one each 0.4 s
GET /socket          WebSocket that sends everything back
"""

import base64
import hashlib
import http.server
import json
import socket
import ssl
import struct
import sys
import time

WEBSOCKET_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/socket":
            self.websocket()
        elif self.path == "/events":
            self.events()
        else:
            self.answer(
                {
                    "method": self.command,
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "names": list(self.headers),
                    "tls_name": tls_names.get(self.connection),
                }
            )

    def do_OPTIONS(self):
        self.send_response(204)
        self.send_header("Access-Control-Allow-Origin", self.headers.get("Origin", "none"))
        self.send_header("Access-Control-Allow-Headers", "X-Mine")
        self.end_headers()

    do_PUT = do_DELETE = do_PATCH = do_GET

    def body_pieces(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            left = int(self.headers.get("Content-Length", "0"))
            while left:
                piece = self.rfile.read(min(left, 1 << 16))
                left -= len(piece)
                yield piece

    def do_POST(self):
        digest = hashlib.sha256()
        size = 0
        for piece in self.body_pieces():
            digest.update(piece)
            size += len(piece)
        self.answer({"size": size, "sha256": digest.hexdigest()})

    def events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(5):
            self.wfile.write(f"data: {number}\n\n".encode())
            self.wfile.flush()
            time.sleep(0.4)
        self.close_connection = True

    def websocket(self):
        accept = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + WEBSOCKET_MAGIC).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.end_headers()
        self.close_connection = True
        while True:
            first, second = self.rfile.read(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self.rfile.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.rfile.read(8))
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(size)))
            if size < 126:
                head = bytes([first, size])
            else:
                head = bytes([first, 126]) + struct.pack(">H", size)
            self.wfile.write(head + data)
            if first & 0x0F == 8:
                return


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    address_family = socket.AF_INET


server = Server((sys.argv[1], int(sys.argv[2])), Handler)
tls_names = {}
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    context.sni_callback = lambda connection, name, _: tls_names.__setitem__(connection, name)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
