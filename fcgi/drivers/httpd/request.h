/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One HTTP request of a program inside an instance (the agent of a sandbox, the volume server),
 * between libmicrohttpd and the program's handlers. A program embeds it in a request of its own.
 *
 * A request gets exactly one answer: a reply, or the program's answer to a failure. A failure is
 * answered after the rest of the body has been discarded. Requests share nothing here, so each may
 * have a thread of its own.
 */
#pragma once

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "httpd/secret.h"

struct httpd_ops;

struct httpd_request {
    const struct httpd_ops *ops;
    struct MHD_Connection *connection;
    const char *path; /* decoded, without the query; lives as long as the request */
    bool failed;
    bool finished; /* its end has come */
    bool replied, suspended;
    bool answer_at_once; /* the program's: a failure is answered in the middle of the body */
    bool answered_early; /* past the library */
    size_t piece_max;    /* set by the program: most bytes of the body at once; 0: all that came */
    uint64_t swallowed;  /* bytes of the body that came after the failure */

    struct MHD_Response *reply; /* waits for the end of a suspension */
    unsigned reply_status;
};

/* The answer to a request that has failed. */
struct httpd_failure {
    unsigned status;
    const char *type; /* literal */
    struct buffer body;
    struct buffer allow;    /* the header; empty: none */
    const char *codings;    /* the header Accept-Encoding; literal, or NULL: none */
    unsigned retry_after_s; /* the header; 0: none */
};

void httpd_request_deinit(struct httpd_request *request);

/* Return a header or a query argument, NULL when absent. A value with a NUL byte in it counts as
 * absent for headers; for arguments it is -1. An argument without "=" is "". */
const char *httpd_header(const struct httpd_request *request, const char *name);
int httpd_argument(const struct httpd_request *request, const char *name, const char **value);

/* Visit the names of all headers, or of all query arguments, decoded and in their order, until a
 * visit is -1. Returns that of the last visit, or 0. */
typedef int httpd_visit(void *context, const char *name, size_t size);
int httpd_each_header(const struct httpd_request *request, httpd_visit *visit, void *context);
int httpd_each_argument(const struct httpd_request *request, httpd_visit *visit, void *context);

/* Return whether the header shows this secret. */
bool httpd_shows_secret(const struct httpd_request *request, const char *header,
                        const struct shared_secret *secret);

/* Return whether the media type of the body is this one, parameters aside. */
bool httpd_content_is(const struct httpd_request *request, const char *media_type);

/* Return the connection's socket, or -1. */
int httpd_fd(const struct httpd_request *request);

/* Answer, now or, while the request is suspended, after its resumption. The JSON value's reference
 * and the response are taken over. Return 0, or -1 when it cannot be sent, is no text, or is NULL,
 * because the library had no memory for the response. A suspended request without a response ends
 * with its connection. */
int httpd_reply(struct httpd_request *request, unsigned status, struct MHD_Response *response);
int httpd_reply_json(struct httpd_request *request, unsigned status, json_t *json);
int httpd_reply_empty(struct httpd_request *request, unsigned status);
int httpd_reply_failure(struct httpd_request *request);

/* Make the program's answer to a failure, for a caller that adds headers and replies. */
struct MHD_Response *httpd_failure_response(struct httpd_request *request, unsigned *status);

/* Fail the request: its answer follows at its end, or in the middle of a long body. */
void httpd_fail(struct httpd_request *request);

/* Throw size bytes of a refused body away. Returns -1 when the connection is to be closed. */
int httpd_swallow(struct httpd_request *request, size_t size);

/* Leave the connection alone until httpd_resume(), or until a reply is given. Only where the
 * program runs the library itself. */
void httpd_suspend(struct httpd_request *request);
void httpd_resume(struct httpd_request *request);
