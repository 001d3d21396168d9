/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/writer.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

/* A machine that is gone must not make a new connection to another one wait for long. */
#define RIVAL_S    1

#define VALUE_SIZE 129

/* The role of a server. */
struct server_state {
    bool read_only;
    bool in_group, group_has_many; /* Group Replication */
    bool in_galera;
    char node[VALUE_SIZE]; /* of Galera */
    char identity[640];    /* the same server may be in the list twice */
};

bool db_has_several(const struct db *db)
{
    return !db->options.socket && strchr(db->options.host, ',');
}

/* --- asking --- */

static void take_variable(struct server_state *state, const char *name, const char *value)
{
    bool is_on = !str_equal(value, "OFF") && !str_equal(value, "0");
    if (str_equal(name, "read_only") || str_equal(name, "super_read_only"))
        state->read_only |= is_on;
    else if (str_equal(name, "group_replication_group_name"))
        state->in_group = *value;
    else if (str_equal(name, "group_replication_single_primary_mode"))
        state->group_has_many = !is_on;
    else if (str_equal(name, "wsrep_on"))
        state->in_galera = is_on;
    else if (str_equal(name, "wsrep_node_name"))
        snprintf(state->node, sizeof state->node, "%s", value);
    else {
        size_t length = strlen(state->identity);
        snprintf(state->identity + length, sizeof state->identity - length, "%s ", value);
    }
}

/* SHOW is answered by a node of Galera that is not ready, too, and asks for no right. */
static int ask_state(MYSQL *mysql, struct server_state *state)
{
    static const char sql[] =
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'wsrep_on',"
        " 'wsrep_node_name', 'group_replication_group_name',"
        " 'group_replication_single_primary_mode', 'hostname', 'port', 'server_id', 'server_uuid',"
        " 'socket')";
    *state = (struct server_state){0};
    if (mysql_real_query(mysql, sql, sizeof sql - 1))
        return -1;
    MYSQL_RES *result = mysql_store_result(mysql);
    if (!result)
        return -1;
    for (MYSQL_ROW row; (row = mysql_fetch_row(result));)
        if (row[0] && row[1])
            take_variable(state, row[0], row[1]);
    mysql_free_result(result);
    return 0;
}

/* The text at column of the first row; "" without one. */
static int ask_text(struct db *db, const char *sql, unsigned column, char out[VALUE_SIZE],
                    struct error **err)
{
    *out = '\0';
    if (mysql_real_query(db->mysql, sql, strlen(sql)))
        return db_server_error(db, "database", mysql_errno(db->mysql), mysql_error(db->mysql), err);
    MYSQL_RES *result = mysql_store_result(db->mysql);
    MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    if (row && row[column])
        snprintf(out, VALUE_SIZE, "%s", row[column]);
    mysql_free_result(result);
    return 0;
}

/* --- the node of Galera that writes --- */

static bool has_no_table(struct db *db)
{
    return db->mysql && mysql_errno(db->mysql) == ER_NO_SUCH_TABLE;
}

/* Before the first migration there is no row, and nothing else that two could write. */
static int read_writer(struct db *db, enum writer_turn turn, char writer[VALUE_SIZE],
                       struct error **err)
{
    /* A new connection waits until the node has applied the commits of the other nodes. */
    const char *sql =
        turn == WRITER_STAY
            ? "SELECT holder FROM leases WHERE name = '" WRITER_LEASE "'"
            : "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT holder FROM leases WHERE name ="
              " '" WRITER_LEASE "'";
    error_auto failure = NULL;
    if (ask_text(db, sql, 0, writer, &failure) == 0 || has_no_table(db))
        return 0;
    return error_move(err, &failure);
}

static int claim(struct db *db, const struct server_state *state, const char *writer,
                 struct error **err)
{
    char node[2 * VALUE_SIZE], before[2 * VALUE_SIZE];
    autofree char *sql = NULL;
    mysql_real_escape_string(db->mysql, node, state->node, strlen(state->node));
    mysql_real_escape_string(db->mysql, before, writer, strlen(writer));
    sql = *writer ? xasprintf("UPDATE leases SET holder = '%s' WHERE name = '" WRITER_LEASE "'"
                              " AND holder = '%s'",
                              node, before)
                  : xasprintf("INSERT INTO leases (name, holder, until_ms)"
                              " VALUES ('" WRITER_LEASE "', '%s', 0)",
                              node);
    error_auto failure = NULL;
    if (db_say(db, sql, strlen(sql), &failure) < 0)
        return has_no_table(db) ? 0 : error_move(err, &failure);
    if (mysql_affected_rows(db->mysql) == 1)
        return 0;
    return error_set(
        err, ERR_DB_UNAVAILABLE,
        "another process chose a node other than %s for writes; the next attempt uses that node",
        state->node);
}

static int check_galera(struct db *db, const struct server_state *state, enum writer_turn turn,
                        struct error **err)
{
    char ready[VALUE_SIZE], writer[VALUE_SIZE];
    if (ask_text(db, "SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_ready'", 1, ready, err) < 0)
        return -1;
    if (!str_equal(ready, "ON"))
        return error_set(err, ERR_DB_UNAVAILABLE,
                         "the database at %s has left its cluster, or is not ready", db->server);
    if (read_writer(db, turn, writer, err) < 0)
        return -1;
    if (str_equal(writer, state->node))
        return 0;
    if (turn == WRITER_CLAIM)
        return claim(db, state, writer, err);
    db->writer_is_open = true;
    return error_set(err, ERR_DB_UNAVAILABLE,
                     "the database node %s does not take writes; %s takes them", state->node,
                     *writer ? writer : "the node that sandlot chooses next");
}

/* --- two of which neither knows the other --- */

static bool is_rival(const struct db *db, const struct server_state *state, const char *host)
{
    error_auto ignored = NULL;
    struct server_state other;
    MYSQL *mysql = db_connect_raw(db, host, RIVAL_S, RIVAL_S, &ignored);
    bool result = mysql && ask_state(mysql, &other) == 0 && !other.read_only &&
                  !str_equal(other.identity, state->identity);
    if (mysql)
        mysql_close(mysql);
    return result;
}

/* A primary that was replaced and has come back as it was. */
static int check_rivals(const struct db *db, const struct server_state *state, struct error **err)
{
    const char *at = db->options.host;
    char *host;
    int result = 0;
    while (result == 0 && (host = db_next_host(&at))) {
        if (!str_equal(host, db->server) && is_rival(db, state, host))
            result = error_set(err, ERR_DB_UNAVAILABLE,
                               "the databases at %s and %s both take writes: make one read-only",
                               db->server, host);
        free(host);
    }
    return result;
}

int writer_check(struct db *db, enum writer_turn turn, struct error **err)
{
    struct server_state state;
    if (ask_state(db->mysql, &state) < 0)
        return db_server_error(db, "database", mysql_errno(db->mysql), mysql_error(db->mysql), err);
    db->checked_ms = clock_monotonic_ms();
    if (state.read_only)
        return error_set(err, ERR_DB_UNAVAILABLE, "the database at %s is read-only", db->server);
    if (state.in_galera)
        return check_galera(db, &state, turn, err);
    if (state.in_group && state.group_has_many)
        return error_set(err, ERR_DB_UNAVAILABLE,
                         "the database at %s is in a group with several primaries; switch the "
                         "group to single-primary mode",
                         db->server);
    return state.in_group || turn == WRITER_STAY ? 0 : check_rivals(db, &state, err);
}
