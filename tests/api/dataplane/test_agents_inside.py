# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of doc/howto/run-coding-agents.md, checked in a sandbox."""

import pytest

pytestmark = pytest.mark.parallel


def test_namespaces_are_refused(shared_sandbox):
    for user in ("user", "root"):
        for options in ("-Ur", "-m", "-p"):
            result = shared_sandbox.data.bash(f"unshare {options} true", user=user)
            assert result.exit_code != 0 and b"not permitted" in result.stderr, (user, options, result)


def test_landlock_is_there(shared_sandbox):
    """landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION): the version of its interface."""
    script = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"
    assert int(shared_sandbox.data.check(f"python3 -c '{script}'")) >= 1


def test_it_says_that_it_is_a_container(shared_sandbox):
    assert shared_sandbox.data.check("cat /run/.containerenv; echo $container").split() == ['engine="sandlot"', "lxc"]
