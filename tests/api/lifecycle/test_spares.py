# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of a template's source that are made before a create wants one."""

import concurrent.futures
import secrets
import subprocess
import time

import pytest

from stack import wait_until
from tenant import Sandbox


class Source:
    """A template that nobody else uses, by what its host has of it."""

    def __init__(self, stack):
        self.stack = stack
        self.template = "spares-" + secrets.token_hex(5)
        rows = stack.query("SELECT v.fingerprint, h.pool FROM template_versions v JOIN templates t ON t.id = v.template_id"
                           " JOIN hosts h WHERE t.slug = %s AND v.state = 'ready' AND v.fingerprint <> '' LIMIT 1", stack.template)
        self.pool = stack.incus_dir / "storage-pools" / rows[0]["pool"]
        stack.ctl("template", "add", self.template, "--image", rows[0]["fingerprint"])
        (row,) = stack.query("SELECT v.id FROM template_versions v JOIN templates t ON t.id = v.template_id WHERE t.slug = %s",
                             self.template)
        (self.path,) = self.pool.glob(f"containers/*_tpl-{row['id'].removeprefix('tpv_')}")

    def spares(self):
        """Which subvolumes they are: of those that have what the source has."""
        changed_ns = changed(self.path)
        return {subvolume(path) for path in self.pool.glob(f"sandlot-spares/{self.path.name}.*") if changed(path) >= changed_ns}

    def wait(self, unlike=frozenset()):
        """Until as many as there should be are there, none of those before."""
        return wait_until(lambda: (now := self.spares()) and len(now) == 2 and not now & unlike and now, 30,
                          f"two copies of {self.path.name}")

    def delete(self):
        self.stack.ctl("template", "delete", self.template)


def changed(path):
    """When what incusd has in it was; 0: it goes, or is just being made."""
    try:
        return max(one.stat().st_mtime_ns for one in (path, path / "backup.yaml"))
    except FileNotFoundError:
        return 0


def subvolume(path):
    found = subprocess.run(["btrfs", "inspect-internal", "rootid", path], capture_output=True, text=True, check=False)
    return int(found.stdout) if found.returncode == 0 else None


@pytest.fixture
def source(stack, account):
    source = Source(stack)
    yield source
    account.clean_up()
    source.delete()


def create(stack, account, source):
    sandbox = Sandbox.create(account.api, template=source.template)
    return sandbox, stack.instance_dir(stack.row(sandbox.id)["instance_name"])


def test_a_create_takes_one_and_another_is_made(stack, account, source):
    before = source.wait()
    sandbox, folder = create(stack, account, source)
    assert subvolume(folder) in before
    assert sandbox.data.check("echo there") == "there\n"
    after = source.wait(unlike={subvolume(folder)})
    assert len(after & before) == 1


def test_what_was_made_before_a_change_is_not_used(stack, account, source):
    before = source.wait()
    new = source.path / "rootfs" / "etc" / "of-a-test"
    new.write_text("changed\n", encoding="ascii")
    sandbox, folder = create(stack, account, source)
    assert subvolume(folder) not in before
    assert sandbox.data.check("cat /etc/of-a-test") == "changed\n"
    source.wait(unlike=before)
    other, _ = create(stack, account, source)
    assert other.data.check("cat /etc/of-a-test") == "changed\n"


def test_none_is_given_to_two(stack, account, source):
    """More at once than there are copies."""
    source.wait()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: create(stack, account, source), range(4)))
    assert len({subvolume(folder) for _, folder in made}) == 4
    assert [sandbox.data.check("echo there") for sandbox, _ in made] == ["there\n"] * 4


@pytest.mark.long
def test_they_go_with_the_source(stack):
    source = Source(stack)
    source.wait()
    source.delete()
    wait_until(lambda: not source.path.exists(), 30, "the source is gone")
    time.sleep(2)  # none is made after it
    assert not list(source.pool.glob(f"sandlot-spares/{source.path.name}.*"))


def test_a_pool_has_no_more_than_so_many(stack, source):
    source.wait()
    folder = source.pool / "sandlot-spares"
    others = [folder / f"of-a-test-{number}" for number in range(64)]
    try:
        subprocess.run(["btrfs", "subvolume", "create", *others], check=True, capture_output=True)
        before = len(list(folder.iterdir()))
        another = Source(stack)
        another.wait()
        assert len(list(folder.iterdir())) <= before
        another.delete()
    finally:
        for path in others:
            subprocess.run(["btrfs", "subvolume", "delete", path], check=False, capture_output=True)
