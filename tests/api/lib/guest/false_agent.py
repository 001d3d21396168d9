# SPDX-License-Identifier: GPL-2.0-or-later
"""Run by root in a sandbox: puts a listener of its own into the agent's place, for good.

false_agent.py install ANSWER; ANSWER: mute, what to answer each request with, or how never to end:
late (each answer just before its time is over), dribble (a byte at a time), headers, chunks."""

import json

import os
import pathlib
import signal
import socket
import sys
import threading
import time

START = pathlib.Path("/usr/lib/sandlot/start-agent")
PROGRAM = pathlib.Path("/usr/lib/sandlot/false-agent")
ANSWERS = {
    "302": b"HTTP/1.1 302 False\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n",
    "204": b"HTTP/1.1 204 False\r\n\r\n",
    "text": b"HTTP/1.1 200 False\r\nContent-Length: 5\r\n\r\nhello",
    "garbage": b"\x00\xff False\r\n\r\n",
}


def install(answer):
    PROGRAM.write_bytes(pathlib.Path(__file__).read_bytes())
    START.write_text(f"#!/bin/sh\nexec {sys.executable} {PROGRAM} serve {answer}\n", encoding="utf-8")
    if os.fork():
        return
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    time.sleep(2)  # the answer to who started this goes through the agent
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and (entry / "comm").read_text(encoding="utf-8") == "sandlot-guard\n":
            os.kill(int(entry.name), signal.SIGKILL)


# --- answers that take long ---


def late(connection):
    """A page of logs with one entry, and where the next one begins; nobody listens on any port."""
    head = connection.recv(65536).split(b" ")[1].decode()
    after = head.partition("after=")[2].partition("&")[0] or "0"
    entry = {"position": int(after) + 1, "at_ms": 1, "pid": 1, "command": "x", "tag": None, "stream": "stdout",
             "offset": 0, "data": "x\n", "encoding": "utf-8"}
    time.sleep(1.9)
    body = json.dumps({"logs": [entry], "listener": "none"}).encode()
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))


def dribble(connection):
    connection.recv(65536)
    for number in range(1 << 30):
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: "[number:number + 1] or b"x")
        time.sleep(0.2)


def headers(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-More: and more\r\n" * 512)


def chunks(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"4\r\n\x00\xff{[\r\n")
        time.sleep(0.01)


LONG = {"late": late, "dribble": dribble, "headers": headers, "chunks": chunks}


def take_long(connection, answer):
    try:
        LONG[answer](connection)
    except OSError:
        pass
    finally:
        connection.close()


# --- all of it ---


def serve(answer):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", 49983))
    listener.listen(512)
    held = []
    while True:
        held.append(listener.accept()[0])
        if answer in LONG:
            threading.Thread(target=take_long, args=(held.pop(), answer), daemon=True).start()
        elif answer != "mute":
            held[-1].recv(65536)
            held[-1].sendall(ANSWERS[answer])
            held.pop().close()


if __name__ == "__main__":
    {"install": install, "serve": serve}[sys.argv[1]](sys.argv[2])
