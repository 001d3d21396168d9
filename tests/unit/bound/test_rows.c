/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds of rows that no other test proves: one tenant meets the bound, and another does not. */
#include "unit/unit.h"

#include "account/api_key.h"
#include "account/invitation.h"
#include "account/member.h"
#include "approval/approval.h"
#include "audit/audit.h"
#include "audit/chain.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "checkpoint/memory_image.h"
#include "event/event.h"
#include "idempotency/idempotency.h"
#include "overview/overview.h"
#include "recipe/recipe_file.h"
#include "secret/egress_authority.h"
#include "secret/egress_secrets.h"
#include "secret/secret.h"
#include "template/template.h"
#include "unit/tenants.h"
#include "webhook/webhook.h"

#define SQL_MAX (4u << 20)
#define MIB     (1024 * 1024)

/* Insert rows 0 to count - 1 in one statement; values has a "#" for the number of the row. */
static void put_rows(const char *into, const char *values, unsigned count)
{
    buffer_auto sql = BUFFER_INIT(SQL_MAX);
    buffer_append_string(&sql, into);
    for (unsigned i = 0; i < count; i++) {
        buffer_append_string(&sql, i ? ", " : " VALUES ");
        for (const char *at = values; *at; at++)
            if (*at == '#')
                buffer_printf(&sql, "%u", i);
            else
                buffer_append_char(&sql, *at);
    }
    server_say(raw, buffer_string(&sql));
}

static long ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
static long ask(const char *format, ...)
{
    char *sql;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&sql, format, arguments) > 0);
    va_end(arguments);
    long answer = server_ask(raw, sql);
    free(sql);
    return answer;
}

static int make_key(const struct user *user, struct error **err)
{
    struct api_key key = {.team_count = 0};
    char text[API_KEY_TEXT_SIZE];
    const struct api_key_request request = {.user_id = user->id, .name = "one more"};
    int result = api_key_create(db, ring, &request, &key, text, err);
    if (result == 0)
        api_key_deinit(&key);
    return result;
}

TEST(a_user_has_so_many_keys)
{
    struct error *err = NULL;
    autofree char *values =
        xasprintf("('key_#', 'lookup#', '%s', 'k', 0, 1, 1, '', 1, NULL)", alice.id);
    put_rows("INSERT INTO api_keys (id, lookup, user_id, name, can_write, all_teams, hash_key_id,"
             " hash, created_at_ms, revoked_at_ms)",
             values, API_KEYS_MAX - 1);
    assert_ok(make_key(&alice, &err));
    assert_fails_saying(make_key(&alice, &err), ERR_INVALID_REQUEST, "at most 1000");
    assert_ok(make_key(&bob, &err));
    server_say(raw, "UPDATE api_keys SET revoked_at_ms = 1 WHERE id = 'key_0'");
    assert_ok(make_key(&alice, &err));
    assert_fails_saying(make_key(&alice, &err), ERR_INVALID_REQUEST, "at most 1000");
    /* Expired keys make room. */
    server_say(raw, "UPDATE api_keys SET expires_at_ms = 1 WHERE id IN ('key_1', 'key_2')");
    assert_ok(make_key(&alice, &err));
    assert_int_equal(ask("SELECT COUNT(*) FROM api_keys WHERE revoked_at_ms > 1"), 2);
    assert_ok(make_key(&alice, &err));
    assert_fails_saying(make_key(&alice, &err), ERR_INVALID_REQUEST, "at most 1000");
}

static int make_ssh_key(const struct user *user, struct error **err)
{
    struct api_key key = {.team_count = 0};
    char text[] = "ssh-ed25519 AAAA";
    struct ssh_public_key public = {.text = text, .fingerprint = "one more"};
    const struct api_key_request request = {.user_id = user->id, .name = "k", .ssh = &public};
    int result = ssh_key_create(db, ring, &request, &key, err);
    if (result == 0)
        api_key_deinit(&key);
    return result;
}

