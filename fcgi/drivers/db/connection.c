/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/writer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"

#define DEFAULT_TIMEOUT_S 10
/* A connection that idled this long is asked with a ping before it is trusted with a write: a
 * firewall between may have forgotten it without telling anyone. */
#define PING_AFTER_IDLE_MS 5000

/* With several servers, a dead one must not use up the time that the call needs for the next one. A
 * connection that only reads also leaves a demoted primary, after CHECK_AFTER_MS at the latest. */
#define CONNECT_SEVERAL_S 3
#define CHECK_AFTER_MS    5000

/* After a wait of IN_VAIN_MS that timed out, do not wait for this server again for NOT_AGAIN_MS.
 * Otherwise a request with several queries to a hanging server would wait for each query. */
#define IN_VAIN_MS   1000
#define NOT_AGAIN_MS 1000

/* --- connecting --- */

/* Without a CA, both libraries encrypt the connection if the server can, and check no certificate.
 * By default, Connector/C before 3.4 does not encrypt, and a later one refuses a server that does
 * not prove its name. */
static void set_tls(const struct db_tls *tls, MYSQL *mysql)
{
#if DB_CLIENT_IS_MARIADB
    db_flag yes = 1, verify = tls->ca_file != NULL;
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#else
    unsigned mode = tls->ca_file ? SSL_MODE_VERIFY_IDENTITY : SSL_MODE_PREFERRED;
    mysql_options(mysql, MYSQL_OPT_SSL_MODE, &mode);
#endif
    if (!tls->ca_file)
        return;
    mysql_options(mysql, MYSQL_OPT_SSL_CA, tls->ca_file);
    if (tls->certificate_file) {
        mysql_options(mysql, MYSQL_OPT_SSL_CERT, tls->certificate_file);
        mysql_options(mysql, MYSQL_OPT_SSL_KEY, tls->key_file);
    }
}

static void set_options(const struct db *db, MYSQL *mysql, unsigned connect_s, unsigned answer_s)
{
    unsigned no = 0;
    db_flag yes = 1;
    unsigned protocol = db->options.socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
    mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &answer_s);
    mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &answer_s);
    mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_options(mysql, MYSQL_REPORT_DATA_TRUNCATION, &yes);
    /* A server must not be able to ask for our files. Automatic reconnecting is off by default in
     * both libraries, and newer ones complain when the option is only mentioned. */
    mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &no);
    if (!db->options.socket)
        set_tls(&db->options.tls, mysql);
}

