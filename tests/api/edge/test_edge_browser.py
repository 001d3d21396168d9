# SPDX-License-Identifier: GPL-2.0-or-later
"""The edge as a person meets it: a real browser, driven over its debugging protocol."""

import itertools
import json
import pathlib
import shutil
import subprocess
import time
import urllib.request

import pytest
import websocket

from stack import wait_until

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--ignore-certificate-errors", "--host-resolver-rules=MAP *.localhost 127.0.0.1",
    "--remote-debugging-port=0", "--remote-allow-origins=*",
]
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")


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

    def wait_for(self, text, timeout_s=20):
        wait_until(lambda: text in self.text(), timeout_s, f"{text!r} in the page")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(timeout=20)


@pytest.fixture
def browser(tmp_path):
    one = Browser(tmp_path)
    yield one
    one.close()


def url_of(preview, path="/"):
    return f"https://{preview.host}:{preview.port}{path}"


def serve(sandbox, port):
    program = sandbox.put_guest("preview_server.py")
    sandbox.data.background("python3", program, "127.0.0.1", str(port))


PORTS = [
    {"port": 3000, "protocol": "http", "public": True},
    {"port": 3001, "protocol": "http", "public": False},
]


def test_the_page_opens_the_server_by_itself(browser, make_sandbox):
    sandbox = make_sandbox(exposed_ports=PORTS)
    browser.open(url_of(sandbox.preview(3000), "/deep?link=1"))
    browser.wait_for("Nothing listens on port 3000 yet")
    browser.wait_for("This page opens it as soon as it is up")
    serve(sandbox, 3000)
    browser.wait_for('"path": "/deep?link=1"')


def test_a_waiting_page_lets_a_sandbox_sleep(browser, make_sandbox):
    sandbox = make_sandbox(
        exposed_ports=PORTS, lifecycle={"on_timeout": "pause", "auto_resume": True}
    )
    browser.open(url_of(sandbox.preview(3000)))
    browser.wait_for("Nothing listens on port 3000 yet")
    sandbox.pause()
    browser.wait_for("has been paused in the meantime")
    time.sleep(3)
    assert sandbox.show()["state"] == "stopped"


def test_a_private_link(browser, make_sandbox):
    sandbox = make_sandbox(exposed_ports=PORTS)
    serve(sandbox, 3001)
    preview = sandbox.preview(3001)
    browser.open(url_of(preview))
    browser.wait_for("Port 3001 is private")
    browser.open(url_of(preview, f"/x?access_token={sandbox.data.token}&a=1"))
    browser.wait_for('"path": "/x?a=1"')
    assert browser.value("location.href") == url_of(preview, "/x?a=1")
    assert browser.value("document.cookie") == ""
    assert sandbox.data.token not in browser.text()


def test_the_pages_fit_a_small_screen_and_the_dark(browser, shared_sandbox):
    browser.open(url_of(shared_sandbox.preview(4001)))
    browser.wait_for("Port 4001 is not exposed")
    grounds = set()
    for scheme in ("light", "dark"):
        browser.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        grounds.add(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2, grounds
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=320, height=600, deviceScaleFactor=1, mobile=True
    )
    assert browser.value("document.documentElement.scrollWidth") <= 320
