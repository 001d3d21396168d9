/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several servers behind one setting, and connections that are encrypted or not made. */
#include "unit/unit.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "crypto/authority.h"
#include "db/connection.h"
#include "unit/db/server.h"

#define FIRST  "127.0.0.1"
#define SECOND "127.0.0.3"
#define BOTH   FIRST "," SECOND

static const struct db_statement insert_statement = {"unit.insert",
                                                     "INSERT INTO notes (id) VALUES (?)"};
static const struct db_statement count_statement = {"unit.count", "SELECT COUNT(*) FROM notes"};

static struct server *first, *second;
static unsigned port;
static struct db *db;

/* One that is free at both addresses. */
static unsigned free_port(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t size = sizeof any;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    close(fd);
    return ntohs(any.sin_port);
}

static void say(const struct server *server, const char *sql)
{
    MYSQL *raw = server_raw(server);
    server_say(raw, sql);
    mysql_close(raw);
}

static int make_servers(void **state)
{
    port = free_port();
    first = server_new(FIRST, port);
    second = server_new(SECOND, port);
    if (!first || !second)
        return -1;
    for (unsigned i = 0; i < 2; i++)
        say(i ? second : first, "CREATE TABLE notes (id BIGINT UNSIGNED NOT NULL PRIMARY KEY)");
    return 0;
}

static int end_servers(void **state)
{
    int result = server_end(first) | server_end(second);
    mysql_library_end();
    return result;
}

static int begin(void **state)
{
    server_ensure(first);
    server_ensure(second);
    say(first, "SET GLOBAL read_only = 0");
    say(second, "SET GLOBAL read_only = 1");
    say(first, "DELETE FROM notes");
    say(second, "DELETE FROM notes");
    db = NULL;
    return 0;
}

static int end(void **state)
{
    db_close(db);
    return 0;
}

static int open_at(const char *hosts, const struct db_tls *tls, struct error **err)
{
    const struct db_options options = {.host = hosts,
                                       .port = port,
                                       .name = "unit",
                                       .user = "unit",
                                       .password = "",
                                       .tls = tls ? *tls : (struct db_tls){0},
                                       .timeout_s = 10};
    return db_open(&options, &db, err);
}

static int insert(uint64_t id, struct error **err)
{
    return db_exec(db, &insert_statement, DB_ARGS(db_u64(id)), NULL, err);
}

static uint64_t count(void)
{
    error_auto err = NULL;
    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &count_statement, DB_NO_ARGS, &rows, &err));
    assert_true(db_rows_next(rows));
    return db_get_u64(rows, 0);
}

static void promote(struct server *server)
{
    say(server, "SET GLOBAL read_only = 0");
}

/* --- several --- */

static void the_first_that_takes_writes_is_used(void **state)
{
    error_auto err = NULL;
    assert_ok(open_at(SECOND "," FIRST, NULL, &err));
    assert_string_equal(db_server(db), FIRST);
    assert_ok(insert(1, &err));
}

static void a_dead_one_is_passed_over(void **state)
{
    error_auto err = NULL;
    promote(second);
    server_kill(first);
    assert_ok(open_at(BOTH, NULL, &err));
    assert_string_equal(db_server(db), SECOND);
}

static void the_connection_moves_when_its_server_dies(void **state)
{
    error_auto err = NULL;
    assert_ok(open_at(BOTH, NULL, &err));
    assert_ok(insert(1, &err));
    assert_int_equal(count(), 1);
    promote(second);
    server_kill(first);
    assert_ok(insert(2, &err)); /* nothing was sent to the dead one */
    assert_string_equal(db_server(db), SECOND);
    assert_int_equal(count(), 1); /* no replica here: each has its own */
}

static void while_none_is_promoted_nothing_is_written(void **state)
{
    error_auto err = NULL;
    assert_ok(open_at(BOTH, NULL, &err));
    server_kill(first);
    assert_fails_saying(insert(1, &err), ERR_DB_UNAVAILABLE, SECOND " is read-only");
    promote(second);
    assert_ok(insert(1, &err));
}

/* Also by who only reads. Who writes to one is told by the server itself, which here, where
 * everybody may do everything, it does not. */
static void a_demoted_primary_is_left(void **state)
{
    error_auto err = NULL;
    assert_ok(open_at(BOTH, NULL, &err));
    assert_int_equal(count(), 0);
    say(first, "SET GLOBAL read_only = 1");
    promote(second);
    say(second, "INSERT INTO notes (id) VALUES (7)");
    assert_int_equal(count(), 0); /* it was seen to take writes a moment ago */
    db->checked_ms -= 60000;
    assert_int_equal(count(), 1);
    assert_string_equal(db_server(db), SECOND);
}

/* A former primary that has come back as it was: which of the two has what was answered since, only
 * a person knows. */
static void of_two_that_take_writes_neither_is_used(void **state)
{
    error_auto err = NULL;
    promote(second);
    assert_fails_saying(open_at(BOTH, NULL, &err), ERR_DB_UNAVAILABLE, "both take writes");
    say(first, "SET GLOBAL read_only = 1");
    assert_ok(open_at(BOTH, NULL, &err));
    assert_string_equal(db_server(db), SECOND);
}