/* Three more than are kept, of which the oldest is of the other kind. */
static void assert_oldest_go(const char *prefix, const char *sister,
                             int (*make)(const struct user *user, struct error **err))
{
    struct error *err = NULL;
    autofree char *values =
        xasprintf("(CONCAT('%s', LPAD('#', 6, '0')), '%sgone#', '%s', 'k', 0, 1, 1, '', 1, 1)",
                  prefix, prefix, bob.id);
    autofree char *change =
        xasprintf("UPDATE api_keys SET id = '%s000000' WHERE id = '%s000000'", sister, prefix);
    put_rows("INSERT INTO api_keys (id, lookup, user_id, name, can_write, all_teams, hash_key_id,"
             " hash, created_at_ms, revoked_at_ms)",
             values, API_KEYS_REVOKED_MAX + 3);
    server_say(raw, change);
    assert_ok(make(&bob, &err));
    assert_int_equal(ask("SELECT COUNT(*) FROM api_keys WHERE lookup LIKE '%sgone%%' AND id LIKE"
                         " '%s%%'",
                         prefix, prefix),
                     API_KEYS_REVOKED_MAX);
    assert_int_equal(
        ask("SELECT COUNT(*) FROM api_keys WHERE id IN ('%s000001', '%s000002')", prefix, prefix),
        0);
    assert_int_equal(ask("SELECT COUNT(*) FROM api_keys WHERE id = '%s000000'", sister), 1);
    server_say(raw, "DELETE FROM api_keys WHERE lookup LIKE '%gone%'");
}

TEST(the_oldest_revoked_keys_of_a_user_go)
{
    assert_oldest_go("key_", "ssk_", make_key);
    assert_oldest_go("ssk_", "key_", make_ssh_key);
}

TEST(a_team_has_so_many_members)
{
    struct error *err = NULL;
    struct member member;
    autofree char *users = xasprintf("('usr_#', 'user#', '%s', 1)", alice.personal_team_id);
    autofree char *members = xasprintf("('usr_#', '%s', 'member')", acme.id);
    put_rows("INSERT INTO users (id, name, personal_team_id, created_at_ms)", users,
             TEAM_MEMBERS_MAX);
    put_rows("INSERT INTO memberships (user_id, team_id, role)", members, TEAM_MEMBERS_MAX - 1);
    assert_fails_saying(member_add(db, acme.id, "bob", ROLE_MEMBER, &member, &err),
                        ERR_INVALID_REQUEST, "at most 1000");
    assert_ok(member_add(db, other.id, "user0", ROLE_MEMBER, &member, &err));
}

/* A user in more teams could not sign in. */
TEST(a_user_is_in_so_many_teams)
{
    struct error *err = NULL;
    struct member member;
    struct user many;
    struct team third, more;
    assert_ok(user_create(db, "many", &many, &err)); /* in the personal team */
    autofree char *members = xasprintf("('%s', 'tea_m#', 'member')", many.id);
    put_rows("INSERT INTO teams (id, slug, plan, created_at_ms)", "('tea_m#', 'm#', 'pro', 1)",
             USER_TEAMS_MAX - 2);
    put_rows("INSERT INTO memberships (user_id, team_id, role)", members, USER_TEAMS_MAX - 2);
    assert_ok(member_add(db, other.id, "many", ROLE_MEMBER, &member, &err));
    assert_ok(team_create(db, "third", "pro", "bob", &third, &err));
    assert_fails_saying(member_add(db, third.id, "many", ROLE_MEMBER, &member, &err),
                        ERR_INVALID_REQUEST, "at most 4096 teams");
    assert_fails_saying(team_create(db, "more", "pro", "many", &more, &err), ERR_INVALID_REQUEST,
                        "at most 4096 teams");
    assert_ok(member_remove(db, other.id, "many", &err));
    assert_ok(member_add(db, third.id, "many", ROLE_MEMBER, &member, &err));
    server_say(raw, "DELETE FROM memberships WHERE team_id LIKE 'tea_m%'");
    server_say(raw, "DELETE FROM teams WHERE id LIKE 'tea_m%'");
}

static int invite(const char *team_id, const char *name, struct error **err)
{
    struct invitation invitation;
    return invitation_make(db, team_id, name, ROLE_MEMBER, bob.id, &invitation, err);
}

