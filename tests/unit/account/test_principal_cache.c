/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "account/access_revision.h"
#include "account/member.h"
#include "account/principal_cache.h"
#include "account/token_key.h"
#include "base/clock.h"
#include "base/mem.h"
#include "login/credential.h"
#include "unit/keyring.h"
#include "unit/schema.h"

static struct keyring *ring;
static struct principal_cache *cache;
static struct user alice;
static struct team acme;
static char key_id[ID_SIZE], key_text[API_KEY_TEXT_SIZE];

/* Each test has a key of alice's that the cache knows. */
static int set_up(void **state)
{
    struct error *err = NULL;
    struct api_key key;
    struct user bob;
    if (schema_setup(state) < 0)
        return -1;
    ring = unit_keyring(UNIT_KEY_1);
    cache = principal_cache_new();
    if (user_create(db, "bob", &bob, &err) < 0 || user_create(db, "alice", &alice, &err) < 0 ||
        team_create(db, "acme", "basic", "bob", &acme, &err) < 0)
        return -1;
    struct api_key_request request = {.user_id = alice.id, .can_write = true};
    struct principal principal;
    if (api_key_create(db, ring, &request, &key, key_text, &err) < 0 ||
        principal_authenticate_key(cache, db, ring, key_text, &principal, &err) < 0)
        return -1;
    memcpy(key_id, key.id, ID_SIZE);
    api_key_deinit(&key);
    principal_deinit(&principal);
    return 0;
}

static int tear_down(void **state)
{
    principal_cache_free(cache);
    keyring_free(ring);
    return schema_teardown(state);
}

static void assert_refused(void)
{
    struct error *err = NULL;
    struct principal principal;
    assert_fails(principal_authenticate_key(cache, db, ring, key_text, &principal, &err),
                 ERR_UNAUTHORIZED);
}

static struct principal authenticated(void)
{
    struct error *err = NULL;
    struct principal principal;
    assert_ok(principal_authenticate_key(cache, db, ring, key_text, &principal, &err));
    return principal;
}

/* -1: it is not reached. */
static int role_in_acme(void)
{
    struct principal principal = authenticated();
    int role =
        principal_reaches(&principal, acme.id) ? (int)principal_role(&principal, acme.id) : -1;
    principal_deinit(&principal);
    return role;
}

static void set_plan_unseen(const char *plan)
{
    static const struct db_statement set = {"test.set_plan",
                                            "UPDATE teams SET plan = ? WHERE slug = 'alice'"};
    struct error *err = NULL;
    assert_ok(db_exec(db, &set, DB_ARGS(db_text(plan)), NULL, &err));
}

static void assert_plan(const char *plan)
{
    struct principal principal = authenticated();
    assert_string_equal(principal_default_team(&principal)->plan, plan);
    principal_deinit(&principal);
}

/* What nobody has told of is not seen: the rest of these tests mean something. */
TEST_WITH(it_asks_for_the_revision_alone, set_up, tear_down)
{
    struct error *err = NULL;
    assert_plan("basic");
    set_plan_unseen("pro");
    assert_plan("basic");
    assert_ok(team_set_plan(db, "acme", "pro", &err));
    assert_plan("pro");
}

/* A change of another user's rights costs no new read of this key. */
TEST_WITH(keys_of_others_stay_known, set_up, tear_down)
{
    struct error *err = NULL;
    struct member member;
    struct api_key key;
    struct user bob;
    char text[API_KEY_TEXT_SIZE];
    assert_ok(user_get_by_name(db, "bob", &bob, &err));
    struct api_key_request request = {.user_id = bob.id, .can_write = true};
    assert_ok(api_key_create(db, ring, &request, &key, text, &err));
    assert_plan("basic");
    set_plan_unseen("pro");
    assert_ok(api_key_revoke(db, bob.id, key.id, false, &err));
    assert_plan("basic");
    assert_ok(credential_disable(db, bob.id, &err));
    assert_ok(credential_enable(db, bob.id, &err));
    assert_plan("basic");
    assert_ok(member_add(db, acme.id, "alice", ROLE_MEMBER, &member, &err));
    assert_plan("pro");
    api_key_deinit(&key);
}

/* All keys are read again when a change is not known. */
TEST_WITH(a_change_that_is_not_kept_concerns_all, set_up, tear_down)
{
    assert_plan("basic");
    set_plan_unseen("pro");
    server_say(raw, "UPDATE access_revision SET revision = revision + 1");
    assert_plan("pro");
    assert_plan("pro");
}

TEST_WITH(a_revoked_key_is_refused_at_once, set_up, tear_down)
{
    struct error *err = NULL;
    assert_ok(api_key_revoke(db, NULL, key_id, false, &err));
    assert_refused();
}

TEST_WITH(an_owner_of_the_key_revokes_it, set_up, tear_down)
{
    struct error *err = NULL;
    assert_ok(api_key_revoke(db, alice.id, key_id, false, &err));
    assert_refused();
}

TEST_WITH(a_disabled_user_is_refused_at_once, set_up, tear_down)
{
    struct error *err = NULL;
    assert_ok(credential_disable(db, alice.id, &err));
    assert_refused();
    assert_ok(credential_enable(db, alice.id, &err));
    assert_plan("basic");
}

