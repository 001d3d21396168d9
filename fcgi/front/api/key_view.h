/* SPDX-License-Identifier: GPL-2.0-or-later */
/* API keys as the interface shows them. */
#pragma once

#include <jansson.h>

#include "account/api_key.h"
#include "api/api.h"
#include "http/schema.h"

/* Without its secret; a new reference. teams is null for a key that reaches every team of its
 * user. */
json_t *key_to_json(const struct api_key *key);

/* The teams of the new key: those asked for, or else those of the key that asks; never more than
 * the latter reaches. slugs is an owned array of borrowed strings; none: every team. */
int key_read_teams(const struct principal *principal, const json_t *body, const char ***slugs,
                   unsigned *count, struct error **err);

/* A key that ends makes none that outlives it; one that says nothing ends with it. */
int key_read_expiry(const struct principal *principal, const json_t *body, int64_t *expires_at_ms,
                    struct error **err);

/* A user who signed in without a password confirms by a sign-in that is younger than this. */
#define KEY_FRESH_LOGIN_MS ((int64_t)5 * 60 * 1000)

/* The sign-in with which the new key ends; NULL: none. A key made with a sign-in ends with it,
 * unless the body has the user's `password`. A key made with such a key ends with the same sign-in.
 * Errors: ERR_INVALID_CREDENTIALS ("/password"), ERR_RATE_LIMITED. */
int key_read_binding(struct api *api, struct http_request *request, const char **login_id,
                     struct error **err);

/* Answer with the caller's keys of a kind that it may know of, as member of the body. */
int key_answer_list(struct api *api, enum api_key_kind kind, const char *member,
                    json_t *(*to_json)(const struct api_key *key), struct http_response *response,
                    struct error **err);

/* Revoke the key that the path names. prefix: what ids of its kind begin with; kind: what a key of
 * it is called. Errors: ERR_NOT_FOUND, also for what the asking key may not know of. */
int key_answer_revoke(struct api *api, const struct http_request *request, const char *prefix,
                      const char *kind, struct http_response *response, struct error **err);

extern const struct schema_member key_team_item;
