/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that fetch an image: the program fetch-image of the template of builders
 * (scripts/template/files/usr/lib/sandlot/image). For this folder only. */
#pragma once

#include "recipe/recipe_step.h"

#define RECIPE_FETCH_DIR         "/.sandlot-image" /* in which it unpacks */
#define RECIPE_FETCH_FOLDER_SIZE 64
#define RECIPE_FETCH_MORE        75 /* its exit status: the step is to be started again */
#define RECIPE_DIGEST_SIZE       72

/* Write the folder of an image. Stages have one each, by the number in this member. */
void recipe_fetch_folder(const json_t *step, const char *member,
                         char folder[RECIPE_FETCH_FOLDER_SIZE]);

/* Return whether the next start of an image's step asks for the digests of images and layers, and
 * fetches nothing. The cache of steps needs the digests. */
bool recipe_fetch_asks(const struct recipe_place *place);

/* Send the order of a step. *program: a new list of the arguments of sh, behind its -c, which asks
 * for digests, or fetches the image, or some of its layers if the step knows their digests. Errors:
 * those of recipe_place_call(). */
int recipe_fetch_order(struct recipe_place *place, const json_t *step, json_t **program,
                       struct error **err);

/* Read the digests that the program has found. The digest of an image becomes the reference of its
 * step, and those of its layers RECIPE_LAYERS. Errors: those of agent_exec(). */
int recipe_fetch_digests(struct recipe_place *place, struct error **err);

/* Read the digest of the highest layer that the step has unpacked. digest "": none. Errors: those
 * of agent_exec(). */
int recipe_image_unpacked(struct recipe_place *place, unsigned step,
                          char digest[RECIPE_DIGEST_SIZE], struct error **err);
