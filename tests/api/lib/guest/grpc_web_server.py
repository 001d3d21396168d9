# SPDX-License-Identifier: GPL-2.0-or-later
"""A server stream as gRPC-web sends it: grpc_web_server.py PORT. Three echoes, then trailers."""

import http.server
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_POST(self):
        message = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", self.headers["Content-Type"])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(3):
            self.chunk(message)
            time.sleep(0.3)
        self.chunk(b"\x80\0\0\0\x10grpc-status: 0\r\n")
        self.chunk(b"")


http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Handler).serve_forever()
