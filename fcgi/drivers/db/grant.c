/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/grant.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "db/connection.h"

#define TEXT_MAX 1024

/* Plain, without DB_STATEMENT: sandlotctl runs them as the schema's owner. */
static const struct db_statement account_statement = {"grant.account", "SELECT CURRENT_USER()"};
static const struct db_statement tables_statement = {
    "grant.tables", "SELECT table_name FROM information_schema.tables"
                    " WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"};
static const struct db_statement held_statement = {
    "grant.held",
    "SELECT privilege_type FROM information_schema.schema_privileges"
    " WHERE table_schema = DATABASE() AND privilege_type NOT IN ('SELECT', 'EXECUTE')"};

static bool can_be_quoted(const char *name)
{
    return !strpbrk(name, "'\\`");
}

/* 'sandlot'@'localhost' */
static int find_account(struct db *run, char **account, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(run, &account_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    const char *name = db_get_text(rows, 0), *at = strrchr(name, '@');
    if (!at || !can_be_quoted(name))
        return error_set(
            err, ERR_CONFIG,
            "the database account %s has a quote in its name, which sandlotctl does not support",
            name);
    *account = xasprintf("'%.*s'@'%s'", (int)(at - name), name, at + 1);
    return 0;
}

static int say(struct db *admin, struct buffer *text, struct error **err)
{
    int result =
        buffer_overflowed(text)
            ? error_set(err, ERR_CONFIG, "a name in the database is too long to grant rights")
            : db_say(admin, buffer_string(text), text->size, err);
    buffer_clear(text);
    return result;
}

static const char *rights_of(const struct db_table_right *exceptions, const char *table)
{
    for (; exceptions->table; exceptions++)
        if (str_equal(exceptions->table, table))
            return exceptions->rights;
    return "INSERT, UPDATE, DELETE";
}

static int grant_tables(struct db *admin, const char *account,
                        const struct db_table_right *exceptions, struct error **err)
{
    db_rows_auto *rows = NULL;
    buffer_auto text = BUFFER_INIT(TEXT_MAX);
    if (db_query(admin, &tables_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        const char *table = db_get_text(rows, 0), *rights = rights_of(exceptions, table);
        if (!rights || !can_be_quoted(table))
            continue;
        buffer_printf(&text, "GRANT %s ON `%s` TO %s", rights, table, account);
        if (say(admin, &text, err) < 0)
            return -1;
    }
    buffer_printf(&text, "GRANT SELECT, EXECUTE ON `%s`.* TO %s", admin->options.name, account);
    return say(admin, &text, err);
}

static int revoke_rest(struct db *admin, struct db *run, const char *account, struct error **err)
{
    db_rows_auto *rows = NULL;
    buffer_auto text = BUFFER_INIT(TEXT_MAX);
    if (db_query(run, &held_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        buffer_printf(&text, "REVOKE %s ON `%s`.* FROM %s", db_get_text(rows, 0),
                      admin->options.name, account);
        if (say(admin, &text, err) < 0)
            return -1;
    }
    return 0;
}

int db_grant_run(struct db *admin, struct db *run, const struct db_table_right *exceptions,
                 struct error **err)
{
    autofree char *account = NULL;
    if (find_account(run, &account, err) < 0)
        return -1;
    if (!can_be_quoted(admin->options.name))
        return error_set(err, ERR_CONFIG,
                         "database_name has a quote, which sandlotctl does not support");
    if (db_connection_ready(admin, err) < 0 || grant_tables(admin, account, exceptions, err) < 0 ||
        revoke_rest(admin, run, account, err) < 0)
        return error_context(err, "cannot grant rights to the database user %s", account);
    return 0;
}
