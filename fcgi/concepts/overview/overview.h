/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deployment as its operators see it: `sandlotctl status` prints it, and the API answers it to
 * operators. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "config/settings.h"
#include "db/db.h"

/* Sandboxes by state, hosts, work under way, the warm pool of late, the archive where there is one,
 * and in sentences what is wrong; a new reference. */
int overview_read(struct db *db, const struct settings *settings, json_t **overview,
                  struct error **err);

/* What only an administrator's own program can look at is left for others to read, one report of a
 * name. */
#define REPORT_DOCTOR "doctor"
int overview_report_put(struct db *db, const char *name, int64_t at_ms, const json_t *report,
                        struct error **err);
/* *report: a new reference; NULL: there is none. */
int overview_report_get(struct db *db, const char *name, int64_t *at_ms, json_t **report,
                        struct error **err);
