/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hide the differences between Oracle's libmysqlclient (>= 8.0) and MariaDB Connector/C (>= 3.1).
 * Both pkg-config files put the directory of mysql.h on the include path. Only db/ includes this.
 */
#pragma once

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <stdbool.h>

#ifdef MARIADB_PACKAGE_VERSION
#define DB_CLIENT_IS_MARIADB 1
typedef my_bool db_flag; /* the type of MYSQL_BIND.is_null and .error: a char */
#else
#define DB_CLIENT_IS_MARIADB 0
typedef bool db_flag; /* my_bool left with MySQL 8.0.1 */
#endif

/* Server errors that only one of the two headers names, or that differ by version. */
enum {
    DB_ER_CHECKREAD = 1020,                 /* MariaDB: a row changed under a snapshot */
    DB_ER_NORMAL_SHUTDOWN = 1077,           /* MySQL 9 no longer names it */
    DB_ER_OPTION_PREVENTS_STATEMENT = 1290, /* --read-only: a demoted primary */
    DB_ER_READ_ONLY_TRANSACTION = 1792,
    DB_ER_READ_ONLY_MODE = 1836,
    DB_ER_CONNECTION_KILLED = 1927, /* MariaDB */
    DB_ER_STATEMENT_TIMEOUT = 1969, /* MariaDB: max_statement_time */
    DB_ER_QUERY_TIMEOUT = 3024,     /* MySQL: max_execution_time */
    DB_ER_OFFLINE_MODE = 3032,      /* MySQL from here on */
    DB_ER_GROUP_TABLE = 3098,
    DB_ER_GROUP_HOOK = 3100,
    DB_ER_COMMIT_ROLLED_BACK = 3101,
    DB_ER_SESSION_KILLED = 3169,
    DB_ER_GROUP_HOLD_TIMEOUT = 3781,
    DB_ER_GROUP_HOLD_KILLED = 3782,
    DB_ER_GROUP_HOLD_STATE = 3783,
    DB_ER_GROUP_STOPPING = 3799,
    DB_ER_LOCK_NOWAIT = 3572,                /* MySQL; MariaDB says ER_LOCK_WAIT_TIMEOUT */
    DB_ER_CANNOT_CONVERT_STRING = 3854,      /* MySQL */
    DB_ER_CLIENT_INTERACTION_TIMEOUT = 4031, /* MySQL 8.0.24: said before it closes an idle one */
};

/* Return whether the client library made the code, not the server. Connector/C has a second
 * range of its own. */
static inline bool db_is_client_error(unsigned code)
{
    return (code >= 2000 && code < 3000) || (DB_CLIENT_IS_MARIADB && code >= 5000 && code < 6000);
}

static inline int db_socket_of(MYSQL *mysql)
{
#if DB_CLIENT_IS_MARIADB
    return (int)mysql_get_socket(mysql);
#else
    return (int)mysql->net.fd;
#endif
}
