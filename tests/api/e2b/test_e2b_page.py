# SPDX-License-Identifier: GPL-2.0-or-later
"""E2B's npm package in a page of another origin."""

import json
import subprocess

import pytest

from browser import CHROMIUM, Browser, url_of
from stack import wait_until

pytestmark = [pytest.mark.parallel, pytest.mark.long,
              pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")]

ABSENT = ("crypto", "fs", "os", "path", "stream", "url")


@pytest.fixture
def bundle(installed, stack, tmp_path):
    """By the bundler of the console."""
    made = tmp_path / "bundle.js"
    subprocess.run(
        [stack.root / "build/console/node_modules/.bin/esbuild", "page.mjs", "--bundle", "--format=iife", "--platform=browser",
         f"--outfile={made}", *(f"--alias:node:{name}=./nothing.cjs" for name in ABSENT)],
        cwd=installed, check=True, capture_output=True, timeout=180)
    return made.read_text(encoding="utf-8")


def test_a_page_of_another_origin(bundle, stack, account, shared_sandbox, tmp_path):
    program = shared_sandbox.put_guest("preview_server.py")
    shared_sandbox.data.background("python3", program, "127.0.0.1", "3000")
    shared_sandbox.data.check("until curl -so /dev/null 127.0.0.1:3000; do sleep 0.05; done")
    browser = Browser(tmp_path, stack)
    try:
        browser.open(url_of(shared_sandbox.preview(3000)))
        browser.wait_for('"path": "/"', 90)
        browser.call("Runtime.evaluate", expression=bundle)
        options = {"apiKey": account.key_document("write")["e2b_key"], "domain": stack.data_plane_host,
                   "apiUrl": stack.base_url}
        browser.value(f"""
            useSandbox({json.dumps(options)}).then(
              (value) => {{ window.done = JSON.stringify(value) }},
              (error) => {{ window.done = String(error) }})""")
        wait_until(lambda: browser.value("window.done"), 120, "the end of the page's work", 0.2)
        assert browser.value("window.done") == '["from a page",true]'
    finally:
        browser.close()
