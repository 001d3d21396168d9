/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "http/http.h"

#define HEADERS_MAX           65536
#define HEAD_MAX              (HEADERS_MAX + 1024)
#define HEAD_USUAL            512
#define HEADER_VALUE_MAX      16384
#define RETRY_AFTER_DEFAULT_S 2

void http_response_init(struct http_response *response)
{
    memset(response, 0, sizeof *response);
    response->status = 200;
    buffer_init(&response->body, HTTP_RESPONSE_BYTES_MAX);
    buffer_init(&response->headers, HEADERS_MAX);
}

void http_response_deinit(struct http_response *response)
{
    json_decref(response->json);
    buffer_wipe(&response->body);
    buffer_wipe(&response->headers);
    free(response->reason);
    memset(response, 0, sizeof *response);
}

void http_response_header(struct http_response *response, const char *name, const char *format, ...)
{
    buffer_auto value = BUFFER_INIT(HEADER_VALUE_MAX);
    va_list ap;
    va_start(ap, format);
    buffer_vprintf(&value, format, ap);
    va_end(ap);
    const char *text = buffer_string(&value);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            panic("a response header has a control character");
    buffer_printf(&response->headers, "%s: %s\r\n", name, text);
    buffer_wipe(&value);
}

int http_response_json(struct http_response *response, int status, json_t *body)
{
    json_decref(response->json);
    response->status = status;
    response->json = body;
    return 0;
}

/* Text that may repeat a part of the input, as a JSON string: jansson takes only UTF-8. */
static json_t *text_json(const char *text)
{
    autofree char *mended = str_mend(text, strlen(text));
    return json_string(mended);
}

/* The error as the client gets it. */
static const char *public_message(const struct error *error)
{
    if (error->code == ERR_DB_UNAVAILABLE)
        return "the service cannot reach its database; nothing was changed, try again shortly";
    if (error->code == ERR_DB_FULL)
        return "the service's database has no room for a change; nothing was changed, try again "
               "later";
    if (error->code == ERR_DB_DEADLOCK)
        return "the service's database is busy; nothing was changed, try again shortly";
    if (error->code == ERR_OUTCOME_UNKNOWN)
        return "the service lost its connection during the request, and the change may or may not "
               "have been made; with an Idempotency-Key it is safe to try again";
    if (error_http_status(error->code) == 500)
        return "the service failed on this request; give the operator the request id, with which "
               "its log has the reason";
    return error->message;
}

static void error_headers(struct http_response *response, const struct error *error)
{
    int status = response->status;
    if (status == 401)
        http_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == 429 || status == 503 || status == 507 || error->code == ERR_SANDBOX_BUSY ||
        error->code == ERR_REQUEST_IN_PROGRESS || error->retry_after_s)
        http_response_header(response, "Retry-After", "%u",
                             error->retry_after_s ? error->retry_after_s : RETRY_AFTER_DEFAULT_S);
}

json_t *http_error_to_json(const struct error *error)
{
    json_t *body = json_object();
    json_object_set_new(body, "error", json_string(error_api_code(error->code)));
    json_object_set_new(body, "message", text_json(public_message(error)));
    if (error->field)
        json_object_set_new(body, "field", text_json(error->field));
    json_object_update_missing(body, error->details);
    return body;
}

void http_response_error(struct http_response *response, const struct http_request *request,
                         const struct error *error)
{
    http_response_deinit(response);
    http_response_init(response);
    json_t *body = http_error_to_json(error);
    json_object_set_new(body, "request_id", json_string(request->request_id));
    http_response_json(response, error_http_status(error->code), body);
    error_headers(response, error);
    response->error_symbol = error_symbol(error->code);
    if (response->status >= 500)
        response->reason = xstrdup(error->message);
}

/* nginx sends the status line as it gets it, and HTTP/1.1 wants a phrase in it. */
static const char *reason_phrase(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Status";
}

static void append_headers(const struct http_response *response, const struct http_request *request,
                           const char *content_type, uint64_t content_length, struct buffer *out)
{
    /* Without the line FastCGI means 200. */
    if (!response->is_bare || response->status != 200)
        buffer_printf(out, "Status: %d %s\r\n", response->status, reason_phrase(response->status));
    if (!response->is_bare)
        buffer_printf(out, "X-Request-Id: %s\r\nCache-Control: no-store\r\n", request->request_id);
    if (!response->is_bare && response->status != 204 && response->status != 304)
        buffer_printf(out, "Content-Type: %s\r\nContent-Length: %" PRIu64 "\r\n", content_type,
                      content_length);
    if (response->headers.size)
        buffer_append(out, response->headers.data, response->headers.size);
    buffer_append(out, "\r\n", 2);
}

void http_response_format(const struct http_response *response, const struct http_request *request,
                          struct buffer *out)
{
    struct buffer text = BUFFER_INIT(HTTP_RESPONSE_BYTES_MAX);
    const struct buffer *body = &response->body;
    const char *content_type = response->content_type;
    if (response->json) {
        json_text_value(&text, response->json);
        body = &text;
        content_type = "application/json";
    }
    out->overflowed |= body->overflowed;
    if (HEAD_USUAL + response->headers.size + body->size < out->max - out->size)
        buffer_reserve(out, HEAD_USUAL + response->headers.size + body->size);
    append_headers(response, request, content_type ? content_type : "application/json", body->size,
                   out);
    if (body->size && response->status != 204 && strcmp(request->method, "HEAD"))
        buffer_append(out, body->data, body->size);
    buffer_wipe(&text);
}

int http_response_begin(struct http_response *response, const struct http_request *request,
                        const char *content_type, uint64_t size)
{
    buffer_auto head = BUFFER_INIT(HEAD_MAX);
    append_headers(response, request, content_type, size, &head);
    response->begun = true;
    return response->send(response->send_context, head.data, head.size);
}

int http_response_send(struct http_response *response, const struct http_request *request,
                       const void *data, size_t size)
{
    if (!strcmp(request->method, "HEAD"))
        return 0;
    return response->send(response->send_context, data, size);
}