TEST(invitations_are_few_for_a_user_and_a_team)
{
    struct error *err = NULL;
    long long ends_ms = clock_in_s(3600);
    autofree char *of_team =
        xasprintf("('%s', 'usr_#', 'member', '%s', %lld)", other.id, bob.id, ends_ms);
    autofree char *to_user =
        xasprintf("('tea_#', 'usr_999', 'member', '%s', %lld)", bob.id, ends_ms);
    autofree char *owned = xasprintf("('%s', 'tea_#', 'owner')", bob.id);
    static const char into[] =
        "INSERT INTO team_invitations (team_id, user_id, role, invited_by, expires_at_ms)";
    put_rows("INSERT INTO teams (id, slug, plan, created_at_ms)", "('tea_#', 'team#', 'pro', 1)",
             INVITATIONS_USER_MAX + 1);
    put_rows("INSERT INTO memberships (user_id, team_id, role)", owned, INVITATIONS_USER_MAX + 1);
    put_rows(into, of_team, INVITATIONS_TEAM_MAX);
    put_rows(into, to_user, INVITATIONS_USER_MAX);
    assert_fails_saying(invite(other.id, "user200", &err), ERR_INVALID_REQUEST, "at most 100");
    assert_fails_saying(invite("tea_100", "user999", &err), ERR_INVALID_REQUEST, "has 100");
    assert_ok(invite("tea_100", "user200", &err));
}

static int ask_for_version(const struct team *team, bool new_template, struct error **err)
{
    struct template_version version;
    const struct template_request request = {.owner = team->id,
                                             .slug = "base",
                                             .new_template = new_template,
                                             .image = "image",
                                             .cpu = 1,
                                             .memory_mb = 512};
    return template_request_build(db, &request, &version, err);
}

TEST(a_team_has_so_many_template_versions)
{
    struct error *err = NULL;
    autofree char *template = xasprintf("INSERT INTO templates (id, owner, slug, created_at_ms)"
                                        " VALUES ('tpl_acme', '%s', 'base', 1)",
                                        acme.id);
    server_say(raw, template);
    put_rows("INSERT INTO template_versions (id, template_id, version, state, virtual_machine, cpu,"
             " memory_mb, image, created_at_ms)",
             "('tpv_#', 'tpl_acme', 1 + #, 'ready', 0, 1, 512, 'image', 1)",
             TEMPLATE_VERSIONS_MAX - 1);
    assert_ok(ask_for_version(&acme, false, &err));
    assert_fails_saying(ask_for_version(&acme, false, &err), ERR_BUILD_QUOTA_EXCEEDED,
                        "at most 1000");
    assert_ok(ask_for_version(&other, true, &err));
    server_say(raw, "UPDATE template_versions SET state = 'deleted' WHERE id = 'tpv_0'");
    assert_ok(ask_for_version(&acme, false, &err));
}

TEST(a_team_has_so_many_files_for_builds)
{
    static const char hash[] = "0123456789abcdef0123456789abcdef";
    struct error *err = NULL;
    struct recipe_file file;
    autofree char *values = xasprintf("('rcf_#', '%s', 'hash#', 1, 1, 1)", acme.id);
    put_rows("INSERT INTO recipe_files (id, team_id, hash, size, is_whole, used_at_ms)", values,
             RECIPE_FILES_MOST);
    assert_fails_saying(recipe_file_expect(db, acme.id, hash, &file, &err),
                        ERR_BUILD_QUOTA_EXCEEDED, "at most 1000");
    assert_ok(recipe_file_expect(db, other.id, hash, &file, &err));
    server_say(raw, "DELETE FROM recipe_files WHERE id <> 'rcf_0'");
    autofree char *large = xasprintf("UPDATE recipe_files SET size = %lld", RECIPE_FILES_MAX + 1);
    server_say(raw, large);
    assert_fails_saying(recipe_file_expect(db, acme.id, hash, &file, &err),
                        ERR_BUILD_QUOTA_EXCEEDED, "512 MiB");
}

TEST(a_team_keeps_its_newest_events)
{
    struct error *err = NULL;
    uint64_t looked_to = 0;
    bool more;
    autofree char *of_acme = xasprintf("(100 + #, 1, '%s', 'sandbox.created', '{}', %lld)", acme.id,
                                       (long long)clock_now_ms());
    autofree char *of_other = xasprintf("(200 + #, 1, '%s', 'sandbox.created', '{}', %lld)",
                                        other.id, (long long)clock_now_ms());
    put_rows("INSERT INTO events (id, seq, team_id, kind, data, at_ms)", of_acme, 30);
    put_rows("INSERT INTO events (id, seq, team_id, kind, data, at_ms)", of_other, 5);
    assert_ok(event_purge(db, 3600000, 10, &looked_to, &more, &err));
    assert_int_equal(ask("SELECT COUNT(*) FROM events WHERE team_id = '%s'", acme.id), 10);
    assert_int_equal(ask("SELECT MIN(id) FROM events WHERE team_id = '%s'", acme.id), 120);
    assert_int_equal(ask("SELECT COUNT(*) FROM events WHERE team_id = '%s'", other.id), 5);
}

