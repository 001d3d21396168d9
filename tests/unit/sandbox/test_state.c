/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "base/state_words.h"
#include "base/str.h"
#include "sandbox/sandbox_state.h"

TEST(names_are_their_own_inverse)
{
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
        enum sandbox_state parsed;
        assert_int_equal(sandbox_state_parse(sandbox_state_name((enum sandbox_state)i), &parsed),
                         0);
        assert_int_equal(parsed, i);
    }
    enum sandbox_state parsed;
    assert_int_equal(sandbox_state_parse("running", &parsed), -1);
    assert_int_equal(sandbox_state_parse("", &parsed), -1);
}

TEST(only_listed_moves_are_legal)
{
    static const struct {
        enum sandbox_event event;
        enum sandbox_state from, to;
    } legal[] = {
        {SANDBOX_EVENT_CREATED, SANDBOX_CREATING, SANDBOX_READY},
        {SANDBOX_EVENT_CREATED, SANDBOX_RESTORING, SANDBOX_READY},
        {SANDBOX_EVENT_PAUSE, SANDBOX_READY, SANDBOX_STOPPING},
        {SANDBOX_EVENT_PAUSED, SANDBOX_STOPPING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_PAUSE_FAILED, SANDBOX_STOPPING, SANDBOX_READY},
        {SANDBOX_EVENT_RESUME, SANDBOX_STOPPED, SANDBOX_RESTORING},
        {SANDBOX_EVENT_RESUMED, SANDBOX_RESTORING, SANDBOX_READY},
        {SANDBOX_EVENT_RESUME_FAILED, SANDBOX_RESTORING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_ROLLBACK, SANDBOX_READY, SANDBOX_RESTORING},
        {SANDBOX_EVENT_ROLLBACK, SANDBOX_STOPPED, SANDBOX_RESTORING},
        {SANDBOX_EVENT_CHECKPOINT, SANDBOX_READY, SANDBOX_CHECKPOINTING},
        {SANDBOX_EVENT_CHECKPOINTED, SANDBOX_CHECKPOINTING, SANDBOX_READY},
        {SANDBOX_EVENT_CHECKPOINT_FAILED, SANDBOX_CHECKPOINTING, SANDBOX_READY},
        {SANDBOX_EVENT_CHECKPOINT, SANDBOX_STOPPED, SANDBOX_COPYING},
        {SANDBOX_EVENT_CHECKPOINTED, SANDBOX_COPYING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_CHECKPOINT_FAILED, SANDBOX_COPYING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_MOVE, SANDBOX_STOPPED, SANDBOX_MOVING},
        {SANDBOX_EVENT_MOVED, SANDBOX_MOVING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_MOVE_FAILED, SANDBOX_MOVING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_DIED, SANDBOX_READY, SANDBOX_STOPPED},
        {SANDBOX_EVENT_LOST, SANDBOX_READY, SANDBOX_STOPPED},
        {SANDBOX_EVENT_LOST, SANDBOX_RESTORING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_LOST, SANDBOX_CHECKPOINTING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_LOST, SANDBOX_STOPPING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_LOST, SANDBOX_COPYING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_LOST, SANDBOX_MOVING, SANDBOX_STOPPED},
        {SANDBOX_EVENT_LOST, SANDBOX_STOPPED, SANDBOX_STOPPED},
        {SANDBOX_EVENT_DESTROYED, SANDBOX_DESTROYING, SANDBOX_DESTROYED},
    };
    for (unsigned event = SANDBOX_EVENT_CREATED; event <= SANDBOX_EVENT_DESTROYED; event++) {
        if (event == SANDBOX_EVENT_DELETE)
            continue;
        for (unsigned from = 0; from < SANDBOX_STATE_COUNT; from++) {
            error_auto err = NULL;
            enum sandbox_state to;
            int expected = -1;
            for (size_t i = 0; i < ARRAY_SIZE(legal); i++)
                if (legal[i].event == event && legal[i].from == from)
                    expected = (int)legal[i].to;
            int result =
                sandbox_state_next((enum sandbox_state)from, (enum sandbox_event)event, &to, &err);
            assert_int_equal(result, expected < 0 ? -1 : 0);
            if (expected >= 0)
                assert_int_equal(to, expected);
            else
                assert_non_null(strstr(err->message, sandbox_state_word((enum sandbox_state)from)));
        }
    }
}

TEST(delete_is_legal_wherever_a_sandbox_is_shown)
{
    for (unsigned from = 0; from < SANDBOX_STATE_COUNT; from++) {
        error_auto err = NULL;
        enum sandbox_state to;
        int result = sandbox_state_next((enum sandbox_state)from, SANDBOX_EVENT_DELETE, &to, &err);
        assert_int_equal(result, sandbox_state_is_shown((enum sandbox_state)from) ? 0 : -1);
    }
}

