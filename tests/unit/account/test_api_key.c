/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "account/api_key.h"
#include "base/clock.h"
#include "base/mem.h"
#include "unit/tenants.h"

/* A key of alice's, as the value of an Authorization header. */
static void make_key(const struct api_key_request *changes, char id[ID_SIZE],
                     char header[API_KEY_TEXT_SIZE + 8])
{
    struct error *err = NULL;
    struct api_key key;
    char text[API_KEY_TEXT_SIZE];
    struct api_key_request request = *changes;
    request.user_id = alice.id;
    assert_ok(api_key_create(db, ring, &request, &key, text, &err));
    assert_int_equal(strlen(text), API_KEY_TEXT_SIZE - 1);
    memcpy(id, key.id, ID_SIZE);
    snprintf(header, API_KEY_TEXT_SIZE + 8, "Bearer %s", text);
    api_key_deinit(&key);
}

TEST(a_key_reaches_the_teams_of_its_user)
{
    struct error *err = NULL;
    struct principal principal;
    const struct team *team;
    char id[ID_SIZE], header[API_KEY_TEXT_SIZE + 8];
    make_key(&(struct api_key_request){.name = "all", .can_write = true}, id, header);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    assert_string_equal(principal.user_id, alice.id);
    assert_string_equal(principal.key_id, id);
    assert_true(principal.can_write);
    assert_int_equal(principal.team_count, 2);
    assert_ok(principal_team(&principal, NULL, "/team", &team, &err));
    assert_string_equal(team->slug, "alice");
    assert_ok(principal_team(&principal, "acme", "/team", &team, &err));
    assert_string_equal(team->plan, "pro");
    assert_true(principal_reaches(&principal, team->id));
    assert_false(principal_reaches(&principal, "tea_00000000000000000000000000"));
    assert_fails(principal_team(&principal, "other", "/team", &team, &err), ERR_TEAM_FORBIDDEN);
    assert_string_equal(err->field, "/team");
    error_clear(&err);
    assert_fails_saying(principal_team(&principal, "nothing", NULL, &team, &err),
                        ERR_TEAM_FORBIDDEN, "team");
    principal_deinit(&principal);
    /* The scheme's name is read without regard to case (RFC 9110). */
    memcpy(header, "bearer", 6);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    principal_deinit(&principal);
}

TEST(a_restricted_key_reaches_what_it_names)
{
    struct error *err = NULL;
    struct principal principal;
    const struct team *team;
    char id[ID_SIZE], header[API_KEY_TEXT_SIZE + 8];
    const char *const slugs[] = {"acme", "acme"};
    make_key(&(struct api_key_request){.name = "one", .team_slugs = slugs, .team_count = 2}, id,
             header);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    assert_false(principal.can_write);
    assert_int_equal(principal.team_count, 1);
    assert_string_equal(principal.teams[0].slug, "acme");
    assert_ok(principal_team(&principal, NULL, "/team", &team, &err));
    assert_string_equal(team->slug, "acme");
    assert_fails_saying(principal_team(&principal, "acmee", "/team", &team, &err),
                        ERR_TEAM_FORBIDDEN,
                        "no team \"acmee\"; did you mean \"acme\"? It reaches: acme.");
    assert_fails_saying(principal_team(&principal, "A \xe2\x82\xac", "/team", &team, &err),
                        ERR_TEAM_FORBIDDEN, "no team \"…\". It reaches: acme.");
    principal_deinit(&principal);
}

/* Without the personal team among several there is none that a request means that names none. */
TEST(a_default_team_is_never_guessed)
{
    struct error *err = NULL;
    struct team teams[12];
    const struct team *team;
    struct principal principal = {.personal_team_id = "tea_personal", .teams = teams};
    for (unsigned i = 0; i < 12; i++) {
        snprintf(teams[i].id, sizeof teams[i].id, "tea_%u", i);
        snprintf(teams[i].slug, sizeof teams[i].slug, "t%u", i);
    }
    assert_null(principal_default_team(&principal));
    assert_fails_saying(principal_team(&principal, NULL, NULL, &team, &err), ERR_TEAM_FORBIDDEN,
                        "reaches no team");
    principal.team_count = 2;
    assert_null(principal_default_team(&principal));
    assert_fails_saying(principal_team(&principal, NULL, NULL, &team, &err), ERR_TEAM_FORBIDDEN,
                        "name one of them: t0, t1.");
    principal.team_count = 12;
    assert_fails_saying(principal_team(&principal, NULL, NULL, &team, &err), ERR_TEAM_FORBIDDEN,
                        "t9 and 2 more.");
    snprintf(teams[11].id, sizeof teams[11].id, "tea_personal");
    assert_ok(principal_team(&principal, NULL, NULL, &team, &err));
    assert_ptr_equal(team, &teams[11]);
}

