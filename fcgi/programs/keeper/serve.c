/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper/serve.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

/* Two paths of 4 KiB, percent-encoded, are 24 KiB. */
#define CONNECTION_MEMORY (128 * 1024)
#define CONNECTIONS_MAX   200
#define IDLE_TIMEOUT_S    60

/* A body that is refused is answered at once and read on for a while, so that the answer arrives.
 */
#define SWALLOW_MAX (256 * 1024 * 1024)

static const char *secret;

static int fence_post(struct request *request, struct refusal *refusal)
{
    uint64_t generation = 0;
    if (request_number(request, "generation", &generation, refusal) < 0)
        return -1;
    fence_raise(request->fence, generation);
    return request_reply_empty(request);
}

static const struct route routes[] = {
    {.method = "POST", .name = "open", .changes = true, .finish = volume_open},
    {.method = "POST", .name = "fence", .finish = fence_post},
    {.method = "GET", .name = "file", .finish = file_get},
    {.method = "PUT",
     .name = "file",
     .changes = true,
     .begin = file_put_begin,
     .data = file_put_data,
     .finish = file_put_finish},
    {.method = "GET", .name = "directory", .finish = directory_get},
    {.method = "PUT", .name = "directory", .changes = true, .finish = directory_put},
    {.method = "GET", .name = "path", .finish = path_get},
    {.method = "DELETE", .name = "path", .changes = true, .finish = path_delete},
    {.method = "POST", .name = "move", .changes = true, .finish = path_move},
};

/* --- arguments --- */

static const char *argument(const struct request *request, const char *name, size_t *size)
{
    const char *value = NULL;
    *size = 0;
    MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name),
                                  &value, size);
    return value;
}

int request_path(const struct request *request, const char *name, const char **path,
                 struct refusal *refusal)
{
    size_t size;
    const char *value = argument(request, name, &size);
    if (!value || *value != '/' || strlen(value) != size)
        return refuse(refusal, REFUSAL_INVALID, "The path is not absolute.");
    *path = value + strspn(value, "/");
    return 0;
}

int request_number(const struct request *request, const char *name, uint64_t *value,
                   struct refusal *refusal)
{
    size_t size;
    const char *text = argument(request, name, &size);
    if (!text || str_parse_u64(text, 0, INT64_MAX, value) == 0)
        return 0;
    return refuse(refusal, REFUSAL_INVALID, "A query parameter must be a number.");
}

int request_mode(const struct request *request, mode_t *mode, bool *given, struct refusal *refusal)
{
    size_t size;
    const char *text = argument(request, "mode", &size);
    *given = text != NULL;
    if (!text)
        return 0;
    if (!size || size > 4 || strspn(text, "01234567") != size)
        return refuse(refusal, REFUSAL_INVALID, "The mode is not octal.");
    *mode = (mode_t)strtoul(text, NULL, 8);
    return 0;
}

/* --- answers --- */

int request_reply(struct request *request, unsigned status, struct MHD_Response *response)
{
    MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    request->answered = true;
    return 0;
}

int request_reply_json(struct request *request, unsigned status, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, "Content-Type", "application/json");
    return request_reply(request, status, response);
}

int request_reply_empty(struct request *request)
{
    return request_reply(request, 204,
                         MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
}

static json_t *refusal_json(const struct refusal *refusal)
{
    return json_pack("{s:s, s:s}", "code", refusal_code_name(refusal->code), "message",
                     refusal->message);
}

static void reply_refusal(struct request *request)
{
    if (request->refusal.code == REFUSAL_INTERNAL)
        log_error("request failed", LOG_STR("reason", request->refusal.message));
    request_reply_json(request, refusal_status(request->refusal.code),
                       refusal_json(&request->refusal));
}

/* The library takes no answer in the middle of a body, so this one goes past it; nothing of ours
 * was sent on the connection before, and nothing is after. */
static void reply_early(struct request *request)
{
    json_auto_t *json = refusal_json(&request->refusal);
    autofree char *text = json_dumps(json, JSON_COMPACT);
    unsigned status = refusal_status(request->refusal.code);
    autofree char *answer =
        xasprintf("HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                  "Connection: close\r\n\r\n%s",
                  status, MHD_get_reason_phrase_for(status), strlen(text), text);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (send(info->connect_fd, answer, strlen(answer), MSG_NOSIGNAL) > 0)
        shutdown(info->connect_fd, SHUT_WR);
}

/* --- a request --- */

static bool shows_secret(struct MHD_Connection *connection)
{
    const char *shown = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, SECRET_HEADER);
    size_t length = strlen(secret);
    return shown && strlen(shown) == length && sodium_memcmp(shown, secret, length) == 0;
}

