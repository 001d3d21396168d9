# SPDX-License-Identifier: GPL-2.0-or-later
"""The API's OpenAPI document is enough for a generator that others wrote: its client compiles strictly and works."""

import json
import os
import subprocess

import pytest

import contract
from npm_packages import programs

pytestmark = [pytest.mark.parallel, pytest.mark.long]


def run(folder, *words, **environment):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=180, check=False,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def test_a_generated_client_compiles_and_works(stack, account, tmp_path):
    """Filters of a list are a deepObject; a create needs no member; a policy may have some."""
    bin_folder = programs(stack, "client", tmp_path) / "node_modules" / ".bin"
    (tmp_path / "openapi.json").write_text(json.dumps(contract.DOCUMENT), encoding="utf-8")
    run(tmp_path, str(bin_folder / "openapi-ts"), "-i", "openapi.json", "-o", "client")
    run(tmp_path, str(bin_folder / "tsc"))
    run(tmp_path, "node", "--require", "./local_names.cjs", "out/try.js",
        BASE_URL=stack.base_url, API_KEY=account.key("write"), NODE_EXTRA_CA_CERTS=str(stack.ca_file))
