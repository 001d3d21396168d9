/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "account/access_end.h"
#include "account/access_revision.h"
#include "account/member_row.h"
#include "base/clock.h"
#include "base/panic.h"

DB_STATEMENT(lock_statement) = {
    "member.lock", "SELECT id FROM teams WHERE id = ? AND removed_at_ms IS NULL FOR UPDATE"};
#define MEMBER_COLUMNS                                        \
    "SELECT u.name, m.role, m.added_at_ms FROM memberships m" \
    " JOIN users u ON u.id = m.user_id WHERE m.team_id = ?"
DB_STATEMENT(list_statement) = {"member.list", MEMBER_COLUMNS " ORDER BY u.name LIMIT ?"};
DB_STATEMENT(get_statement) = {"member.get", MEMBER_COLUMNS " AND u.name = ?"};
DB_STATEMENT(teams_statement) = {
    "member.teams",
    "SELECT t.slug, m.role FROM memberships m JOIN teams t ON t.id = m.team_id"
    " JOIN users u ON u.id = m.user_id"
    " WHERE m.user_id = ? AND t.id <> u.personal_team_id AND t.removed_at_ms IS NULL"
    " ORDER BY t.slug LIMIT ?"};
DB_STATEMENT(count_statement) = {
    "member.count", "SELECT COUNT(*), CAST(COALESCE(SUM(role = 'owner'), 0) AS UNSIGNED)"
                    " FROM memberships WHERE team_id = ?"};
DB_STATEMENT(teams_of_statement) = {"member.teams_of",
                                    "SELECT COUNT(*) FROM memberships"
                                    " WHERE user_id = (SELECT id FROM users WHERE name = ?)"};
DB_STATEMENT(personal_statement) = {"member.personal",
                                    "SELECT name FROM users WHERE personal_team_id = ? LIMIT 1"};
DB_STATEMENT(forget_statement) = {
    "member.forget_invitation",
    "DELETE FROM team_invitations"
    " WHERE team_id = ? AND user_id = (SELECT id FROM users WHERE name = ?)"};
DB_STATEMENT(insert_statement) = {"member.insert",
                                  "INSERT INTO memberships (user_id, team_id, role, added_at_ms,"
                                  " from_groups) SELECT id, ?, ?, ?, ? FROM users WHERE name = ?"};
DB_STATEMENT(update_statement) = {
    "member.update", "UPDATE memberships SET role = ?"
                     " WHERE team_id = ? AND user_id = (SELECT id FROM users WHERE name = ?)"};
DB_STATEMENT(delete_statement) = {"member.delete",
                                  "DELETE FROM memberships WHERE team_id = ?"
                                  " AND user_id = (SELECT id FROM users WHERE name = ?)"};

DB_STATEMENT(user_statement) = {"member.user", "SELECT id FROM users WHERE name = ?"};

static enum team_role read_role(const struct db_rows *rows)
{
    enum team_role role;
    if (team_role_parse(db_get_text(rows, 1), &role) < 0)
        panic("a membership has an unknown role");
    return role;
}

static void read_membership(const struct db_rows *rows, struct membership *membership)
{
    db_copy_text(membership->team_slug, rows, 0);
    membership->role = read_role(rows);
}

int membership_list(struct db *db, const char *user_id, struct membership **memberships,
                    unsigned *count, struct error **err)
{
    return DB_LIST(db, &teams_statement, DB_ARGS(db_text(user_id), db_u64(MEMBERSHIPS_MAX)),
                   read_membership, memberships, count, err);
}

static void read_member(const struct db_rows *rows, struct member *member)
{
    db_copy_text(member->user_name, rows, 0);
    member->role = read_role(rows);
    member->added_at_ms = db_get_i64(rows, 2);
}

int member_list(struct db *db, const char *team_id, struct member **members, unsigned *count,
                struct error **err)
{
    return DB_LIST(db, &list_statement, DB_ARGS(db_text(team_id), db_u64(TEAM_MEMBERS_MAX)),
                   read_member, members, count, err);
}

static int no_member(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "The team has no member of this name.");
}

