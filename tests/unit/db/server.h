/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A MariaDB server (or Oracle's: SANDLOT_TEST_MYSQL) of the test's own in a temporary directory:
 * real, on a unix socket, ended with the test. Its settings are deliberately not what we want,
 * so that what the connections set for themselves is seen to work. A test whose server cannot be
 * started fails; it is not skipped.
 */
#pragma once

#include <sys/types.h>

#include "db/db.h"
#include "db/mysql_compat.h"

struct server {
    char directory[64];
    char socket[96];
    const char *address; /* where it listens beside the socket; NULL: nowhere */
    unsigned port;
    pid_t pid; /* 0: not running */
};

/* One with an empty database "unit", or NULL. With an address it listens there too, and encrypts
 * with server.pem and server.key of its directory once they are there and it is started again.
 * Oracle's does not listen where nobody logs in. */
struct server *server_new(const char *address, unsigned port);
int server_end(struct server *server); /* its files too; 0, or -1 */
bool server_listens(void);             /* whether an address has a meaning */

/* Group fixtures of cmocka: *state becomes the struct server, with an empty database "unit". */
int server_setup(void **state);
int server_teardown(void **state);

/* Kill -9, as a crash would; start it again on the same files. */
void server_kill(struct server *server);
void server_start(struct server *server);

/* Start it unless it runs: what an earlier test left dead must not fail the next. */
void server_ensure(struct server *server);

/* A connection as the programs have it; fails the test when there is none. */
struct db *server_open(const struct server *server);
struct db *server_open_at(const char *socket, unsigned timeout_s);

/* A bare connection beside the tested ones, and one text said on it. */
MYSQL *server_raw(const struct server *server);
void server_say(MYSQL *mysql, const char *sql);
/* The first column of the first row as a number; -1 when there is no row. */
long server_ask(MYSQL *mysql, const char *sql);

/* Wait until connection id runs a statement that contains text (up to 10 s). */
void server_wait_for(MYSQL *mysql, unsigned long id, const char *text);
