/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of processors, as the kernel writes them: "0-3,8". */
#pragma once

#include <stdint.h>

#include "base/error.h"

#define CPUS_MAX       4096
#define CPUS_TEXT_SIZE (CPUS_MAX * 5)

struct cpus {
    uint64_t words[CPUS_MAX / 64];
};

/* Errors: ERR_INVALID_REQUEST. */
int cpus_read(const char *text, struct cpus *cpus, struct error **err);
void cpus_write(const struct cpus *cpus, char text[CPUS_TEXT_SIZE]);
unsigned cpus_count(const struct cpus *cpus);

/* Make `own` a set of `wanted` of those that are there, or of all when these are fewer. It keeps of
 * its own as many as it may; the others are taken from `from` on. */
void cpus_choose(struct cpus *own, const struct cpus *there, unsigned wanted, unsigned from);
