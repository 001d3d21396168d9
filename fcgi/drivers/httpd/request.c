/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "httpd/request.h"

#include <string.h>
#include <sys/socket.h>

#include "base/media_type.h"
#include "httpd/server.h"

#define FAILURE_BODY_MAX 4096
#define HEAD_MAX         1024

void httpd_request_deinit(struct httpd_request *request)
{
    if (request->reply)
        MHD_destroy_response(request->reply);
    request->reply = NULL;
}

/* --- the request --- */

const char *httpd_header(const struct httpd_request *request, const char *name)
{
    const char *value = NULL;
    size_t size = 0;
    if (MHD_lookup_connection_value_n(request->connection, MHD_HEADER_KIND, name, strlen(name),
                                      &value, &size) != MHD_YES ||
        !value || strlen(value) != size)
        return NULL;
    return value;
}

int httpd_argument(const struct httpd_request *request, const char *name, const char **value)
{
    size_t size = 0;
    *value = NULL;
    if (MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name,
                                      strlen(name), value, &size) != MHD_YES)
        return 0;
    if (!*value) /* "?path" without "=" */
        *value = "";
    else if (strlen(*value) != size)
        return -1;
    return 0;
}

struct visiting {
    httpd_visit *visit;
    void *context;
    int result;
};

static enum MHD_Result visit_one(void *context, enum MHD_ValueKind kind, const char *name,
                                 size_t name_size, const char *value, size_t value_size)
{
    struct visiting *visiting = context;
    (void)kind;
    (void)value;
    (void)value_size;
    visiting->result = visiting->visit(visiting->context, name, name_size);
    return visiting->result < 0 ? MHD_NO : MHD_YES;
}

static int visit_all(const struct httpd_request *request, enum MHD_ValueKind kind,
                     httpd_visit *visit, void *context)
{
    struct visiting visiting = {visit, context, 0};
    MHD_get_connection_values_n(request->connection, kind, visit_one, &visiting);
    return visiting.result;
}

int httpd_each_header(const struct httpd_request *request, httpd_visit *visit, void *context)
{
    return visit_all(request, MHD_HEADER_KIND, visit, context);
}

int httpd_each_argument(const struct httpd_request *request, httpd_visit *visit, void *context)
{
    return visit_all(request, MHD_GET_ARGUMENT_KIND, visit, context);
}

bool httpd_shows_secret(const struct httpd_request *request, const char *header,
                        const struct shared_secret *secret)
{
    const char *shown = httpd_header(request, header);
    return shown && shared_secret_matches(secret, shown, strlen(shown));
}

bool httpd_content_is(const struct httpd_request *request, const char *media_type)
{
    return media_type_is(httpd_header(request, "Content-Type"), media_type);
}

int httpd_fd(const struct httpd_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* --- answers --- */

int httpd_reply(struct httpd_request *request, unsigned status, struct MHD_Response *response)
{
    if (request->suspended) {
        request->replied = response != NULL;
        request->reply = response;
        request->reply_status = status;
        httpd_resume(request);
        return request->replied ? 0 : -1;
    }
    if (!response)
        return -1;
    enum MHD_Result queued = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    request->replied = queued == MHD_YES;
    return request->replied ? 0 : -1;
}

int httpd_reply_json(struct httpd_request *request, unsigned status, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    struct MHD_Response *response =
        text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (response)
        MHD_add_response_header(response, "Content-Type", "application/json");
    return httpd_reply(request, status, response);
}

int httpd_reply_empty(struct httpd_request *request, unsigned status)
{
    return httpd_reply(request, status,
                       MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
}

/* --- failures --- */

static void describe_failure(const struct httpd_request *request, struct httpd_failure *failure)
{
    *failure = (struct httpd_failure){0};
    buffer_init(&failure->body, FAILURE_BODY_MAX);
    buffer_init(&failure->allow, HEAD_MAX);
    request->ops->describe_failure(request, failure);
}

static void failure_deinit(struct httpd_failure *failure)
{
    buffer_deinit(&failure->body);
    buffer_deinit(&failure->allow);
}

struct MHD_Response *httpd_failure_response(struct httpd_request *request, unsigned *status)
{
    struct httpd_failure failure;
    describe_failure(request, &failure);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        failure.body.size, failure.body.data, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", failure.type);
    if (failure.allow.size)
        MHD_add_response_header(response, "Allow", buffer_string(&failure.allow));
    if (failure.codings)
        MHD_add_response_header(response, "Accept-Encoding", failure.codings);
    if (failure.retry_after_s) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", failure.retry_after_s);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
    failure_deinit(&failure);
    *status = failure.status;
    return response;
}

int httpd_reply_failure(struct httpd_request *request)
{
    unsigned status;
    struct MHD_Response *response = httpd_failure_response(request, &status);
    return httpd_reply(request, status, response);
}

/* The library takes no answer in the middle of a body, so this one goes past it. Nothing of ours
 * has been sent on the connection yet, and nothing will be: it is closed at the body's end. */
static void answer_early(struct httpd_request *request)
{
    struct httpd_failure failure;
    buffer_auto answer = BUFFER_INIT(HEAD_MAX + FAILURE_BODY_MAX);
    describe_failure(request, &failure);
    request->answered_early = true;
    buffer_printf(&answer,
                  "HTTP/1.1 %u %s\r\nContent-Type: %s\r\n"
                  "Content-Length: %zu\r\nConnection: close\r\n",
                  failure.status, MHD_get_reason_phrase_for(failure.status), failure.type,
                  failure.body.size);
    if (failure.codings)
        buffer_printf(&answer, "Accept-Encoding: %s\r\n", failure.codings);
    if (failure.retry_after_s)
        buffer_printf(&answer, "Retry-After: %u\r\n", failure.retry_after_s);
    buffer_append_string(&answer, "\r\n");
    buffer_append(&answer, failure.body.data, failure.body.size);
    failure_deinit(&failure);
    int fd = httpd_fd(request);
    if (send(fd, answer.data, answer.size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        shutdown(fd, SHUT_WR);
}

void httpd_fail(struct httpd_request *request)
{
    request->failed = true;
    if (request->answer_at_once)
        answer_early(request);
}

/* Read a refused body to its end, because a proxy that still sends may lose the answer. After the
 * first limit, send the answer at once. After the second limit, cut the connection. */
int httpd_swallow(struct httpd_request *request, size_t size)
{
    request->swallowed += size;
    if (request->swallowed > request->ops->answer_after && !request->answered_early)
        answer_early(request);
    return request->swallowed > request->ops->swallow_max ? -1 : 0;
}

/* --- waiting --- */

void httpd_suspend(struct httpd_request *request)
{
    if (request->suspended)
        return;
    request->suspended = true;
    MHD_suspend_connection(request->connection);
}

void httpd_resume(struct httpd_request *request)
{
    if (!request->suspended)
        return;
    request->suspended = false;
    MHD_resume_connection(request->connection);
}
