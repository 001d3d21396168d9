/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files by which programs inside identify their sandbox. */
#pragma once

#include <stdbool.h>

#define IDENTITY_FOLDER "/run/e2b"

/* Write E2B's files below /run/e2b: the same as the variables of the environment. A file that
 * cannot be written is logged and skipped. If the route is unchanged, the files stay, because the
 * sandbox's owner may have changed them. */
void identity_adopt(const char *route, const char *template);

/* Return whether the files say that the sandbox of this route has run from this disk before. */
bool identity_is_recorded(const char *route);