TEST(a_key_survives_the_end_of_its_memberships)
{
    static const struct db_statement leave = {
        "test.leave", "DELETE FROM memberships WHERE user_id = ? AND team_id IN"
                      " (SELECT id FROM teams WHERE slug = 'brief')"};
    struct error *err = NULL;
    struct principal principal;
    struct team team;
    char id[ID_SIZE], header[API_KEY_TEXT_SIZE + 8];
    const char *const slugs[] = {"brief"};
    assert_ok(team_create(db, "brief", "pro", "alice", &team, &err));
    make_key(&(struct api_key_request){.name = "b", .team_slugs = slugs, .team_count = 1}, id,
             header);
    assert_ok(db_exec(db, &leave, DB_ARGS(db_text(alice.id)), NULL, &err));
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    assert_int_equal(principal.team_count, 0);
    principal_deinit(&principal);
}

TEST(wrong_keys_all_answer_the_same)
{
    struct error *err = NULL;
    struct principal principal;
    char id[ID_SIZE], good[API_KEY_TEXT_SIZE + 8], bad[API_KEY_TEXT_SIZE + 32];
    make_key(&(struct api_key_request){.name = "good"}, id, good);
    char *message = NULL;
#define assert_refused(value)                                                           \
    do {                                                                                \
        assert_fails(principal_authenticate(NULL, db, ring, (value), &principal, &err), \
                     ERR_UNAUTHORIZED);                                                 \
        if (message)                                                                    \
            assert_string_equal(err->message, message);                                 \
        else                                                                            \
            message = xstrdup(err->message);                                            \
        assert_null(principal.teams);                                                   \
        error_clear(&err);                                                              \
    } while (0)
    assert_refused(NULL);
    assert_refused("");
    assert_refused("Bearer ");
    assert_refused("Basic YTpi");
    assert_refused(strchr(good, ' ') + 1); /* no scheme */
    /* One character of the secret, of the lookup part, of the form; one too few, one too many. */
    for (size_t i = 7; good[i]; i++) {
        memcpy(bad, good, sizeof good);
        bad[i] = bad[i] == 'b' ? 'c' : 'b';
        assert_refused(bad);
    }
    memcpy(bad, good, sizeof good);
    bad[strlen(bad) - 1] = '\0';
    assert_refused(bad);
    snprintf(bad, sizeof bad, "%sA", good);
    assert_refused(bad);
    snprintf(bad, sizeof bad, "%s, %.10s", good, good);
    assert_refused(bad);
    assert_ok(principal_authenticate(NULL, db, ring, good, &principal, &err));
    principal_deinit(&principal);
    assert_ok(api_key_revoke(db, NULL, id, false, &err));
    assert_refused(good);
    free(message);
}

TEST(both_spellings_are_one_key)
{
    struct error *err = NULL;
    struct principal principal;
    char id[ID_SIZE], header[API_KEY_TEXT_SIZE + 8], hex[API_KEY_HEX_SIZE];
    make_key(&(struct api_key_request){.name = "two spellings"}, id, header);
    const char *text = strchr(header, ' ') + 1;
    api_key_to_hex(text, hex);
    assert_int_equal(strspn(hex + 4, "0123456789abcdef"), API_KEY_HEX_SIZE - 5);
    assert_memory_equal(hex, "e2b_", 4);
    const char *const spellings[] = {text, hex};
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        assert_ok(principal_authenticate_key(NULL, db, ring, spellings[i], &principal, &err));
        assert_string_equal(principal.key_id, id);
        principal_deinit(&principal);
    }
    for (size_t i = 4; hex[i]; i++) {
        char kept = hex[i];
        hex[i] = kept == '6' ? '5' : '6';
        assert_fails(principal_authenticate_key(NULL, db, ring, hex, &principal, &err),
                     ERR_UNAUTHORIZED);
        error_clear(&err);
        hex[i] = kept;
    }
    hex[API_KEY_HEX_SIZE - 2] = '\0';
    assert_fails(principal_authenticate_key(NULL, db, ring, hex, &principal, &err),
                 ERR_UNAUTHORIZED);
    error_clear(&err);
    assert_fails(principal_authenticate_key(NULL, db, ring, NULL, &principal, &err),
                 ERR_UNAUTHORIZED);
    error_clear(&err);
}

