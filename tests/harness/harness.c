/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "harness/harness.h"

#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "db/migrate.h"
#include "gate/serve.h"
#include "unit/fleet.h"
#include "unit/unit.h"

#define PARAMETERS_MAX 24
#define BODY_MAX       (1 << 20)
#define ANSWER_MAX     (4 << 20)

/* --- what there is before the first request --- */

static int write_settings(const struct harness *harness, struct error **err)
{
    autofree char *keys = xasprintf("%s/keys", harness->directory);
    autofree char *path = xasprintf("%s/sandlot.conf", harness->directory);
    if (keyring_create(keys, err) < 0)
        return -1;
    autofclose FILE *file = fopen(path, "we");
    if (!file)
        return error_set(err, ERR_CONFIG, "cannot write %s", path);
    fprintf(file,
            "base_url = https://api.example.test\ndata_plane_host = box.example.test\n"
            "database_socket = %s\ndatabase_name = unit\ndatabase_user = root\n"
            "key_file = %s\npools_dir = %s\napi_socket = %s/api.sock\n",
            harness->server->socket, keys, harness->directory, harness->directory);
    return 0;
}

static int load_settings(struct harness *harness, struct error **err)
{
    autofree char *path = xasprintf("%s/sandlot.conf", harness->directory);
    return write_settings(harness, err) < 0 ? -1 : settings_load(path, &harness->settings, err);
}

static int migrate(const struct harness *harness, struct error **err)
{
    struct db *db = server_open(harness->server);
    int result = db_migrate(db, HARNESS_SOURCE_DIR "/sql", NULL, err);
    db_close(db);
    return result;
}

/* Statements are checked as they are used: the programs' own lists are checked by the programs. */
static int open_worker(const struct harness *harness, const char *name, struct worker *worker,
                       struct error **err)
{
    if (worker_open(harness->settings, name, worker, err) < 0)
        return -1;
    runtimes_open_by(worker->runtimes, recorder_open);
    return 0;
}

/* Addresses of this process alone: the agents of another harness must not be in the way. */
static int add_host(struct harness *harness, struct error **err)
{
    unsigned own = (unsigned)getpid();
    harness->host = (struct host){.name = "one",
                                  .url = xstrdup("unix:///nowhere/unix.socket"),
                                  .project = "sandlot",
                                  .pool = "pool",
                                  .nic_prefix = "sl",
                                  .vcpus = 64,
                                  .memory_mb = 65536,
                                  .memory_overcommit = 100};
    snprintf(harness->host.address_range, sizeof harness->host.address_range, "127.%u.%u.0/24",
             64 + own / 256 % 128, own % 256);
    return host_put(harness->api.worker.db, &harness->host, err);
}

static int add_template(struct harness *harness, struct error **err)
{
    struct db *db = harness->api.worker.db;
    struct template_version version;
    char source[64];
    if (unit_template(db, &version, err) < 0)
        return -1;
    runtime_source_name(version.id, source);
    return template_source_add(db, version.id, harness->host.id, source, err);
}

static int add_user(struct harness *harness, struct error **err)
{
    struct api_key key = {0};
    if (user_create(harness->api.worker.db, "ada", &harness->user, err) < 0)
        return -1;
    const struct api_key_request request = {
        .user_id = harness->user.id, .name = "harness", .can_write = true};
    int result = api_key_create(harness->api.worker.db, harness->api.worker.ring, &request, &key,
                                harness->key, err);
    api_key_deinit(&key);
    return result;
}

static int open_programs(struct harness *harness, struct error **err)
{
    struct api *api = &harness->api;
    struct gate *gate = &harness->gate;
    const char *directory = harness->directory;
    api->settings = harness->settings;
    return open_worker(harness, "harness-api", &api->worker, err) < 0 ||
                   open_worker(harness, "harness-gate", &gate->worker, err) < 0 ||
                   pool_open_as(directory, "api", &api->pool, err) < 0 ||
                   pool_open_as(directory, "gate", &gate->pool, err) < 0 ||
                   agent_notes_open(directory, "agents.notes", harness->settings->agent_silence_s,
                                    &gate->notes, err) < 0
               ? -1
               : 0;
}

