/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define PASSWORD_SIZE 512

/* The first line of the file, without its end. */
static int read_password(const char *path, char password[PASSWORD_SIZE], struct error **err)
{
    password[0] = '\0';
    if (!*path)
        return 0;
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "database_password_file %s", path);
    setvbuf(file, NULL, _IONBF, 0); /* no copy of the password in a stream buffer */
    if (!fgets(password, PASSWORD_SIZE, file))
        return error_set(err, ERR_CONFIG, "database_password_file %s is empty", path);
    password[strcspn(password, "\r\n")] = '\0';
    return 0;
}

int database_open(const struct settings *settings, struct db **db, struct error **err)
{
    char password[PASSWORD_SIZE];
    if (read_password(settings->database_password_file, password, err) < 0)
        return -1;
    struct db_options options = {
        .socket = *settings->database_socket ? settings->database_socket : NULL,
        .host = settings->database_host,
        .port = (unsigned)settings->database_port,
        .name = settings->database_name,
        .user = settings->database_user,
        .password = password,
        .timeout_s = (unsigned)settings->database_timeout_s,
    };
    int result = db_open(&options, db, err);
    mem_wipe(password, sizeof password);
    return result;
}
