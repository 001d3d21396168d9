/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that copy files, from an archive of the team or from a stage. For this folder only. */
#pragma once

#include "recipe/recipe_setting.h"

/* Begin a step of type "copy", as recipe_step_begin() does. */
int recipe_copy_context(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                        const json_t *one, enum recipe_start *begun, struct error **err);

/* Begin a step of type "copy_stage". */
int recipe_copy_stage(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                      const json_t *one, struct error **err);

/* Begin a step of type "save". */
int recipe_copy_save(struct recipe_place *place, unsigned step, const json_t *one,
                     struct error **err);

/* Return an extended regular expression for the paths that a pattern of COPY fits; the caller frees
 * it. "*" and "?" stand for no slash. With deep, "**" stands for folders of any depth. */
char *recipe_copy_regex(const char *pattern, bool deep);

/* Return whether a path is a pattern. */
bool recipe_copy_is_pattern(const char *path);
