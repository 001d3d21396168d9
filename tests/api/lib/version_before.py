# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of the last release, built from its tag in the history of the tree."""

import fcntl
import pathlib
import shutil
import subprocess

import pytest

TREE = pathlib.Path(__file__).parents[3]
CACHE = pathlib.Path("/var/cache/sandlot/before")

def git(*arguments):
    return subprocess.run(["git", "-C", TREE, *arguments], capture_output=True, check=False)


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"


def build(commit, programs, into):
    """Only these programs, and the migrations of that time."""
    work = into.with_suffix(".new")
    shutil.rmtree(work, ignore_errors=True)
    source, objects = work / "source", work / "objects"
    for directory in (source, objects):
        directory.mkdir(parents=True)
    archive = git("archive", commit)
    assert archive.returncode == 0, archive.stderr
    subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
    run("./autogen.sh", cwd=source)
    run("../source/configure", "--quiet", cwd=objects)
    run("make", "-j2", *programs, cwd=objects)
    for program in programs:
        shutil.copy2(objects / program, work / program)
    shutil.copytree(source / "sql", work / "sql")
    for directory in (source, objects):
        shutil.rmtree(directory)
    work.rename(into)


def last_release():
    """The commit of the newest tag vN.N.N that HEAD comes after; tests skip where there is none."""
    described = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD~1")
    if described.returncode != 0:
        pytest.skip(f"the tree {TREE} has no tag of a release")
    tag = described.stdout.decode().strip()
    return git("rev-parse", f"{tag}^{{commit}}").stdout.decode().strip()


def built(*programs):
    """The directory with these programs of the last release, which are built once."""
    commit = last_release()
    into = CACHE / f"{commit[:12]}-{programs[0]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not into.is_dir():
            build(commit, programs, into)
    return into


def agent():
    return built("sandlot-agent") / "sandlot-agent"


def programs():
    return built("sandlot-api", "sandlot-dispatcher", "sandlotctl")
