/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tags of a template: names for its versions. A tag points to one version and can be moved to
 * another. A deleted version loses its tags.
 *
 * Two tags mean the newest ready version while they are not assigned: `latest`, and `default`,
 * the version of a template that is named alone. The API of /v1 assigns plain tags only. Clients of
 * E2B also assign `latest`, numbers and longer names. An assigned number means the tag, not the
 * version with that number.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ulid.h"
#include "db/db.h"

#define TEMPLATE_TAG_MAX       128
#define TEMPLATE_TAG_PLAIN_MAX 63
#define TEMPLATE_TAGS_MAX      100 /* of a template */
#define TEMPLATE_TAG_DEFAULT   "default"
#define TEMPLATE_TAG_LATEST    "latest"

struct template_tag {
    char tag[TEMPLATE_TAG_MAX + 1];
    char version_id[ID_SIZE];
    uint32_t version; /* its number */
    int64_t assigned_at_ms;
};

/* Check for 1 to 128 lower-case letters, digits, dots, underscores and hyphens. The first is a
 * letter or a digit, and the text does not begin as the id of a template does. */
bool template_tag_is_valid(const char *tag);

/* Check that /v1 may assign the tag: a valid one of at most 63 characters that is neither a number
 * nor `latest`. Errors: ERR_INVALID_REQUEST with the field. */
int template_tag_check_plain(const char *tag, const char *field, struct error **err);

/* Move the tags to a ready version of the template. version_id: a version of this template. field:
 * for the errors. Errors: ERR_INVALID_REQUEST (an invalid tag, more than TEMPLATE_TAGS_MAX, or a
 * version that is not ready). */
int template_tags_assign(struct db *db, const char *template_id, const char *version_id,
                         const char *const *tags, unsigned count, const char *field,
                         struct error **err);

/* Record the tags that a version gets when it becomes ready; NULL: none. tags: valid ones. */
int template_tags_want(struct db *db, const char *version_id, const json_t *tags,
                       struct error **err);
/* Read them. *tags: a new reference; NULL: none. */
int template_tags_wanted(struct db *db, const char *version_id, json_t **tags, struct error **err);
/* Assign them, inside the transaction that makes the version ready. *left_out: how many were not
 * assigned, because the template has TEMPLATE_TAGS_MAX others. */
int template_tags_assign_wanted(struct db *db, const char *template_id, const char *version_id,
                                unsigned *left_out, struct error **err);

/* Remove tags, all or none. Errors: ERR_NOT_FOUND with the tag that is not assigned. */
int template_tags_remove(struct db *db, const char *template_id, const char *const *tags,
                         unsigned count, struct error **err);

/* List the tags by name; at most TEMPLATE_TAGS_MAX. Owned by the caller. */
int template_tags_list(struct db *db, const char *template_id, struct template_tag **tags,
                       unsigned *count, struct error **err);

/* Inside the transaction that deletes a version: remove its tags. */
int template_tags_forget(struct db *db, const char *version_id, struct error **err);