static int say_session(struct db *db, struct error **err)
{
    /* Locks are given up before our own patience ends: otherwise a wait would look like a lost
     * connection, and a write like one of unknown outcome. */
    unsigned lock_wait_s = db->timeout_s > 2 ? db->timeout_s / 2 : 1;
    /* A server does not notice that a client has given up. It ends the statement itself, so that
     * the slow questions of a tenant do not pile up there. MariaDB and MySQL each skip the other's
     * comment. */
    unsigned statement_s = db->timeout_s + 1;
    char variables[512];
    snprintf(variables, sizeof variables,
             "SET SESSION sql_mode = 'TRADITIONAL,ONLY_FULL_GROUP_BY', time_zone = '+00:00',"
             " autocommit = 1, innodb_lock_wait_timeout = %u, lock_wait_timeout = %u"
             " /*M!100100 , max_statement_time = %u */ /*!80000 , max_execution_time = %u */",
             lock_wait_s, lock_wait_s, statement_s, statement_s * 1000);
    const char *const texts[] = {
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        variables,
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (db_say(db, texts[i], strlen(texts[i]), err) < 0)
            return -1;
    return 0;
}

/* The library's check of encryption is not enough: a proxy may have answered it. */
static int check_encrypted(struct db *db, struct error **err)
{
    if (db->options.socket || !db->options.tls.ca_file || db_cipher(db))
        return 0;
    return error_set(err, ERR_DB_UNAVAILABLE, "the database at %s does not encrypt connections",
                     db->server);
}

static int prepare(struct db *db, enum writer_turn turn, struct error **err)
{
    if (check_encrypted(db, err) < 0 || say_session(db, err) < 0)
        return -1;
    return db_has_several(db) ? writer_check(db, turn, err) : 0;
}

MYSQL *db_connect_raw(const struct db *db, const char *server, unsigned connect_s,
                      unsigned answer_s, struct error **err)
{
    MYSQL *mysql = mysql_init(NULL);
    if (!mysql)
        panic("out of memory");
    set_options(db, mysql, connect_s, answer_s);
    const struct db_options *o = &db->options;
    if (mysql_real_connect(mysql, server, o->user, o->password, o->name, o->port, o->socket,
                           CLIENT_FOUND_ROWS))
        return mysql;
    error_set(err, ERR_DB_UNAVAILABLE, "cannot connect to the database %s at %s as %s: %s (%u)",
              o->name, o->socket ? o->socket : server, o->user, mysql_error(mysql),
              mysql_errno(mysql));
    mysql_close(mysql);
    return NULL;
}

/* To db->server, or the socket. */
static int connect_one(struct db *db, enum writer_turn turn, struct error **err)
{
    bool is_short = db_has_several(db) && db->timeout_s > CONNECT_SEVERAL_S;
    db->mysql = db_connect_raw(db, db->server, is_short ? CONNECT_SEVERAL_S : db->timeout_s,
                               db->timeout_s, err);
    if (!db->mysql)
        return -1;
    if (prepare(db, turn, err) < 0) {
        db_connection_drop(db);
        return error_recode(err, ERR_DB_UNAVAILABLE);
    }
    db->last_used_ms = clock_monotonic_ms();
    return 0;
}

char *db_next_host(const char **at)
{
    size_t length = strcspn(*at, ",");
    char *host = length ? xstrndup(*at, length) : NULL;
    *at += length + ((*at)[length] == ',');
    return host;
}

/* The error is that of the last one. */
static int connect_any(struct db *db, enum writer_turn turn, struct error **err)
{
    const char *at = db->options.host;
    char *host;
    db->writer_is_open = false;
    while ((host = db_next_host(&at))) {
        free(db->server);
        db->server = host;
        error_clear(err);
        if (connect_one(db, turn, err) == 0)
            return 0;
    }
    return -1;
}

static int db_connect(struct db *db, struct error **err)
{
    static const enum writer_turn turns[] = {WRITER_FOLLOW, WRITER_CLAIM, WRITER_FOLLOW};
    assert(!db->mysql);
    if (db->options.socket)
        return connect_one(db, WRITER_FOLLOW, err);
    for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
        if (connect_any(db, turns[i], err) == 0)
            return 0;
        if (!db->writer_is_open)
            return -1;
    }
    return -1;
}

static int connect_unless_in_vain(struct db *db, struct error **err)
{
    int64_t begun_ms = clock_monotonic_ms();
    if (begun_ms < db->not_before_ms)
        return error_set(
            err, ERR_DB_UNAVAILABLE,
            "the database %s at %s did not answer a moment ago; the next attempt follows soon",
            db->options.name, db_server(db));
    int result = db_connect(db, err);
    int64_t ended_ms = clock_monotonic_ms();
    if (result < 0 && ended_ms - begun_ms >= IN_VAIN_MS)
        db->not_before_ms = ended_ms + NOT_AGAIN_MS;
    return result;
}

const char *db_server(const struct db *db)
{
    return db->options.socket ? db->options.socket : db->server;
}

const char *db_cipher(const struct db *db)
{
    return db->mysql ? mysql_get_ssl_cipher(db->mysql) : NULL;
}

void db_connection_drop(struct db *db)
{
    if (!db->mysql)
        return;
    /* The connection first: the statements are then freed without a word to the server. */
    mysql_close(db->mysql);
    db->mysql = NULL;
    for (size_t i = 0; i < db->prepared_count; i++)
        mysql_stmt_close(db->prepared[i].handle);
    db->prepared_count = 0;
    if (db->transaction != DB_OUTSIDE)
        db->transaction = DB_CUT;
}

