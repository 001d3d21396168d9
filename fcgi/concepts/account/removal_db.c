/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/removal.h"

#include <string.h>

#include "account/access_end.h"
#include "account/access_revision.h"
#include "account/member_row.h"
#include "base/clock.h"
#include "base/mem.h"

/* VOLUME_BUILD_CACHE of volume/volume.h, which this folder does not include. */
#define BUILD_CACHE "'.build-cache'"

DB_STATEMENT(lock_team_statement) = {"removal.lock_team",
                                     "SELECT id FROM teams WHERE id = ? FOR UPDATE"};
DB_STATEMENT(holds_statement) = {
    "removal.holds",
    "SELECT EXISTS (SELECT 1 FROM sandboxes WHERE team_id = ? AND state <> 'destroyed'),"
    " EXISTS (SELECT 1 FROM volumes WHERE team_id = ? AND state <> 'deleted'"
    "  AND name <> " BUILD_CACHE "),"
    " EXISTS (SELECT 1 FROM checkpoints WHERE team_id = ? AND state NOT IN ('kept', 'deleted')),"
    " EXISTS (SELECT 1 FROM templates t JOIN template_versions v ON v.template_id = t.id"
    "  WHERE t.owner = ? AND v.state <> 'deleted')"};
DB_STATEMENT(personal_statement) = {"removal.personal",
                                    "SELECT name FROM users WHERE personal_team_id = ? LIMIT 1"};
/* With the dot it is no slug, so no user or team can have taken this name. */
DB_STATEMENT(end_statement) = {
    "removal.end_team",
    "UPDATE teams SET slug = CONCAT('removed.', RIGHT(id, 26)), removed_at_ms = ? WHERE id = ?"};
#define DROP(variable, name, table) \
    DB_STATEMENT(variable) = {name, "DELETE FROM " table " WHERE team_id = ?"}
DROP(drop_members_statement, "removal.drop_members", "memberships");
DROP(drop_keys_statement, "removal.drop_keys", "api_key_teams");
DROP(drop_uses_statement, "removal.drop_uses", "api_key_uses");
DROP(drop_invitations_statement, "removal.drop_invitations", "team_invitations");
DROP(drop_links_statement, "removal.drop_links", "team_links");
DROP(drop_secrets_statement, "removal.drop_secrets", "secrets");
DROP(drop_changed_statement, "removal.drop_changed", "changed_secrets");
DROP(drop_ended_statement, "removal.drop_ended", "ended_access");
DROP(drop_proxy_statement, "removal.drop_proxy", "team_egress_proxies");
DROP(drop_names_statement, "removal.drop_names", "denied_names");
DROP(drop_webhooks_statement, "removal.drop_webhooks", "webhooks");
/* The delivery locks a webhook before its messages. */
DB_STATEMENT(lock_webhooks_statement) = {
    "removal.lock_webhooks", "SELECT id FROM webhooks WHERE team_id = ? ORDER BY id FOR UPDATE"};
DB_STATEMENT(drop_messages_statement) = {
    "removal.drop_messages",
    "DELETE m FROM webhook_messages m JOIN webhooks w ON w.id = m.webhook_id WHERE w.team_id = ?"};
/* The dispatcher deletes its data. */
DB_STATEMENT(drop_cache_statement) = {
    "removal.drop_build_cache",
    "UPDATE volumes SET state = 'deleting', visible = 0, taken = NULL, lease_until_ms = 0"
    " WHERE team_id = ? AND name = " BUILD_CACHE " AND state IN ('creating', 'ready')"};
DB_STATEMENT(lock_user_statement) = {"removal.lock_user",
                                     "SELECT id FROM users WHERE name = ? FOR UPDATE"};
/* List the teams that would be left without an owner, and whether they have other members. */
DB_STATEMENT(owned_statement) = {
    "removal.owned",
    "SELECT t.id, t.slug, (SELECT COUNT(*) FROM memberships o WHERE o.team_id = t.id) > 1"
    " FROM memberships m JOIN teams t ON t.id = m.team_id"
    " WHERE m.user_id = ? AND m.role = 'owner' AND NOT EXISTS (SELECT 1 FROM memberships o"
    "  WHERE o.team_id = t.id AND o.role = 'owner' AND o.user_id <> m.user_id)"
    " ORDER BY t.id LIMIT 10000"};
DB_STATEMENT(inherit_statement) = {
    "removal.inherit",
    "INSERT INTO memberships (user_id, team_id, role, added_at_ms) VALUES (?, ?, 'owner', ?)"
    " ON DUPLICATE KEY UPDATE role = 'owner'"};
DB_STATEMENT(left_statement) = {
    "removal.left",
    "SELECT team_id FROM memberships WHERE user_id = ? ORDER BY team_id LIMIT 10000"};
DB_STATEMENT(drop_user_statement) = {"removal.drop_user", "DELETE FROM users WHERE id = ?"};

/* --- teams --- */

/* Lock the team, so that no request adds anything to it meanwhile. `*what`: a kind of thing that it
 * still has, or NULL. */
