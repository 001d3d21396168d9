/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read FastCGI requests, and write responses. nginx has parsed HTTP. A request has the parameters
 * of conf/nginx/sandlot-fastcgi.inc and a body. The server (http/server.h) reads the body up to its
 * end record, because a chunked upload has no length, and at most up to its limit.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "http/pool.h"

#define HTTP_QUERY_MAX          64    /* parameters */
#define HTTP_QUERY_BYTES_MAX    16384 /* before decoding, all together */
#define HTTP_SEGMENT_MAX        8     /* captured path segments */
#define HTTP_REQUEST_ID_MAX     64
#define HTTP_BODY_LEFT          SIZE_MAX
#define HTTP_RESPONSE_BYTES_MAX (64u << 20) /* a body, and all parts of a body together */

/* Percent-decoded, with a zero byte behind. The router accepts other bytes than text (UTF-8 without
 * NUL) only where a route takes bytes. */
struct http_parameter {
    char *name;
    char *value;
    size_t name_size;
    size_t value_size;
    bool name_is_text;
    bool value_is_text;
};

struct http_request {
    const char *method;                       /* borrowed from parameters, as are the next two */
    const char *path;                         /* see http_request_init(); owned */
    const char *remote_address;               /* of the client; "" when unknown */
    const char *peer_address;                 /* of the last proxy; without one, the client's */
    char request_id[HTTP_REQUEST_ID_MAX + 1]; /* [A-Za-z0-9_-]; nginx's or our own */
    char **parameters;                        /* "NAME=value", NULL-terminated; borrowed */
    struct http_parameter query[HTTP_QUERY_MAX];
    size_t query_count;
    char *captures[HTTP_SEGMENT_MAX]; /* decoded values of the :name segments of the route */
    size_t capture_count;
    struct buffer body;
    bool body_too_large; /* longer than the server's limit: body is cut */
    bool body_too_slow;  /* the client sent it too slowly: body is cut */
    /* Read a body that the server reads only after the client is known. Returns 0, or -1 when the
     * body broke off or was too slow. NULL: it was read before. */
    int (*take_body)(struct http_request *request);
    /* Read the next piece of a body that the handler reads itself. Returns 0 at its end, -1 when
     * the client has closed the connection before. NULL: the body is in `body`. */
    long (*read_body)(void *context, char *data, size_t size);
    void *body_context;
    json_t *json;          /* parsed body of a route with a schema; NULL when there was none */
    const char *operation; /* of the route, for the log; NULL before one matched; static */
    int64_t started_us;    /* clock_monotonic_us() */
    /* Set by the handler if only other requests of the same claim stand in the way (pool.h). The
     * server may then drop the answer, and serve the request again when there is room, for up to
     * wait_ms after its start. */
    bool must_wait;
    unsigned wait_ms;
    struct pool_claim claim;
    /* The state of a handler that must wait without its thread: it sets both and returns. The
     * server drops the answer and serves other requests. Every few milliseconds it calls serve()
     * again with the same request, without its body, until `pending` is NULL. Owned by the request.
     * may_pend: the server has room to keep it; else the handler answers at once. */
    bool may_pend;
    void *pending;
    void (*pending_free)(void *pending);
};

/* Set method, path, ids and addresses from the parameters, which must outlive the request. The
 * path is REQUEST_URI before '?', still percent-encoded. body_max: bytes. */
void http_request_init(struct http_request *request, char **parameters, size_t body_max);
/* Free the members of the request and wipe its body. */
void http_request_deinit(struct http_request *request);
/* Return the request to its state before it was served; a body that was read stays. */
void http_request_rewind(struct http_request *request);
/* Free the body of a pending request, which is no longer needed. */
void http_request_drop_body(struct http_request *request);

/* Decode QUERY_STRING into request->query. Errors: ERR_INVALID_REQUEST (a bad percent-escape, too
 * many parameters, too long a query), with the parameter as the field. */
