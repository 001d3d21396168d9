# SPDX-License-Identifier: GPL-2.0-or-later
"""The requests of the README, as a reader types them."""

import pathlib
import re
import shlex
import subprocess

README = pathlib.Path(__file__).parents[2] / "README.md"


def commands(first, last):
    """The indented blocks of these sections and of those between them."""
    text = README.read_text(encoding="utf-8")
    part = text[text.index(f"\n## {first}\n"):]
    part = part[:part.index("\n## ", part.index(f"\n## {last}\n") + 1)]
    return "\n".join(re.findall(r"^    (.*)$", part, re.MULTILINE))


def test_what_it_shows_works(make_account, stack):
    account = make_account("pro")
    script = commands("A walk in a dozen requests", "What a sandbox reaches")
    variables = {"SANDLOT_BASE_URL": stack.base_url, "SANDLOT_CA_FILE": stack.ca_file,
                 "SANDLOT_API_KEY": account.api.key}
    known = "\n".join(f"{name}={shlex.quote(str(value))}" for name, value in variables.items())
    for old, new in ((". run/quickstart.env", known), ("--silent", "--fail-with-body --silent"),
                     ("demo", account.team)):
        assert old in script
        script = script.replace(old, new)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=README.parent, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    for expected in ("hello world", '[{"name":"README.md"', "# sandlot", "stopped\nmemory\n204\n",
                     '"name":"README.md"', '"status":"applied"', '"verdict":"allow"', '"denials":[]'):
        assert expected in said, (expected, said)
        said = said[said.index(expected) + len(expected):]
    assert done.stdout.count("hello world") == 2, "of the command and of the server"
