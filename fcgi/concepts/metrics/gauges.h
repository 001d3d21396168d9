/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers from the database as gauges for /metrics: hosts, teams, warm pool, work in flight. */
#pragma once

#include "base/buffer.h"
#include "db/db.h"

/* The most teams that are shown, those with the most sandboxes first. Each team is a series. */
#define GAUGE_TEAMS_MAX 200

/* Append the gauges in the format of counters_format(). */
int gauges_format(struct db *db, struct buffer *out, struct error **err);
