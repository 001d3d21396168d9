# SPDX-License-Identifier: GPL-2.0-or-later
"""The API's OpenAPI document is enough for a generator that others wrote: its client compiles strictly and works."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import contract

pytestmark = [pytest.mark.parallel, pytest.mark.long]  # most of it is the installation of the packages

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(folder, *words, **environment):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=180, check=False,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def test_a_generated_client_compiles_and_works(stack, account, tmp_path):
    """Filters of a list are a deepObject; a create needs no member; a policy may have some."""
    for program in ("node", "npm"):
        assert shutil.which(program), f"{program} is not installed: scripts/test does it"
    for source in (ROOT / "tests" / "generated").iterdir():
        shutil.copy(source, tmp_path)
    run(tmp_path, "npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=2")
    (tmp_path / "openapi.json").write_text(json.dumps(contract.DOCUMENT), encoding="utf-8")
    programs = tmp_path / "node_modules" / ".bin"
    run(tmp_path, str(programs / "openapi-ts"), "-i", "openapi.json", "-o", "client")
    run(tmp_path, str(programs / "tsc"))
    run(tmp_path, "node", "--require", "./localhost.cjs", "out/try.js",
        BASE_URL=stack.base_url, API_KEY=account.key("write"), NODE_EXTRA_CA_CERTS=str(stack.ca_file))
