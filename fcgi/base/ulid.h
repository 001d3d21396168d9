/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identifiers: a type prefix ("sbx_") and a ULID in lower-case Crockford base 32. A ULID has 48
 * bits of milliseconds, and then 80 random bits, so ids sort by creation. Format:
 * https://github.com/ulid/spec
 *
 * The first character of the ULID, and of an API key, names the cell: the one deployment of several
 * that has the row. A router in front of several cells can therefore route by an id or a key alone.
 * The milliseconds leave it '0' until the year 3084.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ULID_LENGTH 26
#define ID_SIZE     (4 + ULID_LENGTH + 1) /* "sbx_" + ULID + NUL */
#define ID_CELL     '0'                   /* the first character of the ULID */

/* Write a new identifier of the type; prefix is three letters and '_'. Returns out. */
const char *id_new(const char *prefix, char out[ID_SIZE]);

/* Write a lower bound for all identifiers of the type that are made from now on. Returns out. */
const char *id_floor(const char *prefix, int64_t at_ms, char out[ID_SIZE]);

/* Return whether text is an identifier of this type and of this cell. */
bool id_is_valid(const char *prefix, const char *text);

#define UUID_SIZE (36 + 1)

/* Write the 128 bits behind the prefix of a valid identifier as a UUID: 8-4-4-4-12 lower-case
 * hexadecimal digits. Returns out. */
const char *id_to_uuid(const char *id, char out[UUID_SIZE]);

/* Read such a UUID, in letters of either case, as an identifier of the type. Returns 0, or -1 when
 * text has another form or is no identifier of this cell. */
int id_of_uuid(const char *prefix, const char *text, char out[ID_SIZE]);

#define ROUTE_TOKEN_LENGTH 26

/* Write 26 random characters [a-z2-7] (130 bits). Returns out. */
const char *route_token_new(char out[ROUTE_TOKEN_LENGTH + 1]);

bool route_token_is_valid(const char *text);
