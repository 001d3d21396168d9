/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Due work of a dispatcher: a team with 500 older rows lets the one row of another team be second.
 */
#include "unit/unit.h"

#include "account/account.h"
#include "archive/archive_row.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "checkpoint/checkpoint_row.h"
#include "moving/moving.h"
#include "recipe/recipe_row.h"
#include "sandbox/operation.h"
#include "sandbox/sandbox_network_row.h"
#include "sandbox/sandbox_row.h"
#include "sandbox/sandbox_size_row.h"
#include "template/template_row.h"
#include "unit/schema.h"
#include "volume/volume_row.h"

#define MANY    500
#define LEASE_S 60
#define ME      "unit"

static struct team many, one;

/* Rows of a kind of work: of `many` with ids a0 to a499, of `one` with id b0. In the values "@" is
 * the letter, "$" the team, n.i the number of the row, and LATER 2 in rows of `one`, else 1. */
#define ID    "CONCAT('@', n.i)"
#define LATER "1 + ('@' = 'b')"

static void put(const char *into, const char *values, char letter, const char *team, unsigned count)
{
    buffer_auto sql = BUFFER_INIT(4096);
    buffer_printf(&sql,
                  "INSERT INTO %s WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL"
                  " SELECT i + 1 FROM n WHERE i + 1 < %u) SELECT ",
                  into, count);
    for (; *values; values++)
        if (*values == '@')
            buffer_append_char(&sql, letter);
        else if (*values == '$')
            buffer_append_string(&sql, team);
        else
            buffer_append_char(&sql, *values);
    buffer_append_string(&sql, " FROM n");
    server_say(raw, buffer_string(&sql));
}

static void put_both(const char *into, const char *values)
{
    put(into, values, 'a', many.id, MANY);
    put(into, values, 'b', one.id, 1);
}

static int set_up(void **state)
{
    struct error *err = NULL;
    struct user user;
    if (schema_setup(state) < 0 || user_create(db, "alice", &user, &err) < 0 ||
        team_create(db, "many", "pro", "alice", &many, &err) < 0 ||
        team_create(db, "one", "pro", "alice", &one, &err) < 0)
        return -1;
    /* Rows have what a take looks at, and nothing else. */
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    put_both("sandboxes (id, team_id, route, instance_name, state, deadline_at_ms,"
             " network_due_at_ms, visible)",
             ID ", '$', " ID ", " ID ", 'ready', " LATER ", " LATER ", 1");
    return 0;
}

typedef int take_one(struct db *db, void *context, char id[LEASE_KEY_SIZE], struct error **err);

struct taking {
    take_one *take;
    void *context;
    char id[LEASE_KEY_SIZE];
};

static int take_body(struct db *in, void *context, struct error **err)
{
    struct taking *taking = context;
    return taking->take(in, taking->context, taking->id, err);
}

/* The first two rows are of two teams. */
static void assert_turns(take_one *take, void *context, bool in_transaction)
{
    struct error *err = NULL;
    struct taking first = {take, context, ""}, second = {take, context, ""};
    if (in_transaction) {
        assert_ok(db_transaction(db, take_body, &first, &err));
        assert_ok(db_transaction(db, take_body, &second, &err));
    } else {
        assert_ok(take(db, context, first.id, &err));
        assert_ok(take(db, context, second.id, &err));
    }
    assert_int_equal(first.id[0], 'a');
    assert_int_equal(second.id[0], 'b');
}

