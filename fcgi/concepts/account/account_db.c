/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "account/access_revision.h"
#include "account/member_row.h"
#include "account/plan.h"
#include "base/clock.h"

DB_STATEMENT(insert_team_statement) = {
    "team.insert", "INSERT INTO teams (id, slug, plan, created_at_ms) VALUES (?, ?, ?, ?)"};
DB_STATEMENT(get_team_statement) = {
    "team.get", "SELECT id, slug, plan FROM teams WHERE slug = ? AND removed_at_ms IS NULL"};
DB_STATEMENT(lock_team_statement) = {
    "team.lock", "SELECT plan FROM teams WHERE id = ? AND removed_at_ms IS NULL FOR UPDATE"};
DB_STATEMENT(list_teams_statement) = {
    "team.list",
    "SELECT id, slug, plan FROM teams WHERE removed_at_ms IS NULL ORDER BY slug LIMIT 100000"};
DB_STATEMENT(set_plan_statement) = {
    "team.set_plan", "UPDATE teams SET plan = ? WHERE slug = ? AND removed_at_ms IS NULL"};
DB_STATEMENT(insert_member_statement) = {
    "team.insert_member",
    "INSERT INTO memberships (user_id, team_id, role, added_at_ms) VALUES (?, ?, ?, ?)"};
DB_STATEMENT(insert_user_statement) = {
    "user.insert",
    "INSERT INTO users (id, name, personal_team_id, created_at_ms) VALUES (?, ?, ?, ?)"};
#define USER_COLUMNS                                                                         \
    "SELECT id, name, personal_team_id, disabled_at_ms, password_hash IS NOT NULL, totp_on," \
    " (SELECT COUNT(*) FROM passkeys p WHERE p.user_id = users.id) FROM users"
DB_STATEMENT(get_user_statement) = {"user.get", USER_COLUMNS " WHERE name = ?"};
DB_STATEMENT(list_users_statement) = {"user.list",
                                      USER_COLUMNS " WHERE name > ? ORDER BY name LIMIT ?"};

/* --- teams --- */

static void read_team(const struct db_rows *rows, struct team *team)
{
    db_copy_text(team->id, rows, 0);
    db_copy_text(team->slug, rows, 1);
    db_copy_text(team->plan, rows, 2);
}

int team_get_by_slug(struct db *db, const char *slug, struct team *team, struct error **err)
{
    return DB_ROW(db, &get_team_statement, DB_ARGS(db_text(slug)), "There is no such team.",
                  read_team, team, err);
}

int team_lock(struct db *db, const char *team_id, struct plan *plan, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &lock_team_statement, DB_ARGS(db_text(team_id)), "There is no such team.",
                     &rows, err) < 0)
        return -1;
    return plan_get(db, db_get_text(rows, 0), plan, err);
}

int team_list(struct db *db, struct team **teams, unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_teams_statement, DB_NO_ARGS, read_team, teams, count, err);
}

