/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User, folder and variables at a step of a recipe, and those of the version's sandboxes. For this
 * folder only. */
#pragma once

#include "base/guest_limits.h"
#include "dockerfile/dockerfile.h"
#include "recipe/recipe_step.h"

struct recipe_setting {
    const char *user; /* "USER" or "USER:GROUP"; borrowed from the place, or own_user */
    char *cwd;        /* "": the user's home */
    json_t *envs;
    size_t env_bytes; /* of all names and values, as a program counts them */
    bool is_too_long; /* env_bytes passes RECIPE_ENVS_MAX: envs lacks the variables behind it */
    char *own_user;   /* NULL: no step sets the user */
};

/* No program can have more. */
#define RECIPE_ENVS_MAX GUEST_ENVIRONMENT_BYTES_MAX

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

/* Find the user that a step sets. Errors: ERR_INVALID_REQUEST (after expansion it is no user). */
int recipe_setting_user(const struct recipe_place *place, const struct recipe_setting *setting,
                        const json_t *step, struct dockerfile_user *user, struct error **err);

/* Return a user with his own group, in the form of the command chown; the caller frees it. */
char *recipe_setting_owner(const char *user);

/* Return the SHELL that the base of these defaults has; a new reference. NULL: it has none. */
json_t *recipe_setting_shell(const json_t *defaults);

/* Replace the words of DOCKERFILE_USUAL_SHELL at this place of a program by the base's; NULL: they
 * stay.
 */
void recipe_setting_put_shell(const json_t *shell, size_t at, json_t *program);

/* Add variables whose values name other ones, except those that exist. Errors: ERR_INVALID_REQUEST
 * (they have more than RECIPE_ENVS_MAX bytes). */
int recipe_setting_add_open(const struct recipe_place *place, const json_t *opens, json_t *envs,
                            struct error **err);

/* Expand the texts of a list at these places; NULL: none. */
void recipe_setting_expand(const json_t *places, const json_t *envs, json_t *texts);

/* Put the configuration of a Dockerfile into place->defaults, where that of an image is. step: the
 * present one; before the last stage there is no effect. */
void recipe_setting_configure(struct recipe_place *place, unsigned step);

/* Member of the defaults: true if the start command is that of the image. */
#define RECIPE_IMAGE_STARTS "image_starts"

/* Return the init with which the image's entry point or command begins, if it runs only as the
 * first process; NULL: it begins with another program. */
const char *recipe_setting_init(const json_t *defaults);

/* Add the health check, the stop signal and the place of the image's command to the defaults of
 * sandboxes that run this command. */
void recipe_setting_add_start(const struct recipe_place *place, json_t *defaults);

/* Add the place of the image's command alone. As in Docker, an image without a user means root, and
 * one without a working directory means "/". */
void recipe_setting_add_place(const struct recipe_place *place, json_t *defaults);
