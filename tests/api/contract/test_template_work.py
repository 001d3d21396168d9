# SPDX-License-Identifier: GPL-2.0-or-later
"""Recipes that cost the service much more than they cost their team: other teams' builds go on."""

import io
import tarfile

import pytest

from test_template_builds import built, create, nothing_is_left, slug  # noqa: F401 (a fixture)
from test_template_steps import HASH, no_recipe_file_is_left, upload  # noqa: F401 (a fixture)

STEPS = 200  # the most of a recipe
FILES = 12000


@pytest.fixture
def hostile(make_account):
    """As many as there are processes for the steps of builds."""
    return [make_account("pro").api for _ in range(2)]


def doubling():
    """Each step doubles a variable, and has as many others as it may."""
    steps = []
    for number in range(STEPS):
        envs = {f"{number:x}_{one:x}": "$V$V" for one in range(255)}
        steps.append({"type": "env", "expand": True, "envs": {**envs, "V": "$V$V" if number else "0123456789"}})
    return steps


def long_names():
    """The largest listing that an archive may have, of names that look like the pattern until their end."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for number in range(FILES):
            tar.addfile(tarfile.TarInfo("a" * 240 + f"{number:05}a"))
    return packed.getvalue()


def assert_others_build(stack, bystander):
    name = slug()
    create(bystander.api, name, template=stack.template, steps=[{"type": "run", "command": "true"}])
    built(bystander.api, name, 1, timeout_s=180)


def test_variables_that_double(stack, hostile, bystander):
    names = [slug() for _ in hostile]
    for api, name in zip(hostile, names):
        create(api, name, template=stack.template, steps=doubling())
    assert_others_build(stack, bystander)
    for api, name in zip(hostile, names):
        assert "variables of the build have more than 256 KiB together" in built(api, name, 1, "failed", timeout_s=180)["log"]


def test_patterns_that_match_at_their_end(stack, hostile, bystander):
    names, archive = [slug() for _ in hostile], long_names()
    copy = {"type": "copy", "files": HASH, "source": "*" + "[!b]" * 120 + "b", "destination": "/tmp/"}
    for api, name in zip(hostile, names):
        upload(api, archive)
        create(api, name, template=stack.template, steps=[{"type": "run", "command": "exit 3"}] + [copy] * (STEPS - 1))
    assert_others_build(stack, bystander)
    for api, name in zip(hostile, names):
        assert "ended with status 3" in built(api, name, 1, "failed", timeout_s=180)["log"]
