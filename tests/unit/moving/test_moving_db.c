/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose move has its turn, and how a move ends. */
#include "unit/unit.h"

#include <string.h>

#include "base/mem.h"
#include "moving/moving.h"
#include "unit/schema.h"

#define LEASE_S 60

static const char *const team_a = "tea_0000000000000000000000000a",
                         *const team_b = "tea_0000000000000000000000000b";

static int begin_body(struct db *connection, void *context, struct error **err)
{
    return move_begin(connection, context, err);
}

static void begin(const char *id, const char *team_id, enum move_kind kind, bool asked)
{
    struct error *err = NULL;
    struct move move = {.kind = kind, .asked = asked, .from_host = 1, .to_host = 2};
    snprintf(move.id, sizeof move.id, "%s", id);
    snprintf(move.group_id, sizeof move.group_id, "%s", id);
    snprintf(move.team_id, sizeof move.team_id, "%s", team_id);
    assert_ok(db_transaction(db, begin_body, &move, &err));
}

static int forget(void **state)
{
    struct error *err = NULL;
    static const struct db_statement all = {"test.forget", "DELETE FROM moves"};
    return db_exec(db, &all, DB_NO_ARGS, NULL, &err);
}

/* "": there was none. */
static struct move take(bool asked)
{
    struct error *err = NULL;
    struct move move;
    assert_ok(move_take(db, "somebody", LEASE_S, asked, &move, &err));
    return move;
}

TEST_WITH(a_team_has_one_at_a_time_that_it_asked_for, NULL, forget)
{
    struct error *err = NULL;
    begin("vol_1", team_a, MOVE_VOLUME, true);
    begin("vol_2", team_a, MOVE_VOLUME, true);
    begin("ckp_3", team_a, MOVE_CHECKPOINT, true);
    begin("vol_4", team_b, MOVE_VOLUME, true);
    struct move first = take(true), second = take(true);
    assert_string_not_equal(first.team_id, second.team_id);
    assert_string_equal(take(true).id, "");
    const struct move *of_a = !strcmp(first.team_id, team_a) ? &first : &second;
    assert_ok(move_forget(db, of_a->id, of_a->kind, &err));
    struct move next = take(true);
    assert_string_equal(next.team_id, team_a);
    assert_string_not_equal(next.id, of_a->id);
}

TEST_WITH(whoever_dies_keeps_no_turn, NULL, forget)
{
    struct error *err = NULL;
    begin("vol_1", team_a, MOVE_VOLUME, true);
    begin("vol_2", team_a, MOVE_VOLUME, true);
    struct move first = take(true);
    assert_ok(move_defer(db, &first, 0, &err));
    assert_string_not_equal(take(true).id, "");
    assert_string_equal(take(true).id, "");
}

TEST_WITH(templates_and_drains_have_no_turns, NULL, forget)
{
    begin("tpv_1", team_a, MOVE_TEMPLATE, true);
    begin("tpv_2", team_a, MOVE_TEMPLATE, true);
    begin("vol_3", team_a, MOVE_VOLUME, true);
    begin("vol_4", team_a, MOVE_VOLUME, false);
    begin("vol_5", team_a, MOVE_VOLUME, false);
    for (int i = 0; i < 3; i++)
        assert_string_not_equal(take(true).id, "");
    for (int i = 0; i < 2; i++)
        assert_string_not_equal(take(false).id, "");
    assert_string_equal(take(true).id, "");
}

TEST_WITH(a_failed_move_has_not_arrived, NULL, forget)
{
    struct error *err = NULL;
    struct worker worker = {.db = db};
    bool arrived = true;
    begin("vol_1", team_a, MOVE_VOLUME, true);
    struct move move = take(true);
    snprintf(move.last_error, sizeof move.last_error, "its disk is full");
    assert_ok(move_end(db, &move, &err));
    assert_ok(moving_wait(&worker, move.id, 0, &arrived, &err));
    assert_false(arrived);
    assert_ok(move_forget(db, move.id, move.kind, &err));
    assert_ok(moving_wait(&worker, move.id, 0, &arrived, &err));
    assert_true(arrived);
}

/* Every object but this one has no room elsewhere. */
static const char *const movable = "vol_99";

static int begin_if_movable(void *context, const char *id, struct error **err)
{
    ++*(unsigned *)context;
    return !strcmp(id, movable) ? 0 : error_set(err, ERR_NO_CAPACITY, "no room");
}

TEST(objects_that_cannot_move_delay_no_others)
{
    struct error *err = NULL;
    char ids[100][ID_SIZE];
    unsigned tried = 0;
    bool begun = false;
    for (unsigned i = 0; i < ARRAY_SIZE(ids); i++)
        snprintf(ids[i], ID_SIZE, "vol_%u", i);
    for (unsigned calls = 0; !begun && calls < 20; calls++)
        assert_ok(moving_begin_first(ids, ARRAY_SIZE(ids), MOVE_AT_ONCE_MOST, begin_if_movable,
                                     &tried, &begun, &err));
    assert_true(begun);
    assert_true(tried >= ARRAY_SIZE(ids));
}

TEST_GROUP(schema_setup, schema_teardown)
