# SPDX-License-Identifier: GPL-2.0-or-later
"""A sandbox that moves to a host which has its template brings only what it has changed; where the templates differ, all."""

import contextlib
import hashlib
import os
import stat
import subprocess

import pytest

from archive import Folder, archive_settings
from stack import wait_until
from test_moves import hosts, is_there_once  # noqa: F401

pytestmark = pytest.mark.hosts

CHANGES = """
set -e
cp -a /usr/lib/python3/dist-packages/wheel copied
cp -a /usr/share/perl5 taken && mv taken moved && rm -r moved/Debconf
file=$(find copied -type f | head -1)
ln "$file" hard && echo more >>hard && chmod 600 hard
ln -s nowhere dangling && mkfifo pipe
truncate -s 40M sparse && head -c 10000 /dev/urandom | dd of=sparse bs=4k seek=1000 conv=notrunc status=none
head -c 300000 /dev/urandom >random
head -c 20000000 /dev/urandom >/dev/shm/held
"""


def entry(path, top):
    """All that a copy must have; incusd's record of the instance is of the host."""
    found = path.lstat()
    kind = stat.S_IFMT(found.st_mode)
    content = (os.readlink(path) if kind == stat.S_IFLNK
               else hashlib.sha256(path.read_bytes()).hexdigest() if kind == stat.S_IFREG else None)
    attributes = [(name, os.getxattr(path, name, follow_symlinks=False)) for name in sorted(os.listxattr(path, follow_symlinks=False))]
    return (str(path.relative_to(top)), found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_rdev, content,
            found.st_nlink if kind == stat.S_IFREG else None, attributes)


def content(hosts, name, instance):
    """Of the disk and of the memory image."""
    (top,) = (hosts.pool(name) / "containers").glob(f"*{instance}")
    return [entry(path, top) for path in sorted(top.rglob("*")) if path.name != "backup.yaml"]


def parents(hosts, name):
    """What is sealed, by the subvolume that it counts as received from."""
    listed = hosts.btrfs(name, "subvolume", "list", "-o", "-r", "-R", hosts.pool(name) / "sandlot-parents").splitlines()
    return {line.split()[-1].split("/")[-1]: line.split("received_uuid")[1].split()[0] for line in listed}


def own_bytes(hosts, name, instance):
    """Of its disk alone, without what it shares with its template."""
    return hosts.incus(name).request("GET", f"/1.0/instances/{instance}/state")["disk"]["root"]["usage"]


def is_written(path):
    """No part of the file is only in the memory of its host."""
    told = subprocess.run(["filefrag", "-v", path], capture_output=True, text=True, check=True).stdout
    return "delalloc" not in told and "last" in told


def source_of(hosts, name, sandbox):
    (row,) = hosts.stack.query("SELECT template_version_id FROM sandboxes WHERE id = %s", sandbox.id)
    (found,) = (hosts.pool(name) / "containers").glob(f"*tpl-{row['template_version_id'].split('_')[-1]}")
    return found


@pytest.fixture
def paused(hosts, api):  # noqa: F811
    sandbox = hosts.make(api, "other")
    sandbox.data.check(CHANGES)
    assert sandbox.pause()["state"] == "stopped"
    return sandbox


def goes_on(sandbox):
    assert sandbox.resume()["resumed_from"] == "memory"
    assert sandbox.data.check("stat -c %s /dev/shm/held && cat pipe & echo x >pipe && wait") == "20000000\nx\n"


def test_only_what_differs_is_sent(hosts, paused):  # noqa: F811
    before = content(hosts, "other", paused.instance)
    for name in ("local", "other", "local"):
        assert hosts.move(paused, name)["host"] == name
        assert is_written(next((hosts.pool(name) / "containers").glob(f"*{paused.instance}/state/pages-1.img")))
        assert own_bytes(hosts, name, paused.instance) < 20e6
        assert content(hosts, name, paused.instance) == before
    source = source_of(hosts, "local", paused).name
    assert parents(hosts, "local")[source] == parents(hosts, "other")[source] != "-"
    is_there_once(hosts, paused)
    goes_on(paused)


