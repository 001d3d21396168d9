# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of the version before, built from the history of the tree. With a release they become those of its tag."""

import fcntl
import pathlib
import shutil
import subprocess

import pytest

TREE = pathlib.Path(__file__).parents[3]
CACHE = pathlib.Path("/var/cache/sandlot/before")

# The last that were otherwise: the agent before the one that keeps logs, the programs before schema 36.
AGENT = "6acbf9bb513c3a29a98afba8926e3bf9d3ff2b02"
PROGRAMS = "0b8ecd8f83d3ec6431db9d4039972f18802131cc"


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


def built(commit, *programs):
    """The directory of programs that are built once; a tree without that part of its history has none."""
    if git("cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        pytest.skip(f"the tree {TREE} has no history with the version before ({commit[:12]})")
    into = CACHE / f"{commit[:12]}-{programs[0]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not into.is_dir():
            build(commit, programs, into)
    return into


def agent():
    return built(AGENT, "sandlot-agent") / "sandlot-agent"


def programs():
    return built(PROGRAMS, "sandlot-api", "sandlot-dispatcher", "sandlotctl")