int member_get(struct db *db, const char *team_id, const char *user_name, struct member *member,
               struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!slug_is_valid(user_name))
        return no_member(err);
    if (db_query(db, &get_statement, DB_ARGS(db_text(team_id), db_text(user_name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return no_member(err);
    read_member(rows, member);
    return 0;
}

/* Lock the team's row and count its members. The lock puts concurrent changes in order. */
static int lock_and_count(struct db *db, const char *team_id, uint64_t *all, uint64_t *owners,
                          struct error **err)
{
    db_rows_auto *locked = NULL, *rows = NULL;
    if (db_query_row(db, &lock_statement, DB_ARGS(db_text(team_id)), "There is no such team.",
                     &locked, err) < 0 ||
        db_query(db, &count_statement, DB_ARGS(db_text(team_id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *all = db_get_u64(rows, 0);
    *owners = db_get_u64(rows, 1);
    return 0;
}

struct change {
    const char *team_id, *user_name;
    enum team_role role;
    bool removes;
    struct member *member; /* the member after the change */
};

static int check_not_personal(struct db *db, const char *team_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &personal_statement, DB_ARGS(db_text(team_id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    return error_set(err, ERR_INVALID_REQUEST,
                     "This is the personal team of %s, which cannot have other members.",
                     db_get_text(rows, 0));
}

int member_row_check_room(struct db *db, const char *team_id, struct error **err)
{
    uint64_t all, owners;
    if (lock_and_count(db, team_id, &all, &owners, err) < 0)
        return -1;
    if (all >= TEAM_MEMBERS_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "A team has at most %d members.",
                         TEAM_MEMBERS_MAX);
    return check_not_personal(db, team_id, err);
}

int member_row_check_teams(struct db *db, const char *user_name, unsigned more, struct error **err)
{
    uint64_t count;
    if (DB_NUMBER(db, &teams_of_statement, DB_ARGS(db_text(user_name)), &count, err) < 0)
        return -1;
    return count + more <= USER_TEAMS_MAX
               ? 0
               : error_set(err, ERR_INVALID_REQUEST, "%s can be a member of at most %d teams.",
                           user_name, USER_TEAMS_MAX);
}

int member_row_record(struct db *db, enum event_kind kind, const char *team_id,
                      const char *user_name, const char *role, struct error **err)
{
    const struct event_note note = {
        .kind = kind,
        .team_id = team_id,
        .data = json_pack("{s:s, s:s*}", "user", user_name, "role", role),
    };
    return event_add(db, &note, err);
}

static int bump_revision(struct db *db, const char *user_name, struct error **err)
{
    char user_id[ID_SIZE];
    if (db_query_text(db, &user_statement, DB_ARGS(db_text(user_name)), user_id, sizeof user_id,
                      err) < 0)
        return -1;
    return access_revision_bump(db, user_id, err);
}

int member_row_insert(struct db *db, const struct member_new *new, struct member *member,
                      struct error **err)
{
    uint64_t affected;
    const char *role = team_role_name(new->role);
    struct db_value team = db_text(new->team_id), name = db_text(new->user_name);
    if (member_row_check_teams(db, new->user_name, 1, err) < 0 ||
        db_exec(db, &forget_statement, DB_ARGS(team, name), NULL, err) < 0 ||
        db_exec(
            db, &insert_statement,
            DB_ARGS(team, db_text(role), db_i64(clock_now_ms()), db_bool(new->from_groups), name),
            &affected, err) < 0)
        return -1;
    if (!affected)
        return error_set_field(err, ERR_NOT_FOUND, "/name", "There is no such user.");
    if (member_get(db, new->team_id, new->user_name, member, err) < 0 ||
        member_row_record(db, EVENT_MEMBER_ADDED, new->team_id, new->user_name, role, err) < 0)
        return -1;
    return bump_revision(db, new->user_name, err);
}

static int add_body(struct db *db, void *context, struct error **err)
{
    struct change *change = context;
    const struct member_new new = {change->team_id, change->user_name, change->role, false};
    return member_row_check_room(db, change->team_id, err) < 0
               ? -1
               : member_row_insert(db, &new, change->member, err);
}

int member_add(struct db *db, const char *team_id, const char *user_name, enum team_role role,
               struct member *member, struct error **err)
{
    struct change change = {team_id, user_name, role, false, member};
    if (!slug_is_valid(user_name))
        return error_set_field(err, ERR_NOT_FOUND, "/name", "There is no such user.");
    if (db_transaction(db, add_body, &change, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE))
        return -1;
    return error_set_field(err, ERR_NAME_TAKEN, "/name", "%s is a member of the team already.",
                           user_name);
}

static int write_change(struct db *db, const struct change *change, struct error **err)
{
    struct db_value team = db_text(change->team_id), name = db_text(change->user_name);
    if (change->removes)
        return db_exec(db, &delete_statement, DB_ARGS(team, name), NULL, err);
    return db_exec(db, &update_statement,
                   DB_ARGS(db_text(team_role_name(change->role)), team, name), NULL, err);
}

static int change_body(struct db *db, void *context, struct error **err)
{
    struct change *change = context;
    uint64_t all, owners;
    if (lock_and_count(db, change->team_id, &all, &owners, err) < 0 ||
        member_get(db, change->team_id, change->user_name, change->member, err) < 0)
        return -1;
    bool stays_owner = !change->removes && change->role == ROLE_OWNER;
    if (change->member->role == ROLE_OWNER && !stays_owner && owners == 1)
        return error_set(err, ERR_LAST_OWNER,
                         "%s is the only owner of the team; make another member an owner first.",
                         change->user_name);
    change->member->role = change->role;
    if (write_change(db, change, err) < 0 ||
        (change->removes && member_row_record(db, EVENT_MEMBER_REMOVED, change->team_id,
                                              change->user_name, NULL, err) < 0))
        return -1;
    /* A viewer gets no token. */
    if ((change->removes || change->role == ROLE_VIEWER) &&
        access_end_of_team(db, change->team_id, err) < 0)
        return -1;
    return bump_revision(db, change->user_name, err);
}

int member_set_role(struct db *db, const char *team_id, const char *user_name, enum team_role role,
                    struct member *member, struct error **err)
{
    struct change change = {team_id, user_name, role, false, member};
    return db_transaction(db, change_body, &change, err);
}

int member_remove(struct db *db, const char *team_id, const char *user_name, struct error **err)
{
    struct member member;
    struct change change = {team_id, user_name, ROLE_VIEWER, true, &member};
    return db_transaction(db, change_body, &change, err);
}
