# SPDX-License-Identifier: GPL-2.0-or-later
"""tls_raw.py NAME ADDRESS PORT HEX: send bytes over TLS with a name ("-": without one;
"http": without TLS), and print what comes back.
The last line is "end", or "failed" when there is no connection."""

import socket
import ssl
import sys

name, address, port, text = sys.argv[1:]
context = ssl.create_default_context()
if name == "-":
    context.check_hostname = False
try:
    connection = socket.create_connection((address, int(port)), 4)
    if name != "http":
        connection = context.wrap_socket(connection, server_hostname=None if name == "-" else name)
except (OSError, ValueError) as problem:
    print(problem)
    print("failed")
    sys.exit()
connection.settimeout(3)
connection.sendall(bytes.fromhex(text))
try:
    while data := connection.recv(65536):
        sys.stdout.write(data.decode(errors="replace"))
except OSError:
    pass
print("\nend")
