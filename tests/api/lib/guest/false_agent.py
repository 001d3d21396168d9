# SPDX-License-Identifier: GPL-2.0-or-later
"""Run by root in a sandbox: puts a listener of its own into the agent's place, for good.

false_agent.py install ANSWER; ANSWER: mute, told (each request's header X-Answer has the answer, in base64), or
what to answer each request with."""

import base64
import contextlib
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


def spoken(body):
    return b"HTTP/1.1 200 False\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def logged(**members):
    """A log of one entry."""
    entry = {"position": 1, "at_ms": 1, "pid": 1, "command": "x", "tag": None, "trace_id": None, "stream": "stdout", "offset": 0,
             "data": "x", "encoding": "utf-8", **members}
    return spoken(json.dumps({"logs": [entry]}).encode())


ANSWERS = {
    "302": b"HTTP/1.1 302 False\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n",
    "204": b"HTTP/1.1 204 False\r\n\r\n",
    "text": b"HTTP/1.1 200 False\r\nContent-Length: 5\r\n\r\nhello",
    "idle": spoken(b'{"idle_ms": 9007199254740992, "connections": 0}'),
    "awake": spoken(b'{"idle_ms": 0, "connections": 1}'),
    "services": spoken(b'{"services": [{"name": "../a", "command": "x", "restart": "no", "state": "running", "restarts": 0,'
                       b' "user": null, "cwd": null, "pid": [], "health": null, "exit_code": null, "reason": null}]}'),
    "garbage": b"\x00\xff False\r\n\r\n",
    # Nearly the largest answers that are read, each costly in a way of its own.
    "values": spoken(b'{"logs":[' + b"{}," * 650_000 + b"{}]}"),
    "lines": logged(data="\n" * 950_000),
    "command": logged(data="x\n" * 9_000, command="y" * 1_900_000),
    "stream": logged(data="x\n" * 9_000, stream="y" * 1_900_000),
    "tag": logged(tag="y" * 1_900_000),
}
# How an answer begins, what follows without an end, and the seconds in between.
BEGUN = b"HTTP/1.1 200 False\r\n"
CHUNKED = BEGUN + b"Transfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "drip": (BEGUN, b"x", 0.2),
    "headers": (BEGUN, b"x: " + b"x" * 999 + b"\r\n", 0),
    "chunks": (CHUNKED, b"1\r\n[\r\n", 0),
    "sizes": (CHUNKED, b"fffffffffffffffffffff\r\n", 0),
    # A second answer, which comes when the client has the first one and has sent its next request.
    "second": (b"HTTP/1.1 100 False\r\n\r\n" + spoken(b'{"logs": []}'), logged(data="forged"), 0.1),
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
    time.sleep(1)  # the answer to the program that started this one goes through the agent
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and (entry / "comm").read_text(encoding="utf-8") == "sandlot-guard\n":
            os.kill(int(entry.name), signal.SIGKILL)


def talk(connection, begun, piece, pause_s):
    with contextlib.suppress(OSError):
        connection.sendall(begun)
        while True:
            time.sleep(pause_s)
            connection.sendall(piece)


def told(connection):
    answer = spoken(b'{"listener": "any"}')
    with contextlib.suppress(OSError), connection, connection.makefile("rb") as request:
        while line := request.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"x-answer":
                answer = base64.b64decode(value)
        connection.sendall(answer)


def listen(port):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(512)
    return listener


def do_as_told(listener):
    while True:
        threading.Thread(target=told, args=(listener.accept()[0],)).start()


def serve(answer):
    listener = listen(49983)
    held = []
    if answer == "told":  # the relay to the sandbox's own servers too
        threading.Thread(target=do_as_told, args=(listen(49984),)).start()
        do_as_told(listener)
    while answer in ENDLESS:
        threading.Thread(target=talk, args=(listener.accept()[0], *ENDLESS[answer])).start()
    while True:
        held.append(listener.accept()[0])
        if answer != "mute":
            held[-1].recv(65536)
            held[-1].sendall(ANSWERS[answer])
            held.pop().close()


if __name__ == "__main__":
    {"install": install, "serve": serve}[sys.argv[1]](sys.argv[2])
