# SPDX-License-Identifier: GPL-2.0-or-later
"""Templates and checkpoints that a test makes are deleted after it. Files that run at the same time keep theirs."""

import contextlib

import pytest

from stack import wait_until
from tenant import TEAMS

CHECKPOINTS = "SELECT c.id, c.state, t.slug FROM checkpoints c JOIN teams t ON t.id = c.team_id"
VERSIONS = ("SELECT v.id, v.state, t.slug FROM template_versions v JOIN templates p ON p.id = v.template_id"
            " JOIN teams t ON t.id = p.owner")
BUILDS = ("SELECT r.template_version_id AS id, r.state, t.slug FROM template_recipes r JOIN teams t ON t.id = r.team_id")


def own(stack, select, *states):
    """The ids of rows that belong to a team of this process, in one of the states (without states: not deleted)."""
    return {row["id"] for row in stack.query(select) if row["slug"] in TEAMS
            and (row["state"] in states if states else row["state"] != "deleted")}


def delete_checkpoints(stack, kept=frozenset()):
    for made in own(stack, CHECKPOINTS, "ready", "kept") - kept:
        stack.query("UPDATE checkpoints SET state = 'deleting', name = NULL WHERE id = %s", made)
        stack.query("UPDATE usage_intervals SET ended_at_ms = started_at_ms WHERE sandbox_id = %s", made)


def delete_versions(stack, kept=frozenset()):
    wait_until(lambda: not own(stack, BUILDS, "running", "copying", "starting"), 120, "the end of the builds")
    for made in own(stack, VERSIONS, "building", "ready", "failed") - kept:
        stack.query("UPDATE template_recipes SET state = 'done' WHERE template_version_id = %s", made)
        stack.query("DELETE FROM template_tags WHERE template_version_id = %s", made)
        stack.query("UPDATE template_versions SET state = 'deleting', lease_until_ms = 0 WHERE id = %s", made)


def delete_recipe_files(stack):
    wait_until(lambda: not own(stack, BUILDS, "running", "copying", "starting"), 120, "the end of the builds")
    if TEAMS:
        stack.query("DELETE f FROM recipe_files f JOIN teams t ON t.id = f.team_id WHERE t.slug IN %s", tuple(TEAMS))


@contextlib.contextmanager
def deleted_after(stack):
    checkpoints = own(stack, CHECKPOINTS, "ready", "kept")
    versions = own(stack, VERSIONS, "building", "ready", "failed")
    yield
    delete_versions(stack, versions)
    delete_checkpoints(stack, checkpoints)


@pytest.fixture(autouse=True)
def no_checkpoint_is_left(stack):
    """For modules that import it."""
    before = own(stack, CHECKPOINTS)
    yield
    delete_checkpoints(stack, before)
    wait_until(lambda: own(stack, CHECKPOINTS) <= before, stack.lease_s + 20, "the end of the test's checkpoints", 0.1)
