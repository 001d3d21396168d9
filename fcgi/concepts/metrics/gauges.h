/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands in the database, as gauges for /metrics: hosts, teams, warm pool, work in flight. */
#pragma once

#include "base/buffer.h"
#include "db/db.h"

/* Teams that are told of, those with the most sandboxes: each is a series of its own. */
#define GAUGE_TEAMS_MAX 200

/* Append them in the format of counters_format(). */
int gauges_format(struct db *db, struct buffer *out, struct error **err);
