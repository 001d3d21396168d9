/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of audit rows, and the removal of old ones, read a bounded number of a large log. */
#include "unit/unit.h"

#include "audit/audit.h"
#include "audit/chain.h"
#include "base/clock.h"
#include "base/ulid.h"
#include "unit/keyring.h"
#include "unit/schema.h"

#define TEAM      "tea_1"
#define READS_MAX 200
#define DIGITS                                                                                 \
    "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT" \
    " 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8"           \
    " UNION ALL SELECT 9)"

/* Numbers 0 to 4 are of the key; then come as many of another key as a page reads. */
static int set_up(void **state)
{
    if (schema_setup(state) < 0)
        return -1;
    server_say(raw, "SET SESSION sql_mode = ''");
    server_say(raw,
               "INSERT INTO audit_log (id, at_ms, team_id, action, actor_kind, actor_id, result)"
               " SELECT CONCAT('aud_', LPAD(a.n, 26, '0')), 1, '" TEAM "', 'key.create', 'key',"
               " 'key_mine', 'done' FROM " DIGITS " a WHERE a.n < 5");
    server_say(raw,
               "INSERT INTO audit_log (id, at_ms, team_id, action, actor_kind, actor_id, result)"
               " SELECT CONCAT('aud_', LPAD(100 + a.n * 1000 + b.n * 100 + c.n * 10 + d.n, 26,"
               " '0')), 1, '" TEAM "', 'sandbox.create', 'key', 'key_other', 'done'"
               " FROM " DIGITS " a, " DIGITS " b, " DIGITS " c, " DIGITS " d");
    return 0;
}

static unsigned list(const struct audit_filter *filter, const char *before, char end[ID_SIZE])
{
    struct error *err = NULL;
    autofree struct audit_entry *entries = NULL;
    unsigned count;
    assert_ok(audit_list(db, filter, before, 50, &entries, &count, end, &err));
    return count;
}

TEST(a_list_of_an_action_reads_its_rows)
{
    const struct audit_filter filter = {.team_id = TEAM, .action = "key.create"};
    char end[ID_SIZE];
    uint64_t before = schema_reads();
    assert_int_equal(list(&filter, NULL, end), 5);
    assert_true(schema_reads() - before < READS_MAX);
    assert_string_equal(end, "");
}

TEST(a_list_of_an_actor_ends_after_many_rows)
{
    const struct audit_filter filter = {.team_id = TEAM, .actor = "key_mine"};
    char end[ID_SIZE], next[ID_SIZE];
    _Static_assert(AUDIT_SCAN_MAX == 10000, "as many as set_up() puts in");
    assert_int_equal(list(&filter, NULL, end), 0);
    assert_string_equal(end, "aud_00000000000000000000000100");
    assert_int_equal(list(&filter, end, next), 5);
    assert_string_equal(next, "");
}

TEST(a_program_of_the_operator_reads_all)
{
    const struct audit_filter filter = {.team_id = TEAM, .actor = "key_mine"};
    assert_int_equal(list(&filter, NULL, NULL), 5);
}

/* One of the team's 10005 rows is old. */
TEST(the_removal_of_old_rows_reads_no_young_ones)
{
    struct error *err = NULL;
    uint64_t removed;
    bool more;
    char id[ID_SIZE];
    int64_t young_ms = clock_now_ms();
    struct keyring *ring = unit_keyring(UNIT_KEY_1);
    id_floor("aud_", young_ms, id);
    autofree char *grow =
        xasprintf("UPDATE audit_log SET id = CONCAT('%.14s', RIGHT(id, 16)), at_ms = %lld", id,
                  (long long)young_ms);
    server_say(raw, grow);
    server_say(raw, "UPDATE audit_log SET id = CONCAT('aud_', LPAD(RIGHT(id, 2), 26, '0')),"
                    " at_ms = 1 WHERE actor_id = 'key_mine' AND id LIKE '%03'");
    server_say(raw, "UPDATE plans SET audit_days = 31");
    server_say(raw, "ANALYZE TABLE audit_log");
    uint64_t before = schema_reads();
    assert_ok(audit_retain(db, ring, 0, &removed, &more, &err));
    assert_int_equal(removed, 1);
    assert_false(more);
    assert_true(schema_reads() - before < READS_MAX);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM audit_log WHERE team_id = '" TEAM "'"),
                     10005); /* with the row that says so */
    keyring_free(ring);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
