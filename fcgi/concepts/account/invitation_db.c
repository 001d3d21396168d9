/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/invitation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/member_row.h"
#include "base/clock.h"
#include "base/panic.h"
#include "event/event.h"

#define INVITATION_MS ((int64_t)INVITATION_DAYS * 24 * 3600 * 1000)

#define COLUMNS                                                    \
    "SELECT t.id, t.slug, u.name, b.name, i.role, i.expires_at_ms" \
    " FROM team_invitations i JOIN teams t ON t.id = i.team_id"    \
    " JOIN users u ON u.id = i.user_id"                            \
    " JOIN users b ON b.id = i.invited_by"                         \
    " WHERE i.expires_at_ms > ? AND" MEMBER_OWNS("i", "invited_by")
/* An owner who was removed must not come back by an invitation that he has made before. */
#define OPEN " expires_at_ms > ? AND" MEMBER_OWNS("team_invitations", "invited_by")
DB_STATEMENT(list_of_team_statement) = {"invitation.list_of_team",
                                        COLUMNS " AND i.team_id = ? ORDER BY u.name LIMIT ?"};
DB_STATEMENT(list_of_user_statement) = {"invitation.list_of_user",
                                        COLUMNS " AND i.user_id = ? ORDER BY t.slug LIMIT ?"};
DB_STATEMENT(get_statement) = {"invitation.get", COLUMNS " AND i.user_id = ? AND t.slug = ?"};
/* The next invitation into the team or of the user deletes ended rows, so neither has many. */
DB_STATEMENT(purge_statement) = {
    "invitation.purge",
    "DELETE FROM team_invitations WHERE (team_id = ? OR user_id = ?) AND NOT (" OPEN ")"};
/* Lock the user's row, so that two teams cannot exceed the limit together. */
DB_STATEMENT(lock_user_statement) = {"invitation.lock_user",
                                     "SELECT id FROM users WHERE name = ? FOR UPDATE"};
DB_STATEMENT(count_statement) = {
    "invitation.count",
    "SELECT (SELECT COUNT(*) FROM team_invitations WHERE team_id = ? AND user_id <> ?),"
    " (SELECT COUNT(*) FROM team_invitations WHERE user_id = ? AND team_id <> ?),"
    " EXISTS (SELECT 1 FROM memberships WHERE team_id = ? AND user_id = ?)"};
DB_STATEMENT(put_statement) = {
    "invitation.put",
    "INSERT INTO team_invitations (team_id, user_id, role, invited_by, expires_at_ms)"
    " VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE role = VALUES(role),"
    " invited_by = VALUES(invited_by), expires_at_ms = VALUES(expires_at_ms)"};
DB_STATEMENT(withdraw_statement) = {
    "invitation.withdraw",
    "DELETE FROM team_invitations"
    " WHERE team_id = ? AND user_id = (SELECT id FROM users WHERE name = ?) AND expires_at_ms > ?"};
DB_STATEMENT(end_statement) = {
    "invitation.end",
    "DELETE FROM team_invitations WHERE team_id = ? AND user_id = ? AND role = ? AND" OPEN};

static void read_invitation(const struct db_rows *rows, struct invitation *invitation)
{
    db_copy_text(invitation->team_id, rows, 0);
    db_copy_text(invitation->team_slug, rows, 1);
    db_copy_text(invitation->user_name, rows, 2);
    db_copy_text(invitation->invited_by, rows, 3);
    if (team_role_parse(db_get_text(rows, 4), &invitation->role) < 0)
        panic("the row of an invitation has an unknown role");
    invitation->expires_at_ms = db_get_i64(rows, 5);
    invitation->created_at_ms = invitation->expires_at_ms - INVITATION_MS;
}

static int list(struct db *db, const struct db_statement *statement, const char *id,
                struct invitation **invitations, unsigned *count, struct error **err)
{
    return DB_LIST(db, statement,
                   DB_ARGS(db_i64(clock_now_ms()), db_text(id), db_u64(INVITATIONS_TEAM_MAX)),
                   read_invitation, invitations, count, err);
}

int invitation_list_of_team(struct db *db, const char *team_id, struct invitation **invitations,
                            unsigned *count, struct error **err)
{
    return list(db, &list_of_team_statement, team_id, invitations, count, err);
}

int invitation_list_of_user(struct db *db, const char *user_id, struct invitation **invitations,
                            unsigned *count, struct error **err)
{
    return list(db, &list_of_user_statement, user_id, invitations, count, err);
}

static int no_invitation(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such invitation.");
}

