# SPDX-License-Identifier: GPL-2.0-or-later
"""A program at a pseudo terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    def __init__(self, command, environment, rows=30, cols=100):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment)
        self.said = b""
        self.resize(rows, cols)

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def type(self, text):
        os.write(self.fd, text.encode())

    def _read(self, timeout_s):
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return False
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return False
        self.said += piece
        return bool(piece)

    def expect(self, text, timeout_s=60):
        """Wait until it has said this since the last time; what it had said."""
        end = time.monotonic() + timeout_s
        while text.encode() not in self.said:
            assert time.monotonic() < end, (text, self.said)
            self._read(0.2)
        before, _, self.said = self.said.partition(text.encode())
        return before.decode()

    def wait(self, timeout_s=60):
        """Its exit code."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            self._read(0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"it does not end: {self.said!r}")
