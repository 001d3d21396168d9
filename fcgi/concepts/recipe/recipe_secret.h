/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Secrets of RUN. A step has a list of {"id", "target", "env"}; the values are in the recipe.
 * During the step, its user can read a secret in the file "target" or in the variable "env". The
 * files are deleted before the disk is kept. For this folder only.
 */
#pragma once

#include "recipe/recipe_step.h"

/* Write the files of a step's secrets for a user, and add their variables to envs. Errors: those of
 * agent_exec(), ERR_INVALID_REQUEST (a file exists already). */
int recipe_secrets_put(struct recipe_place *place, unsigned step, const char *user, json_t *envs,
                       struct error **err);

/* Delete the files after the step. Errors: as above. */
int recipe_secrets_drop(struct recipe_place *place, unsigned step, struct error **err);
