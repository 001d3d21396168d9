# SPDX-License-Identifier: GPL-2.0-or-later
"""The server behind @e2b/code-interpreter: it runs cells of code in contexts, and streams their output as lines
of JSON. Only programs of the sandbox and the edge reach it; these may run any program here anyway."""

import asyncio
import json
import logging
import signal

import tornado.iostream
import tornado.web

from cell import Cell
from contexts import Contexts, Refusal

PORT = 49999
BODY_MAX = 16 << 20
ENVS_MAX = 1000


def text_of(wish, name):
    value = wish.get(name)
    if value is not None and (not isinstance(value, str) or "\0" in value):
        raise Refusal(400, f"{name} is not a text")
    return value or None


def envs_of(wish):
    envs = wish.get("env_vars") or {}
    if not isinstance(envs, dict) or len(envs) > ENVS_MAX:
        raise Refusal(400, f"env_vars is no object of at most {ENVS_MAX} members")
    for name, value in envs.items():
        if not (name.isascii() and name.isidentifier()) or not isinstance(value, str) or "\0" in value:
            raise Refusal(400, f"env_vars has a member {name!r} that is no variable with a text")
    return envs


class Handler(tornado.web.RequestHandler):  # pylint: disable=abstract-method
    cell = None

    def initialize(self, contexts):
        self.contexts = contexts

    def set_default_headers(self):
        for name in ("Origin", "Methods", "Headers"):
            self.set_header(f"Access-Control-Allow-{name}", "*")

    def wish(self):
        try:
            wish = json.loads(self.request.body or b"{}")
        except ValueError:
            wish = None
        if not isinstance(wish, dict):
            raise Refusal(400, "the body is no object of JSON")
        return wish

    def options(self, *_):
        self.set_status(204)

    def write_error(self, status_code, **kwargs):
        error = kwargs.get("exc_info", (None, None))[1]
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(error.reason_text if isinstance(error, Refusal) else self._reason)

    def on_connection_close(self):
        if self.cell:
            self.cell.gone.set()


class Health(Handler):  # pylint: disable=abstract-method
    def get(self):
        self.finish("OK")


class Execute(Handler):  # pylint: disable=abstract-method
    async def post(self):
        wish = self.wish()
        code, language, identity = (text_of(wish, name) for name in ("code", "language", "context_id"))
        if language and identity:
            raise Refusal(400, "give one of language and context_id")
        envs = envs_of(wish)
        context = self.contexts.get(identity) if identity else await self.contexts.default(language)
        self.cell = Cell()
        self.contexts.begin(context, code or "", envs, self.cell)
        self.set_header("Content-Type", "application/json")
        try:
            await self.flush()  # the client's time for the cell begins
            async for line in self.cell:
                self.write(line)
                await self.flush()
        except tornado.iostream.StreamClosedError:
            self.cell.gone.set()


class All(Handler):  # pylint: disable=abstract-method
    def get(self):
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps([context.view() for context in self.contexts.all()]))

    async def post(self):
        wish = self.wish()
        context = await self.contexts.make(text_of(wish, "language"), text_of(wish, "cwd"))
        self.finish(context.view())


class One(Handler):  # pylint: disable=abstract-method
    async def delete(self, identity):
        await self.contexts.remove(identity)


class Restart(Handler):  # pylint: disable=abstract-method
    async def post(self, identity):
        await self.contexts.get(identity).restart()


async def main():
    logging.getLogger("tornado.access").setLevel(logging.ERROR)
    # Kernels inherit it, and one that ignores interrupts could not be interrupted.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    contexts = Contexts()
    await contexts.start()
    routes = [(r"/health", Health), (r"/execute", Execute), (r"/contexts", All), (r"/contexts/([\w-]+)", One),
              (r"/contexts/([\w-]+)/restart", Restart)]
    server = tornado.web.Application([(path, handler, {"contexts": contexts}) for path, handler in routes])
    server.listen(PORT, "127.0.0.1", max_body_size=BODY_MAX, max_buffer_size=BODY_MAX)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await contexts.stop()


asyncio.run(main())