/* The process that deletes them has other work. */
TEST(old_rows_of_the_audit_log_go_in_parts)
{
    struct error *err = NULL;
    uint64_t removed;
    bool more;
    autofree char *old =
        xasprintf("('aud_00000000000000000000#', 1000, '%s', 'key.create', '', 'key', '', '', '',"
                  " '', 'done', '', '', 1, '')",
                  acme.id);
    put_rows("INSERT INTO audit_log (id, at_ms, team_id, action, resource, actor_kind, actor_id,"
             " user_id, address, request_id, result, error, begun_id, mac_key_id, mac)",
             old, 6000);
    assert_ok(audit_retain(db, ring, 1, &removed, &more, &err));
    assert_int_equal(removed, 5000);
    assert_true(more);
    assert_ok(audit_retain(db, ring, 0, &removed, &more, &err));
    assert_int_equal(removed, 1000);
    assert_false(more);
}

/* One process reads events for all followers. */
TEST(a_reader_with_a_filter_reads_few_events_at_once)
{
    struct error *err = NULL;
    const char *const teams[] = {acme.id, other.id};
    struct event_filter filter = {.team_ids = teams, .team_count = 1};
    uint64_t end;
    server_say(raw, "DELETE FROM events");
    autofree char *of_acme =
        xasprintf("(1000 + #, 1000 + #, '%s', 'sandbox.created', '{}', 1)", acme.id);
    put_rows("INSERT INTO events (id, seq, team_id, kind, data, at_ms)", of_acme,
             2 * EVENT_SCAN_MAX);
    autofree char *of_other =
        xasprintf("(100000 + #, 100000 + #, '%s', 'sandbox.created', '{}', 1)", other.id);
    put_rows("INSERT INTO events (id, seq, team_id, kind, data, at_ms)", of_other, 10);
    assert_ok(event_scan_end(db, &filter, 0, 200000, &end, &err));
    assert_int_equal(end, 200000); /* each row that it reads is one that it gets */
    filter.kinds[EVENT_NETWORK_DENIED] = true;
    assert_ok(event_scan_end(db, &filter, 0, 200000, &end, &err));
    assert_int_equal(end, 1000 + EVENT_SCAN_MAX);
    assert_ok(event_scan_end(db, &filter, end, 200000, &end, &err));
    assert_int_equal(end, 200000);
    filter.team_count = 2;
    assert_ok(event_scan_end(db, &filter, 0, 200000, &end, &err));
    assert_int_equal(end, 1000 + EVENT_SCAN_MAX / 2);
    filter.team_ids = &teams[1];
    filter.team_count = 1;
    assert_ok(event_scan_end(db, &filter, 0, 200000, &end, &err));
    assert_int_equal(end, 200000);
    server_say(raw, "DELETE FROM events");
}

/* A user may be in thousands of teams. */
TEST(a_list_of_events_reads_no_further_team_after_its_time)
{
    struct error *err = NULL;
    const char *const teams[] = {acme.id, other.id};
    struct event_filter filter = {.team_ids = teams, .team_count = 2, .until_ms = 1};
    struct event *list;
    unsigned count;
    assert_fails_saying(event_list(db, &filter, 0, 200000, 10, &list, &count, &err),
                        ERR_INVALID_REQUEST, "name one of the teams");
    assert_null(list);
    filter.team_count = 1;
    assert_ok(event_list(db, &filter, 0, 200000, 10, &list, &count, &err));
    events_free(list, count);
}

TEST(an_event_that_comes_often_is_stored_once)
{
    struct error *err = NULL;
    for (int i = 0; i < 3; i++) {
        const struct event_seldom seldom = {
            .note = {.kind = EVENT_NETWORK_DENIED, .team_id = acme.id},
            .subject = "sbx_1",
            .interval_ms = 600000,
        };
        assert_ok(event_add_seldom(db, &seldom, &err));
    }
    assert_int_equal(ask("SELECT COUNT(*) FROM event_outbox WHERE kind = '%s'",
                         event_kind_names[EVENT_NETWORK_DENIED]),
                     1);
    assert_int_equal(ask("SELECT COUNT(*) FROM event_throttles WHERE subject = 'sbx_1'"), 1);
}

