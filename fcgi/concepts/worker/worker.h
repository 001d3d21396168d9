/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one worker process: settings, database, key ring and the runtimes of the hosts.
 * Processes do not share it, because they cannot share its connections.
 */
#pragma once

#include "config/settings.h"
#include "crypto/keyring.h"
#include "db/db.h"
#include "db/lease.h"
#include "host/runtimes.h"
#include "http/pool.h"

struct worker {
    const struct settings *settings; /* borrowed */
    struct db *db;
    struct keyring *ring;
    struct runtimes *runtimes;
    struct pool *pool;                  /* borrowed; NULL: it serves no pool */
    char lease_owner[LEASE_OWNER_SIZE]; /* its name in leases: program, host, boot, process */
};

/* Load the key ring, connect to the database and check its schema. program: its name in leases and
 * logs. On an error nothing stays open. Errors: ERR_CONFIG, ERR_DB_UNAVAILABLE and the others of
 * the database. */
int worker_open(const struct settings *settings, const char *program, struct worker *worker,
                struct error **err);
/* Do the same as a worker of a pool. The first worker also prepares the statements of its program
 * once, so that a wrong one shows in the log. If all did so, a slow machine would have no time left
 * for its first requests after a boot. After an error, the caller calls worker_close(). */
int worker_open_in_pool(const struct settings *settings, const char *program, struct pool *pool,
                        struct worker *worker, struct error **err);

void worker_close(struct worker *worker);

/* Return the longest wait for the agent of an instance after its start. A virtual machine boots
 * first. */
unsigned worker_start_wait_ms(const struct settings *settings, bool virtual_machine);
