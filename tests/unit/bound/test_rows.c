/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds of rows that no other test proves: one tenant meets the bound, and another does not. */
#include "unit/unit.h"

#include "account/api_key.h"
#include "account/invitation.h"
#include "account/member.h"
#include "audit/audit.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "checkpoint/memory_image.h"
#include "event/event.h"
#include "idempotency/idempotency.h"
#include "overview/overview.h"
#include "recipe/recipe_file.h"
#include "secret/egress_authority.h"
#include "template/template.h"
#include "unit/keyring.h"
#include "unit/schema.h"

#define SQL_MAX (4u << 20)
#define MIB     (1024 * 1024)

static struct keyring *ring;
static struct user alice, bob;
static struct team acme, other;

static int set_up(void **state)
{
    struct error *err = NULL;
    if (schema_setup(state) < 0)
        return -1;
    ring = unit_keyring(UNIT_KEY_1);
    return user_create(db, "alice", &alice, &err) < 0 || user_create(db, "bob", &bob, &err) < 0 ||
           team_create(db, "acme", "pro", "alice", &acme, &err) < 0 ||
           team_create(db, "other", "pro", "bob", &other, &err) < 0;
}

static int tear_down(void **state)
{
    keyring_free(ring);
    return schema_teardown(state);
}

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

static void a_user_has_so_many_keys(void **state)
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

static void the_oldest_revoked_keys_of_a_user_go(void **state)
{
    assert_oldest_go("key_", "ssk_", make_key);
    assert_oldest_go("ssk_", "key_", make_ssh_key);
}

static void a_team_has_so_many_members(void **state)
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

static int invite(const char *team_id, const char *name, struct error **err)
{
    struct invitation invitation;
    return invitation_make(db, team_id, name, ROLE_MEMBER, bob.id, &invitation, err);
}

static void invitations_are_few_for_a_user_and_a_team(void **state)
{
    struct error *err = NULL;
    long long ends_ms = clock_in_s(3600);
    autofree char *of_team = xasprintf("('%s', 'usr_#', 'member', '', %lld)", other.id, ends_ms);
    autofree char *to_user = xasprintf("('tea_#', 'usr_999', 'member', '', %lld)", ends_ms);
    static const char into[] =
        "INSERT INTO team_invitations (team_id, user_id, role, invited_by, expires_at_ms)";
    put_rows("INSERT INTO teams (id, slug, plan, created_at_ms)", "('tea_#', 'team#', 'pro', 1)",
             INVITATIONS_USER_MAX + 1);
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

static void a_team_has_so_many_template_versions(void **state)
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

static void a_team_has_so_many_files_for_builds(void **state)
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

static void a_team_keeps_its_newest_events(void **state)
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

static void an_event_that_comes_often_is_stored_once(void **state)
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

static void refused_acts_of_an_actor_have_one_row(void **state)
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

static void the_oldest_answers_of_a_user_make_room(void **state)
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

/* acme and other have the plan pro; alice's own team has basic, which gives less. */
static void memory_images_are_bounded_by_bytes(void **state)
{
    struct error *err = NULL;
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
}

static void the_authority_and_each_report_have_one_row(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_has_so_many_keys),
        cmocka_unit_test(the_oldest_revoked_keys_of_a_user_go),
        cmocka_unit_test(a_team_has_so_many_members),
        cmocka_unit_test(invitations_are_few_for_a_user_and_a_team),
        cmocka_unit_test(a_team_has_so_many_template_versions),
        cmocka_unit_test(a_team_has_so_many_files_for_builds),
        cmocka_unit_test(a_team_keeps_its_newest_events),
        cmocka_unit_test(an_event_that_comes_often_is_stored_once),
        cmocka_unit_test(refused_acts_of_an_actor_have_one_row),
        cmocka_unit_test(the_oldest_answers_of_a_user_make_room),
        cmocka_unit_test(memory_images_are_bounded_by_bytes),
        cmocka_unit_test(the_authority_and_each_report_have_one_row),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, set_up, tear_down);
}
