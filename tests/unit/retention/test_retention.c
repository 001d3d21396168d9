/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has ended is removed when its time is over, with what hangs on it; nothing else is. */
#include "unit/unit.h"

#include "account/account.h"
#include "base/clock.h"
#include "base/ulid.h"
#include "retention/retention.h"
#include "template/template.h"
#include "template/template_use.h"
#include "unit/schema.h"

#define DAY_MS  (24 * 60 * 60 * (int64_t)1000)
#define KEPT_MS (90 * DAY_MS)
/* fewer than RETENTION_TEAM_MAX */
#define READS_MAX 500

static struct user user;
static struct template_version version;
static int64_t now_ms;

static int set_up(void **state)
{
    struct error *err = NULL;
    if (schema_setup(state) < 0)
        return -1;
    now_ms = clock_now_ms();
    server_say(raw,
               "INSERT INTO hosts (id, name, state, url, project, pool, nic_prefix,"
               " address_range, vcpus, memory_mb, created_at_ms)"
               " VALUES (1, 'h', 'active', 'unix:///h', 'p', 'p', 'sl', '10.0.0.0/16', 1, 1, 1)");
    return user_create(db, "alice", &user, &err) < 0 ||
           template_version_add(db, user.personal_team_id, "python", "image", 1, 512, false,
                                &version, &err) < 0;
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&text, format, arguments) > 0);
    va_end(arguments);
    server_say(raw, text);
    free(text);
}

static void put_sandbox(const char *tag, const char *state, int reserved, int64_t made_days,
                        int64_t ended_days)
{
    char id[ID_SIZE];
    int64_t made_ms = now_ms - made_days * DAY_MS;
    id_floor("sbx_", made_ms, id);
    memcpy(id + 4 + 10, tag, strlen(tag)); /* behind the time */
    say("INSERT INTO sandboxes (id, team_id, created_by, route, state, visible, reserved,"
        " incarnation, template_slug, template_version_id, timeout_s, on_timeout, auto_resume, cpu,"
        " memory_mb, disk_gb, metadata, volume_mounts, network, allow_public_traffic, host_id,"
        " instance_name, address, agent_key_id, created_at_ms, updated_at_ms) VALUES ('%s', '%s',"
        " 'usr', '%.26s', '%s', 0, %d, 1, 'python', '%s', 300, 'kill', 0, 1, 512, 10, '{}', '{}',"
        " '{}', 1, 1, '%s', 1, 1, %lld, %lld)",
        id, user.personal_team_id, id + 4, state, reserved, version.id, id, (long long)made_ms,
        (long long)(now_ms - ended_days * DAY_MS));
    say("INSERT INTO sandbox_metadata (sandbox_id, name, team_id, value) VALUES ('%s', 'tag',"
        " '%s', '%s')",
        id, user.personal_team_id, tag);
}

static void put_operation(const char *tag, const char *state, int64_t made_days, int64_t ended_days)
{
    char id[ID_SIZE];
    int64_t made_ms = now_ms - made_days * DAY_MS;
    id_floor("opr_", made_ms, id);
    memcpy(id + 4 + 10, tag, strlen(tag));
    say("INSERT INTO operations (id, sandbox_id, kind, state, incarnation, lease_owner,"
        " lease_until_ms, attempts, created_at_ms, finished_at_ms) VALUES ('%s', 'sbx', 'pause',"
        " '%s', 1, '', 0, 1, %lld, %lld)",
        id, state, (long long)made_ms, (long long)(now_ms - ended_days * DAY_MS));
}

static bool remove_ended(void)
{
    struct error *err = NULL;
    bool more = false;
    assert_ok(retention_remove(db, now_ms - KEPT_MS, &more, &err));
    return more;
}