TEST(stopped_is_told_from_busy)
{
    struct error *err = NULL;
    enum sandbox_state to;
    assert_fails_saying(sandbox_state_next(SANDBOX_STOPPED, SANDBOX_EVENT_PAUSE, &to, &err),
                        ERR_SANDBOX_NOT_RUNNING, "paused");
    assert_fails_saying(sandbox_state_next(SANDBOX_RESTORING, SANDBOX_EVENT_PAUSE, &to, &err),
                        ERR_SANDBOX_BUSY, "resuming");
}

/* Each call answers that a sandbox in a transition is busy. A move looks like a pause. */
TEST(calls_that_need_a_running_sandbox)
{
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
        enum sandbox_state one = (enum sandbox_state)i;
        error_auto err = NULL;
        int result = sandbox_state_require_running(one, "; wait", &err);
        assert_int_equal(result, sandbox_state_runs(one) ? 0 : -1);
        if (result == 0)
            continue;
        bool is_paused = one == SANDBOX_STOPPED || one == SANDBOX_MOVING;
        assert_int_equal(err->code, is_paused ? ERR_SANDBOX_NOT_RUNNING : ERR_SANDBOX_BUSY);
        autofree char *message = xasprintf("The sandbox is %s; wait.", sandbox_state_word(one));
        assert_string_equal(err->message, message);
    }
    assert_true(sandbox_state_runs(SANDBOX_READY) && sandbox_state_runs(SANDBOX_CHECKPOINTING));
    assert_false(sandbox_state_runs(SANDBOX_STOPPING) || sandbox_state_runs(SANDBOX_RESTORING));
}

/* Check that a file of the sources has a line that begins with the text. */
static void assert_line(const char *name, const char *begin)
{
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    autofree char *path = xasprintf("%s/%s", source ? source : ".", name);
    autofclose FILE *file = fopen(path, "re");
    char line[512];
    if (!file)
        fail_msg("%s cannot be read", path);
    while (fgets(line, sizeof line, file))
        if (str_starts_with(line, begin))
            return;
    fail_msg("%s has no line that begins with '%s'", path, begin);
}

TEST(words_are_those_of_page_and_console)
{
    assert_string_equal(sandbox_state_word(SANDBOX_READY), "running");
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
        enum sandbox_state one = (enum sandbox_state)i;
        const char *name = sandbox_state_name(one), *word = sandbox_state_word(one);
        autofree char *row = xasprintf("| `%s` | %s |", name, word);
        autofree char *member = xasprintf("  %s: '%s',", name, word);
        if (sandbox_state_is_shown(one))
            assert_line("doc/reference/states.md", row);
        if (sandbox_state_is_shown(one) && sandbox_state_told(one) == one) {
            assert_line("console/src/lib/states.ts", member);
            assert_string_equal(state_of_word(word), name);
        }
    }
}

/* "creating --> ready: created" of the picture, as the table has it. */
struct drawn {
    char from[32], to[32], event[32];
};

static size_t read_picture(struct drawn *drawn, size_t most)
{
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    autofree char *path = xasprintf("%s/doc/reference/states.md", source ? source : ".");
    autofclose FILE *file = fopen(path, "re");
    char line[512];
    size_t count = 0;
    bool inside = false;
    if (!file)
        fail_msg("%s cannot be read", path);
    while (fgets(line, sizeof line, file)) {
        struct drawn *one = &drawn[count];
        if (!strcmp(line, "stateDiagram-v2\n"))
            inside = true;
        else if (!strncmp(line, "```", 3))
            inside = false;
        else if (inside &&
                 sscanf(line, " %31s --> %31[^:]: %31s", one->from, one->to, one->event) == 3)
            assert_true(++count < most);
    }
    return count;
}

TEST(the_picture_in_the_documentation_is_the_table)
{
    static const struct {
        const char *event;
        enum sandbox_state from, to;
    } table[] = {
#define MOVE(event, from, to) {#event, from, to},
#include "sandbox/sandbox_state.def"
#undef MOVE
    };
    struct drawn drawn[64];
    size_t count = read_picture(drawn, ARRAY_SIZE(drawn));
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        size_t found = 0;
        for (size_t j = 0; j < count; j++)
            found += !strcmp(drawn[j].from, sandbox_state_name(table[i].from)) &&
                     !strcmp(drawn[j].to, sandbox_state_name(table[i].to)) &&
                     !strcasecmp(drawn[j].event, table[i].event + strlen("SANDBOX_EVENT_"));
        if (found != 1)
            fail_msg("%s of %s is drawn %zu times", table[i].event,
                     sandbox_state_name(table[i].from), found);
    }
    assert_int_equal(count, ARRAY_SIZE(table));
}
