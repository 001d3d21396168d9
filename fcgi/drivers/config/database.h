/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open the database that the settings name. No other file knows both. */
#pragma once

#include "config/settings.h"
#include "db/db.h"

/* Connect to the database. Errors: ERR_CONFIG (password file), ERR_DB_UNAVAILABLE. */
int database_open(const struct settings *settings, struct db **db, struct error **err);

/* Connect as the user that migrates; *db NULL: there is no other than the programs'. */
int database_open_admin(const struct settings *settings, struct db **db, struct error **err);

/* Write options for the database's own client programs, so that they log in as the user who
 * migrates. The options are in a file without a name, whose descriptor the programs inherit. The
 * caller closes it. Errors: ERR_CONFIG. */
int database_client_options(const struct settings *settings, int *fd, struct error **err);

/* Open a connection like database_open_admin() to another database of the same server; without such
 * a user, as the programs'. */
int database_open_other(const struct settings *settings, const char *name, struct db **db,
                        struct error **err);
