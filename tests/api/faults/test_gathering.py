# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sandbox is made of is on several hosts, or on one without room: it comes together on one."""

import secrets

import pytest

from client import assert_error
from faults import wrong_counters
from stack import wait_until
from tenant import Sandbox, checkpoint_of
from two_hosts import TwoHosts
from volumes import Volume

pytestmark = pytest.mark.hosts


@pytest.fixture
def hosts(stack):
    both = TwoHosts.up(stack)
    both.take("local", "other")
    yield both
    both.add_again("local")
    both.take("other")


@pytest.fixture
def api(make_account):
    return make_account("pro").api


def volume_on(hosts, api, name):
    """One with a file in it."""
    hosts.take(name)
    made = Volume(api)
    hosts.take("local", "other")
    made.write("/file", made.id.encode())
    assert hosts.host_of("volumes", made.id) == name
    return made


def with_all(hosts, api, *volumes, **fields):
    """A sandbox with them, which has what is in them."""
    sandbox = Sandbox.create(api, volume_mounts={f"/v{i}": one.name for i, one in enumerate(volumes)}, **fields)
    for i, one in enumerate(volumes):
        assert sandbox.data.check(f"cat /v{i}/file") == one.id
        assert hosts.host_of("volumes", one.id) == hosts.of(sandbox)
    wait_until(lambda: not wrong_counters(hosts.stack.query), 30, "counters that are right")
    return sandbox


def test_volumes_of_a_team_are_on_one_host(hosts, api, stack):
    assert len({hosts.host_of("volumes", Volume(api).id) for _ in range(4)}) == 1


@pytest.mark.short
def test_volumes_on_two_hosts_come_together(hosts, api):
    one, two, three = (volume_on(hosts, api, name) for name in ("local", "other", "local"))
    sandbox = with_all(hosts, api, one, two, three)
    sandbox.data.check("echo more >/v1/later; sync")
    api.destroy(sandbox.id)
    wait_until(lambda: two.get("/later").status == 200, 60, "what was written in its new place")


def test_the_same_volume_twice(hosts, api):
    one, two = volume_on(hosts, api, "local"), volume_on(hosts, api, "other")
    with_all(hosts, api, one, two, two)


def test_one_that_is_in_use_stays_where_it_is(hosts, api):
    one, two = volume_on(hosts, api, "local"), volume_on(hosts, api, "other")
    user = Sandbox.create(api, volume_mounts={"/data": two.name})
    sandbox = with_all(hosts, api, one, two)
    assert hosts.of(sandbox) == hosts.of(user) == "other"


def test_two_that_are_in_use_do_not_come_together(hosts, api):
    one, two = volume_on(hosts, api, "local"), volume_on(hosts, api, "other")
    for volume in (one, two):
        Sandbox.create(api, volume_mounts={"/data": volume.name})
    answer = api.post("/v1/sandboxes", {"volume_mounts": {"/one": one.name, "/two": two.name}})
    assert assert_error(answer, 422, "invalid_request")["field"] in ("/volume_mounts/~1one", "/volume_mounts/~1two")
    assert "on another host" in answer.json()["message"]


def test_a_checkpoint_comes_to_the_volumes(hosts, api, stack):
    volume = volume_on(hosts, api, "other")
    original = hosts.make(api, "local")
    original.data.check("echo on disk >kept; sync")
    checkpoint = checkpoint_of(original)
    sandbox = with_all(hosts, api, volume, template=checkpoint["id"])
    assert hosts.of(sandbox) == hosts.host_of("checkpoints", checkpoint["id"]) == "other"
    assert sandbox.data.check("cat kept") == "on disk\n"


def forget_sources(hosts, name):
    """As if all templates had come while it took none."""
    stack = hosts.stack
    rows = stack.query("SELECT s.instance_name AS source FROM template_sources s JOIN hosts h ON h.id = s.host_id"
                       " WHERE h.name = %s", name)
    stack.query("DELETE s FROM template_sources s JOIN hosts h ON h.id = s.host_id WHERE h.name = %s", name)
    for row in rows:
        hosts.incus(name).request("DELETE", f"/1.0/instances/{row['source']}")
    return {row["source"] for row in rows}


