/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/identity.h"

#include <stdio.h>
#include <string.h>

#include "account/access_end.h"
#include "account/access_revision.h"
#include "account/member_row.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

DB_STATEMENT(find_statement) = {"identity.find",
                                "SELECT user_id FROM identities WHERE issuer = ? AND subject = ?"};
DB_STATEMENT(insert_statement) = {
    "identity.insert",
    "INSERT INTO identities (issuer, subject, user_id, created_at_ms) VALUES (?, ?, ?, ?)"};
DB_STATEMENT(lock_team_statement) = {"identity.lock_team", "SELECT id FROM teams WHERE slug = ?"
                                                           " AND removed_at_ms IS NULL FOR UPDATE"};
DB_STATEMENT(membership_statement) = {
    "identity.membership",
    "SELECT from_groups, role = 'owner' AND NOT EXISTS (SELECT 1 FROM memberships o"
    "   WHERE o.team_id = m.team_id AND o.role = 'owner' AND o.user_id <> m.user_id)"
    " FROM memberships m WHERE m.team_id = ? AND m.user_id = ?"};
DB_STATEMENT(change_statement) = {
    "identity.change",
    "UPDATE memberships SET role = ? WHERE user_id = ? AND team_id = ? AND from_groups = 1"
    " AND role <> ?"};
DB_STATEMENT(leave_statement) = {
    "identity.leave",
    "DELETE FROM memberships WHERE user_id = ? AND team_id = ? AND from_groups = 1"};

bool identity_is_valid(const char *text)
{
    size_t length = strlen(text);
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return false;
    return length > 0 && length <= IDENTITY_MAX;
}

int identity_find(struct db *db, const char *issuer, const char *subject, char user_id[ID_SIZE],
                  struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &find_statement, DB_ARGS(db_text(issuer), db_text(subject)),
                     "No user has that name.", &rows, err) < 0)
        return -1;
    snprintf(user_id, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}

int identity_link(struct db *db, const char *issuer, const char *subject, const char *user_id,
                  struct error **err)
{
    if (db_exec(
            db, &insert_statement,
            DB_ARGS(db_text(issuer), db_text(subject), db_text(user_id), db_i64(clock_now_ms())),
            NULL, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE))
        return -1;
    return error_set(err, ERR_NAME_TAKEN,
                     "The identity provider's user %s is linked to another user already.", subject);
}

/* --- the audit log --- */

/* Record a change of a user that the provider's answer causes, in the transaction of the change. */
static int record(struct db *db, const struct identity_user *user,
                  const struct audit_action *action, const char *team_id, struct error **err)
{
    struct audit_entry entry = {.actor = AUDIT_SERVICE, .result = AUDIT_DONE};
    snprintf(entry.action, sizeof entry.action, "%s", action->name);
    snprintf(entry.actor_id, sizeof entry.actor_id, "identity provider");
    snprintf(entry.team_id, sizeof entry.team_id, "%s", team_id);
    snprintf(entry.user_id, sizeof entry.user_id, "%s", user->id);
    snprintf(entry.resource, sizeof entry.resource, "%s", user->name);
    snprintf(entry.address, sizeof entry.address, "%s", user->address);
    return audit_write(db, user->ring, &entry, err);
}

/* --- new users --- */

struct creation {
    const struct keyring *ring;
    const struct identity_new *new;
};

static int link_new(struct db *db, const struct user *user, void *context, struct error **err)
{
    const struct creation *creation = context;
    const struct identity_new *new = creation->new;
    const struct identity_user made = {creation->ring, user->id, user->name, new->address};
    if (identity_link(db, new->issuer, new->subject, user->id, err) < 0)
        return -1;
    return record(db, &made, &audit_USER_CREATE, TEAM_DEPLOYMENT_ID, err);
}

int identity_create_user(struct db *db, const struct keyring *ring, const struct identity_new *new,
                         struct user *user, struct error **err)
{
    struct creation creation = {ring, new};
    return user_create_and(db, new->name, link_new, &creation, user, err);
}

/* --- groups --- */

struct entry {
    char *group, *team; /* they point into the map's copy */
    enum team_role role;
};

/* Take the next entry of the text, which this changes. Returns false at its end. entry->group NULL:
 * the entry is wrong. */
static bool next_entry(char **text, struct entry *entry)
{
    char *piece = strsep(text, ",");
    if (!piece)
        return false;
    piece += strspn(piece, " ");
    piece[strcspn(piece, " ")] = '\0';
    *entry = (struct entry){0};
    char *equals = strrchr(piece, '='), *colon = equals ? strchr(equals, ':') : NULL;
    if (!colon || equals == piece)
        return true;
    *equals = *colon = '\0';
    if (slug_is_valid(equals + 1) && team_role_parse(colon + 1, &entry->role) == 0) {
        entry->group = piece;
        entry->team = equals + 1;
    }
    return true;
}

int identity_check_groups(const char *map, struct error **err)
{
    autofree char *copy = xstrdup(map);
    char *rest = *map ? copy : NULL;
    struct entry entry;
    while (next_entry(&rest, &entry))
        if (!entry.group)
            return error_set(err, ERR_CONFIG,
                             "oidc_groups must be GROUP=TEAM:ROLE, separated by commas");
    return 0;
}

