/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common parts of the two directions of /files. */
#pragma once

#include <jansson.h>

#include "agent/common/users.h"
#include "agent/files/files_range.h"
#include "agent/framework/request.h"

/* Find the user of the `username` argument, or the default one. */
int files_user(struct request *request, struct user *user, struct rpc_error *error);

/* Read the metadata of a file: headers "X-Metadata-<k>: v", kept as extended attributes
 * "user.e2b.<k in lower case>". *metadata is a new object of strings, which may be empty. */
int files_metadata_from_headers(const struct request *request, json_t **metadata,
                                struct rpc_error *error);

/* Make this the whole set of the file. A file system without such attributes is an error only when
 * there is something to store. */
int files_metadata_store(int fd, const json_t *metadata, struct rpc_error *error);

/* Return the metadata of a file: a new object of strings, or NULL without metadata. */
json_t *files_metadata_load(const char *path);

/* Copy all that is left to be read of one file into another. Returns 0, or -1 with errno. */
int files_copy(int from, int to);

/* Return the parts of a file as multipart/byteranges (RFC 9110, section 14.6), with its
 * Content-Type. Takes fd over. NULL: no memory. */
struct MHD_Response *files_parts_response(int fd, const struct file_parts *parts, uint64_t size,
                                          const char *media_type);

/* Return the media type by the name's suffix. */
const char *files_media_type(const char *name);
