/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FastCGI requests and responses over libfcgi. nginx has parsed HTTP; what arrives here are the
 * parameters of conf/nginx/fastcgi-sandlot.conf and a body. The body is read to its end record
 * (CONTENT_LENGTH is empty for chunked uploads) and refused past the limit of its route.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define HTTP_QUERY_MAX   64 /* parameters */
#define HTTP_SEGMENT_MAX 8  /* captured path segments */

struct http_parameter {
    char *name; /* percent-decoded, without NUL */
    char *value;
};

struct http_request {
    const char *method;     /* borrowed from libfcgi for the time of the request */
    const char *path;       /* as sent, before '?', still percent-encoded */
    const char *request_id; /* 1–64 characters [A-Za-z0-9_-]; nginx's or our own */
    const char *remote_address;
    struct http_parameter query[HTTP_QUERY_MAX];
    size_t query_count;
    char *captures[HTTP_SEGMENT_MAX]; /* decoded values of the :name segments of the route */
    struct buffer body;
    json_t *json; /* parsed body of a route with a schema; NULL when there was none */
    int64_t started_us;
    struct FCGX_Request *fcgi;
};

/* The value of a request header ("Idempotency-Key"), or NULL. Borrowed. */
const char *http_header(const struct http_request *request, const char *name);
/* A raw FastCGI parameter ("SANDLOT_REASON"), or NULL. Borrowed. */
const char *http_parameter(const struct http_request *request, const char *name);
/* First query parameter of that name, or NULL. */
const char *http_query(const struct http_request *request, const char *name);

struct http_response {
    int status;         /* default 200 */
    json_t *json;       /* body; owned */
    struct buffer body; /* or: a body of bytes of content_type */
    const char *content_type;
    struct buffer headers; /* extra header lines, "Name: value\r\n" */
};

/* Add a header line; value must be without control characters (asserted). */
void http_response_header(struct http_response *response, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Answer with a JSON body; takes the reference. Returns 0, so handlers can return it. */
int http_response_json(struct http_response *response, int status, json_t *body);

/* The error body of the interface: error, message, request_id, field; and the headers that belong
 * to the code (Retry-After, WWW-Authenticate). */
void http_response_error(struct http_response *response, const struct http_request *request,
                         const struct error *error);
