/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/member_row.h"
#include "base/clock.h"
#include "base/panic.h"
#include "login/login_row.h"
#include "login/team_link.h"

#define ID_PREFIX "lnk_"

#define OPEN      " uses_left > 0 AND expires_at_ms > ? AND" MEMBER_OWNS("team_links", "made_by")
#define COLUMNS                                                                   \
    "SELECT team_links.id, t.id, t.slug, u.name, role, uses_left,"                \
    " team_links.created_at_ms, expires_at_ms, hash_key_id, hash FROM team_links" \
    " JOIN teams t ON t.id = team_links.team_id JOIN users u ON u.id = team_links.made_by WHERE"
DB_STATEMENT(list_statement) = {"team_link.list", COLUMNS OPEN
                                " AND team_links.team_id = ? ORDER BY team_links.id LIMIT ?"};
DB_STATEMENT(find_statement) = {"team_link.find", COLUMNS OPEN " AND team_links.id = ?"};
/* The next link of the team deletes the ended ones, so a team never has many. */
DB_STATEMENT(purge_statement) = {"team_link.purge",
                                 "DELETE FROM team_links WHERE team_id = ? AND NOT (" OPEN ")"};
DB_STATEMENT(count_statement) = {"team_link.count",
                                 "SELECT COUNT(*) FROM team_links WHERE team_id = ?"};
DB_STATEMENT(insert_statement) = {
    "team_link.insert",
    "INSERT INTO team_links (id, team_id, made_by, role, uses_left, created_at_ms, expires_at_ms,"
    " hash_key_id, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(revoke_statement) = {"team_link.revoke",
                                  "DELETE FROM team_links WHERE team_id = ? AND id = ?"};
DB_STATEMENT(use_statement) = {
    "team_link.use", "UPDATE team_links SET uses_left = uses_left - 1 WHERE" OPEN " AND id = ?"};

static void read_link(const struct db_rows *rows, struct team_link *link)
{
    db_copy_text(link->id, rows, 0);
    db_copy_text(link->team_id, rows, 1);
    db_copy_text(link->team_slug, rows, 2);
    db_copy_text(link->made_by, rows, 3);
    if (team_role_parse(db_get_text(rows, 4), &link->role) < 0)
        panic("the row of a link has an unknown role");
    link->uses_left = (unsigned)db_get_u64(rows, 5);
    link->created_at_ms = db_get_i64(rows, 6);
    link->expires_at_ms = db_get_i64(rows, 7);
}

int team_link_list(struct db *db, const char *team_id, struct team_link **links, unsigned *count,
                   struct error **err)
{
    return DB_LIST(db, &list_statement,
                   DB_ARGS(db_i64(clock_now_ms()), db_text(team_id), db_u64(TEAM_LINKS_MAX)),
                   read_link, links, count, err);
}

static int no_link(struct error **err)
{
    return error_set_field(err, ERR_NOT_FOUND, "/token",
                           "This link is unknown, used up, revoked or expired; ask for another.");
}

int team_link_find(struct db *db, const struct keyring *ring, const char *text,
                   struct team_link *link, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct secret_hash kept;
    char id[ID_SIZE];
    if (secret_text_id(ID_PREFIX, text, id) < 0)
        return no_link(err);
    if (db_query(db, &find_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return no_link(err);
    secret_hash_read(rows, 8, &kept);
    if (!secret_text_matches(ring, text, &kept))
        return no_link(err);
    read_link(rows, link);
    return 0;
}

struct make {
    struct team_link *link;
    const char *by_user_id;
    const struct secret_hash *kept;
};

static int check_count(struct db *db, const char *team_id, struct error **err)
{
    uint64_t count;
    if (DB_NUMBER(db, &count_statement, DB_ARGS(db_text(team_id)), &count, err) < 0)
        return -1;
    if (count < TEAM_LINKS_MAX)
        return 0;
    return error_set(err, ERR_INVALID_REQUEST, "A team has at most %d open links.", TEAM_LINKS_MAX);
}

static int make_body(struct db *db, void *context, struct error **err)
{
    const struct make *make = context;
    const struct team_link *link = make->link;
    struct db_value team = db_text(link->team_id);
    if (member_row_check_room(db, link->team_id, err) < 0 ||
        db_exec(db, &purge_statement, DB_ARGS(team, db_i64(link->created_at_ms)), NULL, err) < 0 ||
        check_count(db, link->team_id, err) < 0)
        return -1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(link->id), team, db_text(make->by_user_id),
                           db_text(team_role_name(link->role)), db_u64(link->uses_left),
                           db_i64(link->created_at_ms), db_i64(link->expires_at_ms),
                           db_u64(make->kept->key_id),
                           db_blob(make->kept->hash, sizeof make->kept->hash)),
                   NULL, err);
}

int team_link_new(const struct keyring *ring, struct team_link *link, char text[SECRET_TEXT_SIZE],
                  struct secret_hash *kept, struct error **err)
{
    return secret_text_new(ring, ID_PREFIX, link->id, text, kept, err);
}

int team_link_make(struct db *db, struct team_link *link, const struct secret_hash *kept,
                   const char *by_user_id, struct error **err)
{
    struct make make = {link, by_user_id, kept};
    link->created_at_ms = clock_now_ms();
    return db_transaction(db, make_body, &make, err);
}

int team_link_revoke(struct db *db, const char *team_id, const char *id, struct error **err)
{
    uint64_t affected = 0;
    if (id_is_valid(ID_PREFIX, id) &&
        db_exec(db, &revoke_statement, DB_ARGS(db_text(team_id), db_text(id)), &affected, err) < 0)
        return -1;
    return affected ? 0 : error_set(err, ERR_NOT_FOUND, "The team has no such link.");
}

int team_link_use(struct db *db, const struct team_link *link, const char *user_name,
                  struct member *member, struct error **err)
{
    uint64_t affected;
    const struct member_new new = {link->team_id, user_name, link->role, false};
    if (member_row_check_room(db, link->team_id, err) < 0 ||
        db_exec(db, &use_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(link->id)), &affected,
                err) < 0)
        return -1;
    return affected ? member_row_insert(db, &new, member, err) : no_link(err);
}

struct use {
    const struct team_link *link;
    const char *user_name;
    struct member *member;
};

static int use_body(struct db *db, void *context, struct error **err)
{
    const struct use *use = context;
    return team_link_use(db, use->link, use->user_name, use->member, err);
}

int team_link_accept(struct db *db, const struct team_link *link, const char *user_name,
                     struct member *member, struct error **err)
{
    struct use use = {link, user_name, member};
    if (db_transaction(db, use_body, &use, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE))
        return -1;
    return error_set(err, ERR_NAME_TAKEN, "%s is a member of the team already.", user_name);
}
