# SPDX-License-Identifier: GPL-2.0-or-later
"""allow_package_registry_access: what it opens is what package managers ask for, and nothing is said to be
open that is not."""

import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import threading
import urllib.parse

import pytest

from tenant import Sandbox

pytestmark = pytest.mark.parallel

SCRIPTS = pathlib.Path(__file__).parents[3] / "scripts"
REGISTRY = "203.0.113.7"
PROFILE = "package-registries"


def entries(stack):
    (row,) = stack.query("SELECT entries FROM egress_profiles WHERE name = %s", PROFILE)
    return json.loads(row["entries"])


@pytest.fixture
def sandbox(account):
    return Sandbox.create(
        account.api, timeout=900, allow_internet_access=False, allow_package_registry_access=True
    )


def repository(internet, sources):
    """An archive without a signature at each of the template's own sources, with one package."""
    for path, suite, component in sources:
        folder = internet.directory / "site" / path.strip("/") / "dists" / suite / component / "binary-amd64"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "Packages").write_text(
            "Package: sandlot-proof\nVersion: 1.0\nArchitecture: amd64\nMaintainer: nobody\n"
            "Filename: pool/sandlot-proof.deb\nSize: 1\nSHA256: " + "0" * 64 + "\nDescription: proof\n\n"
        )


def test_apt_update_works_with_the_registries_alone(sandbox, internet):
    text = sandbox.data.check("cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true")
    found = re.findall(r"^deb (?:\[[^]]*\] )?https?://([^/\s]+)(/\S*)? (\S+) (\S+)", text, re.MULTILINE)
    assert found, text
    internet.publish({host: {"A": [[REGISTRY, 60]]} for host, *_ in found})
    repository(internet, [rest for _, *rest in found])
    sandbox.data.check(
        "apt-get update -o Acquire::AllowInsecureRepositories=true -o Acquire::AllowDowngradeToInsecureRepositories=true"
        " -o APT::Update::Error-Mode=any && apt-cache show sandlot-proof",
        user="root",
    )


def package(folder, version):
    """A package with the name and the version of Debian's `tree`."""
    (folder / "tree" / "DEBIAN").mkdir(parents=True)
    (folder / "tree" / "DEBIAN" / "control").write_text(
        f"Package: tree\nVersion: {version}\nArchitecture: all\nMaintainer: test\nDescription: proof\n"
    )
    (folder / "tree" / "usr" / "bin").mkdir(parents=True)
    program = folder / "tree" / "usr" / "bin" / "tree"
    program.write_text("#!/bin/sh\necho tree of the test\n")
    program.chmod(0o755)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", "tree", "tree.deb"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return (folder / "tree.deb").read_bytes()


@pytest.mark.long
def test_a_package_is_installed_at_once(sandbox, internet, tmp_path):
    """With the lists of the image, without "apt-get update" before."""
    ask = "apt-get install --yes --print-uris tree"
    (url,) = re.findall(r"^'(http\S+/tree_\S+)'", sandbox.data.check(ask, user="root"), re.MULTILINE)
    parts = urllib.parse.urlsplit(url)
    content = package(tmp_path, sandbox.data.check("apt-cache show --no-all-versions tree | sed -n 's/^Version: //p'").strip())
    file = internet.directory / "site" / parts.path.strip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    program = sandbox.put_guest("name_package.py")
    named = f"python3 {program} tree {hashlib.sha256(content).hexdigest()} {len(content)}"
    assert sandbox.data.check(named, user="root").strip() == "1"
    internet.publish({parts.hostname: {"A": [[REGISTRY, 60]]}})
    assert "tree of the test" in sandbox.data.check("apt-get install --yes tree && tree", user="root")


def test_every_entry_is_reached_and_nothing_else(stack, sandbox, internet):
    hosts = [entry.rsplit(":", 1) for entry in entries(stack) if re.fullmatch(r"[a-z0-9.-]+:(80|443)", entry)]
    assert hosts
    internet.publish({host: {"A": [[REGISTRY, 60]]} for host in ["elsewhere.example.net", *(host for host, _ in hosts)]})
    sandbox.put_guest("reach.py")
    targets = json.dumps([["tcp", host, int(port)] for host, port in hosts] + [["tcp", "elsewhere.example.net", 443]])
    *reached, elsewhere = json.loads(sandbox.data.check(f"python3 /tmp/reach.py '{targets}'", user="root"))
    assert reached == [True] * len(hosts) and elsewhere is not True


class Index(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'<a href="https://files.example.test/pip-1.whl#sha256=0">pip</a> <a href="../near">near</a>')

    def log_message(self, *_):
        pass


def test_the_files_of_an_index_are_in_the_list():
    """pip's index names another host for the files themselves."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    index = f"http://127.0.0.1:{server.server_port}/simple/"
    done = subprocess.run(
        [SCRIPTS / "package-registries"],
        env={**os.environ, "PIP_INDEX_URL": index},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    server.shutdown()
    assert "files.example.test:443" in done.stdout.splitlines(), done


def listed(path):
    return {line for line in path.read_text().splitlines() if line and not line.startswith("#")}


def test_the_registries_of_each_package_manager_are_in_the_profile(stack):
    """With the hosts of the files: an index alone installs nothing."""
    known = listed(SCRIPTS.parent / "conf" / "package-registries")
    assert known <= set(entries(stack))
    for host in ("deb.debian.org:80", "security.debian.org:80", "pypi.org:443", "files.pythonhosted.org:443",
                 "registry.npmjs.org:443", "index.crates.io:443", "static.crates.io:443", "repo.packagist.org:443",
                 "codeload.github.com:443", "proxy.golang.org:443", "sum.golang.org:443", "storage.googleapis.com:443",
                 "github.com:443", "nodejs.org:443"):
        assert host in known
    schema = (SCRIPTS.parent / "sql" / "0001-schema.sql").read_text()
    seed = schema.split("VALUES ('package-registries', CONCAT(", 1)[1].split("), 0);", 1)[0]
    assert set(json.loads("".join(re.findall(r"'([^']*)'", seed)))) == known


@pytest.mark.alone
def test_an_empty_profile_is_told(stack, sandbox, tmp_path):
    before = entries(stack)
    path = tmp_path / "entries"
    path.write_text("")
    try:
        stack.ctl("profile", "set", PROFILE, "--file", str(path))
        question = {"host": "registry.example.net", "port": 443}
        answer = sandbox.api.request("POST", f"{sandbox.path}/network/check", question).json()
        assert answer["verdict"] == "deny" and f"profile {PROFILE} is empty" in answer["message"], answer
        done = subprocess.run(
            [*stack.ctl_command, "--json", "doctor"], capture_output=True, text=True, timeout=60, check=False
        )
        said = [one for one in json.loads(done.stdout)["findings"] if one["check"] == "registries"]
        assert said and "is empty" in said[0]["message"], said
    finally:
        path.write_text("\n".join(before) + "\n")
        stack.ctl("profile", "set", PROFILE, "--file", str(path))
    answer = sandbox.api.request("POST", f"{sandbox.path}/network/check", question).json()
    assert "is empty" not in answer["message"], answer
