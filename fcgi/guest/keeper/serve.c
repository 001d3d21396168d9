/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper/serve.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "httpd/server.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

/* Two paths of 4 KiB, percent-encoded, are 24 KiB. */
#define CONNECTION_MEMORY (128 * 1024)
#define CONNECTIONS_MAX   200
#define IDLE_TIMEOUT_S    60
#define THREAD_STACK      (256 * 1024)

/* A body that is refused is answered at once and read on for a while, so that the answer arrives.
 */
#define SWALLOW_MAX (256 * 1024 * 1024)

/* As many owners as an instance has. */
#define ID_NONE 65536

static const struct shared_secret *secret;

static int health_get(struct request *request, struct keeper_error *error)
{
    (void)error;
    return httpd_reply_json(&request->http, 200, json_pack("{s:s}", "epoch", fence_epoch()));
}

static int fence_post(struct request *request, struct keeper_error *error)
{
    uint64_t generation = 0;
    if (request_number(request, "generation", &generation, error) < 0)
        return -1;
    fence_raise(request->fence, generation);
    return httpd_reply_empty(&request->http, 204);
}

static const struct route health = {
    .method = "GET", .name = "health", .is_alone = true, .finish = health_get};

static const struct route routes[] = {
    {.method = "POST", .name = "open", .changes = true, .finish = volume_open},
    {.method = "POST", .name = "fence", .is_alone = true, .finish = fence_post},
    {.method = "GET", .name = "file", .finish = file_get},
    {.method = "PUT",
     .name = "file",
     .changes = true,
     .begin = file_put_begin,
     .data = file_put_data,
     .finish = file_put_finish},
    {.method = "GET", .name = "directory", .finish = directory_get},
    {.method = "PUT", .name = "directory", .changes = true, .finish = directory_put},
    {.method = "GET", .name = "tree", .finish = tree_get},
    {.method = "GET", .name = "path", .finish = path_get},
    {.method = "PATCH", .name = "path", .changes = true, .finish = path_patch},
    {.method = "DELETE", .name = "path", .changes = true, .finish = path_delete},
    {.method = "POST", .name = "move", .changes = true, .finish = path_move},
};

/* --- arguments --- */

int request_path(const struct request *request, const char *name, const char **path,
                 struct keeper_error *error)
{
    const char *value;
    if (httpd_argument(&request->http, name, &value) < 0 || !value || *value != '/')
        return keeper_error_set(error, KEEPER_INVALID, "The path must begin with a slash.");
    *path = value + strspn(value, "/");
    return 0;
}

int request_number(const struct request *request, const char *name, uint64_t *value,
                   struct keeper_error *error)
{
    const char *text;
    if (httpd_argument(&request->http, name, &text) == 0 &&
        (!text || str_parse_u64(text, 0, INT64_MAX, value) == 0))
        return 0;
    return keeper_error_set(error, KEEPER_INVALID, "A query parameter must be a number.");
}

static int request_mode(const struct request *request, int *mode, struct keeper_error *error)
{
    const char *text;
    int rc = httpd_argument(&request->http, "mode", &text);
    size_t size = rc == 0 && text ? strlen(text) : 0;
    if (!text)
        return 0;
    if (!size || size > 4 || strspn(text, "01234567") != size)
        return keeper_error_set(error, KEEPER_INVALID, "The mode must be an octal number.");
    *mode = (int)strtoul(text, NULL, 8);
    return 0;
}

static int request_id(const struct request *request, const char *name, int *id,
                      struct keeper_error *error)
{
    uint64_t number = ID_NONE;
    if (request_number(request, name, &number, error) < 0)
        return -1;
    if (number > ID_NONE)
        return keeper_error_set(error, KEEPER_INVALID, "An owner is out of range.");
    if (number != ID_NONE)
        *id = (int)number;
    return 0;
}

int request_attributes(const struct request *request, struct attributes *attributes,
                       struct keeper_error *error)
{
    const char *text;
    *attributes = (struct attributes){.mode = -1, .uid = -1, .gid = -1};
    attributes->is_new = httpd_argument(&request->http, "new", &text) == 0 && text;
    return request_mode(request, &attributes->mode, error) < 0 ||
                   request_id(request, "uid", &attributes->uid, error) < 0 ||
                   request_id(request, "gid", &attributes->gid, error) < 0
               ? -1
               : 0;
}

/* --- a request --- */

