/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/db/server.h"

#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "unit/unit.h"

#define START_MS_MAX 60000
/* Debian and Fedora put it where an unprivileged PATH does not look. */
#define SERVER_PATH "/usr/sbin:/usr/local/sbin:/usr/libexec:/usr/bin"

/* Oracle's server instead of MariaDB: a folder with mysqld, its mysqld.cnf, and in data the files
 * of a new server, which take long to make. NULL: none. */
static const char *mysql_dir(void)
{
    return getenv("SANDLOT_TEST_MYSQL");
}

/* --- the process --- */

/* The server refuses to be root. */
static void become_unprivileged(void)
{
    if (geteuid() != 0)
        return;
    const struct passwd *nobody = getpwnam("nobody");
    if (!nobody || setgroups(0, NULL) || setgid(nobody->pw_gid) || setuid(nobody->pw_uid))
        _exit(126);
}

/* Options that stand for nothing where it has no certificate. */
static void tls_options(const struct server *server, char tls[2][128])
{
    static const char *const names[2][2] = {{"ssl-cert", "server.pem"}, {"ssl-key", "server.key"}};
    for (unsigned i = 0; i < 2; i++) {
        snprintf(tls[i], sizeof tls[i], "--loose-%s=%s/%s", names[i][0], server->directory,
                 names[i][1]);
        if (access(strchr(tls[i], '/'), R_OK))
            snprintf(tls[i], sizeof tls[i], "--loose-unit-has-no-tls");
    }
}

static void __attribute__((noreturn)) run_server(const struct server *server)
{
    become_unprivileged();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char data[96], socket[128], log[128], pid[128], network[2][64] = {"--skip-networking", ""};
    char tls[2][128] = {"", ""};
    snprintf(data, sizeof data, "--datadir=%s/data", server->directory);
    snprintf(socket, sizeof socket, "--socket=%s", server->socket);
    snprintf(pid, sizeof pid, "--pid-file=%s/pid", server->directory);
    snprintf(log, sizeof log, "%s/log", server->directory);
    snprintf(network[1], sizeof network[1], "--port=%u", server->port);
    if (server->address)
        snprintf(network[0], sizeof network[0], "--bind-address=%s", server->address);
    tls_options(server, tls);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
        _exit(126);
    setenv("PATH", SERVER_PATH, 1);
    char program[256] = "mariadbd", defaults[256] = "--no-defaults";
    const char *mysql = mysql_dir();
    if (mysql) {
        snprintf(program, sizeof program, "%s/mysqld", mysql);
        snprintf(defaults, sizeof defaults, "--defaults-file=%s/mysqld.cnf", mysql);
    }
    execlp(program, program, defaults, data, socket, pid, network[0], network[1], tls[0], tls[1],
           "--skip-grant-tables", "--skip-name-resolve", "--performance-schema=OFF",
           "--innodb-buffer-pool-size=16M", "--innodb-deadlock-detect=ON", "--max-connections=30",
           /* A commit reaches the kernel: it outlives kill -9, and no disk is waited for. */
           "--innodb-flush-log-at-trx-commit=2",
           mysql ? "--innodb-redo-log-capacity=8M" : "--innodb-log-file-size=4M",
           mysql ? "--skip-log-bin" : "--debug-no-sync",
           /* Not ours on purpose. */
           "--sql-mode=", "--default-time-zone=+05:00", "--character-set-server=latin1",
           "--transaction-isolation=SERIALIZABLE", (char *)NULL);
    _exit(127);
}

static MYSQL *connect_raw(const struct server *server, const char *name)
{
    MYSQL *mysql = mysql_init(NULL);
    if (mysql && mysql_real_connect(mysql, NULL, "root", NULL, name, 0, server->socket, 0))
        return mysql;
    mysql_close(mysql);
    return NULL;
}

static bool wait_until_it_answers(struct server *server)
{
    int64_t deadline_ms = clock_monotonic_ms() + START_MS_MAX;
    while (clock_monotonic_ms() < deadline_ms) {
        int status;
        MYSQL *mysql = connect_raw(server, NULL);
        if (mysql) {
            mysql_close(mysql);
            return true;
        }
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            server->pid = 0;
            print_error(
                "the database server ended with status %#x; %s/log says why (127 << 8: it is not "
                "installed, see scripts/packages/runtime.txt)\n",
                (unsigned)status, server->directory);
            return false;
        }
        clock_sleep_ms(20);
    }
    print_error("the database server does not answer\n");
    return false;
}

static bool start(struct server *server)
{
    fflush(NULL);
    server->pid = fork();
    if (server->pid == 0)
        run_server(server);
    return server->pid > 0 && wait_until_it_answers(server);
}

void server_start(struct server *server)
{
    assert_true(start(server));
}

void server_ensure(struct server *server)
{
    if (server->pid && waitpid(server->pid, NULL, WNOHANG) == 0)
        return;
    server_start(server);
}

