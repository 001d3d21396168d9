/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/identity.h"

#include <stdio.h>
#include <string.h>

#include "account/access_end.h"
#include "account/access_revision.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

DB_STATEMENT(find_statement) = {"identity.find",
                                "SELECT user_id FROM identities WHERE issuer = ? AND subject = ?"};
DB_STATEMENT(insert_statement) = {
    "identity.insert",
    "INSERT INTO identities (issuer, subject, user_id, created_at_ms) VALUES (?, ?, ?, ?)"};
DB_STATEMENT(lock_team_statement) = {"identity.lock_team",
                                     "SELECT id FROM teams WHERE slug = ? FOR UPDATE"};
DB_STATEMENT(membership_statement) = {
    "identity.membership",
    "SELECT from_groups, role = 'owner' AND NOT EXISTS (SELECT 1 FROM memberships o"
    "   WHERE o.team_id = m.team_id AND o.role = 'owner' AND o.user_id <> m.user_id)"
    " FROM memberships m WHERE m.team_id = ? AND m.user_id = ?"};
DB_STATEMENT(join_statement) = {
    "identity.join", "INSERT INTO memberships (user_id, team_id, role, added_at_ms, from_groups)"
                     " VALUES (?, ?, ?, ?, 1)"};
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
    const char *user_id, *slug;
    bool is_member;
    enum team_role role;
};

static int write_change(struct db *db, const struct follow *follow, const char *team_id,
                        bool is_there, struct error **err)
{
    struct db_value user = db_text(follow->user_id), team = db_text(team_id);
    struct db_value role = db_text(team_role_name(follow->role));
    uint64_t changed = 0;
    int result =
        !follow->is_member ? db_exec(db, &leave_statement, DB_ARGS(user, team), &changed, err)
        : is_there ? db_exec(db, &change_statement, DB_ARGS(role, user, team, role), &changed, err)
                   : db_exec(db, &join_statement, DB_ARGS(user, team, role, db_i64(clock_now_ms())),
                             NULL, err);
    if (result < 0 || !changed || (follow->is_member && follow->role != ROLE_VIEWER))
        return result;
    return access_end_of_team(db, team_id, err);
}

static int write_membership(struct db *db, const struct follow *follow, const char *team_id,
                            bool is_there, struct error **err)
{
    if (!follow->is_member && !is_there)
        return 0;
    return write_change(db, follow, team_id, is_there, err) < 0
               ? -1
               : access_revision_bump(db, follow->user_id, err);
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
    if (db_query(db, &membership_statement, DB_ARGS(db_text(team_id), db_text(follow->user_id)),
                 &rows, err) < 0)
        return -1;
    bool is_there = db_rows_next(rows);
    bool is_last_owner = is_there && db_get_bool(rows, 1);
    bool stays_owner = follow->is_member && follow->role == ROLE_OWNER;
    if (is_last_owner && !stays_owner)
        return 0;
    return write_membership(db, follow, team_id, is_there, err);
}

/* Combine all entries for this team: the highest role wins. */
static void sum_up(const char *map, const char *team,
                   bool (*is_in)(const char *group, const void *context), const void *context,
                   struct follow *follow)
{
    autofree char *copy = xstrdup(map);
    char *rest = copy;
    struct entry entry;
    while (next_entry(&rest, &entry)) {
        if (!entry.group || strcmp(entry.team, team) != 0 || !is_in(entry.group, context))
            continue;
        if (!follow->is_member || entry.role > follow->role)
            follow->role = entry.role;
        follow->is_member = true;
    }
}

int identity_follow_groups(struct db *db, const char *user_id, const char *map,
                           bool (*is_in)(const char *group, const void *context),
                           const void *context, struct error **err)
{
    autofree char *copy = xstrdup(map);
    char *rest = *map ? copy : NULL;
    struct entry entry;
    while (next_entry(&rest, &entry)) {
        struct follow follow = {.user_id = user_id, .slug = entry.team};
        if (!entry.group)
            continue;
        sum_up(map, entry.team, is_in, context, &follow);
        if (db_transaction(db, follow_body, &follow, err) < 0)
            return -1;
    }
    return 0;
}
