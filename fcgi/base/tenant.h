/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two numbers for whom a program works; http/pool.h makes them from ids. As text: TEAM or
 * TEAM:USER. */
#pragma once

#include <stdint.h>

#define TENANT_SIZE 48 /* of the text */

struct tenant {
    uint64_t team; /* 0: not known; all unknown teams count as one */
    uint64_t user; /* the creator of the sandbox; 0: not known, and not counted */
};

/* Read the text. Returns 0, or -1 without a change. */
int tenant_parse(const char *text, struct tenant *tenant);

/* Write the text. For an unknown team it is 0, which tenant_parse() refuses. */
void tenant_print(const struct tenant *tenant, char text[TENANT_SIZE]);
