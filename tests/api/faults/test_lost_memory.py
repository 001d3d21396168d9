# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory images that are gone, cut off or another's: one start from the disk, and nothing is left."""

import os
import shutil
import subprocess

import pytest

from stack import wait_until
from tenant import Sandbox

pytestmark = pytest.mark.long


def gone(image):
    shutil.rmtree(image)


def empty(image):
    for part in image.iterdir():
        part.unlink()


def a_file_in_its_place(image):
    shutil.rmtree(image)
    image.write_bytes(b"")


def cut(part, share):
    size = part.stat().st_size
    os.truncate(part, int(size * share))


def largest_half(image):
    """The largest of its files may be the log."""
    cut(max(image.glob("pages-*.img"), key=lambda part: part.stat().st_size), 0.5)


def without(name):
    def damage(image):
        (image / name).unlink()

    damage.__name__ = f"without {name}"
    return damage


def cut_off(name, share):
    def damage(image):
        cut(image / name, share)

    damage.__name__ = f"{name} cut to {share}"
    return damage


def all_cut(image):
    for part in image.iterdir():
        cut(part, 0.5)


def every_file_empty(image):
    for part in image.iterdir():
        cut(part, 0)


def of_another_criu(image):
    """The first word of every image says which generation of CRIU wrote it."""
    for part in image.glob("*.img"):
        with part.open("r+b") as file:
            file.write(b"\xff\xff\xff\xff")


def of_another_machine(image):
    """What it says of registers and processor state does not fit this one."""
    for part in image.glob("core-*.img"):
        with part.open("r+b") as file:
            file.seek(16)
            file.write(b"\xff" * 64)


# One of each kind always, the others with what takes long.
DAMAGES = [
    gone, a_file_in_its_place, largest_half, of_another_criu, without("inventory.img"),
    empty, all_cut, every_file_empty, of_another_machine,
    without("core-1.img"), without("pages-1.img"), without("pstree.img"),
    cut_off("pages-1.img", 0), cut_off("inventory.img", 0), cut_off("core-1.img", 0.5),
]


def links_of_nobody(stack):
    """Pairs of interfaces of this stack of which both ends are on the host."""
    listed = subprocess.run(["ip", "-o", "link", "show", "type", "veth"], capture_output=True, text=True, check=True)
    names = [line.split(": ")[1] for line in listed.stdout.splitlines()]
    return [name for name in names if name.startswith(stack.nic_prefix) and not name.split("@")[1].startswith("if")]


def assert_no_links_of_nobody(stack):
    """An instance of the warm pool that starts has both of its ends on the host for a moment."""
    wait_until(lambda: not links_of_nobody(stack), 30, "no pair of interfaces without a sandbox", 0.2)


def routes_to(stack, address):
    listed = subprocess.run(stack.on_host("ip", "-4", "-o", "route", "show", "exact", f"{address}/32"),
                            capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_memory_image_that_does_not_restore(api, stack, damage):
    sandbox = Sandbox.create(api)
    address = sandbox.address
    sandbox.data.upload("kept", b"on the disk")
    boot = sandbox.boot_id()
    sandbox.pause()
    damage(stack.instance_dir(sandbox.instance) / "state")
    resumed = sandbox.resume()
    assert (resumed["state"], resumed["resumed_from"]) == ("ready", "disk")
    assert sandbox.boot_id() != boot and sandbox.data.read("kept") == b"on the disk"
    assert len(routes_to(stack, address)) == 1
    assert_no_links_of_nobody(stack)
    (resume,) = stack.query("SELECT * FROM operations WHERE sandbox_id = %s AND kind = 'resume'", sandbox.id)
    assert (resume["state"], resume["attempts"]) == ("done", 1) and resume["last_error"]

    boot = sandbox.boot_id()
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory", "the next image is a good one"
    assert sandbox.boot_id() == boot
    api.destroy(sandbox.id)
    sandbox.wait_until_removed()
    assert not routes_to(stack, address)
    assert_no_links_of_nobody(stack)


def test_an_interface_of_an_earlier_start(sandbox, stack):
    """It has the name that the next start would use, and the memory is restored with another one."""
    boot = sandbox.boot_id()
    sandbox.pause()
    names = [stack.incus.instance(sandbox.instance)["devices"]["eth0"]["host_name"]]
    subprocess.run(stack.on_host("ip", "link", "add", names[0], "type", "veth", "peer", "name", "leftover"), check=True)
    try:
        assert sandbox.resume()["resumed_from"] == "memory"
    finally:
        subprocess.run(stack.on_host("ip", "link", "delete", names[0]), check=True)
    assert sandbox.boot_id() == boot
    for _ in range(2):
        names.append(stack.incus.instance(sandbox.instance)["devices"]["eth0"]["host_name"])
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
    assert names[0] != names[1] == names[2], "a name stays as long as it is free"