/* Check that the plan in a request exists. */
static int require_plan(struct db *db, const char *name, struct error **err)
{
    struct plan plan;
    if (plan_get(db, name, &plan, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    return error_set_field(err, ERR_INVALID_REQUEST, "/plan", "There is no such plan.");
}

static int insert_team(struct db *db, const struct team *team, struct error **err)
{
    if (db_exec(db, &insert_team_statement,
                DB_ARGS(db_text(team->id), db_text(team->slug), db_text(team->plan),
                        db_i64(clock_now_ms())),
                NULL, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE))
        return -1;
    return error_set_field(err, ERR_NAME_TAKEN, "/slug", "The team %s exists already.", team->slug);
}

static int insert_owner(struct db *db, const char *user_id, const char *team_id, struct error **err)
{
    return db_exec(db, &insert_member_statement,
                   DB_ARGS(db_text(user_id), db_text(team_id), db_text(team_role_name(ROLE_OWNER)),
                           db_i64(clock_now_ms())),
                   NULL, err);
}

struct new_team {
    struct team team;
    struct user owner;
};

static int team_body(struct db *db, void *context, struct error **err)
{
    const struct new_team *made = context;
    if (insert_team(db, &made->team, err) < 0)
        return -1;
    if (member_row_check_teams(db, made->owner.name, 1, err) < 0 ||
        insert_owner(db, made->owner.id, made->team.id, err) < 0)
        return -1;
    return access_revision_bump(db, made->owner.id, err);
}

int team_create(struct db *db, const char *slug, const char *plan, const char *owner_name,
                struct team *team, struct error **err)
{
    struct new_team made = {0};
    if (!slug_is_valid(slug))
        return error_set_field(err, ERR_INVALID_REQUEST, "/slug",
                               "A team's slug is 1 to 63 lower-case letters, digits and hyphens, "
                               "with no hyphen at either end.");
    if (require_plan(db, plan, err) < 0 || user_get_by_name(db, owner_name, &made.owner, err) < 0)
        return -1;
    id_new("tea_", made.team.id);
    snprintf(made.team.slug, sizeof made.team.slug, "%s", slug);
    snprintf(made.team.plan, sizeof made.team.plan, "%s", plan);
    if (db_transaction(db, team_body, &made, err) < 0)
        return -1;
    *team = made.team;
    return 0;
}

struct plan_change {
    const char *slug, *plan;
};

static int set_plan_body(struct db *db, void *context, struct error **err)
{
    const struct plan_change *change = context;
    uint64_t affected;
    if (require_plan(db, change->plan, err) < 0 ||
        db_exec(db, &set_plan_statement, DB_ARGS(db_text(change->plan), db_text(change->slug)),
                &affected, err) < 0)
        return -1;
    if (!affected)
        return error_set(err, ERR_NOT_FOUND, "There is no such team.");
    return access_revision_bump(db, ACCESS_OF_ALL, err);
}

int team_set_plan(struct db *db, const char *slug, const char *plan, struct error **err)
{
    struct plan_change change = {slug, plan};
    return db_transaction(db, set_plan_body, &change, err);
}

/* --- users --- */

static void read_user(const struct db_rows *rows, struct user *user)
{
    db_copy_text(user->id, rows, 0);
    db_copy_text(user->name, rows, 1);
    db_copy_text(user->personal_team_id, rows, 2);
    user->disabled_at_ms = db_get_i64(rows, 3);
    user->has_password = db_get_bool(rows, 4);
    user->has_second_factor = db_get_bool(rows, 5);
    user->passkeys = (unsigned)db_get_u64(rows, 6);
}

int user_get_by_name(struct db *db, const char *name, struct user *user, struct error **err)
{
    return DB_ROW(db, &get_user_statement, DB_ARGS(db_text(name)), "There is no such user.",
                  read_user, user, err);
}

int user_list(struct db *db, const char *after, unsigned limit, struct user **users,
              unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_users_statement, DB_ARGS(db_text(after), db_u64(limit)), read_user,
                   users, count, err);
}

struct new_user {
    struct user user;
    struct team team;
    int (*then)(struct db *db, const struct user *user, void *context, struct error **err);
    void *context;
};

static int user_body(struct db *db, void *context, struct error **err)
{
    const struct new_user *made = context;
    const struct user *user = &made->user;
    if (insert_team(db, &made->team, err) < 0)
        return -1;
    if (db_exec(db, &insert_user_statement,
                DB_ARGS(db_text(user->id), db_text(user->name), db_text(user->personal_team_id),
                        db_i64(clock_now_ms())),
                NULL, err) < 0)
        return -1;
    if (insert_owner(db, user->id, made->team.id, err) < 0)
        return -1;
    return made->then ? made->then(db, user, made->context, err) : 0;
}

int user_create(struct db *db, const char *name, struct user *user, struct error **err)
{
    return user_create_and(db, name, NULL, NULL, user, err);
}

int user_create_and(struct db *db, const char *name,
                    int (*then)(struct db *db, const struct user *user, void *context,
                                struct error **err),
                    void *context, struct user *user, struct error **err)
{
    struct new_user made = {.team.plan = "basic", .then = then, .context = context};
    if (!slug_is_valid(name))
        return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                               "A user's name is 1 to 63 lower-case letters, digits and hyphens, "
                               "with no hyphen at either end.");
    id_new("usr_", made.user.id);
    id_new("tea_", made.team.id);
    memcpy(made.user.personal_team_id, made.team.id, sizeof made.team.id);
    snprintf(made.user.name, sizeof made.user.name, "%s", name);
    snprintf(made.team.slug, sizeof made.team.slug, "%s", name);
    if (db_transaction(db, user_body, &made, err) < 0) {
        if ((*err)->code != ERR_NAME_TAKEN && (*err)->code != ERR_DB_DUPLICATE)
            return -1;
        error_clear(err);
        return error_set_field(err, ERR_NAME_TAKEN, "/name",
                               "The name %s is taken by a user or a team.", name);
    }
    *user = made.user;
    return 0;
}