TEST(only_what_ended_long_ago_is_removed)
{
    put_sandbox("old", "destroyed", 0, 100, 95);
    put_sandbox("late", "destroyed", 0, 101, 1);
    put_sandbox("new", "destroyed", 0, 1, 1);
    put_sandbox("leaves", "destroyed", 2, 102, 95);
    put_sandbox("paused", "stopped", 0, 103, 95);
    put_operation("old", "done", 100, 100);
    put_operation("failed", "failed", 101, 101);
    put_operation("late", "done", 102, 1);
    put_operation("runs", "running", 103, 103);
    assert_false(remove_ended());
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM sandboxes"), 4);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM sandboxes WHERE id LIKE '%old%'"), 0);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM sandbox_metadata"), 4);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations"), 2);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations WHERE id LIKE '%late%'"
                                     " OR id LIKE '%runs%'"),
                     2);
}

TEST(many_take_several_turns)
{
    char tag[8];
    /* A 'u' is in no time of an identifier. */
    for (unsigned i = 0; i < RETENTION_BATCH + 1; i++) {
        snprintf(tag, sizeof tag, "mu%04u", i);
        put_operation(tag, "done", 200, 200);
    }
    assert_true(remove_ended());
    assert_false(remove_ended());
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations WHERE id LIKE '%mu0%'"), 0);
}

TEST(a_volume_goes_when_no_row_names_it)
{
    char id[ID_SIZE];
    id_floor("vol_", now_ms - 200 * DAY_MS, id);
    say("INSERT INTO volumes (id, team_id, created_by, name, state, visible, host_id, size_gb,"
        " lease_until_ms, created_at_ms, deleted_at_ms) VALUES ('%s', '%s', 'usr', 'data',"
        " 'deleted', 0, 1, 1, 0, 1, %lld)",
        id, user.personal_team_id, (long long)(now_ms - 100 * DAY_MS));
    put_sandbox("mounts", "destroyed", 0, 10, 10);
    say("INSERT INTO sandbox_volumes (team_id, volume_id, sandbox_id)"
        " SELECT team_id, '%s', id FROM sandboxes WHERE id LIKE '%%mounts%%'",
        id);
    remove_ended();
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM volumes"), 1);
    server_say(raw, "DELETE FROM sandboxes WHERE id LIKE '%mounts%'");
    remove_ended();
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM volumes"), 0);
}

TEST(revoked_keys_go_and_others_stay)
{
    char id[ID_SIZE];
    const char *const prefixes[] = {"key_", "ssk_", "key_", "ssk_"};
    for (unsigned i = 0; i < 4; i++) {
        id_floor(prefixes[i], now_ms - (200 + i) * DAY_MS, id);
        say("INSERT INTO api_keys (id, user_id, lookup, hash_key_id, hash, can_write,"
            " created_at_ms, revoked_at_ms) VALUES ('%s', '%s', '%u', 1, '', 0, 1, %s)",
            id, user.id, i, i >= 2 ? "NULL" : "1");
    }
    remove_ended();
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM api_keys"), 2);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM api_keys WHERE revoked_at_ms IS NULL"),
                     2);
}

/* Remove all that a purge removes, in as many turns as it takes. */
static void remove_all(void)
{
    while (remove_ended())
        ;
}

#define MANY_ROWS                                                                     \
    "WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100)" \
    ", rows_ AS (SELECT LPAD(a.i * 101 + b.i, 6, '0') AS i FROM n a JOIN n b)"

/* Many young rows of the team "crowd"; a row of another team stays. */
static void put_many(const char *into, const char *values)
{
    say("INSERT INTO %s " MANY_ROWS " SELECT %s FROM rows_", into, values);
}

