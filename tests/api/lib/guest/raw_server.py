# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that answers as it is told: raw_server.py ADDRESS PORT. The header X-Answer has the bytes, in base64."""

import base64
import socketserver
import sys


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        while (line := self.rfile.readline().strip()):
            name, _, value = line.partition(b":")
            if name.lower() == b"x-answer":
                answer = base64.b64decode(value)
        self.wfile.write(answer)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
