# SPDX-License-Identifier: GPL-2.0-or-later
"""What people try first in the default template."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[3]

pytestmark = pytest.mark.parallel

WHEEL = """
import zipfile
with zipfile.ZipFile("/tmp/found-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("found.py", "")
    wheel.writestr("found-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: found\\nVersion: 1\\n")
    wheel.writestr("found-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("found-1.dist-info/RECORD", "")
"""


@pytest.mark.parametrize("script, expected", [
    ("python3 -m pip --version", "pip "),
    pytest.param("python3 -m venv /tmp/venv && /tmp/venv/bin/pip --version", "pip ", marks=pytest.mark.long),
    (f"python3 -c '{WHEEL}'; pip install --quiet --no-index /tmp/*.whl; python3 -c 'import found; print(found.__name__)'", "found\n"),
    ("mkdir /usr/local/lib/node_modules && install -m 755 /dev/null /usr/local/bin/own && command -v own", "/usr/local/bin/own\n"),
    ("TZ=Europe/Berlin date -d @0 '+%H %Z'", "01 CET\n"),
    ("python3 -c 'import zoneinfo; print(zoneinfo.ZoneInfo(\"Asia/Tokyo\"))'", "Asia/Tokyo\n"),
])
def test_what_people_try_first(shared_sandbox, script, expected):
    assert shared_sandbox.data.check(script).startswith(expected)


@pytest.mark.parametrize("program", ["nano", "vi", "wget", "pip", "git", "sudo"])
def test_programs_that_people_expect(shared_sandbox, program):
    shared_sandbox.data.check(f"command -v {program}")


def test_apt_has_its_lists_and_keeps_them_compressed(sandbox):
    """Without a network, apt knows where a package is, and its hash."""
    said = sandbox.data.check("apt-get install --yes --print-uris tree", user="root")
    assert re.search(r"^'http\S+/tree_\S+\.deb' \S+ \d+ \S+:[0-9a-f]{32,}$", said, re.MULTILINE), said
    assert int(sandbox.data.check("sudo du -sm /var/lib/apt/lists").split()[0]) < 30


def test_lists_of_a_package_get_the_names_of_this_mirror(tmp_path):
    """The tree of a Debian package may come from another mirror than the one of the machine that installs it."""
    lists, sources = tmp_path / "rootfs/var/lib/apt/lists", tmp_path / "rootfs/etc/apt/sources.list.d"
    lists.mkdir(parents=True)
    sources.mkdir(parents=True)
    for name in ("there.example_debian_dists_trixie_InRelease", "there.example_debian_dists_trixie-updates_InRelease",
                 "safe.example_security_dists_trixie-security_InRelease"):
        (lists / name).write_text(name)
    (sources / "0000sources.list").write_text("deb http://there.example/debian trixie main\n"
                                              "deb http://there.example/debian trixie-updates main\n"
                                              "deb http://safe.example/security trixie-security main\n")
    subprocess.run(["tar", "--create", "--file", "tree.tar", "rootfs"], cwd=tmp_path, check=True)
    (tmp_path / "stage").mkdir()
    subprocess.run(["bash", "-euo", "pipefail", "-c", f"""
        SOURCE_DIR={ROOT}; . {ROOT}/scripts/lib/template-package.sh
        template_sources() {{
            printf 'deb %s x main\\n' http://here.example/my_debian/ http://here.example/my_debian/ http://safe.example/security
        }}
        template_lists_rename tree.tar stage"""], cwd=tmp_path, check=True)
    assert sorted(path.name for path in (tmp_path / "stage/rootfs/var/lib/apt/lists").iterdir()) == [
        "here.example_my%5fdebian_dists_trixie-updates_InRelease", "here.example_my%5fdebian_dists_trixie_InRelease",
        "safe.example_security_dists_trixie-security_InRelease"]
    kept = subprocess.run(["tar", "--list", "--file", "tree.tar"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "_dists_" not in kept and "0000sources.list" in kept


def test_an_installation_has_every_file_of_the_template(stack):
    def files(folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    assert files(stack.root / "prefix/share/sandlot/scripts/template") == files(ROOT / "scripts/template")