static uint64_t ask_for(const char *turn)
{
    struct error *err = NULL;
    const struct approval_asker asker = {"sbx_1", acme.id, alice.id};
    json_auto_t *entries = json_array();
    for (unsigned i = 0; i < 2 * APPROVALS_SANDBOX_RATE; i++)
        json_array_append_new(entries, json_sprintf("n%u.%s.example.com", i, turn));
    assert_ok(approvals_ask(db, &asker, entries, &err));
    return ask("SELECT COUNT(*) FROM event_outbox WHERE kind = '%s'",
               event_kind_names[EVENT_NETWORK_APPROVAL_REQUESTED]);
}

/* A key that replaces the policy, or answers, lets the guest make no more events. */
TEST(new_policies_make_no_room_for_approvals)
{
    struct error *err = NULL;
    struct approval *list = NULL;
    unsigned count;
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    server_say(raw, "INSERT INTO sandboxes (id, route, visible, network)"
                    " VALUES ('sbx_1', 'r', 1, '{\"ask\": true}')");
    assert_int_equal(ask_for("one"), APPROVALS_SANDBOX_RATE);
    assert_ok(approval_list(db, "sbx_1", &list, &count, &err));
    assert_int_equal(count, APPROVALS_SANDBOX_RATE);
    assert_ok(approval_forget(db, list[0].id, &err));
    assert_int_equal(ask_for("two"), APPROVALS_SANDBOX_RATE);
    assert_ok(approvals_forget(db, "sbx_1", &err));
    assert_fails_saying(approval_lock(db, "sbx_1", list[1].id, &list[1], &err), ERR_NOT_FOUND,
                        "approval");
    free(list);
    assert_ok(approval_list(db, "sbx_1", &list, &count, &err));
    assert_int_equal(count, 0);
    free(list);
    assert_int_equal(ask_for("one"), APPROVALS_SANDBOX_RATE);
    /* In each next minute there are as many. */
    for (unsigned minute = 2; minute <= 5; minute++) {
        autofree char *turn = xasprintf("t%u", minute);
        server_say(raw, "UPDATE approvals SET asked_at_ms = asked_at_ms - 61000");
        assert_int_equal(ask_for(turn), minute * APPROVALS_SANDBOX_RATE);
        assert_ok(approvals_forget(db, "sbx_1", &err));
        assert_true(ask("SELECT COUNT(*) FROM approvals") <= APPROVALS_PER_SANDBOX);
    }
}

/* A few mentions of a long secret become many bytes, of each sandbox, in the firewall of the host.
 */
TEST(rules_of_a_policy_take_little_memory)
{
    struct error *err = NULL;
    struct secret secret = {.hosts = NULL};
    struct policy policy = {.count = 0};
    bool created;
    json_auto_t *hosts = json_pack("[s]", SECRET_ANY_HOST), *rules = json_array();
    autofree char *value = xcalloc(1, SECRET_VALUE_MAX + 1);
    memset(value, 'v', SECRET_VALUE_MAX);
    const struct secret_change change = {.name = "long", .value = value, .hosts = hosts};
    assert_ok(secret_put(db, ring, &acme, alice.id, &change, &secret, &created, &err));
    secret_deinit(&secret);
    for (unsigned i = 0; i < EGRESS_RULES_MAX; i++) {
        json_t *headers = json_object();
        for (unsigned j = 0; j < EGRESS_HEADERS_MAX; j++) {
            char name[] = "x-0";
            name[2] += (char)j;
            json_object_set_new(headers, name, json_string("${secrets.long}"));
        }
        json_array_append_new(rules,
                              json_pack("{s:o, s:o}", "host", json_sprintf("h%u.example.com", i),
                                        "headers", headers));
    }
    json_auto_t *stored = json_pack("{s:O}", "rules", rules);
    autofree char *text = json_dumps(stored, JSON_COMPACT);
    assert_ok(egress_rules_admit(db, acme.id, stored, &err));
    assert_ok(egress_rules_compile(db, ring, acme.id, text, &policy, &err));
    const json_t *compiled = json_object_get(policy.egress, "rules");
    assert_true(json_dumpb(compiled, NULL, 0, JSON_COMPACT) < EGRESS_VALUES_BYTES_MAX + 32768);
    const json_t *first = json_array_get(compiled, 0);
    assert_int_equal(json_object_size(json_object_get(first, "headers")), EGRESS_HEADERS_MAX);
    assert_null(json_object_get(first, "refused"));
    const json_t *last = json_array_get(compiled, EGRESS_RULES_MAX - 1);
    assert_int_equal(json_object_size(json_object_get(last, "headers")), 0);
    assert_non_null(json_object_get(last, "refused"));
    policy_deinit(&policy);
    json_t *paths = json_array();
    for (unsigned i = 0; i < EGRESS_RULES_BYTES_MAX / 16; i++)
        json_array_append_new(paths, json_string("/path/of/a/rule*"));
    json_object_set_new(json_array_get(rules, 0), "paths", paths);
    assert_fails_saying(egress_rules_admit(db, acme.id, stored, &err), ERR_INVALID_REQUEST,
                        "786432 bytes");
}

