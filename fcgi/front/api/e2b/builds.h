/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a build's body of theirs is in the words of /v1. */
#pragma once

#include "api/api.h"

/* The recipe that a body of theirs says; a new reference. Errors: ERR_INVALID_REQUEST. */
int e2b_build_recipe(const json_t *body, json_t **recipe, struct error **err);

/* Let an error about a step name their member. */
void e2b_build_rename(struct error *error);

/* The template that it is built from, as /v1 names it; the caller's. *field: of theirs. Errors:
 * ERR_INVALID_REQUEST, ERR_NOT_SERVED. */
int e2b_build_base(struct api *api, const json_t *body, char **base, const char **field,
                   struct error **err);
