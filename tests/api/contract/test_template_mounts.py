# SPDX-License-Identifier: GPL-2.0-or-later
"""RUN --mount=type=cache: what a command leaves in the folder, the next build of the team finds."""

import concurrent.futures
import time

import pytest

from client import assert_error
from image_registry import PLAIN, Image, ImageRegistry, layer, shell
from stack import wait_until
from tenant import Sandbox
from test_template_builds import built, create, nothing_is_left, slug, sources  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel

VOLUMES = "SELECT v.id, v.state, v.size_gb, t.slug AS team FROM volumes v JOIN teams t ON t.id = v.team_id WHERE v.name = '.build-cache'" \
          " AND v.state <> 'deleted' AND t.slug = %s"
CACHE = "--mount=type=cache,id=kept,target=/var/kept"


@pytest.fixture(autouse=True)
def no_build_cache_is_left(stack, nothing_is_left):  # noqa: F811
    yield
    stack.query("UPDATE volumes SET state = 'deleting', visible = 0, taken = NULL, lease_until_ms = 0"
                " WHERE name = '.build-cache' AND state = 'ready'"
                " AND id NOT IN (SELECT volume_id FROM sandbox_volumes)")


def build(api, base, lines, state="ready", timeout_s=180, **fields):
    """The version of a Dockerfile with these lines, whose steps all run."""
    create(api, name := slug(), dockerfile="\n".join([f"FROM {base}", *lines]), no_cache=True, **fields)
    return name, built(api, name, 1, state, query=f"?team={fields['team']}" if "team" in fields else "", timeout_s=timeout_s)


def said(version):
    """What the steps have printed."""
    return [line.split(" | ", 1)[1] for line in version["log"].splitlines() if " | " in line]


def add(word):
    return f"RUN {CACHE} ls -x /var/kept; echo {word} >/var/kept/{word}"


def test_the_next_build_finds_the_files(account, other_account, stack):
    api = account.api
    name, first = build(api, stack.template, [add("one"), "RUN ls -A /var/kept"])
    assert said(first) == [], "the folder is empty at first, and after the command"
    (volume,) = stack.query(VOLUMES, account.team)
    assert volume["state"] == "ready"
    _, second = build(api, stack.template, [add("two"), add("three")])
    assert said(second) == ["one", "one  two"]
    # It is in no version, in no list, and in no quota.
    sandbox = Sandbox.create(api, template=name)
    assert sandbox.data.check("ls -A /var/kept; ls -d /.sandlot* /dev/sandlot* 2>/dev/null || true", user="root") == ""
    assert api.get("/v1/volumes").json()["volumes"] == []
    for mounts in ({"/data": ".build-cache"}, {"/dev/sandlot-caches": "any"}, {"/dev/sandlot-caches": ".build-cache"}):
        assert_error(api.post("/v1/sandboxes", {"volume_mounts": mounts}), 422, "volume_not_found")
    # Another team has a cache of its own.
    _, other = build(other_account.api, stack.template, [add("four")])
    assert said(other) == []
    assert stack.query(VOLUMES, other_account.team)[0]["id"] != volume["id"]


@pytest.mark.long
def test_onbuild_of_the_base_finds_the_files(account, stack):
    api = account.api
    base, _ = build(api, stack.template, [f"ONBUILD {add('one')}"])
    build(api, base, [])
    _, second = build(api, base, [add("two")])
    assert said(second) == ["one", "one"]


@pytest.mark.long
def test_a_command_that_fails_changes_nothing(account, stack):
    api = account.api
    build(api, stack.template, [add("one")])
    build(api, stack.template, [f"RUN {CACHE} rm /var/kept/one; echo x >/var/kept/half; exit 3"], "failed")
    _, last = build(api, stack.template, [add("two"), f"RUN {CACHE.replace('/var/kept', '/k')},ro ls -x /k; rm /k/*", add("three")])
    assert said(last) == ["one", "one  two", "one  two"]


@pytest.mark.long
def test_folders_and_users(account, stack):
    """A folder of the image is there again after the command. The user of the command owns the files."""
    api = account.api
    lines = ["RUN mkdir -m 0711 /var/kept && echo own >/var/kept/own && mkdir -m 0777 /app && mkdir /empty",
             f"RUN {CACHE},sharing=locked,mode=0750,uid=3,gid=4 --mount=type=tmpfs,target=/empty/ stat -c '%a %u:%g' /var/kept;"
             " ls -A /var/kept; echo s >/var/kept/of-root; chown 5:6 /var/kept/of-root; echo t >/empty/t",
             "RUN stat -c %a /var/kept; cat /var/kept/*; ls -A /empty", "USER user", "WORKDIR /app",
             "RUN --mount=type=cache,target=.cache id -un >.cache/who && ls -A .cache; mkdir -p .cache/a/b; chmod 500 .cache/a",
             "RUN --mount=type=cache,target=/deep/one,uid=1000 id -un >/deep/one/who && stat -c %U /deep/one/who",
             "RUN --mount=type=cache,target=/app/.cache,id=.cache stat -c %U .cache/who && cat .cache/who"]
    _, first = build(api, stack.template, lines)
    assert said(first) == ["750 3:4", "711", "own", "who", "user", "user", "user"]
    _, second = build(api, stack.template, [f"RUN {CACHE} stat -c %u:%g /var/kept/of-root"])
    assert said(second) == ["5:6"]