int http_request_parse_query(struct http_request *request, struct error **err);

/* Return the value of a request header ("Idempotency-Key"), or NULL when absent or empty.
 * Borrowed. */
const char *http_header(const struct http_request *request, const char *name);
/* Return a raw FastCGI parameter ("SANDLOT_REASON"), or NULL when absent or empty. Borrowed. */
const char *http_parameter(const struct http_request *request, const char *name);
/* Return the first query parameter with this name whose value is text, or NULL. Borrowed. */
const char *http_query(const struct http_request *request, const char *name);

/* Percent-decode size bytes of text ('+' is a blank when plus_is_space). The caller frees *out.
 * Returns 0, or -1 for a bad escape, NUL or bytes that are not UTF-8. */
int http_percent_decode(const char *text, size_t size, bool plus_is_space, char **out);

/* Return the bytes of a query parameter, *size bytes and a zero byte, or NULL. Borrowed. */
const char *http_query_bytes(const struct http_request *request, const char *name, size_t *size);

/* Set the error of a body that came too slowly. Returns -1. */
int http_body_too_slow(struct error **err);

/* Return the value of the client's Content-Length, or -1. CONTENT_LENGTH is not read: nginx also
 * counts a chunked body for it, but only if the whole body came together with the head. */
int64_t http_content_length(const struct http_request *request);

/* Return whether the body has this media type, without its parameters. */
bool http_content_is(const struct http_request *request, const char *media_type);

/* All zero (http_response_init()) is "200, nothing yet". */
struct http_response {
    int status;               /* default 200 */
    json_t *json;             /* body; owned */
    struct buffer body;       /* or: a body of bytes of content_type */
    const char *content_type; /* of body; static */
    struct buffer headers;    /* extra header lines, "Name: value\r\n" */
    bool is_quiet;            /* one of very many: no line in the log, unless it failed */
    bool is_bare;             /* only header lines, and a status other than 200: nginx reads it */
    /* Sends bytes to the client; set by the server. NULL: answers are sent as a whole only. */
    int (*send)(void *context, const void *data, size_t size);
    void *send_context;
    bool begun; /* the head was sent; the rest is sent piece by piece */
    /* For the log event of the request; set by http_response_error(). */
    const char *error_symbol; /* static */
    char *reason;             /* message of an error that is ours (5xx); owned */
};

void http_response_init(struct http_response *response);
void http_response_deinit(struct http_response *response);

/* Add a header line. Control characters in the value abort: check outside values before. */
void http_response_header(struct http_response *response, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Answer with a JSON body; takes the reference (NULL: no body). Returns 0, so that handlers can
 * return it. */
int http_response_json(struct http_response *response, int status, json_t *body);

/* Send the head of a body of this content_type and size. The handler then sends the body. The
 * status and the header lines are those of the response. Returns 0, or -1 when the client has
 * closed the connection. */
int http_response_begin(struct http_response *response, const struct http_request *request,
                        const char *content_type, uint64_t size);
/* Send the next piece; does nothing for HEAD. Returns 0, or -1 when the client has closed the
 * connection. */
int http_response_send(struct http_response *response, const struct http_request *request,
                       const void *data, size_t size);

/* Write the error body of the interface: error, message, request_id, field and the error's details;
 * and the headers that belong to the status (Retry-After, WWW-Authenticate). For conditions inside
 * the service, the client gets a general sentence, and the log gets the message. Replaces the
 * previous contents of the response. */
void http_response_error(struct http_response *response, const struct http_request *request,
                         const struct error *error);

/* Return the members of such an answer that describe the error, as a new reference. */
json_t *http_error_to_json(const struct error *error);

/* Write the answer in the form of FastCGI, header lines first, and for HEAD without the body. out
 * must have room for the body. If the answer is longer than its maximum, out is marked as
 * overflowed. */
void http_response_format(const struct http_response *response, const struct http_request *request,
                          struct buffer *out);
