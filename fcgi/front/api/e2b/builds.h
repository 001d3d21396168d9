/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translate the body of an E2B build into the terms of /v1. */
#pragma once

#include "api/api.h"
#include "api/template_builds.h"

/* Make the recipe from a body; a new reference. Errors: ERR_INVALID_REQUEST. */
int e2b_build_recipe(const json_t *body, json_t **recipe, struct error **err);

/* Rename the member in an error about a step to E2B's name. */
void e2b_build_rename(struct error *error);

/* Find the template or the image that the build is based on. *base: the template as a reference of
 * /v1, or NULL; the caller frees it after the last use of the origin. Errors: ERR_INVALID_REQUEST,
 * ERR_NOT_SERVED. */
int e2b_build_origin(struct api *api, const json_t *body, char **base,
                     struct template_origin *origin, struct error **err);