/* "/v/<id>/<name>": the route's row, and the volume. */
static int find_route(struct request *request, const char *method, struct keeper_error *error)
{
    char name[16];
    int end = 0;
    const char *path = request->http.path;
    if (str_equal(path, "/health")) {
        request->route = &health;
        return 0;
    }
    if (sscanf(path, "/v/%30[a-z0-9_]/%15[a-z]%n", request->volume_id, name, &end) != 2 ||
        path[end])
        return keeper_error_set(error, KEEPER_NOT_FOUND, "The volume server has no such path.");
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
        if (str_equal(routes[i].method, method) && str_equal(routes[i].name, name))
            request->route = &routes[i];
    if (!request->route)
        return keeper_error_set(error, KEEPER_NOT_FOUND, "The volume server has no such path.");
    request->fence = fence_of(request->volume_id);
    return 0;
}

static int check_epoch(const struct request *request, struct keeper_error *error)
{
    const char *epoch;
    return httpd_argument(&request->http, "epoch", &epoch) == 0 && str_equal(epoch, fence_epoch())
               ? 0
               : keeper_error_set(error, KEEPER_OTHER_EPOCH,
                                  "This request is for an earlier process of the volume server.");
}

static int begin(struct request *request, const char *method, struct keeper_error *error)
{
    if (!httpd_shows_secret(&request->http, KEEPER_SECRET_HEADER, secret))
        return keeper_error_set(error, KEEPER_UNAUTHORIZED, "Missing or wrong secret.");
    if (find_route(request, method, error) < 0)
        return -1;
    const struct route *route = request->route;
    if (route->is_alone)
        return 0;
    if (route->changes && (check_epoch(request, error) < 0 ||
                           request_number(request, "generation", &request->generation, error) < 0))
        return -1;
    request->volume = place_open_volume(request->volume_id, error);
    if (request->volume < 0)
        return -1;
    return route->begin ? route->begin(request, error) : 0;
}

/* --- callbacks of the server --- */

static struct request *request_of(struct httpd_request *http)
{
    return container_of(http, struct request, http);
}

static struct httpd_request *open_request(void *context)
{
    (void)context;
    struct request *request = xcalloc(1, sizeof *request);
    request->volume = request->file = -1;
    keeper_error_set(&request->error, KEEPER_INTERNAL, "Cannot send the answer.");
    return &request->http;
}

static int on_head(struct httpd_request *http, const char *method)
{
    struct request *request = request_of(http);
    if (begin(request, method, &request->error) < 0)
        return -1;
    http->answer_at_once = true;
    return 0;
}

static int on_data(struct httpd_request *http, const char *data, size_t size)
{
    struct request *request = request_of(http);
    const struct route *route = request->route;
    return route->data ? route->data(request, data, size, &request->error) : 0;
}

static int on_finish(struct httpd_request *http)
{
    struct request *request = request_of(http);
    return request->route->finish(request, &request->error);
}

static void on_closed(struct httpd_request *http)
{
    struct request *request = request_of(http);
    if (request->volume >= 0)
        close(request->volume);
    if (request->file >= 0)
        close(request->file);
    httpd_request_deinit(http);
    free(request);
}

static void describe_failure(const struct httpd_request *http, struct httpd_failure *failure)
{
    const struct keeper_error *error = &container_of(http, struct request, http)->error;
    json_auto_t *json = json_pack("{s:s, s:s, s:s?}", "code", keeper_code_word(error->code),
                                  "message", error->message, "argument", error->argument);
    autofree char *text = json_dumps(json, JSON_COMPACT);
    failure->status = keeper_code_status(error->code);
    failure->type = "application/json";
    buffer_append_string(&failure->body, text);
    if (error->code == KEEPER_INTERNAL)
        log_error("cannot serve a request for files of a volume", LOG_STR("path", http->path),
                  LOG_STR("reason", error->message));
}

static const struct httpd_ops operations = {
    .open = open_request,
    .head = on_head,
    .data = on_data,
    .finish = on_finish,
    .closed = on_closed,
    .describe_failure = describe_failure,
    .answer_after = 0,
    .swallow_max = SWALLOW_MAX,
};

/* Before there are threads: block the signals that end the process, to wait for them. */
static void block_signals(sigset_t *set)
{
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGPWR); /* how a container is asked to end */
    sigprocmask(SIG_BLOCK, set, NULL);
}

int serve(uint16_t port, const struct shared_secret *shared, struct error **err)
{
    sigset_t set;
    int number;
    secret = shared;
    block_signals(&set);
    static struct httpd_options options;
    options = (struct httpd_options){
        .ops = &operations,
        .listen_fd = httpd_listen("0.0.0.0", port, err),
        .thread_stack = THREAD_STACK,
        .connection_memory = CONNECTION_MEMORY,
        .connections_max = CONNECTIONS_MAX,
        .idle_timeout_s = IDLE_TIMEOUT_S,
    };
    if (options.listen_fd < 0 || !httpd_start(&options, err))
        return -1;
    log_info("serving", LOG_INT("port", port));
    sigwait(&set, &number);
    return 0;
}