int db_connection_reopen(struct db *db, unsigned timeout_s, struct error **err)
{
    db_connection_drop(db);
    db->timeout_s = timeout_s;
    return db_connect(db, err);
}

/* --- is it still there? --- */

/* 0: quiet, as it should be; 1: unexpected bytes wait; -1: closed. */
static int peek(struct db *db)
{
    char byte;
    ssize_t got = recv(db_socket_of(db->mysql), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    return got > 0 ? 1 : -1;
}

bool db_connection_closed_by_peer(struct db *db)
{
    return !db->mysql || peek(db) < 0;
}

static bool is_alive(struct db *db)
{
    int state = peek(db);
    if (state < 0)
        return false;
    if (db_has_several(db) && clock_monotonic_ms() - db->checked_ms > CHECK_AFTER_MS) {
        error_auto ignored = NULL;
        return writer_check(db, WRITER_STAY, &ignored) == 0;
    }
    /* Unasked bytes are the last words of a server that closes, or nothing at all (TLS tickets):
     * the ping finds out. */
    if (state > 0 || clock_monotonic_ms() - db->last_used_ms > PING_AFTER_IDLE_MS)
        return mysql_ping(db->mysql) == 0;
    return true;
}

int db_connection_ready(struct db *db, struct error **err)
{
    switch (db->transaction) {
    case DB_DEADLOCKED:
        return error_set(err, ERR_DB_DEADLOCK,
                         "an earlier statement of this transaction met a deadlock or waited too "
                         "long for a lock; the transaction starts again");
    case DB_CUT:
        return error_set(err, ERR_DB_UNAVAILABLE,
                         "the connection to the database was lost earlier in this transaction");
    case DB_INSIDE:
        return 0;
    case DB_OUTSIDE:
        break;
    }
    if (db->pinned)
        return db->mysql ? 0
                         : error_set(err, ERR_DB_UNAVAILABLE,
                                     "the connection to the database was lost, and with it the "
                                     "locks of this session");
    if (db->mysql && !is_alive(db))
        db_connection_drop(db);
    return db->mysql ? 0 : connect_unless_in_vain(db, err);
}

int db_say(struct db *db, const char *sql, size_t length, struct error **err)
{
    if (mysql_real_query(db->mysql, sql, length))
        return db_server_error(db, "database", mysql_errno(db->mysql), mysql_error(db->mysql), err);
    MYSQL_RES *result = mysql_store_result(db->mysql);
    if (result)
        mysql_free_result(result);
    db->last_used_ms = clock_monotonic_ms();
    return 0;
}

/* --- opening --- */

int db_open(const struct db_options *options, struct db **out, struct error **err)
{
    struct db *db = xcalloc(1, sizeof *db);
    db->options = (struct db_options){
        .socket = xstrdup_or_null(options->socket),
        .host = xstrdup(options->host ? options->host : "localhost"),
        .port = options->port,
        .tls =
            {
                .ca_file = xstrdup_or_null(options->tls.ca_file),
                .certificate_file = xstrdup_or_null(options->tls.certificate_file),
                .key_file = xstrdup_or_null(options->tls.key_file),
            },
        .name = xstrdup(options->name),
        .user = xstrdup(options->user),
        .password = xstrdup_or_null(options->password),
        .timeout_s = options->timeout_s ? options->timeout_s : DEFAULT_TIMEOUT_S,
    };
    db->timeout_s = db->options.timeout_s;
    if (db_connect(db, err) < 0) {
        db_close(db);
        return -1;
    }
    *out = db;
    return 0;
}

void db_leave(struct db *db)
{
    if (db->mysql)
        close(db_socket_of(db->mysql));
    db->mysql = NULL;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    db_connection_drop(db);
    free(db->prepared);
    free((char *)db->options.socket);
    free((char *)db->options.host);
    free(db->server);
    free((char *)db->options.tls.ca_file);
    free((char *)db->options.tls.certificate_file);
    free((char *)db->options.tls.key_file);
    free((char *)db->options.name);
    free((char *)db->options.user);
    mem_wipe_free((char *)db->options.password);
    free(db);
}
