/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a recipe for the API, and their times. For this folder only. */
#pragma once

#include "recipe/recipe_step.h"

/* Return the names, titles and lines of all steps; a new reference. It has no more of the commands
 * than the build log. */
json_t *recipe_progress_titles(const json_t *recipe);

/* Record in a list of times that a step begins now, or that the sandbox began with it. */
void recipe_progress_begin(json_t *times, unsigned step, bool cached);
/* Record that it is over. */
void recipe_progress_end(json_t *times, unsigned step);

/* Return the steps in the form of the API; a new reference. failed_step: "" none. is_over: no step
 * runs any more. */
json_t *recipe_progress_to_json(const json_t *titles, const json_t *times, const char *failed_step,
                                bool is_over);