TEST(the_oldest_deleted_webhooks_of_a_team_go)
{
    struct error *err = NULL;
    struct webhook webhook = {.url = "https://example.com/", .enabled = true};
    char secret[WEBHOOK_SECRET_SIZE];
    autofree char *deleted = xasprintf("(CONCAT('whk_', LPAD('#', 4, '0')), '%s', '', '', 0, '',"
                                       " 0, '', 1, %lld)",
                                       acme.id, (long long)clock_now_ms());
    autofree char *of_other =
        xasprintf("('whk_other', '%s', '', '', 0, '', 0, '', 1, 1)", other.id);
    put_rows("INSERT INTO webhooks (id, team_id, url, kinds, enabled, secret, cursor_id,"
             " created_by, created_at_ms, deleted_at_ms)",
             deleted, WEBHOOKS_DELETED_MAX + 3);
    put_rows("INSERT INTO webhooks (id, team_id, url, kinds, enabled, secret, cursor_id,"
             " created_by, created_at_ms, deleted_at_ms)",
             of_other, 1);
    assert_ok(webhook_create(db, ring, &acme, alice.id, &webhook, secret, &err));
    server_say(raw, "UPDATE webhooks SET id = 'whk_1new' WHERE deleted_at_ms IS NULL");
    assert_ok(webhook_delete(db, "whk_1new", &err));
    assert_int_equal(ask("SELECT COUNT(*) FROM webhooks WHERE team_id = '%s'", acme.id),
                     WEBHOOKS_DELETED_MAX);
    assert_int_equal(ask("SELECT COUNT(*) FROM webhooks WHERE id IN ('whk_0003', 'whk_1new')"), 1);
    assert_int_equal(ask("SELECT COUNT(*) FROM webhooks WHERE id IN ('whk_0004', 'whk_1new')"), 2);
    assert_int_equal(ask("SELECT COUNT(*) FROM webhooks WHERE team_id = '%s'", other.id), 1);
}

TEST(refused_acts_of_an_actor_have_one_row)
{
    struct error *err = NULL;
    uint64_t unwritten;
    bool is_written;
    assert_ok(audit_refusal_count(db, "key_a", &is_written, &unwritten, &err));
    assert_true(is_written);
    for (int i = 0; i < 3; i++) {
        assert_ok(audit_refusal_count(db, "key_a", &is_written, &unwritten, &err));
        assert_false(is_written);
    }
    assert_ok(audit_refusal_count(db, "key_b", &is_written, &unwritten, &err));
    assert_true(is_written);
    server_say(raw, "UPDATE audit_refusals SET until_ms = 1");
    assert_ok(audit_refusal_count(db, "key_a", &is_written, &unwritten, &err));
    assert_true(is_written);
    assert_int_equal(unwritten, 3);
    assert_int_equal(ask("SELECT COUNT(*) FROM audit_refusals"), 2);
    /* The clock was set back. */
    server_say(raw, "UPDATE audit_refusals SET until_ms = 9000000000000");
    assert_ok(audit_refusal_count(db, "key_a", &is_written, &unwritten, &err));
    assert_true(is_written);
}

static void answer(const struct user *user, const char *key, size_t size)
{
    struct error *err = NULL;
    struct idempotency idempotency;
    autofree char *text = xcalloc(1, size);
    const struct idempotency_scope scope = {
        .user_id = user->id, .method = "POST", .path = "/", .key = key, .body = ""};
    assert_ok(idempotency_begin(db, ring, &scope, 60, &idempotency, &err));
    assert_ok(idempotency_finish(db, ring, &idempotency, 200, NULL, text, size, &err));
    idempotency_deinit(&idempotency);
}