struct follow {
    const struct identity_groups *groups;
    const char *slug;
    bool is_member;
    enum team_role role;
};

/* A team that is full, or personal, takes no member, and a user is in so many teams. This does not
 * refuse the sign-in. */
static int join(struct db *db, const struct follow *follow, const char *team_id, bool *changed,
                struct error **err)
{
    struct member member;
    error_auto refusal = NULL;
    const struct member_new new = {team_id, follow->groups->user.name, follow->role, true};
    *changed = false;
    if (member_row_check_room(db, team_id, &refusal) < 0 ||
        member_row_check_teams(db, new.user_name, 1, &refusal) < 0) {
        if (refusal->code != ERR_INVALID_REQUEST)
            return error_move(err, &refusal);
        log_warning("cannot add a user to a team of oidc_groups; the sign-in continues",
                    LOG_STR("user", new.user_name), LOG_STR("team", follow->slug),
                    LOG_ERROR(refusal));
        return 0;
    }
    *changed = true;
    return member_row_insert(db, &new, &member, err);
}

static int change(struct db *db, const struct follow *follow, const char *team_id, bool *changed,
                  struct error **err)
{
    uint64_t matched;
    struct db_value role = db_text(team_role_name(follow->role));
    if (db_exec(db, &change_statement,
                DB_ARGS(role, db_text(follow->groups->user.id), db_text(team_id), role), &matched,
                err) < 0)
        return -1;
    *changed = matched > 0;
    if (!matched)
        return 0;
    /* A viewer gets no token. */
    if (follow->role == ROLE_VIEWER && access_end_of_team(db, team_id, err) < 0)
        return -1;
    return access_revision_bump(db, follow->groups->user.id, err);
}

static int leave(struct db *db, const struct follow *follow, const char *team_id, bool *changed,
                 struct error **err)
{
    uint64_t matched;
    const struct identity_groups *groups = follow->groups;
    if (db_exec(db, &leave_statement, DB_ARGS(db_text(groups->user.id), db_text(team_id)), &matched,
                err) < 0)
        return -1;
    *changed = matched > 0;
    if (!matched)
        return 0;
    if (member_row_record(db, EVENT_MEMBER_REMOVED, team_id, groups->user.name, NULL, err) < 0 ||
        access_end_of_team(db, team_id, err) < 0)
        return -1;
    return access_revision_bump(db, groups->user.id, err);
}

static int write_membership(struct db *db, const struct follow *follow, const char *team_id,
                            bool is_there, struct error **err)
{
    bool changed = false;
    const struct identity_groups *groups = follow->groups;
    if (!follow->is_member && !is_there)
        return 0;
    const struct audit_action *action = !follow->is_member ? &audit_MEMBER_REMOVE
                                        : is_there         ? &audit_MEMBER_UPDATE
                                                           : &audit_MEMBER_ADD;
    int result = !follow->is_member ? leave(db, follow, team_id, &changed, err)
                 : is_there         ? change(db, follow, team_id, &changed, err)
                                    : join(db, follow, team_id, &changed, err);
    if (result < 0 || !changed)
        return result;
    return record(db, &groups->user, action, team_id, err);
}

static int follow_body(struct db *db, void *context, struct error **err)
{
    const struct follow *follow = context;
    db_rows_auto *teams = NULL, *rows = NULL;
    if (db_query(db, &lock_team_statement, DB_ARGS(db_text(follow->slug)), &teams, err) < 0)
        return -1;
    if (!db_rows_next(teams)) {
        log_warning("oidc_groups names a team that does not exist; its memberships are skipped",
                    LOG_STR("team", follow->slug));
        return 0;
    }
    const char *team_id = db_get_text(teams, 0);
    if (db_query(db, &membership_statement,
                 DB_ARGS(db_text(team_id), db_text(follow->groups->user.id)), &rows, err) < 0)
        return -1;
    bool is_there = db_rows_next(rows);
    bool is_last_owner = is_there && db_get_bool(rows, 1);
    bool stays_owner = follow->is_member && follow->role == ROLE_OWNER;
    if (is_last_owner && !stays_owner)
        return 0;
    return write_membership(db, follow, team_id, is_there, err);
}

/* Combine all entries for this team: the highest role wins. */
static void sum_up(const char *team, struct follow *follow)
{
    const struct identity_groups *groups = follow->groups;
    autofree char *copy = xstrdup(groups->map);
    char *rest = copy;
    struct entry entry;
    while (next_entry(&rest, &entry)) {
        if (!entry.group || strcmp(entry.team, team) != 0 ||
            !groups->is_in(entry.group, groups->context))
            continue;
        if (!follow->is_member || entry.role > follow->role)
            follow->role = entry.role;
        follow->is_member = true;
    }
}

int identity_follow_groups(struct db *db, const struct identity_groups *groups, struct error **err)
{
    autofree char *copy = xstrdup(groups->map);
    char *rest = *groups->map ? copy : NULL;
    struct entry entry;
    while (next_entry(&rest, &entry)) {
        struct follow follow = {.groups = groups, .slug = entry.team};
        if (!entry.group)
            continue;
        sum_up(entry.team, &follow);
        if (db_transaction(db, follow_body, &follow, err) < 0)
            return -1;
    }
    return 0;
}
