/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Consent to memberships, the keys that owners see, and the keys that end with a sign-in. */
#include "unit/unit.h"

#include <stdio.h>

#include "account/access_teams.h"
#include "account/invitation.h"
#include "account/key_use.h"
#include "account/team_key.h"
#include "base/mem.h"
#include "login/attempt.h"
#include "login/device.h"
#include "login/identity.h"
#include "login/login.h"
#include "unit/keyring.h"
#include "unit/schema.h"

static struct keyring *ring;
static struct user owner, guest;
static struct team team, later;

static int set_up(void **state)
{
    struct error *err = NULL;
    if (schema_setup(state) < 0)
        return -1;
    ring = unit_keyring(UNIT_KEY_1);
    return user_create(db, "owner", &owner, &err) < 0 ||
           user_create(db, "guest", &guest, &err) < 0 ||
           team_create(db, "crew", "pro", "owner", &team, &err) < 0 ||
           team_create(db, "later", "pro", "owner", &later, &err) < 0;
}

static int tear_down(void **state)
{
    keyring_free(ring);
    return schema_teardown(state);
}

TEST(a_user_accepts_or_declines)
{
    struct error *err = NULL;
    struct invitation invitation, *list;
    struct member member;
    unsigned count;
    assert_fails(invitation_make(db, owner.personal_team_id, "guest", ROLE_VIEWER, owner.id,
                                 &invitation, &err),
                 ERR_INVALID_REQUEST);
    error_clear(&err);
    assert_fails(member_add(db, owner.personal_team_id, "guest", ROLE_VIEWER, &member, &err),
                 ERR_INVALID_REQUEST);
    error_clear(&err);
    assert_ok(invitation_make(db, team.id, "guest", ROLE_OWNER, owner.id, &invitation, &err));
    assert_string_equal(invitation.invited_by, "owner");
    assert_string_equal(invitation.team_slug, "crew");
    assert_fails(member_get(db, team.id, "guest", &member, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(invitation_decline(db, guest.id, &invitation, &err));
    assert_fails(invitation_accept(db, guest.id, &invitation, &member, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(invitation_make(db, team.id, "guest", ROLE_MEMBER, owner.id, &invitation, &err));
    /* An answer to another role than the one that was read counts for nothing. */
    struct invitation read = invitation;
    assert_ok(invitation_make(db, team.id, "guest", ROLE_VIEWER, owner.id, &invitation, &err));
    assert_fails(invitation_accept(db, guest.id, &read, &member, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(invitation_accept(db, guest.id, &invitation, &member, &err));
    assert_int_equal(member.role, ROLE_VIEWER);
    assert_ok(invitation_list_of_user(db, guest.id, &list, &count, &err));
    assert_int_equal(count, 0);
    free(list);
    assert_fails(invitation_make(db, team.id, "guest", ROLE_OWNER, owner.id, &invitation, &err),
                 ERR_NAME_TAKEN);
    error_clear(&err);
}

TEST(an_invitation_ends_when_its_maker_owns_no_more)
{
    struct error *err = NULL;
    struct invitation made, read, *list;
    struct member member;
    struct user leaver;
    unsigned count;
    assert_ok(user_create(db, "leaver", &leaver, &err));
    assert_ok(member_add(db, later.id, "leaver", ROLE_OWNER, &member, &err));
    assert_ok(invitation_make(db, later.id, "guest", ROLE_OWNER, leaver.id, &made, &err));
    assert_ok(invitation_get(db, guest.id, "later", &read, &err));
    assert_ok(member_set_role(db, later.id, "leaver", ROLE_MEMBER, &member, &err));
    assert_fails(invitation_get(db, guest.id, "later", &read, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(member_remove(db, later.id, "leaver", &err));
    assert_fails(invitation_accept(db, guest.id, &made, &member, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(invitation_list_of_team(db, later.id, &list, &count, &err));
    assert_int_equal(count, 0);
    free(list);
    /* It would count again if its maker became an owner again. */
    assert_ok(invitation_withdraw(db, later.id, "guest", &err));
    assert_fails(invitation_withdraw(db, later.id, "guest", &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_fails(invitation_make(db, later.id, "guest", ROLE_VIEWER, leaver.id, &made, &err),
                 ERR_INSUFFICIENT_SCOPE);
    error_clear(&err);
    assert_ok(invitation_list_of_user(db, guest.id, &list, &count, &err));
    assert_int_equal(count, 0);
    free(list);
    assert_ok(invitation_make(db, later.id, "guest", ROLE_VIEWER, owner.id, &made, &err));
    assert_string_equal(made.invited_by, "owner");
    assert_ok(invitation_withdraw(db, later.id, "guest", &err));
}

static void make_key(const char *login_id, struct api_key *key, char header[API_KEY_TEXT_SIZE + 8])
{
    struct error *err = NULL;
    char text[API_KEY_TEXT_SIZE];
    const struct api_key_request request = {
        .user_id = guest.id, .can_write = true, .login_id = login_id};
    assert_ok(api_key_create(db, ring, &request, key, text, &err));
    snprintf(header, API_KEY_TEXT_SIZE + 8, "Bearer %s", text);
}

static unsigned seen_keys(const char *owner_id)
{
    struct error *err = NULL;
    struct team_key *keys;
    unsigned count;
    assert_ok(team_key_list(db, team.id, owner_id, &keys, &count, &err));
    free(keys);
    return count;
}

static unsigned reached(const char *header)
{
    struct error *err = NULL;
    struct principal principal;
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    unsigned count = principal.team_count;
    principal_deinit(&principal);
    return count;
}

TEST(an_owner_sees_and_excludes_used_keys_alone)
{
    struct error *err = NULL;
    struct api_key key;
    struct principal principal;
    struct member member;
    char header[API_KEY_TEXT_SIZE + 8];
    make_key(NULL, &key, header);
    assert_int_equal(seen_keys(owner.id), 0);
    assert_int_equal(seen_keys(guest.id), 1);
    assert_fails(team_key_exclude(db, team.id, owner.id, key.id, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    key_use_note(db, &principal, guest.personal_team_id);
    assert_int_equal(seen_keys(owner.id), 0);
    key_use_note(db, &principal, team.id);
    principal_deinit(&principal);
    assert_int_equal(seen_keys(owner.id), 1);
    assert_int_equal(reached(header), 2);
    assert_ok(team_key_exclude(db, team.id, owner.id, key.id, &err));
    assert_int_equal(reached(header), 1);
    assert_int_equal(seen_keys(owner.id), 0);
    /* It is still for every team, and so for one that comes later. */
    assert_ok(member_add(db, later.id, "guest", ROLE_MEMBER, &member, &err));
    assert_int_equal(reached(header), 2);
    assert_ok(access_teams_read(db, key.id, &principal, &err));
    assert_int_equal(principal.team_count, 2);
    assert_true(principal_reaches(&principal, later.id));
    assert_false(principal_reaches(&principal, team.id));
    principal_deinit(&principal);
    api_key_deinit(&key);
}

TEST(a_key_ends_with_its_sign_in)
{
    struct error *err = NULL;
    struct settings settings = {.login_idle_s = 3600, .login_max_s = 7200};
    const struct login_request request = {
        .user_id = guest.id, .user_name = "guest", .method = "password", .address = "192.0.2.1"};
    struct login login;
    struct principal principal;
    struct api_key key;
    char text[SECRET_TEXT_SIZE], header[API_KEY_TEXT_SIZE + 8];
    assert_ok(login_begin(db, ring, &settings, &request, &login, text, &err));
    make_key(login.id, &key, header);
    assert_true(key.is_bound);
    assert_ok(principal_authenticate(NULL, db, ring, header, &principal, &err));
    assert_string_equal(principal.bound_to, login.id);
    principal_deinit(&principal);
    assert_ok(access_teams_read(db, login.id, &principal, &err));
    assert_int_equal(principal.team_count, 3);
    principal_deinit(&principal);
    assert_ok(login_end(db, guest.id, login.id, &err));
    assert_fails(principal_authenticate(NULL, db, ring, header, &principal, &err),
                 ERR_UNAUTHORIZED);
    error_clear(&err);
    assert_ok(access_teams_read(db, login.id, &principal, &err));
    assert_int_equal(principal.team_count, 0);
    principal_deinit(&principal);
    assert_fails(login_end(db, guest.id, login.id, &err), ERR_NOT_FOUND);
    error_clear(&err);
    api_key_deinit(&key);
}

static long recorded(const char *action, const struct user *user)
{
    autofree char *sql = xasprintf(
        "SELECT COUNT(*) FROM audit_log WHERE action = '%s' AND user_id = '%s'", action, user->id);
    return server_ask(raw, sql);
}

TEST(a_user_of_a_provider_is_created_with_the_link)
{
    struct error *err = NULL;
    struct user made, other;
    struct identity_new new = {"https://login.example", "subject-1", "newcomer", "192.0.2.1"};
    char id[ID_SIZE];
    assert_ok(identity_create_user(db, ring, &new, &made, &err));
    assert_ok(identity_find(db, new.issuer, new.subject, id, &err));
    assert_string_equal(id, made.id);
    assert_int_equal(recorded("user.create", &made), 1);
    /* Without the link there is no user. */
    new.name = "another";
    assert_fails(identity_create_user(db, ring, &new, &other, &err), ERR_NAME_TAKEN);
    error_clear(&err);
    assert_fails(user_get_by_name(db, "another", &other, &err), ERR_NOT_FOUND);
    error_clear(&err);
}

static bool is_in_group(const char *group, const void *context)
{
    return context && strcmp(group, context) == 0;
}

TEST(memberships_by_groups_are_recorded)
{
    struct error *err = NULL;
    struct user made;
    struct team works;
    struct invitation invitation, *list;
    struct member member;
    unsigned count;
    assert_ok(user_create(db, "engineer", &made, &err));
    assert_ok(team_create(db, "works", "pro", "owner", &works, &err));
    assert_ok(invitation_make(db, works.id, "engineer", ROLE_VIEWER, owner.id, &invitation, &err));
    struct identity_groups groups = {
        .user = {ring, made.id, "engineer", "192.0.2.1"},
        .map = "devs=works:member,leads=works:owner,devs=guest:member",
        .is_in = is_in_group,
        .context = "devs",
    };
    assert_ok(identity_follow_groups(db, &groups, &err));
    assert_ok(identity_follow_groups(db, &groups, &err));
    assert_ok(member_get(db, works.id, "engineer", &member, &err));
    assert_int_equal(member.role, ROLE_MEMBER);
    assert_int_equal(recorded("member.add", &made), 1);
    /* It could not be accepted any more. */
    assert_ok(invitation_list_of_user(db, made.id, &list, &count, &err));
    assert_int_equal(count, 0);
    free(list);
    /* The personal team of guest takes no member. */
    assert_fails(member_get(db, guest.personal_team_id, "engineer", &member, &err), ERR_NOT_FOUND);
    error_clear(&err);
    groups.context = "leads";
    assert_ok(identity_follow_groups(db, &groups, &err));
    assert_int_equal(recorded("member.update", &made), 1);
    groups.context = NULL;
    assert_ok(identity_follow_groups(db, &groups, &err));
    assert_fails(member_get(db, works.id, "engineer", &member, &err), ERR_NOT_FOUND);
    error_clear(&err);
    assert_int_equal(recorded("member.remove", &made), 1);
    autofree char *events =
        xasprintf("SELECT COUNT(*) FROM event_outbox WHERE team_id = '%s' AND kind IN"
                  " ('member.added', 'member.removed')",
                  works.id);
    assert_int_equal(server_ask(raw, events), 2);
}

TEST(an_account_that_is_used_up_is_not_closed)
{
    struct error *err = NULL;
    char address[46];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(address, sizeof address, "192.0.2.%u", i);
        assert_ok(attempt_charge(db, &(struct attempt){address, "victim", false}, &err));
    }
    struct attempt guesser = {"198.51.100.1", "victim", false};
    struct attempt user = {"203.0.113.1", "victim", false};
    assert_ok(attempt_charge(db, &guesser, &err));
    assert_fails(attempt_charge(db, &guesser, &err), ERR_RATE_LIMITED);
    error_clear(&err);
    assert_ok(attempt_charge(db, &user, &err));
    /* After the right password the user has this attempt again, for the code that comes next. It
     * is not one of the account, which another guesser would take. */
    assert_ok(attempt_refund(db, &user, &err));
    assert_ok(attempt_charge(db, &(struct attempt){"198.51.100.2", "victim", false}, &err));
    assert_ok(attempt_charge(db, &user, &err));
    /* The networks of one site count as one. */
    struct attempt one = {"2001:db8:1:1::1", "victim", false};
    struct attempt other = {"2001:db8:1:2::1", "victim", false};
    assert_ok(attempt_charge(db, &one, &err));
    assert_fails(attempt_charge(db, &other, &err), ERR_RATE_LIMITED);
    error_clear(&err);
}

TEST(the_largest_network_makes_room_for_a_program)
{
    struct error *err = NULL;
    struct device device;
    char text[SECRET_TEXT_SIZE];
    autofree char *fill = xasprintf(
        "INSERT INTO device_logins (id, hash_key_id, hash, user_code, client, address, network,"
        " state, created_at_ms, expires_at_ms, poll_at_ms)"
        " SELECT CONCAT('dvc_', LPAD(n, 26, '0')), 1, REPEAT('x', 32), LPAD(n, 8, '0'), 'x', '',"
        " CONCAT('2001:db8:', n %% 250, '::'), 'waiting', 0, 9999999999999, 0"
        " FROM (SELECT a.n + 100 * b.n AS n FROM"
        " (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 99) SELECT n"
        " FROM s) a, (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n <"
        " 99) SELECT n FROM s) b) numbers");
    const struct db_statement statement = {"test.fill", fill};
    uint64_t rows;
    assert_ok(db_exec(db, &statement, NULL, 0, &rows, &err));
    assert_int_equal(rows, DEVICES_MAX);
    assert_ok(device_begin(db, ring, "a laptop", "192.0.2.77", &device, text, &err));
    const struct db_statement count = {"test.count", "SELECT COUNT(*) FROM device_logins"};
    db_rows_auto *counted = NULL;
    assert_ok(db_query(db, &count, NULL, 0, &counted, &err));
    assert_true(db_rows_next(counted));
    assert_int_equal(db_get_u64(counted, 0), DEVICES_MAX);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, tear_down)