TEST(an_expired_key_is_refused)
{
    static const struct db_statement expire = {
        "test.expire", "UPDATE api_keys SET expires_at_ms = ? WHERE id = ?"};
    struct error *err = NULL;
    struct principal principal;
    char id[ID_SIZE], header[API_KEY_TEXT_SIZE + 8];
    make_key(&(struct api_key_request){.name = "e", .expires_at_ms = clock_now_ms() + 60000}, id,
             header);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    principal_deinit(&principal);
    assert_ok(db_exec(db, &expire, DB_ARGS(db_i64(clock_now_ms() - 1), db_text(id)), NULL, &err));
    assert_fails_saying(principal_authenticate(NULL, db, ring, header, &principal, &err),
                        ERR_UNAUTHORIZED, "expired");
}

/* last_used_at of a key, 0 when it was never used; set_to_ms < 0 leaves it as it is. */
static int64_t last_used(const char *id, int64_t set_to_ms)
{
    static const struct db_statement set = {"test.set",
                                            "UPDATE api_keys SET last_used_at_ms = ? WHERE id = ?"};
    static const struct db_statement get = {"test.get",
                                            "SELECT last_used_at_ms FROM api_keys WHERE id = ?"};
    struct error *err = NULL;
    db_rows_auto *rows = NULL;
    if (set_to_ms >= 0)
        assert_ok(db_exec(db, &set, DB_ARGS(db_i64(set_to_ms), db_text(id)), NULL, &err));
    assert_ok(db_query(db, &get, DB_ARGS(db_text(id)), &rows, &err));
    assert_true(db_rows_next(rows));
    return db_get_i64(rows, 0);
}

TEST(its_use_is_noted_at_most_once_a_minute)
{
    struct error *err = NULL;
    struct principal principal;
    char id[ID_SIZE], header[API_KEY_TEXT_SIZE + 8];
    make_key(&(struct api_key_request){.name = "u"}, id, header);
    assert_int_equal(last_used(id, -1), 0);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    principal_deinit(&principal);
    int64_t now_ms = clock_now_ms(), noted_ms = last_used(id, -1);
    assert_in_range(noted_ms, now_ms - 5000, now_ms);
    last_used(id, now_ms - 30000);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    principal_deinit(&principal);
    assert_int_equal(last_used(id, -1), now_ms - 30000);
    last_used(id, now_ms - 61000);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    principal_deinit(&principal);
    assert_in_range(last_used(id, -1), now_ms, now_ms + 5000);
}

