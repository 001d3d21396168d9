# SPDX-License-Identifier: GPL-2.0-or-later
"""A front-end development server in a sandbox, edited while a browser looks at it: modules and hot
reload over a WebSocket, through the preview. Needs Node.js 20 with npm and its registry, and Chromium;
skipped without them."""

import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import time

import pytest

from stack import wait_until
from test_edge_browser import CHROMIUM, Browser, url_of

NODE, NPM = shutil.which("node"), shutil.which("npm")
VITE = "vite@7.3.8"
PORT = 5173
# What any image has; two sets of them in one program do not go together.
SYSTEM_LIBRARIES = r"/(ld-linux|lib(c|m|dl|rt|pthread))[-.]"
APPLICATION = {
    "package.json": '{"private": true, "type": "module"}',
    "index.html": '<p id="word"></p><script type="module" src="/main.js"></script>',
    "main.js": """import { word } from "./word.js";
const show = (text) => { document.getElementById("word").textContent = text; };
show(word);
import.meta.hot.accept("./word.js", (changed) => show(changed.word));
""",
    "word.js": 'export const word = "before";\n',
    "vite.config.js": f"""export default {{
  server: {{ host: "127.0.0.1", port: {PORT}, strictPort: true, allowedHosts: true }},
}};
""",
}
pytestmark = [pytest.mark.parallel, pytest.mark.skipif(
    not (CHROMIUM and NODE and NPM), reason="needs chromium, node and npm"
)]


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    directory = tmp_path_factory.mktemp("vite")
    (directory / "package.json").write_text('{"private": true}', encoding="utf-8")
    done = subprocess.run(
        [NPM, "install", "--no-audit", "--no-fund", "--ignore-scripts", VITE],
        cwd=directory, capture_output=True, text=True, timeout=120, check=False,
    )
    if done.returncode:
        pytest.skip(f"npm cannot install {VITE}: {done.stderr[-200:]}")
    return directory / "node_modules"


def libraries_of(program):
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    paths = re.findall(r"=> (/\S+)", listing)
    return [path for path in paths if not re.search(SYSTEM_LIBRARIES, path)]


def pack(packages):
    """Node.js as it is on this machine, the server's packages and the application."""
    packed = io.BytesIO()
    node = os.path.realpath(NODE)
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(node, "app/bin/node")
        for path in libraries_of(node):
            tar.add(os.path.realpath(path), f"app/lib/{pathlib.Path(path).name}")
        tar.add(packages, "app/node_modules")
        for name, text in APPLICATION.items():
            entry = tarfile.TarInfo(f"app/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def loaded(browser, url):
    """Whether the application runs, opened anew if not: Chromium breaks off what it is loading when
    a network link comes or goes, and each sandbox of this machine has one."""
    if browser.shows("before", 5):
        return True
    browser.open(url)
    return False


def edited(sandbox, browser):
    """Change the application; whether the very same page shows that within a second. The server
    tells only who has connected by then, which a browser does in its own time."""
    word = f"after {time.monotonic()}"
    browser.value(f"window.mark = '{word}'")
    sandbox.data.upload("/home/user/app/word.js", f'export const word = "{word}";\n'.encode())
    return browser.shows(word, 1) and browser.value("window.mark") == word


@pytest.mark.long
def test_hot_reload(make_sandbox, packages, stack, tmp_path):
    sandbox = make_sandbox(
        timeout=600, exposed_ports=[{"port": PORT, "protocol": "http", "public": True}]
    )
    url = url_of(sandbox.preview(PORT))
    sandbox.data.upload("/tmp/app.tar", pack(packages))
    sandbox.data.check("cd ~ && tar xf /tmp/app.tar")
    run = "cd ~/app && LD_LIBRARY_PATH=lib exec bin/node node_modules/vite/bin/vite.js"
    browser = Browser(tmp_path, stack)
    try:
        browser.open(url)
        browser.wait_for(f"Nothing listens on port {PORT} yet")
        sandbox.data.background("/bin/bash", "-l", "-c", f"{run} >/tmp/vite.log 2>&1")
        wait_until(lambda: loaded(browser, url), 40, "the application")
        wait_until(lambda: edited(sandbox, browser), 20, "the edit in the page")
    except AssertionError as problem:
        page = browser.value("document.documentElement.outerHTML")
        log = sandbox.data.check("cat /tmp/vite.log")
        raise AssertionError(f"{problem}; the page: {page}; the server: {log}") from None
    finally:
        browser.close()
