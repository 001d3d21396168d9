/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of multipart/form-data, piece by piece (RFC 7578; RFC 2046, section 5.1). The parser of
 * the HTTP library does not support parameters after the boundary, names without quotes or with a
 * quote inside, or an epilogue. It silently skips parts that it cannot read.
 */
#pragma once

#include <stddef.h>

#include "agent/common/rpc_error.h"

#define MULTIPART_HEAD_MAX (16 * 1024) /* the header of one part */

struct multipart_events {
    /* A part begins. file_name is NULL when it has none; both end with the call. */
    int (*begin)(void *context, const char *name, const char *file_name, struct rpc_error *error);
    int (*data)(void *context, const char *data, size_t size, struct rpc_error *error);
    int (*end)(void *context, struct rpc_error *error);
};

struct multipart;

/* Start to read a body. content_type is the value of Content-Type. RPC_INVALID_ARGUMENT: it names
 * no usable boundary. events and context are borrowed. */
int multipart_new(const char *content_type, const struct multipart_events *events, void *context,
                  struct multipart **multipart, struct rpc_error *error);
void multipart_free(struct multipart *multipart);

/* Read the next bytes. RPC_INVALID_ARGUMENT: malformed. Errors of the events are passed on. Nothing
 * may follow one. */
int multipart_data(struct multipart *multipart, const char *data, size_t size,
                   struct rpc_error *error);

/* End the body. RPC_INVALID_ARGUMENT when the last delimiter has not come. */
int multipart_end(const struct multipart *multipart, struct rpc_error *error);

/* --- between the parts of this concept --- */

/* Return a parameter by its name from the value of a header, behind its first ';': a new string,
 * or NULL. A backslash stands before a quote or another backslash only: file names of some
 * systems contain backslashes, and browsers do not escape them. */
char *multipart_parameter(const char *value, const char *name);

/* Return the file name from the value of a Content-Disposition: a new string, or NULL. Some clients
 * write a name that is not ASCII as filename*, and another name as filename. */
char *multipart_file_name(const char *value);
