# SPDX-License-Identifier: GPL-2.0-or-later
"""serve.py DIRECTORY: the servers of a fake internet, on every address of their namespace.

DNS over UDP and TCP on port 53 answers from DIRECTORY/zone.json, {"name": {"A": [["192.0.2.1",
ttl], …], "CNAME": [...], "TXT": [...]}}, which is read for each question; a value of "drop" gives
no answer, "truncate" an empty one with TC over UDP. What was asked is a line in DIRECTORY/asked.

All other ports echo: TCP and UDP give back what they get, with a line of who came in
DIRECTORY/seen; port 80 speaks HTTP (the files of DIRECTORY/site where there is one), 8443 TLS when DIRECTORY/server.pem is there.
"""

import json
import pathlib
import socket
import socketserver
import ssl
import struct
import sys
import threading

DIRECTORY = pathlib.Path(sys.argv[1])
ECHO_TCP = (22, 443, 853, 5000, 5001)
ECHO_UDP = (443, 853, 5000)
TYPES = {1: "A", 5: "CNAME", 16: "TXT", 28: "AAAA"}
lock = threading.Lock()


def note(file, line):
    with lock, open(DIRECTORY / file, "a", encoding="utf-8") as output:
        output.write(line + "\n")


# --- names ---


def packed_name(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part) + b"\0"


def packed_data(kind, value):
    if kind == "A":
        return socket.inet_aton(value)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, value)
    if kind == "CNAME":
        return packed_name(value)
    return bytes([len(value)]) + value.encode()


def record(name, kind, value, ttl):
    number = next(number for number, known in TYPES.items() if known == kind)
    data = packed_data(kind, value)
    return packed_name(name) + struct.pack(">HHIH", number, 1, ttl, len(data)) + data


def find(zone, name):
    if name in zone:
        return zone[name]
    for at in range(1, name.count(".") + 1):
        wild = "*." + name.split(".", at)[at]
        if wild in zone:
            return zone[wild]
    return None


def records(zone, name, kind):
    """The chain of aliases and what stands at its end; None when the name does not exist."""
    found = []
    for _ in range(8):
        entry = find(zone, name)
        if entry is None:
            return found or None
        if kind in entry:
            return found + [record(name, kind, value, ttl) for value, ttl in entry[kind]]
        if "CNAME" not in entry or kind == "CNAME":
            return found
        value, ttl = entry["CNAME"][0]
        found.append(record(name, "CNAME", value, ttl))
        if entry.get("partial"):
            return found
        name = value
    return found


def question_of(message):
    labels, at = [], 12
    while message[at]:
        labels.append(message[at + 1 : at + 1 + message[at]].decode("latin-1"))
        at += 1 + message[at]
    return ".".join(labels).lower(), struct.unpack(">H", message[at + 1 : at + 3])[0], message[12 : at + 5]


def answer(message, over_tcp):
    name, number, question = question_of(message)
    kind = TYPES.get(number, str(number))
    note("asked", f"{'tcp' if over_tcp else 'udp'} {kind} {name}")
    zone = json.loads((DIRECTORY / "zone.json").read_text(encoding="utf-8"))
    entry = find(zone, name)
    if entry and entry.get("drop"):
        return None
    flags = 0x8180
    found = records(zone, name, kind)
    if entry and entry.get("truncate") and not over_tcp:
        flags, found = flags | 0x0200, []
    if found is None:
        flags |= 3
    body = b"".join(found or [])
    return message[:2] + struct.pack(">HHHHH", flags, 1, len(found or []), 0, 0) + question + body


class DnsUdp(socketserver.BaseRequestHandler):
    def handle(self):
        reply = answer(self.request[0], False)
        if reply:
            self.request[1].sendto(reply, self.client_address)


class DnsTcp(socketserver.StreamRequestHandler):
    def handle(self):
        while header := self.rfile.read(2):
            reply = answer(self.rfile.read(struct.unpack(">H", header)[0]), True)
            if reply:
                self.wfile.write(struct.pack(">H", len(reply)) + reply)


# --- everything else ---


class EchoTcp(socketserver.BaseRequestHandler):
    def handle(self):
        mine, theirs = self.request.getsockname(), self.client_address
        note("seen", f"tcp {mine[0]} {mine[1]} open {theirs[1]}")
        try:
            while data := self.request.recv(4096):
                note("seen", f"tcp {mine[0]} {mine[1]} {data.decode(errors='replace').strip()}")
                self.request.sendall(data)
            note("seen", f"tcp {mine[0]} {mine[1]} closed {theirs[1]}")
        except ConnectionResetError:
            note("seen", f"tcp {mine[0]} {mine[1]} reset {theirs[1]}")


class Http(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode(errors="replace").strip()
        while self.rfile.readline().strip():
            pass
        mine = self.request.getsockname()
        note("seen", f"http {mine[0]} {mine[1]} {line}")
        if (DIRECTORY / "site").exists():
            self.file((DIRECTORY / "site" / line.split()[1].lstrip("/")).resolve())
            return
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhere\n")


    def file(self, path):
        found = path.is_file() and path.is_relative_to(DIRECTORY.resolve())
        content, status = (path.read_bytes(), "200 OK") if found else (b"", "404 Not Found")
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        self.wfile.write(head.encode() + content)


class Tls(Http):
    def setup(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(DIRECTORY / "server.pem", DIRECTORY / "server.key")
        self.request = context.wrap_socket(self.request, server_side=True)
        super().setup()


class Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64


def echo_udp(port):
    """On each address by itself, so that answers come from where they were asked."""
    for address in (DIRECTORY / "addresses").read_text(encoding="ascii").split():
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind((address, port))
        threading.Thread(target=echo_datagrams, args=(datagrams, address, port), daemon=True).start()


def echo_datagrams(datagrams, address, port):
    while True:
        data, sender = datagrams.recvfrom(4096)
        note("seen", f"udp {address} {port} {data.decode(errors='replace').strip()}")
        datagrams.sendto(data, sender)


def dns_udp():
    for address in (DIRECTORY / "addresses").read_text(encoding="ascii").split():
        server = socketserver.ThreadingUDPServer((address, 53), DnsUdp)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()


dns_udp()
for udp_port in ECHO_UDP:
    echo_udp(udp_port)
servers = [(port, EchoTcp) for port in ECHO_TCP] + [(53, DnsTcp), (80, Http)]
if (DIRECTORY / "server.pem").exists():
    servers.append((8443, Tls))
for tcp_port, handler in servers:
    threading.Thread(target=Tcp(("", tcp_port), handler).serve_forever, daemon=True).start()
note("seen", "ready")
threading.Event().wait()
