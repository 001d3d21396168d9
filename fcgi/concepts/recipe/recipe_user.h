/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user of sandboxes in the build of a Dockerfile. Images do not have this user, so a Dockerfile
 * may add one of the same name or number. In such a build he is missing until the end of the last
 * step.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

struct recipe_place;

/* Member of the first step: true if the build adds the user of sandboxes behind the last step. */
#define RECIPE_WITHOUT_USER "without_user"

/* Return whether steps of a Dockerfile seem to add, change or remove users in such a way that the
 * user of sandboxes is in their way. */
bool recipe_adds_user(const json_t *recipe);

/* Copy a recipe that begins with a template, which has the user of sandboxes. If this user is in
 * the way of a Dockerfile's steps, and no step names him, a step in front removes him. A new
 * reference. */
json_t *recipe_on_template(const json_t *recipe);

/* Add root and the user of sandboxes behind the last step, if they are missing: some builds begin
 * without this user, and steps on an image may replace its list of users. The start command may
 * run as the user. Errors: those of recipe_place_call(). */
int recipe_users_add(struct recipe_place *place, struct error **err);

/* Return whether the step of recipe_on_template() does nothing, because the commands of this base
 * run as the user of sandboxes. user: of the commands. */
bool recipe_keeps_user(const json_t *step, const char *user);
