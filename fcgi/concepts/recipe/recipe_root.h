/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The root of the sandbox in which steps run. For this folder only. */
#pragma once

#include "recipe/recipe_step.h"

/* Exchange the root for the tree "root" of this folder, which is one of recipe_fetch_folder(). The
 * previous root is deleted, or becomes the tree of the stage that takes it. The exchange continues
 * when this call is cut off: another call waits for its end, and does nothing then. Errors: those
 * of recipe_place_call(). */
int recipe_root_enter(struct recipe_place *place, const char *folder, struct error **err);

/* Return the arguments of sh, behind its -c, for a step of type RECIPE_TEMPLATE_STEP: it makes the
 * trees of the stages that begin with the present root. A new reference. */
json_t *recipe_root_copies(const json_t *step);
