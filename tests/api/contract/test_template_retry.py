# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of a build from an offset, and failed builds that are built again."""

import secrets

import pytest

from cli import Cli
from client import assert_error
from stack import wait_until
from tenant import Sandbox
from test_template_builds import built, create, nothing_is_left, slug, version  # noqa: F401 (a fixture)
from test_template_steps import HASH, archive, no_recipe_file_is_left, upload  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel


def again(api, name, number, **fields):
    return api.post(f"/v1/templates/{name}/versions", {"retry": number, **fields})


def settled(stack, name):
    """A build keeps its steps when its sandbox has gone."""
    wait_until(lambda: not stack.query(
        "SELECT 1 FROM template_recipes r JOIN template_versions v ON v.id = r.template_version_id"
        " JOIN templates t ON t.id = v.template_id WHERE t.slug = %s AND r.state <> 'done'", name), 60, "the end of the build")


def sealed(stack, name):
    return [row["size"] for row in stack.query(
        "SELECT COALESCE(LENGTH(r.sealed), 0) AS size FROM template_recipes r"
        " JOIN template_versions v ON v.id = r.template_version_id JOIN templates t ON t.id = v.template_id"
        " WHERE t.slug = %s ORDER BY v.version", name)]


def test_a_log_is_taken_up_from_an_offset(account, other_account, stack):
    api, name = account.api, slug()
    create(api, name, template=stack.template, steps=[{"type": "run", "command": "echo käse; sleep 2; echo more"}])
    pieces, end, state = [], 0, "building"

    def next_piece():
        nonlocal end, state
        shown = version(api, name, 1, f"?log_offset={end}")
        pieces.append(shown["log"])
        assert shown["log_end"] == end + len(shown["log"].encode())
        end, state = shown["log_end"], shown["state"]
        return state != "building"

    wait_until(next_piece, 60, "the build", 0.1)
    whole = version(api, name, 1)
    assert state == "ready" and "".join(pieces) == whole["log"] and len([piece for piece in pieces if piece]) > 1
    assert whole["log_end"] == end == len(whole["log"].encode())
    # Not half a character.
    inside = whole["log"].encode().index("ä".encode()) + 1
    assert version(api, name, 1, f"?log_offset={inside}")["log"].startswith("se; ")
    assert version(api, name, 1, f"?log_offset={end + 5}") == {**whole, "log": ""}
    for wrong in ("-1", "a", "", "1" * 30):
        assert_error(api.get(f"/v1/templates/{name}/versions/1?log_offset={wrong}"), 422, "invalid_request", "log_offset")
    assert api.request("PATCH", f"/v1/templates/{name}", {"public": True}).status == 200
    foreign = version(other_account.api, f"{account.team}%2F{name}", 1)
    assert (foreign["log"], foreign["log_end"]) == ("", 0)


def test_a_failed_build_is_built_again(account, stack):
    """The step that failed asks for a file, which the context has the second time."""
    api, name = account.api, slug()
    upload(api, archive(wanted=b"no"))
    create(api, name, dockerfile=f"FROM {stack.template}\nARG WORD\nENV SAID=$WORD\nRUN sleep 1.2 && date +%N >/first\n"
                                 "COPY wanted /wanted\nRUN grep -q yes /wanted\n",
           context=HASH, build_args={"WORD": "kept"}, tags=["v1"], runtime_baseline={"cpu": 1, "memory_mb": 384})
    failed = built(api, name, 1, "failed")
    settled(stack, name)
    assert sealed(stack, name)[0] > 0
    upload(api, archive(wanted=b"yes"))
    made = again(api, name, 1)
    assert made.status == 201 and made.json()["version"] == 2, made
    assert made.json()["runtime_baseline"] == failed["runtime_baseline"]
    second = built(api, name, 2)
    assert [step["title"] for step in second["steps"]] == [step["title"] for step in failed["steps"]]
    assert [step["cached"] for step in second["steps"]][1] is True, "the step that succeeded does not run again"
    assert version(api, name, 1) == failed, "the failed version stays"
    sandbox = Sandbox.create(api, template=f"{name}:v1")
    assert sandbox.data.check("cat /wanted; echo $SAID") == "yeskept\n"
    settled(stack, name)
    assert sealed(stack, name)[1] == 0
    assert api.delete(f"/v1/templates/{name}/versions/1").status == 204
    assert sealed(stack, name) == [0, 0]