TEST(a_team_keeps_so_many_rows_of_what_has_ended)
{
    static const char *const tables[] = {"sandboxes", "checkpoints", "volumes"};
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    put_many("sandboxes (id, route, instance_name, team_id, state, updated_at_ms)",
             "CONCAT('sbx_8', i), i, i, 'crowd', 'destroyed', 9e12");
    put_many("checkpoints (id, instance_name, team_id, name, version, state, created_at_ms,"
             " deleted_at_ms)",
             "CONCAT('chk_8', i), i, 'crowd', NULL, NULL, 'deleted', 9e12, 9e12");
    put_many("volumes (id, team_id, name, state, visible, deleted_at_ms)",
             "CONCAT('vol_8', i), 'crowd', i, 'deleted', 0, 9e12");
    server_say(raw, "UPDATE sandboxes SET team_id = 'calm' WHERE id = 'sbx_8000000'");
    server_say(raw, "UPDATE checkpoints SET team_id = 'calm' WHERE id = 'chk_8000000'");
    server_say(raw, "UPDATE volumes SET team_id = 'calm' WHERE id = 'vol_8000000'");
    server_say(raw, "INSERT INTO operations (id, sandbox_id, state) VALUES"
                    " ('opr_8', 'sbx_8000001', 'done'), ('opr_9', 'sbx_8000000', 'done')");
    remove_all();
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        autofree char *kept =
            xasprintf("SELECT COUNT(*) FROM %s WHERE team_id = 'crowd'", tables[i]);
        autofree char *calm =
            xasprintf("SELECT COUNT(*) FROM %s WHERE team_id = 'calm'", tables[i]);
        autofree char *oldest =
            xasprintf("SELECT COUNT(*) FROM %s WHERE id LIKE '%%\\_8000001'", tables[i]);
        assert_int_equal(server_ask(raw, kept), RETENTION_TEAM_MAX);
        assert_int_equal(server_ask(raw, calm), 1);
        assert_int_equal(server_ask(raw, oldest), 0);
    }
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations WHERE id = 'opr_8'"), 0);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations WHERE id = 'opr_9'"), 1);
}

TEST(a_sandbox_keeps_its_newest_operations)
{
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    put_many("operations (id, sandbox_id, state, finished_at_ms)",
             "CONCAT('opr_8', i), 'sbx_crowd', 'done', 9e12");
    server_say(raw, "INSERT INTO operations (id, sandbox_id, state) VALUES"
                    " ('opr_80', 'sbx_crowd', 'running')");
    remove_all();
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations"
                                     " WHERE sandbox_id = 'sbx_crowd' AND state = 'done'"),
                     RETENTION_OPERATIONS_MAX);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations WHERE id = 'opr_8010200'"),
                     1);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations WHERE id = 'opr_80'"), 1);
}

/* A call counts the operations of a limited number of sandboxes. */
TEST(the_operations_of_many_sandboxes_are_counted_in_parts)
{
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    put_many("operations (id, sandbox_id, state, finished_at_ms)",
             "CONCAT('opr_81', i), CONCAT('sbx_wa', i), 'done', 9e12");
    put_many("operations (id, sandbox_id, state, finished_at_ms)",
             "CONCAT('opr_82', i), CONCAT('sbx_wb', i), 'done', 9e12");
    _Static_assert(RETENTION_WINDOW < 2 * 101 * 101, "rows of two put_many()");
    put_many("operations (id, sandbox_id, state, finished_at_ms)",
             "CONCAT('opr_83', i), 'sbx_z', 'done', 9e12");
    assert_true(remove_ended());
    remove_all();
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations WHERE sandbox_id = 'sbx_z'"),
                     RETENTION_OPERATIONS_MAX);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM operations"
                                     " WHERE sandbox_id LIKE 'sbx\\_w%'"),
                     2 * 101 * 101);
    server_say(raw, "DELETE FROM operations WHERE sandbox_id LIKE 'sbx\\_w%'");
}

