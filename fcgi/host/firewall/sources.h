/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the address of this host from which the packets of a team leave (the setting
 * egress_addresses). Those of teams without an entry leave from the address of the route. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define SOURCES_MAX 256

struct source {
    uint64_t tenant;  /* number of the team, as in struct policy_wire */
    uint32_t address; /* host byte order */
    bool missing;     /* the host did not have it at the last sources_look() */
};

struct sources {
    struct source all[SOURCES_MAX];
    size_t count;
};

/* Read a list of "tea_…=ADDRESS", separated by commas or blanks. Errors: ERR_CONFIG. */
int sources_read(struct sources *sources, const char *text, struct error **err);

/* Return the address of a team, or 0. */
uint32_t sources_of(const struct sources *sources, uint64_t tenant);

/* Check which of the addresses this host has now. */
void sources_look(struct sources *sources);

/* Return whether the host did not have the address of a team at the last sources_look(). */
bool sources_is_missing(const struct sources *sources, uint64_t tenant);

/* Return those addresses that were missing at the last sources_look(), as an array of texts. */
json_t *sources_missing(const struct sources *sources);
