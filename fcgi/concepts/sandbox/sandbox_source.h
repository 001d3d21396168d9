/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find what a create copies. */
#pragma once

#include "sandbox/lifecycle.h"

/* The source of the copy: a template version, or a checkpoint. */
struct source {
    struct template_version version;
    struct checkpoint checkpoint; /* id "": none */
    bool from_memory;             /* the checkpoint has the memory of the version */
};

/* Return the id of the checkpoint, or else of the version. */
const char *source_id(const struct source *source);

/* Find the source that a request names. may_remember: use the memory of a version, if it fits the
 * request. Errors: ERR_TEMPLATE_NOT_FOUND, ERR_INVALID_REQUEST, with the field. */
int source_find(struct worker *worker, const struct sandbox_create *request, bool may_remember,
                struct source *source, struct error **err);

/* Set the error for a checkpoint that is not there. */
int source_no_checkpoint(const char *field, struct error **err);
