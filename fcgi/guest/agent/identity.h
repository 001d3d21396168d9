/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs inside find out about their sandbox without asking. */
#pragma once

#include <stdbool.h>

#define IDENTITY_FOLDER "/run/e2b"

/* Write E2B's files below /run/e2b: the same as the variables of the environment. What cannot be
 * written is logged and left out: the sandbox is its owner's. When it has been told this route
 * already, the files stay as its owner has made them. */
void identity_adopt(const char *route, const char *template);

/* Whether the files say that the sandbox of this route has run from this disk before. */
bool identity_is_recorded(const char *route);
