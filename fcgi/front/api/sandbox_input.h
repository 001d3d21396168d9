/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the JSON body of a create request to its checked, typed form. */
#pragma once

#include "http/schema.h"
#include "sandbox/lifecycle.h"

/* The members of POST /v1/sandboxes. */
extern const struct schema_member sandbox_create_schema[];
/* Those of POST /v1/sandboxes/:id/pause and …/resume. */
extern const struct schema_member sandbox_pause_schema[];
extern const struct schema_member sandbox_fork_schema[];
extern const struct schema_member sandbox_resume_schema[];
/* Those of PATCH /v1/sandboxes/:id, and of PUT /v1/sandboxes/:id/ports/:port. */
extern const struct schema_member sandbox_update_schema[];
extern const struct schema_member port_put_schema[];

struct sandbox_input {
    struct sandbox_create create; /* its strings are owned by this structure or the body */
    char *metadata;
    char *volume_mounts; /* NULL: none */
    char *envs;          /* secret */
};

/* body has passed its schema; NULL counts as {}. The caller fills in user and team. Errors:
 * ERR_INVALID_REQUEST and ERR_TEMPLATE_NOT_FOUND with the field. */
int sandbox_input_read(const json_t *body, struct sandbox_input *input, struct error **err);

/* The update that a PATCH body asks for; strings and JSON are borrowed from the body. */
void sandbox_update_read(const json_t *body, struct sandbox_update *update);

/* An entry of exposed_ports, or the body of that PUT, whose port is in the path. */
struct exposed_port exposed_port_of(const json_t *entry);

/* Frees everything and wipes the environment. */
void sandbox_input_deinit(struct sandbox_input *input);