TEST(bad_requests_name_their_field)
{
    struct error *err = NULL;
    struct api_key key;
    char text[API_KEY_TEXT_SIZE];
    char long_name[66];
    const char *const slugs[] = {"acme", "other"};
    memset(long_name, 'n', 65);
    long_name[65] = '\0';
    const struct {
        struct api_key_request request;
        enum error_code code;
        const char *field;
    } bad[] = {
        {{.name = long_name}, ERR_INVALID_REQUEST, "/name"},
        {{.name = "two\nlines"}, ERR_INVALID_REQUEST, "/name"},
        {{.name = "\xff"}, ERR_INVALID_REQUEST, "/name"},
        {{.expires_at_ms = 1}, ERR_INVALID_REQUEST, "/expires_at"},
        {{.team_slugs = slugs, .team_count = 257}, ERR_INVALID_REQUEST, "/teams"},
        {{.team_slugs = slugs, .team_count = 2}, ERR_TEAM_FORBIDDEN, "/teams/1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct api_key_request request = bad[i].request;
        request.user_id = alice.id;
        assert_fails(api_key_create(db, ring, &request, &key, text, &err), bad[i].code);
        assert_string_equal(err->field, bad[i].field);
        error_clear(&err);
    }
}

TEST(keys_are_listed_newest_first)
{
    struct error *err = NULL;
    struct api_key *keys;
    unsigned count;
    char first[ID_SIZE], second[ID_SIZE], header[API_KEY_TEXT_SIZE + 8];
    const char *const slugs[] = {"alice", "acme"};
    make_key(&(struct api_key_request){.name = "\xc3\xa4"}, first, header);
    clock_sleep_ms(2); /* identifiers of one millisecond have no order */
    make_key(&(struct api_key_request){.name = "n", .team_slugs = slugs, .team_count = 2}, second,
             header);
    assert_ok(api_key_list(db, API_KEYS, alice.id, &keys, &count, &err));
    assert_true(count >= 2);
    assert_string_equal(keys[0].id, second);
    assert_false(keys[0].all_teams);
    assert_int_equal(keys[0].team_count, 2);
    assert_string_equal(keys[0].teams[0].slug, "acme");
    assert_string_equal(keys[0].user_name, "alice");
    assert_string_equal(keys[1].id, first);
    assert_true(keys[1].all_teams);
    assert_string_equal(keys[1].name, "\xc3\xa4");
    api_keys_free(keys, count);
    assert_ok(api_key_list(db, API_KEYS, bob.id, &keys, &count, &err));
    assert_int_equal(count, 0);
    api_keys_free(keys, count);
}

TEST(only_ones_own_keys_are_revoked)
{
    struct error *err = NULL;
    char id[ID_SIZE], header[API_KEY_TEXT_SIZE + 8];
    make_key(&(struct api_key_request){.name = "r"}, id, header);
    assert_fails_saying(api_key_revoke(db, bob.id, id, false, &err), ERR_NOT_FOUND, "key");
    assert_ok(api_key_revoke(db, alice.id, id, false, &err));
    for (unsigned with_created = 0; with_created < 2; with_created++)
        assert_fails_saying(api_key_revoke(db, alice.id, id, with_created, &err), ERR_NOT_FOUND,
                            "key");
    assert_fails_saying(api_key_revoke(db, NULL, "key_none", false, &err), ERR_NOT_FOUND, "key");
}

static bool is_valid(const char *header)
{
    error_auto err = NULL;
    struct principal principal;
    bool valid = principal_authenticate(NULL, db, ring, header, &principal, &err) == 0;
    if (valid)
        principal_deinit(&principal);
    return valid;
}

static unsigned count_created(const char *user_id, const char *id)
{
    struct error *err = NULL;
    struct api_key *keys;
    unsigned count;
    assert_ok(api_key_list_created(db, user_id, id, &keys, &count, &err));
    for (unsigned i = 0; i < count; i++)
        assert_string_not_equal(keys[i].id, id);
    api_keys_free(keys, count);
    return count;
}

/* Each key of a long chain created the one whose id sorts before its own, so that no order of the
 * rows finds them by chance. The servers limit recursive queries to 1000 steps. */
TEST(a_long_chain_of_keys_is_listed_and_revoked_as_a_whole)
{
    enum { CHAIN = 1500 };
    struct error *err = NULL;
    struct user carol;
    struct api_key *keys;
    unsigned count, valid = 0;
    assert_ok(user_create(db, "carol", &carol, &err));
    server_say(raw, "START TRANSACTION");
    for (unsigned i = 0; i < CHAIN; i++) {
        autofree char *sql = xasprintf(
            "INSERT INTO api_keys (id, lookup, user_id, name, can_write, all_teams, hash_key_id, "
            "hash,"
            " created_at_ms, revoked_at_ms, created_by) VALUES ('key_%026u', '%012u', '%s', '', 1,"
            " 1, 1, REPEAT('x', 32), 1, IF(%u, 1, NULL), IF(%u, 'key_%026u', NULL))",
            CHAIN - i, CHAIN - i, carol.id, i % 3, i, CHAIN - i + 1);
        server_say(raw, sql);
    }
    server_say(raw, "COMMIT");
    autofree char *first = xasprintf("key_%026u", CHAIN);
    assert_int_equal(count_created(carol.id, first), CHAIN / 3 - 1);
    assert_int_equal(count_created(alice.id, first), 0);
    assert_ok(api_key_revoke(db, carol.id, first, true, &err));
    assert_int_equal(count_created(carol.id, first), 0);
    assert_ok(api_key_list(db, API_KEYS, carol.id, &keys, &count, &err));
    for (unsigned i = 0; i < count; i++)
        valid += !keys[i].revoked_at_ms;
    assert_int_equal(count, CHAIN);
    assert_int_equal(valid, 0);
    api_keys_free(keys, count);
}

/* A thief may have created keys with a stolen key, and more keys with these. */
TEST(a_key_is_revoked_with_what_it_created)
{
    struct error *err = NULL;
    struct api_key *keys;
    unsigned count;
    char ids[4][ID_SIZE], headers[4][API_KEY_TEXT_SIZE + 8];
    static const int by[] = {-1, 0, 1, -1};
    for (unsigned i = 0; i < 4; i++)
        make_key(&(struct api_key_request){.name = "c", .by_key_id = by[i] < 0 ? NULL : ids[by[i]]},
                 ids[i], headers[i]);
    assert_ok(api_key_list(db, API_KEYS, alice.id, &keys, &count, &err));
    /* Those of one millisecond are in any order. */
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < 4; j++)
            if (!strcmp(keys[i].id, ids[j]))
                assert_string_equal(keys[i].created_by, by[j] < 0 ? "" : ids[by[j]]);
    api_keys_free(keys, count);
    assert_int_equal(count_created(alice.id, ids[0]), 2);
    assert_int_equal(count_created(alice.id, ids[1]), 1);
    assert_int_equal(count_created(alice.id, ids[3]), 0);
    assert_ok(api_key_revoke(db, alice.id, ids[0], false, &err));
    assert_false(is_valid(headers[0]));
    assert_true(is_valid(headers[1]) && is_valid(headers[2]));
    const struct api_key_request late = {.user_id = alice.id, .name = "late", .by_key_id = ids[0]};
    struct api_key key;
    char text[API_KEY_TEXT_SIZE];
    assert_fails_saying(api_key_create(db, ring, &late, &key, text, &err), ERR_UNAUTHORIZED,
                        "revoked");
    /* Also what a key made that the thief has revoked himself. */
    assert_ok(api_key_revoke(db, alice.id, ids[1], false, &err));
    assert_fails_saying(api_key_revoke(db, bob.id, ids[0], true, &err), ERR_NOT_FOUND, "key");
    assert_true(is_valid(headers[2]));
    assert_ok(api_key_revoke(db, alice.id, ids[0], true, &err));
    assert_fails_saying(api_key_revoke(db, alice.id, ids[0], true, &err), ERR_NOT_FOUND, "key");
    assert_false(is_valid(headers[1]) || is_valid(headers[2]));
    assert_true(is_valid(headers[3]));
    assert_ok(api_key_revoke(db, alice.id, ids[3], false, &err));
}

