/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables in the values of a step that sets an environment. */
#pragma once

#include <jansson.h>

/* Expand $NAME, ${NAME}, ${NAME:-word} and ${NAME:+word} as Dockerfiles do: an unset variable is
 * empty, and \$ is a dollar sign. Everything else, such as $(…) and backticks, stays as it is.
 * envs: names and strings. The result is cut to RECIPE_VALUE_MAX bytes; the caller owns it. */
#define RECIPE_VALUE_MAX 65536
char *recipe_expand(const char *text, const json_t *envs);