void server_kill(struct server *server)
{
    if (!server->pid)
        return;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

/* --- fixtures --- */

static int make_directories(struct server *server)
{
    char data[96];
    snprintf(server->directory, sizeof server->directory, "/tmp/sandlot-test-db-XXXXXX");
    if (!mkdtemp(server->directory))
        return -1;
    snprintf(server->socket, sizeof server->socket, "%s/socket", server->directory);
    snprintf(data, sizeof data, "%s/data", server->directory);
    if (mkdir(data, 0755) < 0)
        return -1;
    const struct passwd *nobody = geteuid() == 0 ? getpwnam("nobody") : NULL;
    if (!nobody)
        return 0;
    return chown(server->directory, nobody->pw_uid, nobody->pw_gid) < 0 ||
                   chown(data, nobody->pw_uid, nobody->pw_gid) < 0
               ? -1
               : 0;
}

static bool copy_files(const struct server *server)
{
    int status;
    char from[256];
    snprintf(from, sizeof from, "%s/data", mysql_dir());
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        become_unprivileged();
        execlp("cp", "cp", "-r", "--reflink=auto", from, server->directory, (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* MariaDB keeps procedures in a table that comes with its set-up, which would take seconds for each
 * test: this one alone, as that script has it. */
static bool make_procedures_table(MYSQL *mysql)
{
    static const char begins[] = "CREATE TABLE IF NOT EXISTS proc ";
    FILE *before_11 = fopen("/usr/share/mysql/mysql_system_tables.sql", "re");
    autofclose FILE *script =
        before_11 ? before_11 : fopen("/usr/share/mariadb/mariadb_system_tables.sql", "re");
    autofree char *line = NULL;
    size_t size = 0;
    ssize_t length;
    if (!script || mysql_query(mysql, "CREATE DATABASE mysql") || mysql_select_db(mysql, "mysql"))
        return false;
    while ((length = getline(&line, &size, script)) > 0)
        if (strncmp(line, begins, sizeof begins - 1) == 0)
            return mysql_real_query(mysql, line, strcspn(line, ";")) == 0;
    return false;
}

bool server_listens(void)
{
    return !mysql_dir();
}

static bool make(struct server *server)
{
    if (make_directories(server) < 0 || (mysql_dir() && !copy_files(server)) || !start(server))
        return false;
    MYSQL *mysql = connect_raw(server, NULL);
    bool made = mysql &&
                mysql_query(mysql, "CREATE DATABASE unit CHARACTER SET utf8mb4"
                                   " COLLATE utf8mb4_bin") == 0 &&
                (mysql_dir() || make_procedures_table(mysql));
    mysql_close(mysql);
    return made;
}

struct server *server_new(const char *address, unsigned port)
{
    struct server *server = xcalloc(1, sizeof *server);
    server->address = address;
    server->port = port;
    if (make(server))
        return server;
    server_end(server);
    return NULL;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

int server_end(struct server *server)
{
    server_kill(server);
    int result = nftw(server->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(server);
    return result;
}

int server_setup(void **state)
{
    *state = server_new(NULL, 0);
    return *state ? 0 : -1;
}

int server_teardown(void **state)
{
    int result = server_end(*state);
    mysql_library_end();
    return result;
}

/* --- connections --- */

struct db *server_open_at(const char *socket, unsigned timeout_s)
{
    error_auto err = NULL;
    struct db *db = NULL;
    const struct db_options options = {
        .socket = socket, .name = "unit", .user = "root", .password = "", .timeout_s = timeout_s};
    assert_ok(db_open(&options, &db, &err));
    return db;
}

struct db *server_open(const struct server *server)
{
    return server_open_at(server->socket, 10);
}

MYSQL *server_raw(const struct server *server)
{
    MYSQL *mysql = connect_raw(server, "unit");
    assert_non_null(mysql);
    return mysql;
}

void server_say(MYSQL *mysql, const char *sql)
{
    if (mysql_query(mysql, sql))
        fail_msg("%s: %s", sql, mysql_error(mysql));
    mysql_free_result(mysql_store_result(mysql));
}

long server_ask(MYSQL *mysql, const char *sql)
{
    if (mysql_query(mysql, sql))
        fail_msg("%s: %s", sql, mysql_error(mysql));
    MYSQL_RES *result = mysql_store_result(mysql);
    MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
    long value = row && row[0] ? strtol(row[0], NULL, 10) : -1;
    mysql_free_result(result);
    return value;
}

void server_wait_for(MYSQL *mysql, unsigned long id, const char *text)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM information_schema.processlist"
             " WHERE id = %lu AND command <> 'Sleep' AND info LIKE '%%%s%%'",
             id, text);
    for (int64_t deadline_ms = clock_monotonic_ms() + 10000; server_ask(mysql, sql) != 1;
         clock_sleep_ms(5))
        if (clock_monotonic_ms() > deadline_ms)
            fail_msg("connection %lu never came to run %s", id, text);
}
