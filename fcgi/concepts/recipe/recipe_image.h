/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recipes whose first step fetches an OCI image. The step runs in the sandbox of the build
 * (scripts/template/files/usr/lib/sandlot/image), and the image's tree takes the place of the
 * sandbox's root before the next step.
 */
#pragma once

#include <jansson.h>

#include "config/settings.h"
#include "recipe/image_reference.h"

#define IMAGE_FILES_MAX       1000000
#define IMAGE_TIME_MAX_S      2400 /* to fetch and unpack */
#define REGISTRY_USER_MAX     256
#define REGISTRY_PASSWORD_MAX 4096
#define RECIPE_IMAGE_STEP     "image"    /* type of the step */
#define RECIPE_TEMPLATE_STEP  "template" /* type of the step that copies the sandbox's root */
#define RECIPE_MOVES          "moves"  /* its member: the stage that gets this root, and no copy */
#define RECIPE_LAYERS         "layers" /* its member: a digest for each layer and those below it */
#define IMAGE_LAYERS_MAX      200

/* The name of an image, and the login at its registry; NULL: no login. Borrowed. With a region of
 * AWS the user is an access key, and the password its secret key. In a build of several stages it
 * may be the template with which the sandbox begins. */
struct recipe_image {
    const char *name, *user, *password, *aws_region;
    bool is_template;
};

/* Copy a checked recipe, and put the step that fetches the image in front. *whole: a new reference.
 * Errors: those of image_reference_parse() and image_reference_place(). */
int recipe_image_add(const struct settings *settings, const struct recipe_image *image,
                     const json_t *recipe, json_t **whole, struct error **err);

/* Put the steps in front that make the roots of the bases of a Dockerfile, in the order of the
 * stages: they fetch images, and copy the template for stages behind the first one. If the first
 * stage begins with an image, the first one with the template gets the root without a copy. A
 * single template gets recipe_on_template(). */
int recipe_image_add_bases(const struct settings *settings, const struct recipe_image bases[],
                           size_t count, const json_t *recipe, json_t **whole, struct error **err);

/* Return the image's configuration from the defaults of a template (TEMPLATE_DEFAULTS_FILE). It has
 * known members of the right types only, because the owner of a sandbox may write this file. A new
 * reference; NULL: the template has no image. */
json_t *recipe_image_config(const json_t *defaults);