int invitation_get(struct db *db, const char *user_id, const char *team_slug,
                   struct invitation *invitation, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!slug_is_valid(team_slug))
        return no_invitation(err);
    if (db_query(db, &get_statement,
                 DB_ARGS(db_i64(clock_now_ms()), db_text(user_id), db_text(team_slug)), &rows,
                 err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return no_invitation(err);
    read_invitation(rows, invitation);
    return 0;
}

struct change {
    const char *team_id, *user_name, *user_id, *by_user_id;
    enum team_role role;
    struct invitation *invitation;
    struct member *member;
};

static int check_counts(struct db *db, const struct change *change, const char *user_id,
                        struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value team = db_text(change->team_id), user = db_text(user_id);
    if (db_query(db, &count_statement, DB_ARGS(team, user, user, team, team, user), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    if (db_get_bool(rows, 2))
        return error_set_field(err, ERR_NAME_TAKEN, "/name", "%s is a member of the team already.",
                               change->user_name);
    if (db_get_u64(rows, 0) >= INVITATIONS_TEAM_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "A team has at most %d open invitations.",
                         INVITATIONS_TEAM_MAX);
    if (db_get_u64(rows, 1) >= INVITATIONS_USER_MAX)
        return error_set_field(
            err, ERR_INVALID_REQUEST, "/name",
            "%s has %d open invitations, which is the most; the user must answer some first.",
            change->user_name, INVITATIONS_USER_MAX);
    return 0;
}

static int lock_user(struct db *db, const char *name, char user_id[ID_SIZE], struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &lock_user_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set_field(err, ERR_NOT_FOUND, "/name", "There is no such user.");
    snprintf(user_id, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}

static int find(struct db *db, const struct change *change, const char *user_id, struct error **err)
{
    struct invitation *list;
    unsigned count;
    bool found = false;
    if (invitation_list_of_user(db, user_id, &list, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(list[i].team_id, change->team_id) != 0)
            continue;
        *change->invitation = list[i];
        found = true;
    }
    free(list);
    /* The inviting user may have lost the role since it was checked. */
    return found ? 0
                 : error_set(err, ERR_INSUFFICIENT_SCOPE, "Only an owner of the team can invite.");
}

static int make_body(struct db *db, void *context, struct error **err)
{
    const struct change *change = context;
    char user_id[ID_SIZE];
    int64_t now_ms = clock_now_ms();
    struct db_value team = db_text(change->team_id);
    if (member_row_check_room(db, change->team_id, err) < 0 ||
        lock_user(db, change->user_name, user_id, err) < 0 ||
        db_exec(db, &purge_statement, DB_ARGS(team, db_text(user_id), db_i64(now_ms)), NULL, err) <
            0 ||
        check_counts(db, change, user_id, err) < 0 ||
        db_exec(db, &put_statement,
                DB_ARGS(team, db_text(user_id), db_text(team_role_name(change->role)),
                        db_text(change->by_user_id), db_i64(now_ms + INVITATION_MS)),
                NULL, err) < 0)
        return -1;
    if (find(db, change, user_id, err) < 0)
        return -1;
    return member_row_record(db, EVENT_MEMBER_INVITED, change->team_id, change->user_name,
                             team_role_name(change->role), err);
}

int invitation_make(struct db *db, const char *team_id, const char *user_name, enum team_role role,
                    const char *by_user_id, struct invitation *invitation, struct error **err)
{
    struct change change = {.team_id = team_id,
                            .user_name = user_name,
                            .by_user_id = by_user_id,
                            .role = role,
                            .invitation = invitation};
    if (!slug_is_valid(user_name))
        return error_set_field(err, ERR_NOT_FOUND, "/name", "There is no such user.");
    return db_transaction(db, make_body, &change, err);
}

static int withdraw_body(struct db *db, void *context, struct error **err)
{
    const struct change *change = context;
    uint64_t affected;
    if (db_exec(
            db, &withdraw_statement,
            DB_ARGS(db_text(change->team_id), db_text(change->user_name), db_i64(clock_now_ms())),
            &affected, err) < 0)
        return -1;
    return affected ? 0 : no_invitation(err);
}

int invitation_withdraw(struct db *db, const char *team_id, const char *user_name,
                        struct error **err)
{
    struct change change = {.team_id = team_id, .user_name = user_name};
    if (!slug_is_valid(user_name))
        return no_invitation(err);
    return db_transaction(db, withdraw_body, &change, err);
}

/* End the invitation only if it is unchanged: an owner may have changed its role or withdrawn
 * it. */
static int end(struct db *db, const struct change *change, struct error **err)
{
    uint64_t affected;
    if (db_exec(db, &end_statement,
                DB_ARGS(db_text(change->invitation->team_id), db_text(change->user_id),
                        db_text(team_role_name(change->invitation->role)), db_i64(clock_now_ms())),
                &affected, err) < 0)
        return -1;
    return affected ? 0 : no_invitation(err);
}

static int accept_body(struct db *db, void *context, struct error **err)
{
    const struct change *change = context;
    const struct invitation *invitation = change->invitation;
    const struct member_new new = {invitation->team_id, invitation->user_name, invitation->role,
                                   false};
    if (member_row_check_room(db, invitation->team_id, err) < 0 || end(db, change, err) < 0)
        return -1;
    return member_row_insert(db, &new, change->member, err);
}

int invitation_accept(struct db *db, const char *user_id, const struct invitation *invitation,
                      struct member *member, struct error **err)
{
    struct invitation copy = *invitation;
    struct change change = {.user_id = user_id, .invitation = &copy, .member = member};
    return db_transaction(db, accept_body, &change, err);
}

static int decline_body(struct db *db, void *context, struct error **err)
{
    const struct change *change = context;
    if (end(db, change, err) < 0)
        return -1;
    return member_row_record(db, EVENT_MEMBER_DECLINED, change->invitation->team_id,
                             change->invitation->user_name, NULL, err);
}

int invitation_decline(struct db *db, const char *user_id, const struct invitation *invitation,
                       struct error **err)
{
    struct invitation copy = *invitation;
    struct change change = {.user_id = user_id, .invitation = &copy};
    return db_transaction(db, decline_body, &change, err);
}