/* The volumes have three parts, and the checkpoints two. */
TEST(a_run_ends_when_each_kind_was_looked_at)
{
    unsigned calls = 1;
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    put_many("volumes (id, team_id, state)", "CONCAT('vol_84', i), CONCAT('wa', i), 'deleted'");
    put_many("volumes (id, team_id, state)", "CONCAT('vol_85', i), CONCAT('wb', i), 'deleted'");
    put_many("volumes (id, team_id, state)", "CONCAT('vol_86', i), CONCAT('wc', i), 'deleted'");
    put_many("volumes (id, team_id, state)", "CONCAT('vol_87', i), CONCAT('wd', i), 'deleted'");
    put_many("checkpoints (id, instance_name, team_id, state)",
             "CONCAT('chk_84', i), CONCAT('a', i), CONCAT('wa', i), 'deleted'");
    put_many("checkpoints (id, instance_name, team_id, state)",
             "CONCAT('chk_85', i), CONCAT('b', i), CONCAT('wb', i), 'deleted'");
    while (remove_ended())
        calls++;
    assert_int_equal(calls, 3);
    server_say(raw, "DELETE FROM volumes WHERE team_id LIKE 'w%'");
    server_say(raw, "DELETE FROM checkpoints WHERE team_id LIKE 'w%'");
}

TEST(versions_go_that_no_row_names)
{
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    server_say(raw, "INSERT INTO templates (id, owner, slug) VALUES ('tpl_gone', 'crowd',"
                    " 'tpl_gone'), ('tpl_lives', 'crowd', 'lives')");
    server_say(raw,
               "INSERT INTO template_versions (id, template_id, version, state) VALUES"
               " ('tpv_00', 'tpl_gone', 1, 'deleted'), ('tpv_01', 'tpl_lives', 1, 'deleted'),"
               " ('tpv_02', 'tpl_lives', 2, 'deleted'), ('tpv_03', 'tpl_lives', 3, 'deleted')");
    server_say(raw, "INSERT INTO template_recipes (template_version_id, state) VALUES"
                    " ('tpv_00', 'done')");
    put_sandbox("named", "stopped", 0, 1, 1);
    server_say(raw, "UPDATE sandboxes SET template_version_id = 'tpv_02' WHERE id LIKE '%named%'");
    remove_all();
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM templates WHERE id = 'tpl_gone'"), 0);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM template_recipes"), 0);
    /* A row names the second one, and the third one gives the next version its number. */
    assert_int_equal(server_ask(raw, "SELECT SUM(version) FROM template_versions"
                                     " WHERE template_id = 'tpl_lives'"),
                     5);
}

static struct template_use use_of_it(void)
{
    struct error *err = NULL;
    autofree struct template_use *uses = NULL;
    unsigned count;
    assert_ok(template_uses_list(db, version.owner, &uses, &count, &err));
    return template_use_of(uses, count, version.template_id);
}

static void count_uses(void)
{
    struct error *err = NULL;
    assert_ok(template_uses_count(db, &err));
}

TEST(what_a_template_was_used_for_outlives_the_rows)
{
    struct template_use before = use_of_it();
    put_sandbox("gone", "destroyed", 0, 100, 95);
    put_sandbox("copy", "ready", 1, 50, 0);
    server_say(raw, "UPDATE sandboxes SET snapshot_id = 'chk' WHERE id LIKE '%copy%'");
    put_sandbox("young", "ready", 1, 0, 0);
    /* A list reads no sandboxes of other teams, also not the many of "crowd"; the count does. */
    put_sandbox("guest", "ready", 1, 50, 0);
    server_say(raw, "UPDATE sandboxes SET team_id = 'guests' WHERE id LIKE '%guest%'");
    uint64_t reads = schema_reads();
    assert_int_equal(use_of_it().sandboxes, before.sandboxes + 2);
    assert_true(schema_reads() - reads < READS_MAX);
    assert_int_equal(use_of_it().last_at_ms, now_ms);
    count_uses();
    assert_int_equal(use_of_it().sandboxes, before.sandboxes + 3);
    remove_ended();
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM sandboxes WHERE id LIKE '%gone%'"), 0);
    count_uses();
    assert_int_equal(use_of_it().sandboxes, before.sandboxes + 3);
    assert_int_equal(template_use_of(NULL, 0, version.template_id).sandboxes, 0);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