@pytest.mark.long
def test_onbuild_of_the_base_runs_once_again(account, stack):
    api, base, name = account.api, slug(), slug()
    create(api, base, dockerfile=f"FROM {stack.template}\nONBUILD EXPOSE 82\nONBUILD RUN echo once >>/once\n")
    built(api, base, 1)
    create(api, name, dockerfile=f"FROM {base}\nRUN cat /once; exit 1\n")
    failed = built(api, name, 1, "failed")
    settled(stack, name)
    assert again(api, name, 1).status == 201
    second = built(api, name, 2, "failed")
    assert [step["title"] for step in second["steps"]] == [step["title"] for step in failed["steps"]] == [
        "run echo once >>/once", "run cat /once; exit 1"]


def test_a_build_from_an_image_is_built_again(account, stack):
    image, name = "gone-" + secrets.token_hex(4), slug()
    stack.ctl("image", "allow", image)
    try:
        create(account.api, name, image=image)
        built(account.api, name, 1, "failed")
        assert again(account.api, name, 1).status == 201
        assert built(account.api, name, 2, "failed")["image"] == image
    finally:
        stack.ctl("image", "disallow", image)
    assert_error(again(account.api, name, 2), 422, "invalid_request", "/image")


def test_what_cannot_be_built_again(account, other_account, stack):
    api, name = account.api, slug()
    upload(api, archive(one=b"1"))
    create(api, name, template=stack.template, steps=[{"type": "copy", "files": HASH, "source": "one", "destination": "/one"},
                                                      {"type": "run", "command": "exit 1"}])
    assert_error(again(api, name, 1), 422, "invalid_request", "/retry")  # it still runs
    built(api, name, 1, "failed")
    settled(stack, name)
    for number in (2, 0, -1, "1", 2**32):
        assert_error(again(api, name, number), 422, "invalid_request", "/retry")
    for more in ({"template": stack.template}, {"dockerfile": "FROM x"}, {"checkpoint_id": "ckp_x"}):
        assert_error(again(api, name, 1, **more), 422, "invalid_request", "/retry")
    for more in ({"steps": []}, {"tags": ["a"]}, {"start_command": "true"}, {"no_cache": True}, {"build_args": {}}):
        assert_error(again(api, name, 1, **more), 422, "invalid_request", f"/{next(iter(more))}")
    assert_error(api.post("/v1/templates", {"slug": slug(), "retry": 1}), 422, "invalid_request", "/retry")
    assert_error(again(other_account.api, name, 1), 422, "invalid_request", "/retry")
    stack.query("DELETE f FROM recipe_files f JOIN teams t ON t.id = f.team_id WHERE t.slug = %s", account.team)
    assert "files" in assert_error(again(api, name, 1), 422, "invalid_request", "/retry")["message"]
    assert api.get(f"/v1/templates/{name}/versions").json()["versions"][0]["version"] == 1, "no refusal has made a version"
    assert built(api, name, 1, "failed")["base_version"]


def test_steps_with_a_login_are_not_kept(account, stack):
    name = slug()
    create(account.api, name, from_image="registry.invalid/none", registry_login={"user": "a", "password": "b"})
    built(account.api, name, 1, "failed", timeout_s=120)
    settled(stack, name)
    assert sealed(stack, name) == [0]
    assert "login" in assert_error(again(account.api, name, 1), 422, "invalid_request", "/retry")["message"]


def test_the_command_line_follows_and_retries(account, stack, tmp_path):
    cli, name = Cli(stack, tmp_path, account.api.key), slug()
    (tmp_path / "context").mkdir()
    (tmp_path / "context/Dockerfile").write_text(f"FROM {stack.template}\nRUN sleep 3\nRUN echo said; exit 1\n")
    terminal = cli.terminal("template", "build", name, str(tmp_path / "context"), "--follow")
    terminal.expect("0 of 2 steps  run sleep 3")  # the line that is written again and again
    terminal.expect("| said")
    assert terminal.wait() == 1
    plain = cli("template", "log", "--follow", name)
    assert plain.returncode == 1 and b"| said" in plain.stdout and b"\033" not in plain.stdout + plain.stderr
    settled(stack, name)
    done = cli("template", "build", name, "--retry", "1", "--follow")
    assert done.stdout.startswith(b"2\n") and b"step 1 of 2, line 2: run sleep 3: cached" in done.stdout, done
    assert b"of 2 steps" not in done.stderr
    assert cli("template", "build", name, "--retry", "1", "--image", "x").returncode == 2
    assert cli("template", "build", slug(), "--retry", "1").returncode == 1
