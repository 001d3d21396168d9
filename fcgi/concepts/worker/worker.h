/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker process stands on: settings, database, key ring and the runtimes of the hosts. One
 * a process; it is not shared between processes, because its connections are not.
 */
#pragma once

#include "config/settings.h"
#include "crypto/keyring.h"
#include "db/db.h"
#include "db/lease.h"
#include "host/runtimes.h"

struct worker {
    const struct settings *settings; /* borrowed */
    struct db *db;
    struct keyring *ring;
    struct runtimes *runtimes;
    char lease_owner[LEASE_OWNER_SIZE]; /* who we are in leases: program, host, process */
};

/* Load the key ring, connect to the database, check its schema and the statements that this program
 * uses. program names it in leases and logs. Errors: ERR_CONFIG, ERR_DATABASE…; then nothing is
 * left open. */
int worker_open(const struct settings *settings, const char *program, struct worker *worker,
                struct error **err);
void worker_close(struct worker *worker);
