/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open the database that the settings name. No other file knows both. */
#pragma once

#include "config/settings.h"
#include "db/db.h"

/* Connect to the database. Errors: ERR_CONFIG (password file), ERR_DB_UNAVAILABLE. */
int database_open(const struct settings *settings, struct db **db, struct error **err);

/* Connect as the user for migrations (database_admin_user). *db NULL: this setting is empty, and
 * nothing was done. Errors: as database_open(). */
int database_open_admin(const struct settings *settings, struct db **db, struct error **err);

/* Write the options for the database's own client programs to a file without a name. They log in as
 * the user for migrations, or else as the user of the programs. *fd: the file, which the client
 * programs inherit. The caller closes it. Errors: as database_open(). */
int database_client_options(const struct settings *settings, int *fd, struct error **err);

/* Connect to another database of the same server, as the same user as database_client_options().
 * Errors: as database_open(). */
int database_open_other(const struct settings *settings, const char *name, struct db **db,
                        struct error **err);