@pytest.mark.long
def test_a_full_volume_breaks_no_build(account, stack):
    """Before each command, the service deletes files until half of the volume is free. So a member who fills it costs the others their caches."""
    api, mb = account.api, int(stack.settings["build_cache_mount_gb"]) * 1024
    volume = "/dev/sandlot-caches"

    def run(name, command):
        return f"RUN --mount=type=cache,id={name},target=/c {command}"

    def filled(lines):
        return build(api, stack.template, lines, timeout_s=600)

    fill = f"head -c {mb * 3 // 10}M /dev/zero >/c/zeros"
    show = run("small", f"ls -A /c; ls -A {volume}")
    _, first = filled([run("small", "echo x >/c/used"), run("one", fill), run("small", "ls /c"), run("two", fill),
                       run("small", "ls /c"), run("one", "ls /c"), run("two", "ls /c")])
    assert said(first) == ["used", "used", "zeros"], first["log"]
    _, hostile = filled([run("small", f"head -c {mb * 12 // 10}M /dev/zero >{volume}/x; mkdir -p {volume}/d/e; rm /c/*"), show])
    assert "Disk quota exceeded" in said(hostile)[0] and "The cache of /c is not saved." in said(hostile), hostile["log"]
    assert said(hostile)[-4] == "used" and all(line.endswith(".tar") for line in said(hostile)[-3:]), hostile["log"]
    # Names that a shell reads as an option, as several words, or does not see.
    _, named = filled([
        run("small", f"cd {volume}; for f in ./-x.tar .y.tar 'a b.tar' x.tar; do head -c {mb // 12}M /dev/zero >\"$f\"; done"), show])
    assert said(named)[0] == "used" and all(len(line) == 68 and line.endswith(".tar") for line in said(named)[1:]), named["log"]
    # An archive of a build that seems to run, with a date that never comes, takes more than half.
    _, last = filled([run("small", f"head -c {mb * 6 // 10}M /dev/zero >{volume}/new.x; touch -d 2040-01-01 {volume}/new.x"),
                      show, run("small", "echo y >/c/again"), run("small", "ls -A /c")])
    assert said(last) == ["again"], last["log"]


@pytest.mark.long
def test_two_builds_at_once(account, stack):
    """Each has a copy of the folder, and the last one that succeeds is kept whole."""
    api = account.api
    build(api, stack.template, [add("first")])
    lines = [[f"RUN {CACHE} ls -x /var/kept; echo a >/var/kept/{word}; sleep 3; ls -x /var/kept"] for word in ("one", "two")]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        shown = [said(version) for _, version in pool.map(lambda words: build(api, stack.template, words), lines)]
    for word, printed in zip(("one", "two"), shown):
        assert printed[-1].split() in (["first", word], ["first", "one", "two"]), shown
    _, last = build(api, stack.template, [add("end")])
    assert said(last)[0].split()[0] == "first" and len(said(last)[0].split()) in (2, 3)


@pytest.mark.long
def test_stages_of_images_share_it(account, stack, tmp_path):
    registry = ImageRegistry(stack, tmp_path)
    registry.start()
    try:
        registry.push("caching", Image([layer(*shell())]))
        for word in ("one", "two"):
            name, version = build(account.api, f"{PLAIN}/caching AS first", [
                add(word), f"FROM {PLAIN}/caching", add(f"{word}-of-second"), "COPY --from=first /bin/sh /copied"])
            assert version["log"].count("error") == 0
        kept = [line.split() for line in said(version) if line.startswith("one")]
        assert kept == [["one", "one-of-second"], ["one", "one-of-second", "two"]], version["log"]
        sandbox = Sandbox.create(account.api, template=name)
        result = sandbox.data.run("/bin/sh", "-c", "ls -d /.sandlot* /dev/sandlot* || true; ls -A /var/kept", user="root")
        assert result.stdout == b"", result
    finally:
        registry.stop()


@pytest.mark.long
def test_a_build_does_not_wait_for_the_volume(account, stack):
    """Here another process creates it."""
    build(account.api, stack.template, [add("one")])
    (volume,) = stack.query(VOLUMES, account.team)
    stack.query("UPDATE volumes SET state = 'creating', lease_until_ms = %s WHERE id = %s", int(time.time() + 600) * 1000, volume["id"])
    _, version = build(account.api, stack.template, [add("two")])
    stack.query("UPDATE volumes SET state = 'ready', lease_until_ms = 0 WHERE id = %s", volume["id"])
    assert "the folders of RUN --mount=type=cache begin empty" in version["log"] and said(version) == []


def test_the_end_of_a_team(account, stack):
    api, team = account.api, account.make_team()
    name, _ = build(api, stack.template, [add("one")], team=team)
    (volume,) = stack.query(VOLUMES, team)
    place = f"/1.0/storage-pools/{stack.incus.instance(next(iter(sources(stack))))['expanded_devices']['root']['pool']}/volumes/custom/vol-{volume['id'][4:]}"
    assert stack.incus.raw("GET", place)[0] == 200
    assert api.delete(f"/v1/templates/{name}?team={team}").status == 204
    wait_until(lambda: stack.ctl("team", "remove", team, check=False).returncode == 0, 60, "the end of the team", 0.5)
    wait_until(lambda: stack.incus.raw("GET", place)[0] == 404, 60, "the end of its caches")
