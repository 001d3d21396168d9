# SPDX-License-Identifier: GPL-2.0-or-later
"""The edge as a person meets it: a real browser, driven over its debugging protocol."""

import time

import pytest

from browser import CHROMIUM, Browser, url_of

pytestmark = [pytest.mark.parallel, pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")]


@pytest.fixture
def browser(tmp_path, stack):
    one = Browser(tmp_path, stack)
    yield one
    one.close()


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


def test_a_page_does_not_wait_for_ever(browser, make_sandbox):
    sandbox = make_sandbox(exposed_ports=PORTS)
    browser.open(url_of(sandbox.preview(3000)))
    browser.wait_for("This page opens it as soon as it is up")
    browser.value("(() => { const now = Date.now() + 601000; Date.now = () => now; return now; })()")
    browser.wait_for("No server has started for ten minutes")
    serve(sandbox, 3000)
    time.sleep(5)
    assert "No server has started" in browser.text()


@pytest.mark.long
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
