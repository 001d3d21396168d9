/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the deployment for its operators: `sandlotctl status` prints it, and the API returns
 * it to operators. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "config/settings.h"
#include "db/db.h"

/* Return sandboxes by state, hosts, running work, and recent use of the warm pool. Then come the
 * archive, if there is one, and a list of problems in sentences. *overview is a new reference.
 * Errors: those of the database. */
int overview_read(struct db *db, const struct settings *settings, json_t **overview,
                  struct error **err);

/* Store a report under a name, replacing the previous one. An administrator's own program stores
 * its findings this way, because other programs cannot look at the same things. */
#define REPORT_DOCTOR "doctor"
int overview_report_put(struct db *db, const char *name, int64_t at_ms, const json_t *report,
                        struct error **err);
/* Read a report. *report is a new reference; NULL if there is no such report. */
int overview_report_get(struct db *db, const char *name, int64_t *at_ms, json_t **report,
                        struct error **err);
