/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "runtime/agent_notes.h"

#define SANDBOX 4711
#define SILENCE 300

struct fixture {
    char dir[64];
    struct agent_notes *notes, *others; /* of two workers */
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    error_auto err = NULL;
    strcpy(fixture->dir, "/tmp/test_agent_notes.XXXXXX");
    if (!mkdtemp(fixture->dir))
        return -1;
    assert_ok(agent_notes_open(fixture->dir, "agents.notes", SILENCE, &fixture->notes, &err));
    assert_ok(agent_notes_open(fixture->dir, "agents.notes", SILENCE, &fixture->others, &err));
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char path[96];
    agent_notes_close(fixture->notes);
    agent_notes_close(fixture->others);
    snprintf(path, sizeof path, "%s/agents.notes", fixture->dir);
    unlink(path);
    rmdir(fixture->dir);
    free(fixture);
    return 0;
}

TEST_WITH(test_all_workers_know, set_up, tear_down)
{
    struct fixture *fixture = *state;
    assert_false(agent_notes_is_silent(fixture->others, SANDBOX));
    agent_notes_slow(fixture->notes, SANDBOX, 60000);
    assert_true(agent_notes_is_slow(fixture->others, SANDBOX));
    assert_false(agent_notes_is_silent(fixture->others, SANDBOX));
    agent_notes_silent(fixture->others, SANDBOX);
    assert_true(agent_notes_is_silent(fixture->notes, SANDBOX));
    assert_false(agent_notes_is_slow(fixture->notes, SANDBOX));
    agent_notes_answered(fixture->notes, SANDBOX);
    assert_false(agent_notes_is_silent(fixture->others, SANDBOX));
}

/* Two sandboxes on one place: neither is ever taken for the other. */
TEST_WITH(test_a_place_belongs_to_one, set_up, tear_down)
{
    struct fixture *fixture = *state;
    agent_notes_silent(fixture->notes, SANDBOX);
    assert_false(agent_notes_is_silent(fixture->notes, SANDBOX + 4096));
    agent_notes_answered(fixture->notes, SANDBOX + 4096);
    assert_true(agent_notes_is_silent(fixture->notes, SANDBOX));
    agent_notes_slow(fixture->notes, SANDBOX + 4096, 60000);
    assert_false(agent_notes_is_silent(fixture->notes, SANDBOX));
    assert_false(agent_notes_is_silent(fixture->notes, SANDBOX + 4096));
    assert_true(agent_notes_is_slow(fixture->notes, SANDBOX + 4096));
}

/* An answer counts for a moment, for its sandbox alone, and until the agent is silent. */
TEST_WITH(test_an_answer_is_fresh, set_up, tear_down)
{
    struct fixture *fixture = *state;
    assert_false(agent_notes_is_fresh(fixture->notes, SANDBOX));
    agent_notes_answered(fixture->notes, SANDBOX);
    assert_true(agent_notes_is_fresh(fixture->others, SANDBOX));
    assert_false(agent_notes_is_fresh(fixture->others, SANDBOX + 4096));
    agent_notes_silent(fixture->others, SANDBOX);
    assert_false(agent_notes_is_fresh(fixture->notes, SANDBOX));
}

TEST_WITH(test_times_end, set_up, tear_down)
{
    struct fixture *fixture = *state;
    agent_notes_slow(fixture->notes, SANDBOX, 0);
    assert_false(agent_notes_is_slow(fixture->notes, SANDBOX));
}
