/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runtime hosts: rows, their address ranges, and the choice of one for a new sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"
#include "sandbox/runtime.h"

struct host {
    uint32_t id;
    char name[64];
    char state[17]; /* active, draining */
    char *url;
    char *server_cert; /* PEM or NULL */
    char project[64], pool[64], nic_prefix[3];
    char address_range[19];
    uint32_t vcpus, memory_mb;           /* capacity that may be reserved */
    uint32_t used_vcpus, used_memory_mb; /* reserved; only from host_list() */
    uint32_t sandboxes;                  /* reserved sandboxes; only from host_list() */
};
void host_deinit(struct host *host);

/* Insert, or update the host of that name, and make a row for every usable address of its range
 * (IPv4 /16 to /29; first, second and last address are left out). An address range that is in use
 * cannot change. host->id is filled in. Errors: ERR_INVALID_REQUEST with the field. */
int host_put(struct db *db, struct host *host, struct error **err);
int host_get(struct db *db, uint32_t id, struct host *host, struct error **err);
int host_get_by_name(struct db *db, const char *name, struct host *host, struct error **err);
int host_list(struct db *db, struct host **hosts, unsigned *count, struct error **err);
int host_set_state(struct db *db, const char *name, const char *state, struct error **err);

/* Inside a transaction: lock an active host that has the version's source and room for the shape
 * (most free memory first) and claim its longest-free address for instance_name.
 * Errors: ERR_NO_CAPACITY. */
int host_place(struct db *db, const char *template_version_id, const struct runtime_shape *shape,
               const char *instance_name, uint32_t *host_id, uint32_t *address, struct error **err);

/* Inside a transaction: lock the host and check that it has room for the shape again (a resume).
 * Errors: ERR_NO_CAPACITY. */
int host_reserve(struct db *db, uint32_t host_id, const struct runtime_shape *shape,
                 struct error **err);

/* Give the address of an instance back; none held: success. */
int host_address_release(struct db *db, const char *instance_name, struct error **err);

#define IPV4_TEXT_SIZE 16
const char *ipv4_format(uint32_t address, char out[IPV4_TEXT_SIZE]);

extern const struct db_statement_list host_statements;
