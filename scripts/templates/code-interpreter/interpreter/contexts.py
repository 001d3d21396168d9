# SPDX-License-Identifier: GPL-2.0-or-later
"""Contexts: kernels with a name, a language and a folder, each for one cell at a time."""

import asyncio
import json
import os
import tempfile
import uuid

import tornado.httpclient
import tornado.web

from jupyter import Jupyter
from programs import Bash, Node, Typed

CONTEXTS_MAX = 32
WAITING_MAX = 64
HOME = "/home/user"
KERNELS = {"python": Jupyter, "javascript": Node, "typescript": Typed, "bash": Bash}
ALIASES = {"python3": "python", "py": "python", "js": "javascript", "node": "javascript", "ts": "typescript", "sh": "bash"}
FIRST = ("python", "javascript")  # there at once
INTERRUPTS = 3
INTERRUPT_S = 5
ENVS_URL = "http://127.0.0.1:49983/envs"
ENVS_S = 2


class Refusal(tornado.web.HTTPError):
    def __init__(self, status, text):
        super().__init__(status)
        self.reason_text = text


class Place:
    """The sandbox that the server runs in. A copy of the memory is another one, with an id and variables of its own."""

    def __init__(self):
        self.id = ""
        self.envs = {}

    async def look(self):
        try:
            answer = await tornado.httpclient.AsyncHTTPClient().fetch(ENVS_URL, request_timeout=ENVS_S)
            envs = json.loads(answer.body)
            self.envs = {str(name): str(value) for name, value in envs.items()}
            self.id = self.envs.get("SANDLOT_SANDBOX_ID", "")
        except (OSError, ValueError, AttributeError, tornado.httpclient.HTTPError):
            pass  # what was seen last


class Context:
    def __init__(self, language, cwd, place, folder):
        self.id = str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self.waiting = 0
        self._place = place
        self._seen = None  # the sandbox whose variables the kernel has
        self._born = None  # the one that it began in
        self._lock = asyncio.Lock()
        self._kernel = KERNELS[language](cwd, os.path.join(folder, self.id[:8]))

    def view(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}

    async def _revive(self):
        """Start the kernel where it has ended, and where it is a copy that had better not be one."""
        await self._place.look()
        is_copy = self._born != self._place.id
        if not self._kernel.alive() or (is_copy and self._kernel.is_better_new()):
            await self._kernel.stop()
            self._seen, self._born = None, self._place.id
            await self._kernel.start()

    async def start(self):
        async with self._lock:
            await self._revive()

    async def restart(self):
        """A cell that runs ends with its kernel."""
        await self._kernel.kill()
        await self.start()

    async def stop(self):
        await self._kernel.kill()
        async with self._lock:
            await self._kernel.stop()

    async def warm(self):
        async with self._lock:
            await self._kernel.warm()

    async def _run(self, code, envs, cell):
        """Run a cell until its end, or until its client is gone and the kernel has given it up."""
        await self._revive()
        is_new = self._seen != self._place.id
        lasting = self._place.envs if is_new else {}
        running = asyncio.ensure_future(self._kernel.run(code, lasting, envs, is_new, cell))
        gone = asyncio.ensure_future(cell.gone.wait())
        self._seen = self._place.id
        await asyncio.wait({running, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        for _ in range(INTERRUPTS):
            if running.done():
                break
            self._kernel.interrupt()
            await asyncio.wait({running}, timeout=INTERRUPT_S)
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
            await self._kernel.stop()
            return None
        return running.result()

    async def execute(self, code, envs, cell):
        count = None
        self.waiting += 1
        try:
            async with self._lock:
                if not cell.gone.is_set():
                    count = await self._run(code, envs, cell)
        except Exception as error:  # pylint: disable=broad-exception-caught
            cell.error(type(error).__name__, str(error))
        finally:
            self.waiting -= 1
            cell.end(count)


class Contexts:
    def __init__(self):
        self._place = Place()
        self._folder = tempfile.mkdtemp(prefix="interpreter-", dir="/run")
        self._contexts = {}
        self._defaults = {}
        self._tasks = set()
        self._turn = asyncio.Lock()

    async def start(self):
        await asyncio.gather(*(self.default(language) for language in FIRST))
        await self._contexts[self._defaults["python"]].warm()

    async def stop(self):
        await asyncio.gather(*(context.stop() for context in self.all()))

    def all(self):
        return list(self._contexts.values())

    def get(self, identity):
        if identity not in self._contexts:
            raise Refusal(404, f"Context {identity} not found")
        return self._contexts[identity]

    async def make(self, language, cwd):
        language = (language or "python").lower()
        language = ALIASES.get(language, language)
        if language not in KERNELS:
            raise Refusal(400, f"the languages are {', '.join(KERNELS)}")
        if cwd and not os.path.isdir(cwd):
            raise Refusal(400, f"there is no folder {cwd}")
        if len(self._contexts) >= CONTEXTS_MAX:
            raise Refusal(429, f"there are {CONTEXTS_MAX} contexts already; remove one")
        context = Context(language, cwd or HOME, self._place, self._folder)
        self._contexts[context.id] = context
        try:
            await context.start()
        except BaseException:
            await self.remove(context.id)
            raise
        return context

    async def default(self, language):
        language = (language or "python").lower()
        language = ALIASES.get(language, language)
        async with self._turn:
            identity = self._defaults.get(language)
            if identity not in self._contexts:
                identity = (await self.make(language, None)).id
                self._defaults[language] = identity
            return self._contexts[identity]

    async def remove(self, identity):
        context = self.get(identity)
        del self._contexts[identity]
        await context.stop()

    def begin(self, context, code, envs, cell):
        if context.waiting >= WAITING_MAX:
            raise Refusal(429, f"{WAITING_MAX} cells wait for this context already")
        task = asyncio.ensure_future(context.execute(code, envs, cell))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
