/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "account/access_revision.h"
#include "account/account.h"
#include "account/invitation.h"
#include "account/key_use.h"
#include "account/member.h"
#include "account/removal.h"
#include "base/clock.h"
#include "login/login.h"
#include "secret/team_proxy.h"
#include "unit/schema.h"

TEST(a_user_comes_with_a_team)
{
    struct error *err = NULL;
    struct user user, found;
    struct team team;
    assert_ok(user_create(db, "alice", &user, &err));
    assert_true(id_is_valid("usr_", user.id));
    assert_ok(user_get_by_name(db, "alice", &found, &err));
    assert_string_equal(found.id, user.id);
    assert_ok(team_get_by_slug(db, "alice", &team, &err));
    assert_string_equal(team.id, user.personal_team_id);
    assert_string_equal(team.plan, "basic");
}

TEST(names_are_taken_once)
{
    struct error *err = NULL;
    struct user user;
    struct team team;
    assert_ok(user_create(db, "bob", &user, &err));
    assert_fails_saying(user_create(db, "bob", &user, &err), ERR_NAME_TAKEN, "bob");
    assert_ok(team_create(db, "shared", "pro", "bob", &team, &err));
    assert_fails_saying(team_create(db, "shared", "pro", "bob", &team, &err), ERR_NAME_TAKEN,
                        "shared");
    /* A user's personal team would have the name of a team that there is: nothing is left. */
    assert_fails_saying(user_create(db, "shared", &user, &err), ERR_NAME_TAKEN, "shared");
    assert_fails_saying(user_get_by_name(db, "shared", &user, &err), ERR_NOT_FOUND, "user");
}

TEST(bad_requests_name_their_field)
{
    struct error *err = NULL;
    struct user user;
    struct team team;
    assert_fails(user_create(db, "Not A Name", &user, &err), ERR_INVALID_REQUEST);
    assert_string_equal(err->field, "/name");
    error_clear(&err);
    assert_ok(user_create(db, "carol", &user, &err));
    assert_fails(team_create(db, "-", "pro", "carol", &team, &err), ERR_INVALID_REQUEST);
    assert_string_equal(err->field, "/slug");
    error_clear(&err);
    assert_fails(team_create(db, "crew", "gold", "carol", &team, &err), ERR_INVALID_REQUEST);
    assert_string_equal(err->field, "/plan");
    error_clear(&err);
    assert_fails_saying(team_create(db, "crew", "pro", "nobody", &team, &err), ERR_NOT_FOUND,
                        "user");
}

TEST(a_team_changes_its_plan)
{
    struct error *err = NULL;
    struct user user;
    struct team team;
    assert_ok(user_create(db, "dora", &user, &err));
    assert_ok(team_create(db, "dorians", "basic", "dora", &team, &err));
    assert_ok(team_set_plan(db, "dorians", "enterprise", &err));
    /* The same again matches a row without changing it, and is no "not found". */
    assert_ok(team_set_plan(db, "dorians", "enterprise", &err));
    assert_ok(team_get_by_slug(db, "dorians", &team, &err));
    assert_string_equal(team.plan, "enterprise");
    assert_fails_saying(team_set_plan(db, "nobodys", "pro", &err), ERR_NOT_FOUND, "team");
    assert_fails_saying(team_set_plan(db, "dorians", "gold", &err), ERR_INVALID_REQUEST, "plan");
}

