/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths in volumes: in a query they may have any bytes but NUL, in a body they are text. */
#pragma once

#include "api/volumes.h"
#include "volume/volume_files.h"

#define VOLUME_PATH_MAX 4095 /* bytes */

/* Check that a path is absolute, free of NUL, "." and "..", and that the path and its names are
 * short enough for a file system. Refuses names of the service's own in the top directory. Errors:
 * ERR_INVALID_REQUEST with the field. */
int volume_path_check(const char *path, size_t size, const char *field, struct error **err);

/* Check members of bodies, for schemas. */
int volume_path_member_check(const json_t *value, const char *pointer, struct error **err);
int volume_mode_member_check(const json_t *value, const char *pointer, struct error **err);

/* Mode and owner in three forms: members of bodies, a new object with these members from a query,
 * and a query for the volume server. The query parameter new, which calls of E2B's API add, becomes
 * a member too: replace nothing. Errors: ERR_INVALID_REQUEST with the field. */
#define VOLUME_OWNER_MAX 65535
#define VOLUME_ATTRIBUTES                                                           \
    {.name = "mode", .type = SCHEMA_STRING, .check = volume_mode_member_check},     \
        {.name = "uid", .type = SCHEMA_INTEGER, .min = 0, .max = VOLUME_OWNER_MAX}, \
    {                                                                               \
        .name = "gid", .type = SCHEMA_INTEGER, .min = 0, .max = VOLUME_OWNER_MAX    \
    }
int volume_attributes_query(const struct http_request *request, json_t **attributes,
                            struct error **err);
void volume_query_add_attributes(struct buffer *query, const json_t *attributes);

/* Return the query parameter path, borrowed. */
int volume_path_query(const struct http_request *request, const char **path, struct error **err);

/* Append "name=value&" with the value percent-encoded. */
void volume_query_add(struct buffer *query, const char *name, const char *value);
#define VOLUME_QUERY_MAX (8 * VOLUME_PATH_MAX)

/* Call volume_files_call() with the volume of the request. *json: the answer, a new reference, or
 * NULL without one. */
int volume_files_ask(struct api *api, const struct volume_files_call *call, json_t **json,
                     int *status, struct error **err);

/* Return {"path", …the entry}; takes the entry's reference. */
json_t *volume_entry_to_json(const char *path, json_t *entry);
