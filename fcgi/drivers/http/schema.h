/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Validate JSON bodies strictly, by tables. A schema is a list of members. Other members are
 * refused; the message names the nearest known name, or the object in which the member belongs. The
 * first violation is reported as 422 invalid_request with a JSON pointer (RFC 6901).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum schema_type {
    SCHEMA_STRING,
    SCHEMA_INTEGER,
    SCHEMA_BOOLEAN,
    SCHEMA_OBJECT, /* members: the nested schema */
    SCHEMA_ARRAY,  /* item: the schema of its elements */
    SCHEMA_MAP,    /* object with free keys; item: the schema of its values */
    SCHEMA_ANY,
};

struct schema_member {
    const char *name;
    enum schema_type type;
    bool required;
    bool nullable;      /* JSON null is a value: see schema_drop_nulls() */
    bool keeps_numbers; /* of a top-level one: see kept_number.h */
    bool characters;    /* of a string: min and max count characters in place of bytes */
    int64_t min;        /* integer: least value; string: least bytes; array, map: least entries */
    int64_t max;        /* likewise the most; 0 with min 0: no bound of its own */
    /* string: NULL-terminated list of allowed values, or NULL; array: words that may stand for one
     */
    const char *const *choices;
    const struct schema_member *members; /* object: ended by a row without a name */
    const struct schema_member *item;    /* array, map */
    /* For a name that is often used by mistake: the text of the refusal, after the name and a
     * colon. NULL: a member. */
    const char *hint;
    /* Optional further check; reports with error_set_field() at the given pointer. */
    int (*check)(const json_t *value, const char *pointer, struct error **err);
};

/* Parse a body (at most as large as the route allows; duplicate members refused; depth bounded).
 * One of the members may keep its numbers; members NULL: none does. Other whole numbers become
 * integers, however they are written (60, 60.0, 6e1). An empty array becomes an empty object.
 * Errors: ERR_INVALID_JSON with the position, without a piece of the text. */
int schema_parse(const struct schema_member *members, const char *text, size_t size, json_t **json,
                 struct error **err);

/* Check an object against members. Strings must not hold NUL unless the type is ANY; integers must
 * be read as such by schema_parse(). An allowed null is not checked further. Errors:
 * ERR_INVALID_REQUEST with the pointer of the first violation: members in the order of the
 * document, then missing ones. */
int schema_validate(const struct schema_member *members, const json_t *object, struct error **err);

/* Remove the members that a schema does not name, in the objects inside too. Rows with a hint name
 * no member. A value of another type than its row says stays, for schema_validate() to refuse. */
void schema_drop_unknown(const struct schema_member *members, json_t *object);

/* Remove each member that is null, in the objects inside too: null says that the client gives no
 * value. Clients that write every member of an object send it. It stays where null is a value
 * (nullable), in entries of arrays and maps, and where a schema names no such member. */
void schema_drop_nulls(const struct schema_member *members, json_t *object);

/* Replace each empty array by an empty object where the schema wants an object, in the objects
 * inside too, also in those of arrays and maps. PHP writes [] for both. */
void schema_read_empty_maps(const struct schema_member *members, json_t *object);

/* Append "/token" to a JSON pointer with RFC 6901 escapes; the caller frees the result. */
char *schema_pointer(const char *pointer, const char *token);
