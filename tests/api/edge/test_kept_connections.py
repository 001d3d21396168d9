# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that rest: clients keep them for minutes, and some write to one without a look whether it is open."""

import re
import subprocess
import time

import pytest

from client import Origin

pytestmark = pytest.mark.parallel


def configuration(stack):
    """As nginx reads it, by file."""
    shown = subprocess.run(["/usr/sbin/nginx", "-T", "-c", stack.root / "nginx" / "nginx.conf"],
                           check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^# configuration file (.*):$", shown, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def included(files, text):
    """The text with what it includes in its place."""
    return re.sub(r"^\s*include (\S+);$", lambda found: included(files, files.get(found[1], "")), text, flags=re.MULTILINE)


def test_all_hosts_keep_them_for_ten_minutes(stack):
    files = configuration(stack)
    (site,) = (text for name, text in files.items() if name.endswith("/sites/sandlot.conf"))
    servers = re.split(r"^server \{$", included(files, site), flags=re.MULTILINE)[1:]
    tls = [server for server in servers if re.search(r"listen \S+ ssl", server)]
    assert len(tls) >= 6, "API, console, data planes, previews, and names of none"
    for server in tls:
        assert re.findall(r"keepalive_timeout (\S+);", server) == ["620s"], server


@pytest.mark.long
def test_one_that_rested(stack, sandbox):
    """On the API, a data plane and a preview."""
    data_plane = sandbox.document["data_plane_url"]
    name = data_plane.removeprefix("https://").split(".")[0]
    hosts = [(stack.base_url, "/health"), (data_plane, "/health"), (data_plane.replace(name, f"49983-{name}"), "/health"),
             (data_plane.replace(name, f"8080-{name}"), "/")]
    kept = [(Origin(stack.ca_file, url).connect(), path) for url, path in hosts]

    def ask():
        for connection, path in kept:
            connection.request("GET", path)
            connection.getresponse().read()

    ask()
    sockets = [connection.sock for connection, _ in kept]
    time.sleep(80)
    ask()
    assert [connection.sock for connection, _ in kept] == sockets, "none was closed"
