# SPDX-License-Identifier: GPL-2.0-or-later
"""Python: a kernel of Jupyter's. It speaks over UNIX sockets, which go on in a copy of the memory."""

import asyncio
import os
import queue
import signal
import sys
import time

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.connect import write_connection_file

from process import ENDED, Process

KERNEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel", "kernel.py")
START_S = 60
REPLY_S = 10
WARM = "__import__('environment').warm()"


class Jupyter:
    def __init__(self, cwd, place):
        self._cwd = cwd
        self._place = place
        self._process = Process()
        self._client = None

    def alive(self):
        return self._process.alive()

    def interrupt(self):
        self._process.send(signal.SIGINT)

    def is_better_new(self):
        return False

    async def start(self):
        file = self._place + ".json"
        write_connection_file(file, transport="ipc", ip=self._place, key=os.urandom(16).hex().encode())
        await self._process.spawn(sys.executable, KERNEL, "-f", file, cwd=self._cwd, stdin=asyncio.subprocess.DEVNULL)
        self._client = AsyncKernelClient(connection_file=file)
        self._client.load_connection_file()
        self._client.start_channels(stdin=False, hb=False, control=False)
        await asyncio.wait_for(self._ready(), START_S)

    async def kill(self):
        await self._process.kill()

    async def stop(self):
        if self._client:
            self._client.stop_channels()
            self._client = None
        await self._process.kill()

    async def _ready(self):
        """Ask until both channels answer: what a kernel publishes before a subscription arrives is lost."""
        while True:
            self._client.kernel_info()
            if await self._message(self._client.get_shell_msg) and await self._message(self._client.get_iopub_msg):
                return

    async def _message(self, get):
        """The next message, or None after a second without one. A kernel that has ended is an error."""
        try:
            return await get(timeout=1)
        except queue.Empty:
            if not self.alive():
                raise ChildProcessError(ENDED) from None
            return None

    async def _reply(self, parent, seconds):
        """Whether the kernel has replied, within a time."""
        until = time.monotonic() + seconds
        while True:
            message = await self._message(self._client.get_shell_msg)
            if message and message["parent_header"].get("msg_id") == parent:
                return True
            if time.monotonic() > until:
                return False

    async def _silently(self, code, seconds=REPLY_S):
        await self._reply(self._client.execute(code, silent=True, store_history=False, allow_stdin=False), seconds)

    async def warm(self):
        """Import what most cells import: a copy of the memory has it at once."""
        await self._silently(WARM, START_S)

    async def run(self, code, lasting, passing, is_new, cell):
        if lasting or passing or is_new:
            await self._silently(f"__import__('environment').enter({lasting!r}, {passing!r}, {is_new!r})")
        parent = self._client.execute(code, allow_stdin=False, stop_on_error=False)
        count, has_replied = None, False
        while True:
            message = await self._message(self._client.get_iopub_msg)
            if not message:
                # A kernel drops what it publishes too fast, the end too; a reply always comes.
                if has_replied:
                    return count
                has_replied = await self._reply(parent, 0)
            if not message or message["parent_header"].get("msg_id") != parent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                cell.stream(content["name"], content["text"])
            elif kind in ("execute_result", "display_data"):
                cell.result(content["data"], kind == "execute_result")
            elif kind == "error":
                cell.error(content["ename"], content["evalue"], "\n".join(content["traceback"]))
            elif kind == "execute_input":
                count = content["execution_count"]
            elif kind == "status" and content["execution_state"] == "idle":
                break
        if not has_replied:
            await self._reply(parent, REPLY_S)
        return count
