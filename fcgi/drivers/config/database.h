/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one place that knows both the settings and the database: opens what the settings name. */
#pragma once

#include "config/settings.h"
#include "db/db.h"

/* Errors: ERR_CONFIG (password file), ERR_DB_UNAVAILABLE. */
int database_open(const struct settings *settings, struct db **db, struct error **err);
