/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Template versions that are built by steps, for handlers of checked requests. */
#pragma once

#include <stdlib.h>

#include "api/api.h"
#include "recipe/recipe_image.h"

/* The start of the steps: a template or an OCI image. Borrowed. */
struct template_origin {
    const char *template;              /* NULL: the image */
    struct recipe_image image;         /* of the last stage; name NULL: the template */
    const struct recipe_image *stages; /* the bases of several stages; NULL: one stage */
    size_t stage_count;
    const char *field; /* that names it */
};

/* A build: its recipe, and the version that it is based on. */
struct template_order {
    struct api *api;
    struct template_version base;
    const char *image; /* borrowed; NULL: none */
    char *image_name;  /* owned: of a Dockerfile, then image is the same; NULL: none */
    json_t *recipe;    /* owned */
    json_t *tags;      /* owned */
    char *network;
    struct template_version failed; /* the version that is built again; id "": none */
    char checkpoint_id[ID_SIZE];    /* the checkpoint that the version is a copy of; "": none */
};
static inline void template_order_deinit(struct template_order *order)
{
    free(order->network);
    free(order->image_name);
    json_decref(order->recipe);
    json_decref(order->tags);
}

/* Check the recipe for the team of the request and find its base; for an image this is the template
 * of builders. The caller calls template_order_deinit(), also after an error. Errors: those of
 * recipe_check(), recipe_image_add_bases() and template_resolve(). */
int template_builds_order(struct api *api, const struct template_origin *origin,
                          const json_t *recipe, struct template_order *order, struct error **err);

/* Start the build, in a transaction; context: struct template_order. Errors: those of
 * recipe_begin(). */
int template_builds_begin(struct db *db, const char *version_id, void *context, struct error **err);

/* Read the sizes of a body's runtime_baseline, or take those of the checkpoint or the plan, for the
 * team of the request. Errors: ERR_INVALID_REQUEST with the field. */
int template_builds_baseline(struct api *api, const json_t *body,
                             const struct checkpoint *checkpoint, struct template_request *wanted,
                             struct error **err);

/* Write the archive in a request's body. Errors: those of recipe_file_write(). */
struct recipe_file;
int template_files_take(struct api *api, const struct http_request *request,
                        struct recipe_file *file, struct error **err);
