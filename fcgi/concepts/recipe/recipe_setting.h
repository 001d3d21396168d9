/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User, folder and variables at a step of a recipe, and those of the version's sandboxes. For this
 * folder only. */
#pragma once

#include "recipe/recipe_step.h"

struct recipe_setting {
    const char *user; /* borrowed from the place */
    char *cwd;        /* "": the user's home */
    json_t *envs;
};

/* Collect the settings of all steps before this one. The caller calls recipe_setting_deinit(). */
void recipe_setting_at(const struct recipe_place *place, unsigned step,
                       struct recipe_setting *setting);

/* Collect the settings of the version's sandboxes. They differ from those behind the last step for
 * a Dockerfile without USER or WORKDIR, whose sandboxes keep those of the base. */
void recipe_setting_kept(const struct recipe_place *place, struct recipe_setting *setting);

void recipe_setting_deinit(struct recipe_setting *setting);

/* Return a text of a step, after expansion if the step is open; the caller frees it. */
char *recipe_setting_text(const struct recipe_place *place, const struct recipe_setting *setting,
                          const json_t *step, const char *name);

/* Put the configuration of a Dockerfile into place->defaults, where that of an image is. step: the
 * present one; before the last stage there is no effect. */
void recipe_setting_configure(struct recipe_place *place, unsigned step);
