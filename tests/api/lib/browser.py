# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser, driven over its debugging protocol."""

import itertools
import json
import pathlib
import shutil
import subprocess
import urllib.request

import websocket

from stack import comes_true, wait_until

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--ignore-certificate-errors", "--host-resolver-rules=MAP *.localhost 127.0.0.1",
    "--remote-debugging-port=0", "--remote-allow-origins=*",
]


def url_of(preview, path="/"):
    return f"https://{preview.host}:{preview.port}{path}"


class Browser:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={directory}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.numbers = itertools.count(1)
        port_file = self.directory / "DevToolsActivePort"
        wait_until(lambda: port_file.exists() and port_file.read_text().strip(), 30, "the browser")
        port = port_file.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            (target, *_) = [one for one in json.load(answer) if one["type"] == "page"]
        self.socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=30)

    def call(self, method, **parameters):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (answer := json.loads(self.socket.recv())).get("id") != number:
            pass
        return answer.get("result", {})

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression).get("result", {}).get("value")

    def text(self):
        return self.value("document.body ? document.body.innerText : ''") or ""

    def shows(self, text, timeout_s):
        return comes_true(lambda: text in self.text(), timeout_s)

    def wait_for(self, text, timeout_s=20):
        wait_until(lambda: text in self.text(), timeout_s, f"{text!r} in the page")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(timeout=20)
