# SPDX-License-Identifier: GPL-2.0-or-later
"""The process of a kernel, which leads a group of its own."""

import asyncio
import os
import signal

ENDED = "The kernel has ended. The next cell starts a new one."


class Process:
    def __init__(self):
        self._process = None

    def alive(self):
        return self._process is not None and self._process.returncode is None

    async def spawn(self, *command, **more):
        envs = {**os.environ, "JPY_PARENT_PID": str(os.getpid())}
        self._process = await asyncio.create_subprocess_exec(*command, env=envs, start_new_session=True, **more)
        return self._process

    def send(self, number):
        if self.alive():
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                pass

    async def ended(self):
        if self._process is not None:
            await self._process.wait()

    async def kill(self):
        self.send(signal.SIGKILL)
        await self.ended()
