# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests to workers without nginx: FastCGI, a connection each."""

import email.parser
import http.client
import json
import secrets
import socket
import struct

BEGIN, END, PARAMETERS, STDIN, STDOUT, STDERR = 1, 3, 4, 5, 6, 7
RESPONDER = struct.pack(">HB5x", 1, 0)
RECORD = ">BBHHBx"


def record(kind, content=b""):
    return struct.pack(RECORD, 1, kind, 1, len(content), 0) + content


def parameter(name, value):
    sizes = b"".join(struct.pack(">I", len(word) | 1 << 31) for word in (name, value))
    return sizes + name + value


class Answer:
    def __init__(self, text):
        head, _, self.body = text.partition(b"\r\n\r\n")
        self.headers = email.parser.BytesParser(_class=http.client.HTTPMessage).parsebytes(head)
        self.status = int(self.headers.get("Status", "200").split()[0])

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


def read_answer(connection):
    text = b""
    stream = connection.makefile("rb")
    while len(head := stream.read(8)) == 8:
        _, kind, _, size, padding = struct.unpack(RECORD, head)
        content = stream.read(size + padding)[:size]
        if kind == STDOUT:
            text += content
        if kind == END:
            return Answer(text)
    raise EOFError("the worker closed the connection without an answer")


def request(path, method, uri, body=None, headers=None, timeout_s=180):
    """One that the workers behind a socket answer; body: what JSON is made of."""
    sent = b"" if body is None else json.dumps(body).encode()
    parameters = {"REQUEST_METHOD": method, "REQUEST_URI": uri, "QUERY_STRING": uri.partition("?")[2],
                  "CONTENT_TYPE": "application/json" if sent else "", "CONTENT_LENGTH": str(len(sent)), "HTTP_CONTENT_LENGTH": str(len(sent)),
                  "REMOTE_ADDR": "127.0.0.1", "SANDLOT_REQUEST_ID": secrets.token_hex(16)}
    parameters |= {"HTTP_" + name.upper().replace("-", "_"): value for name, value in (headers or {}).items()}
    packed = b"".join(parameter(name.encode(), value.encode()) for name, value in parameters.items())
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(path))
        connection.sendall(record(BEGIN, RESPONDER) + record(PARAMETERS, packed) + record(PARAMETERS)
                           + (record(STDIN, sent) if sent else b"") + record(STDIN))
        return read_answer(connection)
