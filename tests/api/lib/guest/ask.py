# SPDX-License-Identifier: GPL-2.0-or-later
"""ask.py '[["A","api.example.com"],…]' [udp|tcp|edns] [SERVER [PORT]]: asks a resolver and prints what it says, as JSON.

Each answer is {"rcode": …, "answers": [[type, data, ttl], …], "truncated": …}, or null when none came. With edns
(over UDP) it also has "reason": the text of an Extended DNS Error.
"""

import concurrent.futures
import json
import secrets
import socket
import struct
import sys

WAIT_S = 6
EDNS = sys.argv[2:3] == ["edns"]
TYPES = {"A": 1, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "HTTPS": 65, "ANY": 255}
NAMES = {number: name for name, number in TYPES.items()}


def question(kind, name):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part)
    identity = secrets.token_bytes(2)
    extra = b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0) if EDNS else b""
    return (identity + struct.pack(">HHHHH", 0x0100, 1, 0, 0, bool(extra)) + labels + b"\0"
            + struct.pack(">HH", TYPES[kind], 1) + extra)


def name_at(message, at):
    labels, end = [], None
    while message[at]:
        if message[at] >= 0xC0:
            end = end or at + 2
            at = struct.unpack(">H", message[at : at + 2])[0] & 0x3FFF
            continue
        labels.append(message[at + 1 : at + 1 + message[at]].decode())
        at += 1 + message[at]
    return ".".join(labels), end or at + 1


def read(message):
    flags, _, count = struct.unpack(">HHH", message[2:8])
    _, at = name_at(message, 12)
    at += 4
    answers = []
    for _ in range(count):
        _, at = name_at(message, at)
        number, _, ttl, size = struct.unpack(">HHIH", message[at : at + 10])
        at += 10
        kind = NAMES.get(number, str(number))
        data = message[at : at + size]
        if kind == "A":
            text = socket.inet_ntoa(data)
        elif kind == "CNAME":
            text = name_at(message, at)[0]
        else:
            text = data.decode("latin-1")
        answers.append([kind, text, ttl])
        at += size
    read = {"rcode": flags & 15, "answers": answers, "truncated": bool(flags & 0x0200)}
    if EDNS:
        read["reason"] = reason_of(message[at:])
    return read


def reason_of(rest):
    """Of an OPT record, when that is all that is left of a message."""
    if rest[:3] != b"\0\0\x29":
        return None
    options = rest[11:]
    while len(options) >= 4:
        code, size = struct.unpack(">HH", options[:4])
        if code == 15:
            return options[6 : 4 + size].decode()
        options = options[4 + size :]
    return None


def over_udp(message, server):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(WAIT_S)
        asked.connect(server)
        asked.send(message)
        return read(asked.recv(65535))


def over_tcp(message, server):
    with socket.create_connection(server, WAIT_S) as asked:
        asked.sendall(struct.pack(">H", len(message)) + message)
        stream = asked.makefile("rb")
        return read(stream.read(struct.unpack(">H", stream.read(2))[0]))


transport = over_tcp if sys.argv[2:3] == ["tcp"] else over_udp
resolver = (sys.argv[3] if len(sys.argv) > 3 else "169.254.0.1", int(sys.argv[4]) if len(sys.argv) > 4 else 53)


def ask(target):
    try:
        return transport(question(*target), resolver)
    except (OSError, struct.error):
        return None


with concurrent.futures.ThreadPoolExecutor(16) as pool:
    print(json.dumps(list(pool.map(ask, json.loads(sys.argv[1])))))