TEST(members_have_roles)
{
    struct error *err = NULL;
    struct user user;
    struct team team;
    struct member member;
    autofree struct member *members = NULL;
    unsigned count;
    assert_ok(user_create(db, "erin", &user, &err));
    assert_ok(user_create(db, "frank", &user, &err));
    assert_ok(team_create(db, "pair", "pro", "erin", &team, &err));
    assert_ok(member_add(db, team.id, "frank", ROLE_VIEWER, &member, &err));
    assert_string_equal(member.user_name, "frank");
    assert_int_equal(member.role, ROLE_VIEWER);
    assert_true(member.added_at_ms > 0);
    assert_fails_saying(member_add(db, team.id, "frank", ROLE_OWNER, &member, &err), ERR_NAME_TAKEN,
                        "frank");
    assert_fails_saying(member_add(db, team.id, "nobody", ROLE_OWNER, &member, &err), ERR_NOT_FOUND,
                        "user");
    assert_fails_saying(member_add(db, team.id, "No \xc3\xbc", ROLE_OWNER, &member, &err),
                        ERR_NOT_FOUND, "user");
    assert_ok(member_list(db, team.id, &members, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(members[0].user_name, "erin");
    assert_int_equal(members[0].role, ROLE_OWNER);
}

/* However its owners leave, a team has one. */
TEST(the_last_owner_stays)
{
    struct error *err = NULL;
    struct user user;
    struct team team;
    struct member member;
    assert_ok(user_create(db, "gina", &user, &err));
    assert_ok(user_create(db, "hugo", &user, &err));
    assert_ok(team_create(db, "duo", "pro", "gina", &team, &err));
    assert_fails_saying(member_set_role(db, team.id, "gina", ROLE_MEMBER, &member, &err),
                        ERR_LAST_OWNER, "owner");
    assert_fails_saying(member_remove(db, team.id, "gina", &err), ERR_LAST_OWNER, "owner");
    assert_ok(member_set_role(db, team.id, "gina", ROLE_OWNER, &member, &err));
    assert_fails_saying(member_remove(db, team.id, "hugo", &err), ERR_NOT_FOUND, "member");
    assert_ok(member_add(db, team.id, "hugo", ROLE_MEMBER, &member, &err));
    assert_ok(member_set_role(db, team.id, "hugo", ROLE_OWNER, &member, &err));
    assert_ok(member_remove(db, team.id, "gina", &err));
    assert_fails_saying(member_remove(db, team.id, "hugo", &err), ERR_LAST_OWNER, "owner");
}

TEST(plans_come_in_catalogue_order)
{
    struct error *err = NULL;
    struct plan plans[PLANS_MAX];
    unsigned count;
    assert_ok(plan_list(db, plans, &count, &err));
    assert_int_equal(count, 3);
    assert_string_equal(plans[0].name, "basic");
    assert_false(plans[0].resource_override);
    assert_int_equal(plans[0].cpu_value_count, 2);
    assert_string_equal(plans[2].name, "enterprise");
    assert_int_equal(plans[2].cpu_values[4], 16);
    assert_string_equal(plans[2].vcpu_hour, "0.0504");
}

static int set(const char *plan, const char *column, const char *value, struct error **err)
{
    struct plan_value wanted = {.value = value};
    snprintf(wanted.column, sizeof wanted.column, "%s", column);
    return plan_set(db, plan, &wanted, 1, err);
}

TEST(plan_values_are_checked)
{
    struct error *err = NULL;
    struct plan plan;
    assert_ok(set("pro", "sandboxes", "7", &err));
    assert_ok(set("pro", "vcpu_hour", "0.1", &err));
    assert_ok(set("pro", "cpu_values", "1,3", &err));
    assert_ok(plan_get(db, "pro", &plan, &err));
    assert_int_equal(plan.sandboxes, 7);
    assert_string_equal(plan.vcpu_hour, "0.1");
    assert_int_equal(plan.cpu_values[1], 3);
    assert_fails_saying(set("pro", "sandboxes", "many", &err), ERR_INVALID_REQUEST, "whole number");
    assert_fails_saying(set("pro", "sandboxs", "1", &err), ERR_INVALID_REQUEST, "sandboxes");
    assert_fails_saying(set("pro", "name", "x", &err), ERR_INVALID_REQUEST, "no value");
    assert_fails_saying(set("pro", "currency", "euro", &err), ERR_INVALID_REQUEST, "USD");
    assert_fails_saying(set("gold", "sandboxes", "1", &err), ERR_NOT_FOUND, "plan");
    /* What does not fit the rest is not kept. */
    assert_fails_saying(set("pro", "cpu_default", "2", &err), ERR_INVALID_REQUEST, "cpu_values");
    assert_ok(plan_get(db, "pro", &plan, &err));
    assert_int_equal(plan.cpu_default, 1);
    /* All of them or none; together they may do what one alone may not. */
    const struct plan_value one_is_wrong[] = {{"sandboxes", "8"}, {"vcpus", "many"}};
    assert_fails_saying(plan_set(db, "pro", one_is_wrong, 2, &err), ERR_INVALID_REQUEST, "vcpus");
    const struct plan_value together[] = {{"cpu_default", "2"}, {"cpu_values", "1,2"}};
    assert_ok(plan_set(db, "pro", together, 2, &err));
    assert_ok(plan_get(db, "pro", &plan, &err));
    assert_int_equal(plan.sandboxes, 7);
    assert_int_equal(plan.cpu_default, 2);
}

TEST(invitations_are_bounded)
{
    struct error *err = NULL;
    struct user owner, user;
    struct team team, other;
    struct invitation invitation, *list;
    unsigned count;
    char name[32];
    assert_ok(user_create(db, "inviter", &owner, &err));
    assert_ok(team_create(db, "crowd", "pro", "inviter", &team, &err));
    assert_ok(team_create(db, "few", "pro", "inviter", &other, &err));
    for (unsigned i = 0; i <= INVITATIONS_TEAM_MAX; i++) {
        snprintf(name, sizeof name, "guest%u", i);
        assert_ok(user_create(db, name, &user, &err));
        if (i < INVITATIONS_TEAM_MAX)
            assert_ok(invitation_make(db, team.id, name, ROLE_VIEWER, owner.id, &invitation, &err));
    }
    assert_fails_saying(
        invitation_make(db, team.id, name, ROLE_VIEWER, owner.id, &invitation, &err),
        ERR_INVALID_REQUEST, "at most 100");
    /* A replacement adds no row, and another team has room of its own. */
    assert_ok(invitation_make(db, team.id, "guest0", ROLE_OWNER, owner.id, &invitation, &err));
    assert_ok(invitation_make(db, other.id, name, ROLE_VIEWER, owner.id, &invitation, &err));
    assert_ok(invitation_list_of_team(db, team.id, &list, &count, &err));
    assert_int_equal(count, INVITATIONS_TEAM_MAX);
    assert_string_equal(list[0].user_name, "guest0");
    assert_int_equal(list[0].role, ROLE_OWNER);
    free(list);
}

/* Workers know keys by heart until the revision changes, and a key may end with its sign-in. */
TEST(a_purge_of_sign_ins_changes_the_revision)
{
    static const struct db_statement insert = {
        "test.login",
        "INSERT INTO logins SELECT CONCAT('lgn_', LPAD(n, 26, '0')), u.id, 1, REPEAT('a', 32), "
        "'password',"
        " 1, 1, IF(n < 3, 1, ?), 9000000000000, '', '' FROM users u"
        " JOIN (SELECT 1 AS n UNION SELECT 2 UNION SELECT 3) AS numbers WHERE u.name = 'alice'"};
    static const struct db_statement count = {"test.logins", "SELECT COUNT(*) FROM logins"};
    struct error *err = NULL;
    uint64_t before, after, again;
    db_rows_auto *rows = NULL;
    assert_ok(db_exec(db, &insert, DB_ARGS(db_i64(clock_now_ms() + 100000)), NULL, &err));
    assert_ok(access_revision_get(db, &before, &err));
    assert_ok(login_purge(db, &err));
    assert_ok(access_revision_get(db, &after, &err));
    assert_true(after > before);
    assert_ok(db_query(db, &count, DB_NO_ARGS, &rows, &err));
    assert_true(db_rows_next(rows));
    assert_int_equal(db_get_u64(rows, 0), 1);
    assert_ok(login_purge(db, &err));
    assert_ok(access_revision_get(db, &again, &err));
    assert_int_equal(again, after);
}

/* --- the removal of a team --- */

/* The tables whose rows stay when their team is removed, and why. */
static const char *const staying[] = {
    /* The team must have none. The dispatcher deletes the rows of ended ones. */
    "sandboxes", "volumes", "checkpoints", "sandbox_metadata", "sandbox_denied_names",
    "sandbox_secrets", "sandbox_volumes", "kept_logs", "approvals", "memory_images", "moves",
    "archives", "template_recipes",
    /* The dispatcher deletes them: the cache with its checkpoints, files a day after their use. */
    "recipe_cache", "recipe_files",
    /* They end with their retention. */
    "usage_intervals", "events", "event_outbox", "audit_log", "audit_chain"};

static bool stays(const char *table)
{
    for (size_t i = 0; i < ARRAY_SIZE(staying); i++)
        if (!strcmp(staying[i], table))
            return true;
    return false;
}

static void ask(const char *statement)
{
    if (mysql_query(raw, statement) != 0)
        fail_msg("%s: %s", statement, mysql_error(raw));
}

static void change(char *statement)
{
    ask(statement);
    free(statement);
}

static unsigned rows_of(const char *table, const char *team_id)
{
    autofree char *query =
        xasprintf("SELECT 1 FROM %s WHERE team_id = '%s' LIMIT 10", table, team_id);
    ask(query);
    MYSQL_RES *result = mysql_store_result(raw);
    unsigned count = (unsigned)mysql_num_rows(result);
    mysql_free_result(result);
    return count;
}

/* Call act for each table with a team_id whose rows must not stay. Returns how many. */
static unsigned each_table(void (*act)(const char *table, const char *team_id), const char *team_id)
{
    unsigned count = 0;
    ask("SELECT table_name FROM information_schema.columns WHERE table_schema = DATABASE()"
        " AND column_name = 'team_id'");
    MYSQL_RES *result = mysql_store_result(raw);
    for (MYSQL_ROW row; (row = mysql_fetch_row(result));)
        if (!stays(row[0])) {
            act(row[0], team_id);
            count++;
        }
    mysql_free_result(result);
    return count;
}

/* Add a row with the defaults of all other columns. */
static void add_row(const char *table, const char *team_id)
{
    if (!rows_of(table, team_id))
        change(xasprintf("INSERT IGNORE INTO %s (team_id) VALUES ('%s')", table, team_id));
    assert_int_not_equal(rows_of(table, team_id), 0);
}

static void has_no_row(const char *table, const char *team_id)
{
    if (rows_of(table, team_id))
        fail_msg("%s has a row of a removed team", table);
}

TEST(nothing_of_a_removed_team_stays)
{
    struct error *err = NULL;
    struct user user;
    struct team team;
    struct member member;
    json_auto_t *proxy =
        json_pack("{s:s, s:s, s:i}", "type", "socks5", "host", "p.example.com", "port", 1080);
    assert_ok(user_create(db, "remover", &user, &err));
    assert_ok(team_create(db, "removed", "pro", "remover", &team, &err));
    change(xstrdup("SET FOREIGN_KEY_CHECKS = 0, sql_mode = ''"));
    assert_true(each_table(add_row, team.id) >= 8);
    change(xasprintf("INSERT IGNORE INTO webhook_messages (id, webhook_id) SELECT 'whm', id FROM"
                     " webhooks WHERE team_id = '%s'",
                     team.id));
    assert_ok(team_remove(db, "removed", &err));
    each_table(has_no_row, team.id);
    ask("SELECT 1 FROM webhook_messages");
    MYSQL_RES *left = mysql_store_result(raw);
    assert_int_equal(mysql_num_rows(left), 0);
    mysql_free_result(left);
    /* A request that found the team before its removal adds nothing afterwards. */
    struct principal principal = {.key_id = "key_01ARZ3NDEKTSV4RRFFQ69G5FAV"};
    key_use_note(db, &principal, team.id);
    assert_fails(team_proxy_put(db, team.id, proxy, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_fails(member_add(db, team.id, "remover", ROLE_MEMBER, &member, &err), ERR_NOT_FOUND);
    error_clear(&err);
    each_table(has_no_row, team.id);
}

TEST(no_name_keeps_a_team_from_its_removal)
{
    struct error *err = NULL;
    struct user user, taker;
    struct team team;
    assert_ok(user_create(db, "keeper", &user, &err));
    assert_ok(team_create(db, "kept", "pro", "keeper", &team, &err));
    autofree char *name = xasprintf("removed-%s", team.id + strlen("tea_"));
    assert_ok(user_create(db, name, &taker, &err));
    assert_ok(team_remove(db, "kept", &err));
    assert_fails(team_get_by_slug(db, "kept", &team, &err), ERR_NOT_FOUND);
    error_clear(&err);
}

static unsigned events_of(const struct team *team, const char *kind)
{
    autofree char *query = xasprintf(
        "SELECT 1 FROM event_outbox WHERE team_id = '%s' AND kind = '%s'", team->id, kind);
    ask(query);
    MYSQL_RES *result = mysql_store_result(raw);
    unsigned count = (unsigned)mysql_num_rows(result);
    mysql_free_result(result);
    return count;
}

TEST(teams_learn_that_a_user_is_removed)
{
    struct error *err = NULL;
    struct user user;
    struct team owned, shared, joined;
    struct member member;
    assert_ok(user_create(db, "leaver", &user, &err));
    assert_ok(user_create(db, "heir", &user, &err));
    assert_ok(team_create(db, "leavers", "pro", "leaver", &owned, &err));
    assert_ok(team_create(db, "theirs", "pro", "leaver", &shared, &err));
    assert_ok(member_add(db, shared.id, "heir", ROLE_VIEWER, &member, &err));
    assert_ok(team_create(db, "heirs", "pro", "heir", &joined, &err));
    assert_ok(member_add(db, joined.id, "leaver", ROLE_MEMBER, &member, &err));
    assert_ok(user_remove(db, "leaver", "heir", &err));
    assert_int_equal(events_of(&owned, "member.removed"), 1);
    assert_int_equal(events_of(&owned, "member.added"), 1);
    assert_int_equal(events_of(&shared, "member.removed"), 1);
    assert_int_equal(events_of(&shared, "member.added"), 1); /* by member_add() */
    assert_int_equal(events_of(&joined, "member.removed"), 1);
    assert_ok(member_get(db, owned.id, "heir", &member, &err));
    assert_int_equal(member.role, ROLE_OWNER);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(schema_setup, schema_teardown)
