# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser, driven over its debugging protocol."""

import itertools
import json
import os
import select
import shutil
import subprocess
import urllib.parse

from quiet_network import QuietNetwork
from stack import comes_true, wait_until

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--ignore-certificate-errors", "--host-resolver-rules=MAP *.localhost 127.0.0.1",
    "--remote-debugging-pipe",
]
ANSWER_S = 30
# The browser reads orders from descriptor 3 and writes answers to 4, each ended by a NUL. For bash: dash
# knows descriptors of one digit alone.
START = 'to=$1 from=$2; shift 2; exec "$@" 3<&"$to" 4>&"$from"'


def url_of(preview, path="/"):
    return f"https://{preview.host}:{preview.port}{path}"


class Browser:
    def __init__(self, directory, stack):
        self.network = QuietNetwork([urllib.parse.urlsplit(stack.base_url).port or 443])
        to, orders = os.pipe()
        answers, back = os.pipe()
        self.process = subprocess.Popen(
            self.network.command("bash", "-c", START, "bash", str(to), str(back), CHROMIUM, *FLAGS,
                                 f"--user-data-dir={directory}", "about:blank"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(to, back),
        )
        os.close(to)
        os.close(back)
        self.orders, self.answers = os.fdopen(orders, "wb"), os.fdopen(answers, "rb", buffering=0)
        self.numbers, self.rest, self.session = itertools.count(1), b"", {}
        wait_until(self._page, 30, "a page of the browser")
        self.session = {"sessionId": self.call("Target.attachToTarget", targetId=self._page(), flatten=True)["sessionId"]}

    def _page(self):
        targets = self.call("Target.getTargets")["targetInfos"]
        return next((one["targetId"] for one in targets if one["type"] == "page"), None)

    def _message(self):
        while b"\0" not in self.rest:
            readable, _, _ = select.select([self.answers], [], [], ANSWER_S)
            assert readable, "the browser does not answer"
            more = self.answers.read(65536)
            assert more, "the browser has ended"
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        number = next(self.numbers)
        order = {"id": number, "method": method, "params": parameters, **self.session}
        self.orders.write(json.dumps(order).encode() + b"\0")
        self.orders.flush()
        while (answer := self._message()).get("id") != number:
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
        self.process.terminate()
        self.process.wait(timeout=20)
        self.orders.close()
        self.answers.close()
        self.network.close()
