/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find CRIU: SANDLOT_CRIU names it, or sandlot-install-criu has unpacked it into a folder with its
 * own loader and libraries. */
#pragma once

#include <stdbool.h>

#include "helper/criu/words.h"

/* Print the answer of `criu --version` from the file "version" of the folder; it is asked before
 * each dump and restore. words: CRIU's arguments, up to a NULL. Returns false for other arguments,
 * or when the file does not exist. */
bool criu_path_tell_version(const char *root, char *const words[]);

/* Get the words of the command to run. preloaded: a library that is loaded before CRIU's own, if
 * the file exists. Returns 0, or -1, with a message, when there is no CRIU. */
int criu_path_find(const char *root, const char *preloaded, struct words *criu);