static int look_at_team(struct db *db, const char *team_id, const char **what, struct error **err)
{
    static const char *const kinds[] = {"sandboxes", "volumes", "checkpoints", "templates"};
    struct db_value id = db_text(team_id);
    db_rows_auto *locked = NULL;
    db_rows_auto *rows = NULL;
    if (db_query(db, &lock_team_statement, DB_ARGS(id), &locked, err) < 0 ||
        db_query(db, &holds_statement, DB_ARGS(id, id, id, id), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *what = NULL;
    for (unsigned i = 0; i < 4 && !*what; i++)
        if (db_get_bool(rows, i))
            *what = kinds[i];
    return 0;
}

static int end_team(struct db *db, const char *team_id, struct error **err)
{
    static const struct db_statement *const drops[] = {
        &drop_members_statement, &drop_keys_statement,     &drop_uses_statement,
        &drop_links_statement,   &drop_secrets_statement,  &drop_invitations_statement,
        &drop_proxy_statement,   &drop_messages_statement, &drop_webhooks_statement,
        &drop_cache_statement,   &drop_names_statement,    &drop_changed_statement,
        &drop_ended_statement,
    };
    struct db_value id = db_text(team_id);
    db_rows_auto *locked = NULL;
    if (db_query(db, &lock_webhooks_statement, DB_ARGS(id), &locked, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(drops); i++)
        if (db_exec(db, drops[i], DB_ARGS(id), NULL, err) < 0)
            return -1;
    return db_exec(db, &end_statement, DB_ARGS(db_i64(clock_now_ms()), id), NULL, err);
}

static int check_removable(struct db *db, const struct team *team, struct error **err)
{
    const char *what;
    db_rows_auto *rows = NULL;
    if (!strcmp(team->id, TEAM_DEPLOYMENT_ID))
        return error_set(err, ERR_INVALID_REQUEST, "The deployment's own team cannot be removed.");
    if (look_at_team(db, team->id, &what, err) < 0 ||
        db_query(db, &personal_statement, DB_ARGS(db_text(team->id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        return error_set(err, ERR_INVALID_REQUEST,
                         "%s is the personal team of user %s; remove the user instead.", team->slug,
                         db_get_text(rows, 0));
    if (what)
        return error_set(err, ERR_INVALID_REQUEST, "The team %s still has %s.", team->slug, what);
    return 0;
}

static int team_body(struct db *db, void *context, struct error **err)
{
    struct team team;
    if (team_get_by_slug(db, context, &team, err) < 0 || check_removable(db, &team, err) < 0)
        return -1;
    return end_team(db, team.id, err) < 0 ? -1 : access_revision_bump(db, ACCESS_OF_ALL, err);
}

int team_remove(struct db *db, const char *slug, struct error **err)
{
    return db_transaction(db, team_body, (void *)slug, err);
}

/* --- users --- */

struct removal {
    const char *name, *heir;
};

static int find_user(struct db *db, const char *name, char id[ID_SIZE], struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!slug_is_valid(name))
        return error_set(err, ERR_NOT_FOUND, "There is no user %s.", name);
    if (db_query(db, &lock_user_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_NOT_FOUND, "There is no user %s.", name);
    memcpy(id, db_get_text(rows, 0), ID_SIZE);
    return 0;
}

/* Make the heir an owner. One row: the heir was no member before. */
static int inherit(struct db *db, const struct removal *removal, const char *heir_id,
                   const char *team_id, struct error **err)
{
    uint64_t rows;
    if (db_exec(db, &inherit_statement,
                DB_ARGS(db_text(heir_id), db_text(team_id), db_i64(clock_now_ms())), &rows,
                err) < 0)
        return -1;
    if (rows != 1)
        return 0;
    return member_row_check_teams(db, removal->heir, 0, err) < 0
               ? -1
               : member_row_record(db, EVENT_MEMBER_ADDED, team_id, removal->heir,
                                   team_role_name(ROLE_OWNER), err);
}

static int leave_team(struct db *db, const struct removal *removal, const char *heir_id,
                      const struct db_rows *rows, struct error **err)
{
    const char *team_id = db_get_text(rows, 0), *what;
    if (*heir_id)
        return inherit(db, removal, heir_id, team_id, err);
    if (look_at_team(db, team_id, &what, err) < 0)
        return -1;
    if (what || db_get_bool(rows, 2))
        return error_set(err, ERR_LAST_OWNER,
                         "The user is the only owner of the team %s, which has %s; name a new "
                         "owner with --heir.",
                         db_get_text(rows, 1), what ? what : "other members");
    return end_team(db, team_id, err);
}

/* Write the event of each team that the user leaves. */
static int tell_teams(struct db *db, const char *user_id, const char *user_name, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &left_statement, DB_ARGS(db_text(user_id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (member_row_record(db, EVENT_MEMBER_REMOVED, db_get_text(rows, 0), user_name, NULL,
                              err) < 0)
            return -1;
    return 0;
}

static int user_body(struct db *db, void *context, struct error **err)
{
    const struct removal *removal = context;
    char id[ID_SIZE], heir_id[ID_SIZE] = "";
    db_rows_auto *teams = NULL;
    if (find_user(db, removal->name, id, err) < 0 ||
        (removal->heir && find_user(db, removal->heir, heir_id, err) < 0) ||
        db_query(db, &owned_statement, DB_ARGS(db_text(id)), &teams, err) < 0)
        return -1;
    if (!strcmp(id, heir_id))
        return error_set(err, ERR_INVALID_REQUEST, "A user cannot inherit from itself.");
    while (db_rows_next(teams))
        if (leave_team(db, removal, heir_id, teams, err) < 0)
            return -1;
    if (tell_teams(db, id, removal->name, err) < 0 || access_end_of_user(db, id, err) < 0 ||
        db_exec(db, &drop_user_statement, DB_ARGS(db_text(id)), NULL, err) < 0)
        return -1;
    return access_revision_bump(db, ACCESS_OF_ALL, err);
}

int user_remove(struct db *db, const char *name, const char *heir, struct error **err)
{
    struct removal removal = {name, heir};
    return db_transaction(db, user_body, &removal, err);
}
