# SPDX-License-Identifier: GPL-2.0-or-later
"""What one cell of code says, on its way to the client."""

import asyncio
import json
import time

OUTPUT_MAX = 32 << 20  # of a cell, in octets of JSON
PIECE = 1 << 20  # of a stream, in characters: a longer text becomes several lines, as many as OUTPUT_MAX allows
ERROR_MAX = 1 << 20
LINE_COST = 64  # what a line takes beside its octets
# MIME types, and the members that a result has for them. Everything else is in `extra`.
MEMBERS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "application/vnd.sandlot.data+json": "data",
    "application/vnd.sandlot.chart+json": "chart",
}


def unquoted(text):
    """A text is shown without the quotes of its literal."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


class Cell:
    def __init__(self):
        self.gone = asyncio.Event()  # the client has hung up
        self._lines = asyncio.Queue()
        self._size = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _put(self, kind, members):
        self._lines.put_nowait(json.dumps({"type": kind, **members}) + "\n")

    def _say(self, kind, members):
        if self.gone.is_set() or self._size > OUTPUT_MAX:
            return
        line = json.dumps({"type": kind, **members}) + "\n"
        self._size += len(line) + LINE_COST
        if self._size > OUTPUT_MAX:
            self._put("stderr", {"text": f"The output over {OUTPUT_MAX >> 20} MiB is left out.\n",
                                 "timestamp": time.time_ns()})
            return
        self._lines.put_nowait(line)

    def stream(self, name, text):
        for at in range(0, len(text), PIECE):
            self._say(name, {"text": text[at:at + PIECE], "timestamp": time.time_ns()})

    def result(self, data, is_main):
        members, extra = {"is_main_result": is_main}, {}
        for kind, value in data.items():
            if kind in MEMBERS:
                members[MEMBERS[kind]] = value
            else:
                extra[kind] = value
        if "text" in members:
            members["text"] = unquoted(members["text"])
        self._say("result", {**members, **({"extra": extra} if extra else {})})

    def error(self, name, value, traceback=""):
        self._put("error", {"name": name, "value": value[:ERROR_MAX], "traceback": traceback[-ERROR_MAX:]})

    def end(self, count):
        if count is not None:
            self._put("number_of_executions", {"execution_count": count})
        self._put("end_of_execution", {})
        self._lines.put_nowait(None)
