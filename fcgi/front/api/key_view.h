/* SPDX-License-Identifier: GPL-2.0-or-later */
/* API keys in requests and answers. */
#pragma once

#include <jansson.h>

#include "account/api_key.h"
#include "api/api.h"
#include "http/schema.h"

/* Return a key without its secret; a new reference. teams is null for a key that reaches every team
 * of its user. */
json_t *key_to_json(const struct api_key *key);

/* Read the teams of a new key from the body. Without teams in the body it gets those of the asking
 * key, and never more. *slugs: an array of borrowed strings, which the caller frees, also
 * after an error; an empty one means every team. Errors: ERR_TEAM_FORBIDDEN with the field. */
int key_read_teams(const struct principal *principal, const json_t *body, const char ***slugs,
                   unsigned *count, struct error **err);

/* Read the expiry of a new key. The key must not outlive the asking key, and expires with it by
 * default. */
int key_read_expiry(const struct principal *principal, const json_t *body, int64_t *expires_at_ms,
                    struct error **err);

/* The greatest age of a sign-in that confirms a new key, for a user without a password. */
#define KEY_FRESH_LOGIN_MS ((int64_t)5 * 60 * 1000)

/* Find the sign-in whose end also ends the new key; NULL: no sign-in. A key made with a sign-in
 * ends with it, unless the body has the user's `password`. A user without a password needs a
 * sign-in younger than KEY_FRESH_LOGIN_MS instead. A key made with such a key ends with the same
 * sign-in. Errors: ERR_INVALID_CREDENTIALS ("/password"), ERR_INVALID_REQUEST (a password without a
 * sign-in), ERR_RATE_LIMITED, ERR_SHARE_USED_UP. */
int key_read_binding(struct api *api, struct http_request *request, const char **login_id,
                     struct error **err);

/* Answer with the user's keys of a kind that the asking key may see, as `member` of the body. */
int key_answer_list(struct api *api, enum api_key_kind kind, const char *member,
                    json_t *(*to_json)(const struct api_key *key), struct http_response *response,
                    struct error **err);

/* Answer with the keys that the key in the path created. Arguments and errors as
 * key_answer_revoke(). */
int key_answer_created(struct api *api, const struct http_request *request, const char *prefix,
                       const char *kind, struct http_response *response, struct error **err);

/* Revoke the key in the path, and with the query `with_created=true` all keys that it created.
 * prefix: of the ids of its kind; kind: its name in errors. Errors: ERR_NOT_FOUND, also for a key
 * that the asking key may not see; ERR_INVALID_REQUEST. */
int key_answer_revoke(struct api *api, const struct http_request *request, const char *prefix,
                      const char *kind, struct http_response *response, struct error **err);

extern const struct schema_member key_team_item;
