/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON that comes from outside: clients, agents, volume servers, identity providers, joining hosts.
 * A parsed document takes some hundred times the memory of its text: "{}," is 3 bytes and then 224.
 * The reader therefore first counts the values and the depth in the text. No document takes more
 * than 48 MiB in addition to its strings.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* Let jansson overwrite all memory that it frees: documents hold secrets, and the parser copies its
 * input. Its allocations abort when memory runs out. */
void json_wipe_freed(void);

#define JSON_VALUES_MAX 100000
#define JSON_DEPTH_MAX  32

enum json_size { JSON_FITS, JSON_TOO_DEEP, JSON_TOO_MANY_VALUES };

/* Return whether the text is within both bounds. The text need not be well-formed. */
enum json_size json_size_of(const char *text, size_t size);

/* Parse a text as json_loadb() does. Return a new reference, or NULL if the text is not JSON.
 * Return NULL also if it is outside of the bounds, and then leave problem unchanged. text may be
 * NULL if size is 0. */
json_t *json_read(const char *text, size_t size, size_t flags, json_error_t *problem);