int harness_setup(void **state)
{
    error_auto err = NULL;
    struct harness *harness = xcalloc(1, sizeof *harness);
    *state = harness;
    log_configure(getenv("HARNESS_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    snprintf(harness->directory, sizeof harness->directory, "/tmp/sandlot-harness-XXXXXX");
    if (!mkdtemp(harness->directory) || server_setup((void **)&harness->server) < 0)
        return -1;
    harness->sql = server_raw(harness->server);
    if (load_settings(harness, &err) == 0 && migrate(harness, &err) == 0 &&
        open_programs(harness, &err) == 0 && add_host(harness, &err) == 0 &&
        add_template(harness, &err) == 0 && add_user(harness, &err) == 0)
        return 0;
    print_error("the harness cannot be set up: %s\n", err->message);
    return -1;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info, (void)type, (void)ftw;
    return remove(path);
}

int harness_teardown(void **state)
{
    struct harness *harness = *state;
    recorder_end();
    access_deinit(&harness->api.access);
    principal_deinit(&harness->api.principal);
    worker_close(&harness->api.worker);
    worker_close(&harness->gate.worker);
    pool_close(harness->api.pool);
    pool_close(harness->gate.pool);
    agent_notes_close(harness->gate.notes);
    settings_free(harness->settings);
    host_deinit(&harness->host);
    mysql_close(harness->sql);
    int result = server_teardown((void **)&harness->server);
    nftw(harness->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(harness);
    return result;
}

/* --- answers --- */

void harness_answer_deinit(struct harness_answer *answer)
{
    free(answer->head);
    free(answer->body);
    json_decref(answer->json);
    *answer = (struct harness_answer){0};
}

char *harness_header(const struct harness_answer *answer, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = answer->head; *line; line += strcspn(line, "\n") + 1) {
        if (!strncasecmp(line, name, length) && line[length] == ':')
            return xstrndup(line + length + 2, strcspn(line + length + 2, "\r\n"));
        if (!strchr(line, '\n'))
            break;
    }
    return NULL;
}

/* From the text that FastCGI would carry. */
static struct harness_answer read_answer(const struct http_request *request,
                                         const struct http_response *response)
{
    buffer_auto text = BUFFER_INIT(ANSWER_MAX);
    http_response_format(response, request, &text);
    const char *all = buffer_string(&text), *end = strstr(all, "\r\n\r\n");
    assert_non_null(end);
    struct harness_answer answer = {
        .status = 200, .head = xstrndup(all, (size_t)(end + 2 - all)), .body = xstrdup(end + 4)};
    autofree char *status = harness_header(&answer, "Status");
    if (status)
        answer.status = (int)strtol(status, NULL, 10);
    answer.json = json_loads(answer.body, 0, NULL);
    return answer;
}

/* --- requests --- */

struct call {
    char *parameters[PARAMETERS_MAX + 1];
    size_t count;
};

static void add(struct call *call, char *parameter)
{
    assert_true(call->count < PARAMETERS_MAX);
    call->parameters[call->count++] = parameter;
}

static void call_deinit(struct call *call)
{
    for (size_t i = 0; i < call->count; i++)
        mem_wipe_free(call->parameters[i]);
}

/* "Idempotency-Key: x" as CGI has it: HTTP_IDEMPOTENCY_KEY=x */
static void add_header(struct call *call, const char *header)
{
    size_t length = strcspn(header, ":");
    autofree char *name = xstrndup(header, length);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    add(call, xasprintf("HTTP_%s=%s", name, header + length + 2));
}

static struct harness_answer serve(struct call *call, const char *body, struct pool *pool,
                                   void (*serve_one)(void *context, struct http_request *request,
                                                     struct http_response *response),
                                   void *context)
{
    struct http_request request;
    struct http_response response;
    http_request_init(&request, call->parameters, BODY_MAX);
    http_response_init(&response);
    if (body)
        buffer_append_string(&request.body, body);
    serve_one(context, &request, &response);
    struct harness_answer answer = read_answer(&request, &response);
    http_response_deinit(&response);
    http_request_deinit(&request);
    call_deinit(call);
    pool_leave(pool);
    log_context_clear();
    return answer;
}

struct harness_answer harness_api(struct harness *harness, const char *method, const char *uri,
                                  const char *body, const char *const *headers)
{
    struct router router = api_router(&harness->api);
    struct call call = {.count = 0};
    add(&call, xasprintf("REQUEST_METHOD=%s", method));
    add(&call, xasprintf("REQUEST_URI=%s", uri));
    add(&call, xasprintf("QUERY_STRING=%s", strchr(uri, '?') ? strchr(uri, '?') + 1 : ""));
    add(&call, xasprintf("HTTP_AUTHORIZATION=Bearer %s", harness->key));
    if (body) {
        add(&call, xstrdup("CONTENT_TYPE=application/json"));
        add(&call, xasprintf("CONTENT_LENGTH=%zu", strlen(body)));
        add(&call, xasprintf("HTTP_CONTENT_LENGTH=%zu", strlen(body)));
    }
    for (; headers && *headers; headers++)
        add_header(&call, *headers);
    return serve(&call, body, harness->api.pool, api_serve, &router);
}

struct harness_answer harness_gate(struct harness *harness, const char *const *parameters)
{
    struct call call = {.count = 0};
    add(&call, xstrdup("REMOTE_ADDR=192.0.2.1"));
    for (; *parameters; parameters++)
        add(&call, xstrdup(*parameters));
    return serve(&call, NULL, harness->gate.pool, gate_serve, &harness->gate);
}

/* --- other requests --- */

void harness_occupy(struct harness *harness, const char *pool, const struct pool_claim *claim,
                    struct harness_others *others)
{
    error_auto err = NULL;
    for (unsigned i = 0; i < HARNESS_WORKERS - 1; i++)
        assert_ok(pool_open_as(harness->directory, pool, &others->pools[i], &err));
    for (unsigned i = 0; i < HARNESS_WORKERS / 2; i++)
        assert_true(pool_enter(others->pools[i], claim));
}

void harness_others_end(struct harness_others *others)
{
    for (unsigned i = 0; i < HARNESS_WORKERS - 1; i++)
        pool_close(others->pools[i]);
}
