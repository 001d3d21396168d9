# SPDX-License-Identifier: GPL-2.0-or-later
"""The public client of the protocol, the npm package `e2b` as it was published, in a folder of its own;
tests with it are skipped where npm reaches no registry."""

import os
import pathlib
import shutil
import subprocess

import pytest

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "e2b"


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    if not shutil.which("npm") or not shutil.which("node"):
        pytest.skip("npm is not installed")
    folder = pathlib.Path(os.environ.get("SANDLOT_CLIENT_DIR") or tmp_path_factory.mktemp("client"))
    folder.mkdir(parents=True, exist_ok=True)
    for source in SOURCES.iterdir():
        shutil.copy(source, folder)
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"npm cannot install the package: {done.stderr.strip()[-300:]}")
    return folder