def test_a_template_comes_to_the_volumes(hosts, api):
    volume = volume_on(hosts, api, "local")
    forget_sources(hosts, "local")
    assert hosts.of(with_all(hosts, api, volume)) == "local"


def test_templates_that_came_while_a_host_took_none_are_built_with_its_activation(hosts, stack):
    hosts.take("other")
    forgotten = forget_sources(hosts, "local")
    assert stack.ctl("host", "activate", "local")["sources_built"] >= 1
    assert forgotten & hosts.incus("local").names()
    assert stack.ctl("host", "activate", "local")["sources_built"] == 0


@pytest.fixture
def image(hosts, stack):
    """A name of the default template's image that only one host knows, as after `incus image import` there."""
    (row,) = stack.query("SELECT v.fingerprint FROM template_versions v JOIN templates t ON t.id = v.template_id"
                         " WHERE t.slug = %s AND v.fingerprint <> '' AND v.state = 'ready' ORDER BY v.version DESC LIMIT 1", stack.template)
    alias = "only-here-" + secrets.token_hex(4)
    local = hosts.incus("local")
    local.request("POST", "/1.0/images/aliases", {"name": alias, "target": row["fingerprint"]})
    yield alias
    local.request("DELETE", f"/1.0/images/aliases/{alias}")


def hosts_of_version(stack, version_id):
    rows = stack.query("SELECT h.name FROM template_sources s JOIN hosts h ON h.id = s.host_id WHERE s.template_version_id = %s",
                       version_id)
    return {row["name"] for row in rows}


def test_hosts_without_the_image_copy_the_version(hosts, api, image, stack):
    """A host that joined by a token has no images."""
    slug = "t" + secrets.token_hex(5)
    add = ("template", "add", slug, "--image", image, "--cpu", "1", "--memory-mb", "256")
    first = stack.ctl(*add)
    assert hosts_of_version(stack, first["id"]) >= {"local", "other"}
    assert hosts.make(api, "other", template=slug).data.check("echo runs") == "runs\n"
    # The front node takes no sandboxes, and only it has the image.
    hosts.take("other")
    second = stack.ctl(*add)
    assert "other" in hosts_of_version(stack, second["id"])
    assert hosts.make(api, "other", template=f"{slug}:2").data.check("echo runs") == "runs\n"
    refused = stack.ctl("template", "add", slug, "--image", "nowhere-" + image, check=False)
    assert refused.returncode == 1 and "nowhere" in refused.stderr


def test_a_host_that_lacks_image_and_source_gets_them_with_its_activation(hosts, image, stack):
    hosts.take("local")
    version = stack.ctl("template", "add", "t" + secrets.token_hex(5), "--image", image, "--cpu", "1", "--memory-mb", "256")
    name_image = lambda name: stack.query("UPDATE template_versions SET fingerprint = %s WHERE id = %s", name, version["id"])
    assert "other" not in hosts_of_version(stack, version["id"])
    name_image(image)
    try:
        assert stack.ctl("host", "activate", "other")["sources_built"] >= 1
    finally:
        name_image(version["fingerprint"])
    assert "other" in hosts_of_version(stack, version["id"])


def test_volumes_whose_host_is_full_go_to_one_with_room(hosts, api, stack):
    one, two = volume_on(hosts, api, "other"), volume_on(hosts, api, "other")
    with hosts.full("other"):
        assert hosts.of(with_all(hosts, api, one, two)) == "local"


def test_all_of_it_goes_to_a_third_place(hosts, api, stack):
    """Volumes on a host that is full, and the other lacks the template."""
    volume = volume_on(hosts, api, "other")
    forget_sources(hosts, "local")
    with hosts.full("other"):
        assert hosts.of(with_all(hosts, api, volume)) == "local"


def test_nowhere_is_room(hosts, api, stack):
    volume = volume_on(hosts, api, "other")
    with hosts.full("other"), hosts.full("local"):
        assert_error(api.post("/v1/sandboxes", {"volume_mounts": {"/data": volume.name}}), 503, "no_capacity")
    assert hosts.host_of("volumes", volume.id) == "other"
    assert hosts.of(with_all(hosts, api, volume)) == "other"
