/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handle an HTTP request of a program inside an instance (the agent of a sandbox, the volume
 * server), between libmicrohttpd and the program's handlers. A program embeds the struct in its own
 * request.
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
    bool answer_at_once; /* set by the program: answer a failure in the middle of the body */
    bool answered_early; /* without the library */
    size_t piece_max;    /* set by the program: most bytes of the body at once; 0: any number */
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

/* Return a header, borrowed. NULL: it is missing, or has a NUL byte. */
const char *httpd_header(const struct httpd_request *request, const char *name);
/* Read a query argument, borrowed. *value is NULL if it is missing, and "" without "=". Returns 0,
 * or -1 if it has a NUL byte. */
int httpd_argument(const struct httpd_request *request, const char *name, const char **value);

/* Call visit() with the decoded name of each header, or of each query argument, in their order,
 * until it returns -1. Returns the result of the last call, or 0 without one. */
typedef int httpd_visit(void *context, const char *name, size_t size);
int httpd_each_header(const struct httpd_request *request, httpd_visit *visit, void *context);
int httpd_each_argument(const struct httpd_request *request, httpd_visit *visit, void *context);

/* Return whether the value of a header is this secret. */
bool httpd_shows_secret(const struct httpd_request *request, const char *header,
                        const struct shared_secret *secret);

/* Return whether the body has this media type, without its parameters. */
bool httpd_content_is(const struct httpd_request *request, const char *media_type);

/* Return the connection's socket, or -1. */
int httpd_fd(const struct httpd_request *request);

/* Answer a request. A suspended request is resumed, and then answered. The call takes the reference
 * of json, and response. Return 0, or -1 when the answer cannot be sent: json is not text, or
 * response is NULL because the library had no memory. The connection of a suspended request is then
 * closed. */
int httpd_reply(struct httpd_request *request, unsigned status, struct MHD_Response *response);
int httpd_reply_json(struct httpd_request *request, unsigned status, json_t *json);
int httpd_reply_empty(struct httpd_request *request, unsigned status);
int httpd_reply_failure(struct httpd_request *request);

/* Create the program's answer to a failure, for a caller that adds headers and replies. */
struct MHD_Response *httpd_failure_response(struct httpd_request *request, unsigned *status);

/* Mark the request as failed. Its answer is sent at its end, or in the middle of a long body. */
void httpd_fail(struct httpd_request *request);

/* Count size bytes of a refused body, which the caller discards. After httpd_ops.answer_after
 * bytes, send the answer at once. Returns -1 after swallow_max bytes: then close the connection. */
int httpd_swallow(struct httpd_request *request, size_t size);

/* Suspend the connection until httpd_resume() or a reply. Only for a program that calls MHD_run()
 * itself. */
void httpd_suspend(struct httpd_request *request);
void httpd_resume(struct httpd_request *request);