static void a_server_with_two_names_is_one(void **state)
{
    error_auto err = NULL;
    assert_ok(open_at(FIRST ",localhost", NULL, &err));
    assert_ok(insert(1, &err));
}

static void one_alone_may_be_read_only(void **state)
{
    error_auto err = NULL;
    assert_ok(open_at(SECOND, NULL, &err));
    assert_int_equal(count(), 0);
    assert_null(db_cipher(db));
}

/* --- TLS --- */

static struct certificate_pair authority;

static void write_text(const char *folder, const char *name, const char *text, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    autofclose FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
}

/* The first encrypts now, as a name. */
static void give_certificate(const char *name, char ca_file[128])
{
    error_auto err = NULL;
    char path[128];
    certificate_pair_auto pair = {0};
    if (!authority.certificate)
        assert_ok(authority_new("unit", 10, &authority, &err));
    assert_ok(authority_sign(&authority, CERTIFICATE_OF_CALLED, name, 10, &pair, &err));
    write_text(first->directory, "server.pem", pair.certificate, path);
    write_text(first->directory, "server.key", pair.key, path);
    write_text(first->directory, "ca.pem", authority.certificate, ca_file);
    server_kill(first);
    server_start(first);
}

static int end_tls(void **state)
{
    char path[128];
    snprintf(path, sizeof path, "%s/server.pem", first->directory);
    unlink(path);
    snprintf(path, sizeof path, "%s/server.key", first->directory);
    unlink(path);
    certificate_pair_deinit(&authority);
    server_kill(first);
    return end(state);
}

static void a_server_that_proves_its_name(void **state)
{
    error_auto err = NULL;
    char ca_file[128];
    give_certificate("localhost", ca_file);
    const struct db_tls tls = {.ca_file = ca_file};
    assert_ok(open_at("localhost", &tls, &err));
    assert_non_null(db_cipher(db));
    assert_ok(insert(1, &err));
}

static void a_server_of_another_name_is_refused(void **state)
{
    error_auto err = NULL;
    char ca_file[128];
    give_certificate("elsewhere.example", ca_file);
    const struct db_tls tls = {.ca_file = ca_file};
    assert_fails_saying(open_at("localhost", &tls, &err), ERR_DB_UNAVAILABLE, "certificate");
}

static void a_server_of_another_authority_is_refused(void **state)
{
    error_auto err = NULL;
    char ca_file[128];
    certificate_pair_auto other = {0};
    give_certificate("localhost", ca_file);
    assert_ok(authority_new("other", 10, &other, &err));
    write_text(first->directory, "ca.pem", other.certificate, ca_file);
    const struct db_tls tls = {.ca_file = ca_file};
    assert_fails_saying(open_at("localhost", &tls, &err), ERR_DB_UNAVAILABLE, "certificate");
}

static void a_server_that_does_not_encrypt_is_refused(void **state)
{
    error_auto err = NULL;
    char ca_file[128];
    give_certificate("localhost", ca_file);
    const struct db_tls tls = {.ca_file = ca_file};
    assert_fails_saying(open_at(SECOND, &tls, &err), ERR_DB_UNAVAILABLE, "SSL");
}

static void without_an_authority_no_name_is_checked(void **state)
{
    error_auto err = NULL;
    char ca_file[128];
    give_certificate("elsewhere.example", ca_file);
    assert_ok(open_at(FIRST, NULL, &err));
    assert_non_null(db_cipher(db));
    assert_ok(insert(1, &err));
}

static void without_an_authority_a_server_need_not_encrypt(void **state)
{
    error_auto err = NULL;
    assert_ok(open_at(SECOND, NULL, &err));
    assert_null(db_cipher(db));
    assert_int_equal(count(), 0);
}

#define PLAIN(name)    cmocka_unit_test_setup_teardown(name, begin, end)
#define TLS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_tls)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(the_first_that_takes_writes_is_used),
        PLAIN(a_dead_one_is_passed_over),
        PLAIN(the_connection_moves_when_its_server_dies),
        PLAIN(while_none_is_promoted_nothing_is_written),
        PLAIN(a_demoted_primary_is_left),
        PLAIN(of_two_that_take_writes_neither_is_used),
        PLAIN(a_server_with_two_names_is_one),
        PLAIN(one_alone_may_be_read_only),
        TLS_TEST(a_server_that_proves_its_name),
        TLS_TEST(a_server_of_another_name_is_refused),
        TLS_TEST(a_server_of_another_authority_is_refused),
        TLS_TEST(a_server_that_does_not_encrypt_is_refused),
        TLS_TEST(without_an_authority_no_name_is_checked),
        PLAIN(without_an_authority_a_server_need_not_encrypt),
    };
    if (!server_listens()) { /* Oracle's, without grants */
        puts("1..0 # SKIP MySQL's server for units takes no connections of a network");
        return 0;
    }
    return cmocka_run_group_tests(tests, make_servers, end_servers);
}
