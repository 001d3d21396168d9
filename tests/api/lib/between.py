# SPDX-License-Identifier: GPL-2.0-or-later
"""A relay between the stack and the runtime daemon of its host, which loses and withholds real bytes."""

import contextlib
import pathlib
import socket
import tempfile
import threading

LISTING = b"GET /1.0/instances?recursion=1"
EVENTS = b"GET /1.0/events?"
CONTROL = 8  # this opcode and those above it


def frames(data):
    """The complete frames at the beginning of what a server sent, each as (opcode, bytes), and the
    rest. Frames of a server are not masked."""
    found = []
    while len(data) >= 2:
        size, head = data[1] & 127, 2
        if size == 126:
            size, head = int.from_bytes(data[2:4], "big"), 4
        elif size == 127:
            size, head = int.from_bytes(data[2:10], "big"), 10
        if len(data) < head + size:
            break
        found.append((data[0] & 15, data[: head + size]))
        data = data[head + size :]
    return found, data


class Between:
    """The host's row names this relay's socket as long as it is open.

    hold_listings  requests for all instances get no answer
    drop_events    of the event stream only pings and their like come through; what did not is in
                   `dropped`
    mute           connections for events stay open and carry nothing in either direction
    """

    def __init__(self, stack):
        self.stack = stack
        self.hold_listings = self.drop_events = self.mute = False
        self.dropped = []
        self.streams = 0
        self.closing = False
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="between-")) / "unix.socket"
        self.path.parent.chmod(0o755)
        self.listener.bind(str(self.path))
        self.path.chmod(0o666)
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        (host,) = stack.query("SELECT id, url FROM hosts WHERE state = 'active'")
        self.host_id, self.url = host["id"], host["url"]
        self._set_url(f"unix://{self.path}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._set_url(self.url)
        self.closing = True
        for one in [self.listener, *self.connections]:
            self._end(one)
        self.listener.close()
        self.path.unlink()
        self.path.parent.rmdir()

    @staticmethod
    def _end(one):
        """Also for a thread that waits for its bytes."""
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)

    def _set_url(self, url):
        self.stack.query("UPDATE hosts SET url = %s WHERE id = %s", url, self.host_id)

    def _accept(self):
        while not self.closing:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        try:
            first = client.recv(65536)
            server.connect(self.stack.incus.socket_path)
            self.connections += [client, server]
            is_stream = first.startswith(EVENTS)
            self.streams += is_stream
            back = self._stream_back if is_stream else self._copy
            threading.Thread(target=back, args=(server, client), daemon=True).start()
            self._forward(first, client, server, is_stream)
        except OSError:
            pass
        finally:
            for one in (client, server):
                self._end(one)
                one.close()

    def _forward(self, data, client, server, is_stream):
        while data:
            if not ((self.mute and is_stream) or (self.hold_listings and data.startswith(LISTING))):
                server.sendall(data)
            data = client.recv(65536)

    @staticmethod
    def _copy(server, client):
        try:
            while data := server.recv(65536):
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _stream_back(self, server, client):
        try:
            data = b""
            while b"\r\n\r\n" not in data:
                more = server.recv(65536)
                if not more:
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            client.sendall(head + b"\r\n\r\n")
            while True:
                whole, data = frames(data)
                for opcode, frame in whole:
                    if self.drop_events and opcode < CONTROL:
                        self.dropped.append(frame)
                    elif not self.mute:
                        client.sendall(frame)
                more = server.recv(65536)
                if not more:
                    break
                data += more
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