TEST(the_oldest_answers_of_a_user_make_room)
{
    autofree char *values =
        xasprintf("('idk_#', '%s', 'POST', '/', 'old#', 1, '', 'done', 'a', 1, 1, %d, %lld + #)",
                  alice.id, MIB, (long long)clock_now_ms() - 60000);
    put_rows("INSERT INTO idempotency_keys (id, user_id, method, path, idempotency_key,"
             " body_key_id, body_mac, state, attempt, attempts, lease_until_ms, answer_bytes,"
             " created_at_ms)",
             values, IDEMPOTENCY_BYTES_MAX / MIB);
    answer(&bob, "new", MIB / 2);
    assert_int_equal(ask("SELECT COUNT(*) FROM idempotency_keys WHERE user_id = '%s'", alice.id),
                     IDEMPOTENCY_BYTES_MAX / MIB);
    answer(&alice, "new", MIB / 2);
    assert_true(ask("SELECT SUM(answer_bytes) FROM idempotency_keys WHERE user_id = '%s'",
                    alice.id) <= IDEMPOTENCY_BYTES_MAX);
    assert_int_equal(ask("SELECT COUNT(*) FROM idempotency_keys WHERE idempotency_key = 'new'"), 2);
    assert_int_equal(ask("SELECT COUNT(*) FROM idempotency_keys WHERE id = 'idk_0'"), 0);
}

static int take_image(const char *id, const char *team_id, const struct user *user,
                      uint32_t size_mb)
{
    struct error *err = NULL;
    const struct memory_image image = {
        .id = id, .team_id = team_id, .user_id = user->id, .host_id = 1, .size_mb = size_mb};
    int result = memory_image_take(db, &image, &err);
    if (result < 0)
        assert_int_equal(err->code, ERR_STOPPED_QUOTA_EXCEEDED);
    error_clear(&err);
    return result;
}

/* acme and other have the plan pro; alice's own team has basic, which gives less. bob is no member
 * of acme: his images there do not count elsewhere, and others of his do not count there. */
TEST(memory_images_are_bounded_by_bytes)
{
    struct error *err = NULL;
    struct member member;
    assert_ok(member_add(db, other.id, "alice", ROLE_MEMBER, &member, &err));
    server_say(raw, "UPDATE plans SET paused_memory_gb = IF(name = 'pro', 2, 1)");
    assert_int_equal(take_image("sbx_1", acme.id, &bob, 1024), 0);
    assert_int_equal(take_image("sbx_1", acme.id, &bob, 1024), 0); /* again: counted once */
    assert_int_equal(take_image("sbx_2", acme.id, &alice, 512), 0);
    assert_int_equal(take_image("sbx_3", acme.id, &alice, 1024), -1);
    assert_int_equal(take_image("sbx_3", alice.personal_team_id, &alice, 1024), 0);
    assert_int_equal(take_image("sbx_4", other.id, &alice, 1024), -1); /* by user */
    assert_int_equal(take_image("sbx_4", other.id, &bob, 1024), 0);
    assert_ok(memory_image_drop(db, "sbx_3", &err));
    assert_int_equal(take_image("sbx_5", other.id, &alice, 1024), 0);
    assert_int_equal(ask("SELECT SUM(size_mb) FROM memory_images WHERE user_id = '%s'", alice.id),
                     1536);
    assert_int_equal(take_image("sbx_6", bob.personal_team_id, &bob, 1024), 0);
    assert_int_equal(take_image("sbx_7", acme.id, &bob, 512), 0);
}

TEST(the_authority_and_each_report_have_one_row)
{
    struct error *err = NULL;
    json_auto_t *certificates = json_object();
    for (unsigned i = 0; i < 2; i++) {
        autofree char *host = xasprintf("host%u.example", i);
        assert_ok(egress_authority_certify(db, ring, host, certificates, &err));
        assert_ok(overview_report_put(db, "doctor", i, certificates, &err));
    }
    assert_int_equal(json_object_size(certificates), 2);
    assert_int_equal(ask("SELECT COUNT(*) FROM egress_authority"), 1);
    assert_int_equal(ask("SELECT COUNT(*) FROM reports WHERE name = 'doctor'"), 1);
}

TEST_GROUP(tenants_setup, tenants_teardown)