TEST_WITH(members_and_roles_count_at_once, set_up, tear_down)
{
    struct error *err = NULL;
    struct member member;
    assert_int_equal(role_in_acme(), -1);
    assert_ok(member_add(db, acme.id, "alice", ROLE_VIEWER, &member, &err));
    assert_int_equal(role_in_acme(), ROLE_VIEWER);
    assert_ok(member_set_role(db, acme.id, "alice", ROLE_OWNER, &member, &err));
    assert_int_equal(role_in_acme(), ROLE_OWNER);
    assert_ok(member_remove(db, acme.id, "alice", &err));
    assert_int_equal(role_in_acme(), -1);
}

TEST_WITH(a_new_team_counts_at_once, set_up, tear_down)
{
    struct error *err = NULL;
    struct team team;
    assert_ok(team_create(db, "later", "pro", "alice", &team, &err));
    struct principal principal = authenticated();
    assert_true(principal_reaches(&principal, team.id));
    principal_deinit(&principal);
}

TEST_WITH(a_key_expires_while_it_is_known, set_up, tear_down)
{
    struct error *err = NULL;
    struct api_key key;
    struct principal principal;
    char text[API_KEY_TEXT_SIZE];
    struct api_key_request request = {.user_id = alice.id, .expires_at_ms = clock_now_ms() + 300};
    assert_ok(api_key_create(db, ring, &request, &key, text, &err));
    api_key_deinit(&key);
    if (principal_authenticate_key(cache, db, ring, text, &principal, &err) == 0)
        principal_deinit(&principal);
    error_clear(&err);
    clock_sleep_ms(320);
    assert_fails(principal_authenticate_key(cache, db, ring, text, &principal, &err),
                 ERR_UNAUTHORIZED);
}

TEST_WITH(another_secret_is_refused, set_up, tear_down)
{
    char *last = &key_text[API_KEY_TEXT_SIZE - 2], was = *last;
    *last = was == 'A' ? 'E' : 'A';
    assert_refused();
    *last = was;
    assert_plan("basic");
}

/* Whether it is presumed; *holds: whether the revision confirms it. */
static bool is_presumed(bool *holds)
{
    struct error *err = NULL;
    struct principal principal;
    uint64_t revision;
    autofree char *header = xasprintf("Bearer %s", key_text);
    assert_ok(access_revision_get(db, &revision, &err));
    bool is_good = principal_presume(cache, ring, header, &principal);
    *holds = is_good && principal.revision == revision;
    assert_true(!is_good || principal_reaches(&principal, principal.personal_team_id));
    principal_deinit(&principal);
    return is_good;
}

TEST_WITH(what_is_presumed_holds_by_its_revision, set_up, tear_down)
{
    struct error *err = NULL;
    bool holds;
    assert_true(is_presumed(&holds));
    assert_true(holds);
    assert_ok(team_set_plan(db, "alice", "pro", &err));
    assert_true(is_presumed(&holds));
    assert_false(holds);
    assert_plan("pro");
    assert_true(is_presumed(&holds));
    assert_true(holds);
    assert_ok(api_key_revoke(db, NULL, key_id, false, &err));
    is_presumed(&holds);
    assert_false(holds);
    assert_refused();
    assert_false(is_presumed(&holds));
}

TEST_WITH(only_a_good_key_is_presumed, set_up, tear_down)
{
    bool holds;
    char *last = &key_text[API_KEY_TEXT_SIZE - 2], was = *last;
    *last = was == 'A' ? 'E' : 'A';
    assert_false(is_presumed(&holds));
    *last = was;
    key_text[strlen("slk_")] = key_text[strlen("slk_") + 1];
    assert_false(is_presumed(&holds));
    *key_text = 'x';
    assert_false(is_presumed(&holds));
}

#define SANDBOX "sbx_00000000000000000000000000"

static int note_token(const struct principal *principal, struct error **err)
{
    return token_key_note(db, principal, SANDBOX, acme.id, err);
}

/* A request may have waited since its authorization. */
TEST_WITH(an_access_that_has_ended_gets_no_token, set_up, tear_down)
{
    struct error *err = NULL;
    struct member member;
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    server_say(raw, "INSERT INTO sandboxes (id, route, instance_name, visible)"
                    " VALUES ('" SANDBOX "', 'route', 'name', 1)");
    assert_ok(member_add(db, acme.id, "alice", ROLE_MEMBER, &member, &err));
    struct principal principal = authenticated();
    assert_ok(note_token(&principal, &err));
    /* Other rights have changed. */
    assert_ok(team_set_plan(db, "alice", "pro", &err));
    assert_ok(note_token(&principal, &err));
    assert_ok(member_set_role(db, acme.id, "alice", ROLE_VIEWER, &member, &err));
    assert_fails(note_token(&principal, &err), ERR_INSUFFICIENT_SCOPE);
    error_clear(&err);
    assert_ok(member_set_role(db, acme.id, "alice", ROLE_MEMBER, &member, &err));
    assert_ok(note_token(&principal, &err));
    assert_ok(member_remove(db, acme.id, "alice", &err));
    assert_fails(note_token(&principal, &err), ERR_INSUFFICIENT_SCOPE);
    error_clear(&err);
    principal_deinit(&principal);
}
