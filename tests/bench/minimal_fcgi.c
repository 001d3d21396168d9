/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The other side of requests: the least that a FastCGI worker can do that looks one row up. For
 * each request one prepared statement with the last part of the path, answered as JSON.
 * minimal_fcgi LISTENING-SOCKET-PATH WORKERS DATABASE-SOCKET USER DATABASE, password in MYSQL_PWD
 */
#define _GNU_SOURCE
#include <fcgiapp.h>
#include <mysql.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BACKLOG 512

static const char query[] = "SELECT id, state, cpu, memory_mb, disk_gb FROM sandboxes WHERE id = ?";

struct row {
    char id[64], state[32];
    unsigned long id_size, state_size;
    int cpu, memory_mb, disk_gb;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "minimal_fcgi: %s: %s\n", what, why);
    exit(1);
}

static MYSQL_STMT *prepare(MYSQL *db, struct row *row)
{
    MYSQL_BIND results[] = {
        {.buffer_type = MYSQL_TYPE_STRING,
         .buffer = row->id,
         .buffer_length = sizeof row->id,
         .length = &row->id_size},
        {.buffer_type = MYSQL_TYPE_STRING,
         .buffer = row->state,
         .buffer_length = sizeof row->state,
         .length = &row->state_size},
        {.buffer_type = MYSQL_TYPE_LONG, .buffer = &row->cpu},
        {.buffer_type = MYSQL_TYPE_LONG, .buffer = &row->memory_mb},
        {.buffer_type = MYSQL_TYPE_LONG, .buffer = &row->disk_gb},
    };
    MYSQL_STMT *statement = mysql_stmt_init(db);
    if (!statement || mysql_stmt_prepare(statement, query, sizeof query - 1) ||
        mysql_stmt_bind_result(statement, results))
        fail("prepare", statement ? mysql_stmt_error(statement) : "out of memory");
    return statement;
}

/* Whether the row is there. */
static int look_up(MYSQL_STMT *statement, const char *id)
{
    unsigned long size = strlen(id);
    MYSQL_BIND parameter = {.buffer_type = MYSQL_TYPE_STRING,
                            .buffer = (void *)id,
                            .buffer_length = size,
                            .length = &size};
    if (mysql_stmt_bind_param(statement, &parameter) || mysql_stmt_execute(statement))
        fail("execute", mysql_stmt_error(statement));
    int found = mysql_stmt_fetch(statement) == 0;
    mysql_stmt_free_result(statement);
    return found;
}

static void serve(int listener, MYSQL *db)
{
    FCGX_Request request;
    struct row row;
    MYSQL_STMT *statement = prepare(db, &row);
    FCGX_InitRequest(&request, listener, 0);
    while (FCGX_Accept_r(&request) == 0) {
        const char *path = FCGX_GetParam("REQUEST_URI", request.envp);
        const char *id = path ? strrchr(path, '/') : NULL;
        if (id && look_up(statement, id + 1))
            FCGX_FPrintF(
                request.out,
                "Content-Type: application/json\r\n\r\n{\"id\":\"%.*s\",\"state\":\"%.*s\","
                "\"cpu\":%d,\"memory_mb\":%d,\"disk_gb\":%d}\n",
                (int)row.id_size, row.id, (int)row.state_size, row.state, row.cpu, row.memory_mb,
                row.disk_gb);
        else
            FCGX_FPrintF(request.out, "Status: 404\r\n\r\n");
        FCGX_Finish_r(&request);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6)
        fail("usage", "minimal_fcgi SOCKET WORKERS DATABASE-SOCKET USER DATABASE");
    FCGX_Init();
    int listener = FCGX_OpenSocket(argv[1], BACKLOG);
    if (listener < 0)
        fail("listen", argv[1]);
    for (int left = atoi(argv[2]); left > 1 && fork() > 0; left--)
        ;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    MYSQL *db = mysql_init(NULL);
    if (!db || !mysql_real_connect(db, NULL, argv[4], getenv("MYSQL_PWD"), argv[5], 0, argv[3], 0))
        fail("connect", db ? mysql_error(db) : "out of memory");
    serve(listener, db);
    return 0;
}