def test_a_source_that_was_copied(hosts, paused):  # noqa: F811
    """As a host has it that joined later: of the same content, made at another time and of other inodes."""
    source, pool = source_of(hosts, "local", paused), hosts.pool("local")
    whole, received = pool / "of-a-test", pool / "received-by-a-test"
    hosts.btrfs("local", "subvolume", "delete", pool / "sandlot-parents" / source.name, check=False)
    hosts.btrfs("local", "subvolume", "snapshot", "-r", source, whole)
    received.mkdir()
    try:
        hosts.btrfs("local", "send", "-q", "-f", received / "stream", whole)
        hosts.btrfs("local", "receive", "-q", "-f", received / "stream", received)
        hosts.btrfs("local", "subvolume", "delete", source)
        hosts.btrfs("local", "subvolume", "snapshot", received / whole.name, source)
    finally:
        (received / "stream").unlink()
        hosts.btrfs("local", "subvolume", "delete", whole, received / whole.name)
        received.rmdir()
    before = content(hosts, "other", paused.instance)
    assert hosts.move(paused, "local")["host"] == "local"
    assert own_bytes(hosts, "local", paused.instance) < 20e6
    assert content(hosts, "local", paused.instance) == before
    goes_on(paused)


@contextlib.contextmanager
def another_template(hosts, name, sandbox):  # noqa: F811
    """The host has built the sandbox's template of something else."""
    source = source_of(hosts, name, sandbox)
    parent, folder = hosts.pool(name) / "sandlot-parents" / source.name, source / "rootfs" / "etc"
    hosts.btrfs(name, "subvolume", "delete", parent, check=False)
    (folder / "of-this-host").write_text("not of the image\n", encoding="ascii")
    try:
        yield
    finally:
        (folder / "of-this-host").unlink()
        hosts.btrfs(name, "subvolume", "delete", parent, check=False)


def test_templates_that_differ(hosts, paused, stack):  # noqa: F811
    """The stream's parent is not found, and all of it goes."""
    before, log = content(hosts, "other", paused.instance), stack.root / "log" / "dispatcher.log"
    with another_template(hosts, "local", paused):
        said = len(log.read_text(encoding="utf-8"))
        assert hosts.move(paused, "local")["host"] == "local"
        assert "sending the whole instance" in log.read_text(encoding="utf-8")[said:]
    assert own_bytes(hosts, "local", paused.instance) > 100e6
    assert content(hosts, "local", paused.instance) == before
    is_there_once(hosts, paused)
    goes_on(paused)


def test_a_copy_for_the_archive_is_whole(hosts, paused, stack):  # noqa: F811
    """It takes the same way through btrfs as a move, and comes back where the template is another one."""
    folder = Folder(stack.root / "archive-of-a-test")
    assert hosts.move(paused, "local")["host"] == "local"
    with archive_settings(stack, archive_after_s=1, archive_evict_percent=1, **folder.settings):
        wait_until(lambda: stack.query("SELECT id FROM archives WHERE current_of = %s AND evicted_at_ms > 0", paused.id), 120,
                   "the host to delete its copy")
        with another_template(hosts, "local", paused):
            goes_on(paused)
    folder.close()


def test_what_was_left_half_made_is_made_anew(hosts, paused):  # noqa: F811
    before = content(hosts, "other", paused.instance)
    for name in ("local", "other"):
        source = source_of(hosts, name, paused)
        parents_folder = hosts.pool(name) / "sandlot-parents"
        parents_folder.mkdir(exist_ok=True)
        hosts.btrfs(name, "subvolume", "delete", parents_folder / source.name, check=False)
        hosts.btrfs(name, "subvolume", "snapshot", source, parents_folder / source.name)
        (parents_folder / source.name / "rootfs" / "half").mkdir()
    assert hosts.move(paused, "local")["host"] == "local"
    assert own_bytes(hosts, "local", paused.instance) < 20e6
    assert content(hosts, "local", paused.instance) == before
    goes_on(paused)


def test_it_goes_with_its_source(hosts, stack):  # noqa: F811
    pool = hosts.pool("local")
    source, parent = pool / "containers" / "sandlot_tpl-gone", pool / "sandlot-parents" / "sandlot_tpl-gone"
    parent.parent.mkdir(exist_ok=True)
    for path in (source, parent):
        hosts.btrfs("local", "subvolume", "create", path)
    subprocess.run([stack.root / "incus-bin" / "bin" / "btrfs", "subvolume", "delete", source], check=True, capture_output=True)
    assert not source.exists() and not parent.exists()
