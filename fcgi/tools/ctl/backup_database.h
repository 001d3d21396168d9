/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The database's own client programs, those of MariaDB where they are there and else those of
 * MySQL, logged in as who migrates. What they have to say goes to standard error. Errors:
 * ERR_CONFIG.
 */
#pragma once

#include "config/settings.h"

/* Write all of the database, as it is at one moment, as SQL to a new file. */
int backup_database_dump(const struct settings *settings, const char *path, struct error **err);

/* Run such a file in the database of that name; tables that it names are replaced. */
int backup_database_load(const struct settings *settings, const char *path, const char *name,
                         struct error **err);

/* Remove the database of that name, and make it anew, empty, if make. */
int backup_database_scratch(const struct settings *settings, const char *name, bool make,
                            struct error **err);
