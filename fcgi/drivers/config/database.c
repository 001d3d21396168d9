/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"

#define PASSWORD_SIZE 512

/* The first line of the file, without its end. */
static int read_password(const char *setting, const char *path, char password[PASSWORD_SIZE],
                         struct error **err)
{
    password[0] = '\0';
    if (!*path)
        return 0;
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "%s %s", setting, path);
    setvbuf(file, NULL, _IONBF, 0); /* no copy of the password in a stream buffer */
    if (!fgets(password, PASSWORD_SIZE, file))
        return error_set(err, ERR_CONFIG, "%s %s is empty", setting, path);
    password[strcspn(password, "\r\n")] = '\0';
    return 0;
}

static const char *or_null(const char *setting)
{
    return *setting ? setting : NULL;
}

static int open_named(const struct settings *settings, const char *name, const char *user,
                      const char *password, struct db **db, struct error **err)
{
    struct db_options options = {
        .socket = or_null(settings->database_socket),
        .host = settings->database_host,
        .port = (unsigned)settings->database_port,
        .tls =
            {
                .ca_file = or_null(settings->database_tls_ca_file),
                .certificate_file = or_null(settings->database_tls_certificate_file),
                .key_file = or_null(settings->database_tls_key_file),
            },
        .name = name,
        .user = user,
        .password = password,
        .timeout_s = (unsigned)settings->database_timeout_s,
    };
    return db_open(&options, db, err);
}

static int open_as(const struct settings *settings, const char *user, const char *password,
                   struct db **db, struct error **err)
{
    return open_named(settings, settings->database_name, user, password, db, err);
}

int database_open(const struct settings *settings, struct db **db, struct error **err)
{
    char password[PASSWORD_SIZE];
    if (read_password("database_password_file", settings->database_password_file, password, err) <
        0)
        return -1;
    int result = open_as(settings, settings->database_user, password, db, err);
    mem_wipe(password, sizeof password);
    return result;
}

int database_open_admin(const struct settings *settings, struct db **db, struct error **err)
{
    char password[PASSWORD_SIZE];
    *db = NULL;
    if (!*settings->database_admin_user)
        return 0;
    if (read_password("database_admin_password_file", settings->database_admin_password_file,
                      password, err) < 0)
        return -1;
    int result = open_as(settings, settings->database_admin_user, password, db, err);
    mem_wipe(password, sizeof password);
    return result;
}

/* The database user of migrations, and its password. */
static int migrating_login(const struct settings *settings, const char **user,
                           char password[PASSWORD_SIZE], struct error **err)
{
    bool admin = *settings->database_admin_user;
    *user = admin ? settings->database_admin_user : settings->database_user;
    return admin ? read_password("database_admin_password_file",
                                 settings->database_admin_password_file, password, err)
                 : read_password("database_password_file", settings->database_password_file,
                                 password, err);
}

int database_open_other(const struct settings *settings, const char *name, struct db **db,
                        struct error **err)
{
    char password[PASSWORD_SIZE];
    const char *user;
    if (migrating_login(settings, &user, password, err) < 0)
        return -1;
    int result = open_named(settings, name, user, password, db, err);
    mem_wipe(password, sizeof password);
    return result;
}

/* An option's value, with quotes and backslashes escaped. */
static void print_option(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            fputc('\\', out);
        fputc(*value, out);
    }
    fputs("\"\n", out);
}

/* As in set_tls() of db/connection.c. The clients of MariaDB and MySQL have different names for it.
 */
static void print_tls(FILE *out, const struct settings *settings)
{
    if (!*settings->database_tls_ca_file) {
        fputs("loose-ssl-verify-server-cert=0\n", out);
        return;
    }
    print_option(out, "ssl-ca", settings->database_tls_ca_file);
    fputs("loose-ssl-verify-server-cert\nloose-ssl-mode=VERIFY_IDENTITY\n", out);
    if (*settings->database_tls_certificate_file) {
        print_option(out, "ssl-cert", settings->database_tls_certificate_file);
        print_option(out, "ssl-key", settings->database_tls_key_file);
    }
}

/* host: that of several which is used. */
static void print_options(FILE *out, const struct settings *settings, const char *host,
                          const char *user, const char *password)
{
    setvbuf(out, NULL, _IONBF, 0); /* no copy of the password in a stream buffer */
    fputs("[client]\n", out);
    print_option(out, "user", user);
    print_option(out, "password", password);
    if (*settings->database_socket) {
        print_option(out, "socket", settings->database_socket);
        return;
    }
    print_option(out, "host", host);
    fprintf(out, "port=%u\nprotocol=tcp\n", (unsigned)settings->database_port);
    print_tls(out, settings);
}

static int write_options(const struct settings *settings, const char *user, const char *password,
                         int *fd, struct error **err)
{
    struct db *db;
    if (open_as(settings, user, password, &db, err) < 0)
        return -1;
    *fd = memfd_create("options", 0);
    /* The clients do not read a file that others can write. */
    int copy = *fd >= 0 && fchmod(*fd, 0600) == 0 ? fcntl(*fd, F_DUPFD_CLOEXEC, 0) : -1;
    autofclose FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (out)
        print_options(out, settings, db_server(db), user, password);
    db_close(db);
    return out && !ferror(out)
               ? 0
               : error_set_errno(err, ERR_CONFIG, errno,
                                 "cannot write the login for the database's clients");
}

int database_client_options(const struct settings *settings, int *fd, struct error **err)
{
    char password[PASSWORD_SIZE];
    const char *user;
    if (migrating_login(settings, &user, password, err) < 0)
        return -1;
    int result = write_options(settings, user, password, fd, err);
    mem_wipe(password, sizeof password);
    return result;
}