#define PUBLIC_KEY \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl "

static void add_ssh_key(const char *line, struct api_key *key, struct ssh_public_key *public)
{
    struct error *err = NULL;
    assert_ok(ssh_public_key_parse(line, "/public_key", public, &err));
    const struct api_key_request request = {
        .user_id = alice.id, .name = public->comment, .can_write = true, .ssh = public};
    assert_ok(ssh_key_create(db, ring, &request, key, &err));
}

TEST(an_ssh_key_signs_in_until_it_is_removed)
{
    struct error *err = NULL;
    struct api_key key;
    struct ssh_public_key public;
    struct ssh_login login;
    struct principal principal;
    char token[SSH_TOKEN_SIZE];
    add_ssh_key(PUBLIC_KEY "me@here", &key, &public);
    assert_string_equal(key.name, "me@here");
    assert_string_equal(public.fingerprint, "+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU");
    const struct api_key_request again = {.user_id = alice.id, .ssh = &public};
    struct api_key second;
    assert_fails_saying(ssh_key_create(db, ring, &again, &second, &err), ERR_NAME_TAKEN,
                        "another user");
    assert_ok(ssh_login_find(db, public.fingerprint, &login, &err));
    assert_string_equal(login.user_name, "alice");
    assert_string_equal(login.key_id, key.id);
    assert_ok(ssh_token_make(ring, &login, 60, token, &err));
    assert_ok(principal_authenticate_key(NULL, db, ring, token, &principal, &err));
    assert_string_equal(principal.key_id, key.id);
    assert_true(principal.can_write && principal.all_teams);
    principal_deinit(&principal);
    token[10] = token[10] == 'A' ? 'B' : 'A';
    assert_fails_saying(principal_authenticate_key(NULL, db, ring, token, &principal, &err),
                        ERR_UNAUTHORIZED, "key");
    assert_ok(ssh_token_make(ring, &login, 0, token, &err));
    assert_fails_saying(principal_authenticate_key(NULL, db, ring, token, &principal, &err),
                        ERR_UNAUTHORIZED, "key");
    assert_ok(ssh_token_make(ring, &login, 60, token, &err));
    assert_ok(api_key_revoke(db, alice.id, key.id, false, &err));
    assert_fails_saying(principal_authenticate_key(NULL, db, ring, token, &principal, &err),
                        ERR_UNAUTHORIZED, "key");
    assert_fails_saying(ssh_login_find(db, public.fingerprint, &login, &err), ERR_UNAUTHORIZED,
                        "key");
    api_key_deinit(&key);
    ssh_public_key_deinit(&public);
    add_ssh_key(PUBLIC_KEY, &key, &public);
    assert_ok(api_key_revoke(db, alice.id, key.id, false, &err));
    api_key_deinit(&key);
    ssh_public_key_deinit(&public);
}

TEST(what_is_no_public_key)
{
    static const char *const wrong[] = {
        "",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "ssh-dss AAAAB3NzaC1kc3M=",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJlAAAA",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5/////w==",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct error *err = NULL;
        struct ssh_public_key public;
        assert_fails(ssh_public_key_parse(wrong[i], "/public_key", &public, &err),
                     ERR_INVALID_REQUEST);
        error_clear(&err);
    }
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(tenants_setup, tenants_teardown)
