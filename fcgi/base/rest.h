/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects that this process could not handle. They rest, so that others have their turn. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Let an object rest for first_ms, twice as long after each further failure, and most_ms at most.
 * The newest 512 are known. */
void rest_after_failure(const char *id, int64_t first_ms, int64_t most_ms);

/* Return whether an object rests. */
bool rest_lasts(const char *id);
