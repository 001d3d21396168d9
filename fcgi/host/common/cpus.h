/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read, write and choose sets of processors, in the kernel's form: "0-3,8". */
#pragma once

#include <stdint.h>

#include "base/error.h"

#define CPUS_MAX       4096
#define CPUS_TEXT_SIZE (CPUS_MAX * 5)

struct cpus {
    uint64_t words[CPUS_MAX / 64];
};

/* Read a list; "" is an empty set. Errors: ERR_INVALID_REQUEST. */
int cpus_read(const char *text, struct cpus *cpus, struct error **err);
void cpus_write(const struct cpus *cpus, char text[CPUS_TEXT_SIZE]);
unsigned cpus_count(const struct cpus *cpus);

/* How many containers use each processor. */
struct cpu_uses {
    int of[CPUS_MAX];
};

/* Count a set once more, or with change -1 once less. */
void cpus_use(const struct cpus *cpus, struct cpu_uses *uses, int change);

/* Change `own` to the `wanted` processors that the fewest other containers use, or to all
 * processors of the machine (there) when these are fewer. Among equals, prefer those in `own`.
 * uses: without `own`. */
void cpus_choose(struct cpus *own, const struct cpus *there, unsigned wanted,
                 const struct cpu_uses *uses);
