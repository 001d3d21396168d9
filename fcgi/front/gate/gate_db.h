/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate's read of the database: a sandbox by one unique index and its team, in one statement. */
#pragma once

#include "db/db.h"
#include "sandbox/sandbox.h"

enum gate_port { GATE_PORT_NONE, GATE_PORT_PRIVATE, GATE_PORT_PUBLIC };

/* The data for a decision. Of sandbox only the members that gate_sandbox_get() reads are filled in:
 * a decision must not use others. Nothing needs to be freed. */
struct gate_sandbox {
    struct sandbox sandbox;
    enum gate_port port; /* whether the requested port is exposed */
    bool is_https;       /* the server on this port uses TLS */
    bool has_hooks;
};

/* Read a sandbox that is not deleted. Errors: ERR_NOT_FOUND, those of db_query(). */
int gate_sandbox_get(struct db *db, const char *route, uint16_t port, struct gate_sandbox *found,
                     struct error **err);