/* "/v/<id>/<name>": the route's row, and the volume. */
static int find_route(struct request *request, const char *method, const char *url,
                      struct refusal *refusal)
{
    char name[16];
    int end = 0;
    if (sscanf(url, "/v/%30[a-z0-9_]/%15[a-z]%n", request->volume_id, name, &end) != 2 || url[end])
        return refuse(refusal, REFUSAL_NOT_FOUND, "There is no such address.");
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
        if (str_equal(routes[i].method, method) && str_equal(routes[i].name, name))
            request->route = &routes[i];
    return request->route ? 0 : refuse(refusal, REFUSAL_NOT_FOUND, "There is no such address.");
}

static int check_epoch(const struct request *request, struct refusal *refusal)
{
    size_t size;
    const char *epoch = argument(request, "epoch", &size);
    return str_equal(epoch, fence_epoch())
               ? 0
               : refuse(refusal, REFUSAL_OTHER_EPOCH, "This is meant for another process.");
}

static int begin(struct request *request, const char *method, const char *url,
                 struct refusal *refusal)
{
    if (!shows_secret(request->connection))
        return refuse(refusal, REFUSAL_UNAUTHORIZED, "Missing or wrong secret.");
    if (find_route(request, method, url, refusal) < 0)
        return -1;
    const struct route *route = request->route;
    request->fence = fence_of(request->volume_id);
    if (route->finish == fence_post)
        return 0;
    if (route->changes &&
        (check_epoch(request, refusal) < 0 ||
         request_number(request, "generation", &request->generation, refusal) < 0))
        return -1;
    request->volume = place_open_volume(request->volume_id, refusal);
    if (request->volume < 0)
        return -1;
    return route->begin ? route->begin(request, refusal) : 0;
}

static enum MHD_Result reply_health(struct MHD_Connection *connection)
{
    struct request request = {.connection = connection};
    request_reply_json(&request, 200, json_pack("{s:s}", "epoch", fence_epoch()));
    return MHD_YES;
}

static enum MHD_Result take_data(struct request *request, const char *data, size_t size)
{
    if (request->failed && !request->answered) { /* by the head alone */
        reply_early(request);
        request->answered = true;
    }
    if (request->failed) {
        request->swallowed += size;
        return request->swallowed > SWALLOW_MAX ? MHD_NO : MHD_YES;
    }
    if (request->route->data && request->route->data(request, data, size, &request->refusal) < 0) {
        request->failed = true;
        reply_early(request);
        request->answered = true;
    }
    return MHD_YES;
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_size, void **request_context)
{
    struct request *request = *request_context;
    (void)context, (void)version;
    if (!request) {
        if (str_equal(url, "/health") && shows_secret(connection))
            return reply_health(connection);
        *request_context = request = xcalloc(1, sizeof *request);
        request->connection = connection;
        request->volume = request->file = -1;
        request->failed = begin(request, method, url, &request->refusal) < 0;
        return MHD_YES;
    }
    if (*data_size) {
        enum MHD_Result result = take_data(request, data, *data_size);
        *data_size = 0;
        return result;
    }
    if (request->answered) /* past the library: the connection is of no more use */
        return request->failed ? MHD_NO : MHD_YES;
    if (!request->failed && request->route->finish(request, &request->refusal) < 0)
        request->failed = true;
    if (request->failed && !request->answered)
        reply_refusal(request);
    return MHD_YES;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode how)
{
    struct request *request = *request_context;
    (void)context, (void)connection, (void)how;
    if (!request)
        return;
    if (request->volume >= 0)
        close(request->volume);
    if (request->file >= 0)
        close(request->file);
    free(request);
    *request_context = NULL;
}

int serve(uint16_t port, const char *shared_secret)
{
    sigset_t set;
    int number;
    secret = shared_secret;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGPWR); /* how a container is asked to end */
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL,
        on_access, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)(256 * 1024), MHD_OPTION_END);
    if (!daemon)
        return -1;
    log_info("serving", LOG_INT("port", port));
    sigwait(&set, &number);
    return 0;
}
