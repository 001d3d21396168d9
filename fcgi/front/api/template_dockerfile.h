/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Dockerfile in the body of a build. */
#pragma once

#include "api/template_builds.h"
#include "dockerfile/dockerfile.h"

#define TEMPLATE_DOCKERFILE_MEMBERS                                                   \
    {.name = "dockerfile", .type = SCHEMA_STRING, .min = 1, .max = DOCKERFILE_MAX},   \
        {.name = "context", .type = SCHEMA_STRING, .min = 1, .max = RECIPE_HASH_MAX}, \
        {.name = "build_args",                                                        \
         .type = SCHEMA_MAP,                                                          \
         .max = DOCKERFILE_ARGS_MAX,                                                  \
         .item = &template_build_arg_item},                                           \
        {.name = "secrets",                                                           \
         .type = SCHEMA_MAP,                                                          \
         .max = DOCKERFILE_SECRETS_MAX,                                               \
         .item = &template_secret_item},                                              \
    {                                                                                 \
        .name = "target", .type = SCHEMA_STRING, .min = 1, .max = DOCKERFILE_NAME_MAX \
    }
extern const struct schema_member template_build_arg_item, template_secret_item;

/* Plan the build that a body asks for, and check its context. The caller calls
 * dockerfile_plan_deinit(), also after an error. Errors: those of dockerfile_plan(). */
int template_dockerfile_plan(struct api *api, const json_t *body, struct dockerfile_plan *plan,
                             struct error **err);

/* Find out whether FROM means a template or an image. A name without a registry is a template, if
 * the team or the deployment has it. Fills in origin->template or origin->image.name, and for
 * several stages both, as far as there are templates and images, and stages. Errors also:
 * ERR_INVALID_REQUEST (the bases do not fit together). */
int template_dockerfile_origin(struct api *api, const struct dockerfile_plan *plan,
                               struct template_origin *origin,
                               struct recipe_image stages[DOCKERFILE_STAGES_MAX],
                               struct error **err);

/* Note in the recipe of an order which names are templates, for ONBUILD of bases. */
int template_dockerfile_note(struct api *api, const struct dockerfile_plan *plan,
                             const struct template_origin *origin,
                             const struct template_order *order, struct error **err);

/* Give the error of a planned step the line of its instruction. */
void template_dockerfile_locate(const struct dockerfile_plan *plan, struct error *error);