static int take_deadline(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    (void)context;
    char found[ID_SIZE];
    int result = sandbox_row_lock_due(in, found, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", found);
    return result;
}

TEST(deadlines)
{
    assert_turns(take_deadline, NULL, true);
}

static int take_policy(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    (void)context;
    return network_row_take_due(in, LEASE_S * 1000, id, err);
}

TEST(network_policies)
{
    assert_turns(take_policy, NULL, true);
}

/* A look reads all due rows, so a process does not look for each row. */
TEST(many_due_rows_are_not_read_for_each_take)
{
    struct error *err = NULL;
    struct taking taking = {take_policy, NULL, ""};
    clock_sleep_ms(1100); /* the line of another test has ended */
    uint64_t before = schema_reads();
    assert_ok(db_transaction(db, take_body, &taking, &err));
    uint64_t of_one = schema_reads() - before;
    assert_true(of_one > MANY / 2);
    before = schema_reads();
    for (unsigned i = 0; i < 40; i++) {
        assert_ok(db_transaction(db, take_body, &taking, &err));
        assert_int_equal(taking.id[0], 'a');
    }
    assert_true(schema_reads() - before < 20 * of_one);
}

static int take_orphan(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    (void)context;
    struct orphan orphan;
    int result = network_row_take_orphan(in, INT64_MAX / 2, &orphan, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", orphan.sandbox_id);
    return result;
}

TEST(policies_of_sandboxes_that_are_gone)
{
    put_both("host_addresses (host_id, address, policy_of, policy_due_at_ms)",
             "1, 1000 * ('@' = 'b') + n.i, " ID ", " LATER);
    assert_turns(take_orphan, NULL, true);
}

static int take_operation(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    struct operation operation;
    int result =
        operation_take_overdue(in, ME, LEASE_S, *(enum operation_class *)context, &operation, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", operation.id);
    return result;
}

TEST(operations)
{
    static const struct {
        enum operation_class class;
        const char *kind;
    } classes[] = {{OPERATIONS_URGENT, "pause"},
                   {OPERATIONS_ANY, "destroy"},
                   {OPERATIONS_REMOVAL, "destroy"},
                   {OPERATIONS_FORK, "fork"},
                   {OPERATIONS_MOVE, "move"}};
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        enum operation_class class = classes[i].class;
        autofree char *kind = xasprintf("UPDATE operations SET kind = '%s'", classes[i].kind);
        server_say(raw, "DELETE FROM operations");
        put_both("operations (id, sandbox_id, state, lease_until_ms)",
                 ID ", " ID ", 'running', " LATER);
        server_say(raw, kind);
        assert_turns(take_operation, &class, false);
    }
}

static int take_size(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    (void)context;
    unsigned attempts;
    return size_row_take(in, ME, LEASE_S, id, &attempts, err);
}

TEST(sizes_of_sandboxes)
{
    put_both("sandbox_sizes (sandbox_id, due_at_ms)", ID ", " LATER);
    assert_turns(take_size, NULL, true);
}

static int take_build(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    (void)context;
    struct template_version version;
    unsigned attempts;
    int result = template_row_take(in, ME, LEASE_S, &version, &attempts, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", version.id);
    return result;
}

static int take_deleting(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    (void)context;
    struct template_version version;
    int result = template_row_take_deleting(in, LEASE_S, &version, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", version.id);
    return result;
}

TEST(template_builds_and_removals)
{
    put("templates (id, owner, slug)", "'t@', '$', 't'", 'a', many.id, 1);
    put("templates (id, owner, slug)", "'t@', '$', 't'", 'b', one.id, 1);
    put_both("template_versions (id, template_id, version, state, lease_until_ms)",
             ID ", 't@', n.i, 'building', " LATER);
    assert_turns(take_build, NULL, false);
    server_say(raw, "UPDATE template_versions SET state = 'deleting', lease_until_ms ="
                    " 1 + (template_id = 'tb')");
    assert_turns(take_deleting, NULL, false);
}

static int take_recipe(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    struct recipe_row row = {.version_id = ""};
    int result = recipe_row_take(in, ME, LEASE_S, &row, context, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", row.version_id);
    return result;
}

TEST(steps_of_builds)
{
    buffer_auto sealed = BUFFER_INIT(1024);
    put_both("template_recipes (template_version_id, team_id, state, lease_until_ms)",
             ID ", '$', 'running', " LATER);
    assert_turns(take_recipe, &sealed, false);
}

static int take_archive(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    struct archive archive = {0};
    int result = archive_row_take(in, context, ME, LEASE_S, &archive, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", archive.id);
    archive_deinit(&archive);
    return result;
}

TEST(archived_copies)
{
    put_both("archives (id, kind, object_id, team_id, state, lease_until_ms)",
             ID ", 'sandbox', " ID ", '$', 'storing', " LATER);
    assert_turns(take_archive, (void *)&archive_storing, false);
    server_say(raw, "UPDATE archives SET state = 'removing', lease_until_ms = 1 + (id LIKE 'b%')");
    assert_turns(take_archive, (void *)&archive_removing, false);
}

static int take_move(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    struct move move;
    int result = move_take(in, ME, LEASE_S, *(bool *)context, &move, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", move.id);
    return result;
}

TEST(moves)
{
    for (unsigned asked = 0; asked < 2; asked++) {
        bool is_asked = asked;
        server_say(raw, "DELETE FROM moves");
        put_both("moves (id, kind, team_id, group_id, state, lease_until_ms)",
                 ID ", 'volume', '$', " ID ", 'copying', " LATER);
        if (asked)
            server_say(raw, "UPDATE moves SET asked = 1");
        assert_turns(take_move, &is_asked, false);
    }
}

static int take_volume(struct db *in, void *context, char id[LEASE_KEY_SIZE], struct error **err)
{
    (void)context;
    struct volume volume;
    int result = volume_row_take_overdue(in, LEASE_S, &volume, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", volume.id);
    return result;
}

static int take_checkpoint(struct db *in, void *context, char id[LEASE_KEY_SIZE],
                           struct error **err)
{
    (void)context;
    struct checkpoint checkpoint;
    int result = checkpoint_row_take_deleting(in, LEASE_S, &checkpoint, err);
    snprintf(id, LEASE_KEY_SIZE, "%s", checkpoint.id);
    return result;
}

TEST(volumes_and_checkpoints)
{
    server_say(raw, "INSERT INTO hosts (id, name) VALUES (1, 'h')");
    put_both("volumes (id, team_id, name, state, host_id, lease_until_ms)",
             ID ", '$', " ID ", 'deleting', 1, " LATER);
    assert_turns(take_volume, NULL, true);
    server_say(raw,
               "INSERT INTO template_versions (id, template_id, version) VALUES ('v', 't', 1)");
    put_both("checkpoints (id, team_id, instance_name, state, host_id, lease_until_ms,"
             " template_version_id)",
             ID ", '$', " ID ", 'deleting', 1, " LATER ", 'v'");
    assert_turns(take_checkpoint, NULL, true);
}

TEST_GROUP(set_up, schema_teardown)
