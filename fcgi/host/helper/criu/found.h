/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRIU itself: the one that SANDLOT_CRIU names, or one unpacked into a folder, with its own loader
 * and libraries (sandlot-install-criu). */
#pragma once

#include <stdbool.h>

#include "helper/criu/words.h"

/* Print what `criu --version` says, which is asked before each dump and each restore, from the file
 * "version" of the folder. words: CRIU's arguments, up to a NULL. Returns false when they ask for
 * something else, or when there is no such file. */
bool found_tell_version(const char *root, char *const words[]);

/* The words to run it with. Returns 0, or -1, with a message, when there is none. */
int found_criu(const char *root, struct words *criu);
