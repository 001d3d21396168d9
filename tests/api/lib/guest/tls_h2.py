# SPDX-License-Identifier: GPL-2.0-or-later
"""tls_h2.py NAME BODY HEADER=VALUE…: send one request over HTTP/2 that a library would refuse to send. Prints the status
and body of the answer, or "reset". Its libraries are in /tmp/python."""

import socket
import ssl
import sys

sys.path.insert(0, "/tmp/python")

# pylint: disable=wrong-import-position
import h2.config  # noqa: E402
import h2.connection  # noqa: E402
import h2.events  # noqa: E402

name, body, *headers = sys.argv[1:]
context = ssl.create_default_context()
context.set_alpn_protocols(["h2"])
connection = context.wrap_socket(socket.create_connection((name, 443), 20), server_hostname=name)
stream = h2.connection.H2Connection(h2.config.H2Configuration(
    validate_outbound_headers=False, normalize_outbound_headers=False, header_encoding="utf-8"))
stream.initiate_connection()
stream.send_headers(1, [tuple(header.split("=", 1)) for header in headers], end_stream=not body)
if body:
    stream.send_data(1, body.encode(), end_stream=True)
connection.sendall(stream.data_to_send())
ended = False
while not ended and (data := connection.recv(65536)):
    for event in stream.receive_data(data):
        if isinstance(event, h2.events.ResponseReceived):
            print(dict(event.headers)[":status"])
        elif isinstance(event, h2.events.DataReceived):
            print(event.data.decode(errors="replace"))
        elif isinstance(event, h2.events.StreamReset):
            print("reset")
        ended = ended or isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset))
