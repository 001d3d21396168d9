/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The caches of RUN --mount=type=cache. Each team has a volume for them (VOLUME_BUILD_CACHE), which
 * the sandboxes of its builds mount at VOLUME_BUILD_CACHE_PATH. A file there is the archive of a
 * cache: the command of a step unpacks it, and replaces it after a success (dockerfile_run.c). The
 * volume bounds a build that writes more. Without the volume, the folders begin empty. For this
 * folder only.
 */
#pragma once

#include "recipe/recipe_setting.h"
#include "recipe/recipe_turn.h"
#include "sandbox/lifecycle.h"

/* Return whether one of the steps from this one on has a cache, and the service keeps caches. */
bool recipe_mount_is_wanted(const struct recipe_turn *turn, unsigned from);

/* Let the sandbox mount the volume of the team, which is created if it does not exist. Errors:
 * those of volume_create(). */
int recipe_mount_add(struct recipe_turn *turn, struct sandbox_create *request, struct error **err);

/* Before a step with caches, which runs as this user in this folder: create the missing folders for
 * the user, let the user write to the volume, and delete the longest unused caches until half of
 * the volume is free; the whole volume, if unfinished archives fill that half. A failure is no
 * error: the command then begins with less room, or an empty folder. Errors: those of
 * agent_exec(). */
int recipe_mount_prepare(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                         struct error **err);
