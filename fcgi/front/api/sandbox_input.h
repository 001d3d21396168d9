/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the JSON bodies of requests about sandboxes into checked structures. */
#pragma once

#include "http/schema.h"
#include "sandbox/lifecycle.h"

/* The members of POST /v1/sandboxes. */
extern const struct schema_member sandbox_create_schema[];
/* The members of POST /v1/sandboxes/:id/pause, …/fork, …/rollback and …/resume, and of PUT …/hold.
 */
extern const struct schema_member sandbox_pause_schema[];
extern const struct schema_member sandbox_fork_schema[];
extern const struct schema_member sandbox_fork_unnamed_schema[]; /* for clients of E2B */
extern const struct schema_member sandbox_resume_schema[];
extern const struct schema_member sandbox_rollback_schema[];
extern const struct schema_member sandbox_hold_schema[];
/* The members of PATCH /v1/sandboxes/:id, and of PUT /v1/sandboxes/:id/ports/:port. */
extern const struct schema_member sandbox_update_schema[];
extern const struct schema_member port_put_schema[];

struct sandbox_input {
    struct sandbox_create create; /* this structure or the body owns its strings */
    char *metadata;
    char *volume_mounts; /* NULL: no mounts */
    char *envs;          /* secret */
    char *hooks;         /* NULL: none */
    char *services;      /* secret, because they have environments; NULL: not given */
};

/* Read a body that has passed its schema; NULL counts as {}. The caller fills in user and team.
 * Errors: ERR_INVALID_REQUEST and ERR_TEMPLATE_NOT_FOUND with the field. */
int sandbox_input_read(const json_t *body, struct sandbox_input *input, struct error **err);

/* Read the update of a PATCH body; strings and JSON are borrowed from the body. */
void sandbox_update_read(const json_t *body, struct sandbox_update *update);

/* Read an entry of exposed_ports, or the body of PUT …/ports/:port, whose port is in the path. */
struct exposed_port exposed_port_of(const json_t *entry);

/* Free all members, and wipe the secret ones. */
void sandbox_input_deinit(struct sandbox_input *input);
