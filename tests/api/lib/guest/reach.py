# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries to reach targets and says what happened, as JSON: reach.py '[["tcp","192.0.2.1",80],…]'

Kinds: tcp (connected?), udp (an answer to a datagram?), ping (an ICMP echo reply?), send (a
datagram left, no answer awaited), spoof (a datagram under the source address given last left).
"""

import concurrent.futures
import json
import socket
import struct
import sys

WAIT_S = 2.0


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def resolved(host, port, kind):
    return socket.getaddrinfo(host, port, type=kind)[0]


def tcp(host, port):
    family, kind, protocol, _, address = resolved(host, port, socket.SOCK_STREAM)
    with socket.socket(family, kind, protocol) as tried:
        tried.settimeout(WAIT_S)
        tried.connect(address)
    return True


def udp(host, port, payload="probe"):
    family, kind, protocol, _, address = resolved(host, port, socket.SOCK_DGRAM)
    with socket.socket(family, kind, protocol) as tried:
        tried.settimeout(WAIT_S)
        tried.connect(address)
        tried.send(payload.encode())
        tried.recv(2048)
    return True


def send(host, port, payload):
    family, kind, protocol, _, address = resolved(host, port, socket.SOCK_DGRAM)
    with socket.socket(family, kind, protocol) as tried:
        tried.sendto(payload.encode(), address)
    return True


def packed(address):
    return socket.inet_pton(socket.AF_INET6, address.split("%")[0])


def own_ipv6():
    with open("/proc/net/if_inet6", encoding="ascii") as addresses:
        return {bytes.fromhex(line.split()[0]) for line in addresses}


def ping(host):
    if ":" in host:
        family, protocol, request, reply, header = socket.AF_INET6, socket.IPPROTO_ICMPV6, 128, 129, 0
    else:
        family, protocol, request, reply, header = socket.AF_INET, socket.IPPROTO_ICMP, 8, 0, 20
    with socket.socket(family, socket.SOCK_RAW, protocol) as tried:
        tried.settimeout(WAIT_S)
        body = b"\x42\x42\x00\x01" + b"sandlot."
        packet = bytes([request, 0]) + struct.pack(">H", checksum(bytes([request, 0, 0, 0]) + body))
        address = socket.getaddrinfo(host, None, family)[0][4]
        tried.sendto(packet + body, address)
        while True:
            data, sender = tried.recvfrom(2048)
            # A raw socket sees every reply that comes in, and what this machine sends itself.
            if data[header] != reply or data[header + 4 : header + 6] != b"\x42\x42":
                continue
            if host.startswith("ff"):
                if packed(sender[0]) not in own_ipv6():
                    return True
            elif sender[0].split("%")[0] == address[0].split("%")[0]:
                return True


def spoof(host, port, payload, source):
    data = payload.encode()
    udp_part = struct.pack(">HHHH", 40000, port, 8 + len(data), 0) + data
    head = struct.pack(
        ">BBHHHBBH4s4s",
        0x45, 0, 20 + len(udp_part), 0x4242, 0, 64, socket.IPPROTO_UDP, 0,
        socket.inet_aton(source), socket.inet_aton(host),
    )  # fmt: skip
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as tried:
        tried.sendto(head + udp_part, (host, 0))
    return True


KINDS = {"tcp": tcp, "udp": udp, "send": send, "ping": ping, "spoof": spoof}


def attempt(target):
    try:
        return KINDS[target[0]](*target[1:])
    except OSError as failure:
        return str(failure) or type(failure).__name__


with concurrent.futures.ThreadPoolExecutor(64) as pool:
    print(json.dumps(list(pool.map(attempt, json.loads(sys.argv[1])))))
