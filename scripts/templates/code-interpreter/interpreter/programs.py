# SPDX-License-Identifier: GPL-2.0-or-later
"""JavaScript, TypeScript and bash: programs whose output is read from pipes, and which say on a socket when a cell
is over."""

import asyncio
import codecs
import json
import os
import signal
import socket
import subprocess

from process import ENDED, Process

NODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel", "node.js")
ANSWER_MAX = 64 << 20
CHUNK = 65536
CHUNKS = 32  # read at once
START_S = 30


class Pipe:
    """One output of a program, for the cell that runs."""

    def __init__(self, name):
        self.cell = None
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._fd, self.end = os.pipe()
        os.set_blocking(self._fd, False)
        asyncio.get_running_loop().add_reader(self._fd, self.drain)

    def drain(self):
        for _ in range(CHUNKS):
            if self._fd < 0:
                return
            try:
                data = os.read(self._fd, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self.close()
                return
            text = self._decoder.decode(data)
            if self.cell:
                self.cell.stream(self._name, text)
            if len(data) < CHUNK:
                return

    def opened(self):
        os.close(self.end)

    def close(self):
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1


class Program:
    def __init__(self, cwd, _place):
        self._cwd = cwd
        self._process = Process()
        self._pipes = ()
        self._answers = self._orders = None
        self._count = 0

    def alive(self):
        return self._process.alive()

    def interrupt(self):
        self._process.send(signal.SIGINT)

    def is_better_new(self):
        return False

    async def warm(self):
        pass

    async def _spawn(self, command, stdin):
        """Start the program; %d in the command is the number of its socket."""
        ours, theirs = socket.socketpair()
        self._pipes = (Pipe("stdout"), Pipe("stderr"))
        number = theirs.fileno()
        process = await self._process.spawn(*(word.replace("%d", str(number)) for word in command), cwd=self._cwd,
                                            stdin=stdin, stdout=self._pipes[0].end, stderr=self._pipes[1].end,
                                            pass_fds=[number])
        theirs.close()
        for pipe in self._pipes:
            pipe.opened()
        self._answers, self._orders = await asyncio.open_connection(sock=ours, limit=ANSWER_MAX)
        self._count = 0
        return process, number

    async def kill(self):
        await self._process.kill()

    async def stop(self):
        await self._process.kill()
        for pipe in self._pipes:
            pipe.close()
        if self._orders:
            self._orders.close()
            self._orders = None

    async def _read(self, end):
        """What the program says until a mark. Its end is looked at too: programs of a cell may keep the socket open."""
        reading, ended = (asyncio.ensure_future(one) for one in (self._answers.readuntil(end), self._process.ended()))
        try:
            await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)
            if reading.done():
                return reading.result()[:-1]
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            reading.cancel()
            ended.cancel()
        await self._process.kill()
        raise ChildProcessError(ENDED)

    async def run(self, code, lasting, passing, is_new, cell):
        for pipe in self._pipes:
            pipe.drain()
            pipe.cell = cell
        self._count += 1
        try:
            await self._cell(code, lasting, passing, is_new, cell)
        finally:
            for pipe in self._pipes:
                pipe.drain()
                pipe.cell = None
        return self._count


class Node(Program):
    def is_better_new(self):
        """The secrets that its library makes would be those of every other copy. A kernel that was used is kept."""
        return self._count == 0

    async def start(self):
        await self._spawn(["node", "--no-warnings", NODE, "%d"], subprocess.DEVNULL)
        await asyncio.wait_for(self._read(b"\n"), START_S)

    async def _cell(self, code, lasting, passing, is_new, cell):
        order = {"code": code, "lasting": lasting, "passing": passing, "is_new": is_new}
        self._orders.write(json.dumps(order).encode() + b"\n")
        while True:
            answer = json.loads(await self._read(b"\n"))
            for pipe in self._pipes:
                pipe.drain()
            if "result" in answer:
                cell.result(answer["result"], answer["is_main"])
            elif "error" in answer:
                cell.error(*answer["error"])
            else:
                return


class Typed(Node):
    """TypeScript: its types are left out, and what remains is JavaScript."""

    async def _cell(self, code, lasting, passing, is_new, cell):
        options = json.dumps({"compilerOptions": {"preserveValueImports": True, "verbatimModuleSyntax": True}})
        compiler = await asyncio.create_subprocess_exec(
            "esbuild", "--loader=ts", "--log-level=error", f"--tsconfig-raw={options}",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        script, complaint = await compiler.communicate(code.encode())
        if compiler.returncode:
            cell.error("SyntaxError", complaint.decode(errors="replace").strip())
            return
        await super()._cell(script.decode(), lasting, passing, is_new, cell)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


class Bash(Program):
    """An interactive bash: an interrupt ends the cell, and not the shell. It reads a line of its own for each text that
    it is to evaluate, and says before each prompt that it is done."""

    def __init__(self, cwd, place):
        super().__init__(cwd, place)
        self._lines = self._number = None

    async def start(self):
        process, self._number = await self._spawn(["bash", "--norc", "--noprofile", "--noediting", "-i"], subprocess.PIPE)
        self._lines = process.stdin
        self._line(f"PS1= PS2= HISTFILE= PROMPT_COMMAND=\"printf '\\\\0' >&{self._number}\"; set +H +o history;"
                   " declare -A SANDLOT_SAVED=()")
        await asyncio.wait_for(self._read(b"\0"), START_S)
        for pipe in self._pipes:
            pipe.drain()

    def _line(self, text):
        self._lines.write(text.encode() + b"\n")

    async def _evaluate(self, text, more=""):
        self._line(f"IFS= read -r -d '' -u {self._number} SANDLOT_CELL && eval \"$SANDLOT_CELL\" {more}")
        self._orders.write(text.replace("\0", "").encode() + b"\0")
        await self._read(b"\0")

    async def _cell(self, code, lasting, passing, is_new, cell):
        before = [f"export {name}={quoted(value)}" for name, value in lasting.items() if name.isidentifier()]
        if is_new:
            before.append(f"RANDOM={int.from_bytes(os.urandom(2), 'big')}")
        after = []
        for name, value in passing.items():
            before += [f"[[ -v {name} ]] && SANDLOT_SAVED[{name}]=${name}", f"export {name}={quoted(value)}"]
            after += [f"unset {name}", f"[[ -v SANDLOT_SAVED[{name}] ]] && export {name}=${{SANDLOT_SAVED[{name}]}}"]
        if before:
            await self._evaluate("\n".join(before))
        await self._evaluate(code, f"</dev/null {self._number}>&-")
        if after:
            await self._evaluate("\n".join([*after, "SANDLOT_SAVED=()"]))
