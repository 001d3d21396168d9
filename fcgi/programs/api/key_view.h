/* SPDX-License-Identifier: GPL-2.0-or-later */
/* API keys as the interface shows them. */
#pragma once

#include <jansson.h>

#include "account/api_key.h"

/* Without its secret; a new reference. teams is null for a key that reaches every team of its
 * user. */
json_t *key_to_json(const struct api_key *key);
