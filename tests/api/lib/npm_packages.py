# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of tests/fixtures that use npm packages, in the versions and with the sums of their lock file."""

import fcntl
import hashlib
import pathlib
import shutil
import subprocess

import pytest

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
DESCRIPTION = [FIXTURES / name for name in (".npmrc", "package.json", "package-lock.json")]


def packages(stack):
    """Install the packages once for a stack, and return their folder."""
    for program in ("node", "npm"):
        assert shutil.which(program), f"{program} is not installed: scripts/test does it"
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in DESCRIPTION)).hexdigest()[:16]
    folder = stack.root / f"packages-{digest}"
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for path in DESCRIPTION:
                shutil.copy(path, folder)
            done = subprocess.run(["npm", "ci", "--silent", "--fetch-retries=2"], cwd=folder, capture_output=True,
                                  text=True, timeout=300, check=False)
            assert done.returncode == 0, f"npm cannot install the packages: {done.stdout[-500:]}{done.stderr[-500:]}"
            (folder / "complete").touch()
    return folder / "node_modules"


def programs(stack, name, folder):
    """Copy tests/fixtures/NAME into FOLDER, next to the packages."""
    for source in (FIXTURES / "local_names.cjs", *(FIXTURES / name).iterdir()):
        shutil.copy(source, folder)
    (folder / "node_modules").symlink_to(packages(stack))
    return folder


@pytest.fixture(scope="session")
def installed(stack, tmp_path_factory):
    """The programs that use E2B's public clients."""
    return programs(stack, "e2b", tmp_path_factory.mktemp("client"))
