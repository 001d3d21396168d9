/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The database's own client programs, MariaDB's if installed, else MySQL's, logged in as the user
 * of migrations. Their messages go to standard error. Errors: ERR_CONFIG.
 */
#pragma once

#include "config/settings.h"

/* Write all of the database, as it is at one moment, as SQL to a new file. */
int backup_database_dump(const struct settings *settings, const char *path, struct error **err);

/* Run such a file in the named database; it replaces the tables that it contains. */
int backup_database_load(const struct settings *settings, const char *path, const char *name,
                         struct error **err);

/* Drop the named database, and create it again, empty, if make. */
int backup_database_scratch(const struct settings *settings, const char *name, bool make,
                            struct error **err);
