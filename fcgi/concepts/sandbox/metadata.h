/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metadata: an object of string keys to string values. Values of other types become their compact
 * JSON text; numbers keep the text in which they were sent (http/kept_number.h). */
#pragma once

#include <jansson.h>

#include "base/error.h"

#define METADATA_KEYS_MAX  64
#define METADATA_KEY_MAX   64  /* characters */
#define METADATA_VALUE_MAX 512 /* characters */

/* Return the stored form of a create request's metadata: JSON text, which the caller frees. NULL
 * counts as {}. Errors: ERR_INVALID_REQUEST with the pointer, also for null values. */
int metadata_read(const json_t *object, char **text, struct error **err);

/* Return the stored form after a JSON merge patch (RFC 7396): null removes a key, and a patch that
 * is null removes all. Errors as above, and when the result has too many keys. */
int metadata_patch(const char *stored, const json_t *patch, char **text, struct error **err);
