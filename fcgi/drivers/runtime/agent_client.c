/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/agent_client.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/ipv4.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trace.h"
#include "http/client.h"

#define ANSWER_MAX 4096
/* A control character of output takes 6 bytes in an answer. A page of logs holds 256 KiB of output
 * and up to 1,000 entries, an answer of /exec 1 MiB of each of two outputs. */
#define LOGS_ANSWER_MAX  (2 * 1024 * 1024)
#define EXEC_ANSWER_MAX  (8 * 1024 * 1024)
#define WAIT_TICK_MS     500
#define REFUSED_PAUSE_MS 50
#define RETRY_PAUSE_MS   3 /* an agent answers some 12 ms after its instance has started */

int agent_secret(const struct keyring *ring, const char *instance_name, uint16_t key_id,
                 char secret[AGENT_SECRET_SIZE], struct error **err)
{
    return mac_hex(ring, key_id, KEY_PURPOSE_AGENT, instance_name, secret, err);
}

/* The caller of a request with a tick looks for the cause itself. */
static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t to_send,
                       curl_off_t sent)
{
    const struct agent_place *place = context;
    error_auto cause = NULL;
    (void)total;
    (void)now;
    (void)to_send;
    (void)sent;
    return place->tick(place->tick_context, &cause) < 0;
}

/* How a request went. ASK_REFUSED: nothing accepts connections; ASK_BROKEN: the answer does not end
 * as HTTP does, or is too long. */
enum asked { ASK_ANSWERED, ASK_REFUSED, ASK_BROKEN, ASK_LATE };

/* Send one request; *status 0 means that no answer came. body NULL: GET. */
static enum asked ask(const struct agent_place *to, const char *secret, const char *path,
                      const char *body, struct deadline until, struct buffer *answer, long *status)
{
    unsigned wait_ms = deadline_left_ms(until);
    *status = 0;
    if (!wait_ms) /* libcurl takes 0 for "no limit" */
        return ASK_LATE;
    static CURL *kept; /* for the life of the process, and so are its connections */
    CURL *curl = http_client_handle(&kept);
    char address[IPV4_TEXT_SIZE], target[IPV4_TEXT_SIZE + 8], header[128];
    snprintf(target, sizeof target, "%s:%d", ipv4_format(to->address, address), AGENT_PORT);
    snprintf(header, sizeof header, AGENT_SECRET_HEADER ": %s", secret);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    mem_wipe(header, sizeof header);
    snprintf(header, sizeof header, AGENT_TIME_HEADER ": %" PRId64, clock_now_ms());
    headers = curl_slist_append(headers, header);
    if (trace_header())
        headers = curl_slist_append(headers, trace_header());
    /* With a request id, errors have the code of the API. */
    headers = curl_slist_append(headers, "X-Request-Id: service");
    http_link_set(to->link, curl, target, path, &headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)wait_ms);
    curl_easy_setopt(curl, CURLOPT_MAXCONNECTS, 16L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    if (body) {
        headers = curl_slist_append(headers, "Content-Type: application/json");
        headers = curl_slist_append(headers, "Expect:");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (to->tick) {
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, to);
    }
    CURLcode result = curl_easy_perform(curl);
    if (result == CURLE_OK)
        *status = http_link_status(to->link, curl);
    http_client_free_headers(headers);
    switch (result) {
    case CURLE_OK:
        return *status ? ASK_ANSWERED : ASK_REFUSED; /* the relay did not reach it */
    case CURLE_COULDNT_CONNECT:
        return ASK_REFUSED;
    case CURLE_OPERATION_TIMEDOUT:
        return ASK_LATE;
    default:
        return ASK_BROKEN;
    }
}

/* One attempt of several, or of a call whose answer is ready at once. */
static void request(const struct agent_place *to, const char *secret, const char *path,
                    const char *body, struct deadline until, struct buffer *answer, long *status)
{
    ask(to, secret, path, body, deadline_within_ms(until, AGENT_WAIT_MS), answer, status);
}

static int check_status(long status, long wanted, struct error **err)
{
    if (status == wanted)
        return 0;
    if (!status)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the sandbox's agent does not answer");
    /* The owner of a sandbox can replace the agent: not a failure of the service. */
    return error_set(err, ERR_RUNTIME_FAILED,
                     "The sandbox's agent answered with the unexpected status %ld.", status);
}

static char *init_body(const struct agent_init *init)
{
    json_auto_t *authority = json_string(init->authority ? init->authority : "");
    autofree char *quoted = json_dumps(authority, JSON_ENCODE_ANY);
    /* Put together as text: the JSON library keeps copies that it does not wipe. */
    return xasprintf("{\"sandbox_id\":\"%s\",\"route\":\"%s\",\"template\":\"%s\","
                     "\"secret\":\"%s\",\"default_user\":\"user\",\"log_kib\":%u,"
                     "\"envs\":%s,\"authority\":%s,\"succeeds\":%s,"
                     "\"hold_services\":%u%s%s}",
                     init->sandbox_id, init->route, init->template, init->secret, init->log_kib,
                     *init->envs ? init->envs : "{}", quoted, init->former ? "true" : "false",
                     init->hold_services_s, init->services ? ",\"services\":" : "",
                     init->services ? init->services : "");
}

int agent_init(const struct agent_place *at, const struct agent_init *init, struct deadline until,
               struct error **err)
{
    autowipe char *body = init_body(init);
    const char *known = init->former ? init->former : init->secret;
    for (;;) {
        buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
        long status;
        request(at, known, "/init", body, until, &answer, &status);
        /* An answer that was lost had changed it. */
        bool again = status == 401 && known != init->secret;
        if (again)
            known = init->secret;
        else if (status || deadline_passed(until))
            return check_status(status, 204, err);
        else
            clock_sleep_ms(RETRY_PAUSE_MS);
    }
}

int agent_knows(const struct agent_place *at, const char *secret, struct deadline until,
                bool *knows, struct error **err)
{
    for (;;) {
        buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
        long status;
        request(at, secret, "/internal/ports/1", NULL, until, &answer, &status);
        *knows = status == 200;
        if (status)
            return 0;
        if (deadline_passed(until))
            return check_status(status, 200, err);
        clock_sleep_ms(RETRY_PAUSE_MS);
    }
}

int agent_hang_up(const struct agent_place *at, const char *secret, struct deadline until,
                  struct error **err)
{
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    request(at, secret, "/internal/hang-up", "", until, &answer, &status);
    return check_status(status, 204, err);
}

static int no_service(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "The sandbox has no service with this name.");
}

/* Take the list that is a member of an answer. */
static int take_list(const struct buffer *answer, const char *member, json_t **list,
                     struct error **err)
{
    json_auto_t *json = json_read(answer->data, answer->size, 0, NULL);
    *list = json_incref(json_object_get(json, member));
    if (json_is_array(*list))
        return 0;
    json_decref(*list);
    return error_set(err, ERR_RUNTIME_FAILED,
                     "The answer of the sandbox's agent has no list of %s.", member);
}

int agent_logs(const struct agent_place *at, const char *secret, const char *service,
               const char *query, struct deadline until, json_t **logs, struct error **err)
{
    autofree char *path = service ? xasprintf("/internal/services/%s?%s", service, query)
                                  : xasprintf("/internal/logs?%s", query);
    buffer_auto answer = BUFFER_INIT(LOGS_ANSWER_MAX);
    long status;
    ask(at, secret, path, NULL, until, &answer, &status);
    if (status == 404 && service)
        return no_service(err);
    if (status == 404)
        return error_set(err, ERR_NOT_SERVED,
                         "The agent of this sandbox is older and keeps no logs. Create a sandbox "
                         "from a newer version of the template.");
    return check_status(status, 200, err) < 0 ? -1 : take_list(&answer, "logs", logs, err);
}

int agent_services(const struct agent_place *at, const char *secret, struct deadline until,
                   json_t **services, struct error **err)
{
    buffer_auto answer = BUFFER_INIT(LOGS_ANSWER_MAX);
    long status;
    ask(at, secret, "/internal/services", NULL, until, &answer, &status);
    if (status == 404)
        return error_set(err, ERR_NOT_SERVED,
                         "The agent of this sandbox is older and has no services. Create a sandbox "
                         "from a newer version of the template.");
    return check_status(status, 200, err) < 0 ? -1 : take_list(&answer, "services", services, err);
}

int agent_services_release(const struct agent_place *at, const char *secret, struct deadline until,
                           struct error **err)
{
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    ask(at, secret, "/internal/services", "", until, &answer, &status);
    return check_status(status, 204, err);
}

int agent_service_restart(const struct agent_place *at, const char *secret, const char *service,
                          struct deadline until, struct error **err)
{
    autofree char *path = xasprintf("/internal/services/%s", service);
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    ask(at, secret, path, "", until, &answer, &status);
    return status == 404 ? no_service(err) : check_status(status, 204, err);
}

/* The agent's reason for a refusal, or what is wrong with its answer. */
static int check_answer(long status, const json_t *answer, struct error **err)
{
    const char *refusal = json_string_value(json_object_get(answer, "message"));
    const char *code = json_string_value(json_object_get(answer, "error"));
    bool no_user = code && str_equal(code, "user_not_found");
    if (status == 400 && refusal)
        return error_set(err, no_user ? ERR_NO_SUCH_USER : ERR_INVALID_REQUEST, "%.500s", refusal);
    if (status == 503 && refusal)
        return error_set(err,
                         strstr(refusal, AGENT_PROGRAM_IS_WRITTEN) ? ERR_PROGRAM_IS_WRITTEN
                                                                   : ERR_RUNTIME_UNAVAILABLE,
                         "%.500s", refusal);
    if (check_status(status, 200, err) < 0)
        return -1;
    return json_is_object(answer)
               ? 0
               : error_set(err, ERR_RUNTIME_FAILED,
                           "The answer of the sandbox's agent is not a JSON object.");
}

int agent_exec(const struct agent_place *at, const char *secret, const json_t *call,
               struct deadline until, json_t **answer, struct error **err)
{
    autowipe char *body = json_dumps(call, JSON_COMPACT);
    buffer_auto got = BUFFER_INIT(EXEC_ANSWER_MAX);
    long status;
    ask(at, secret, "/exec", body, until, &got, &status);
    json_auto_t *json = json_read(got.data, got.size, 0, NULL);
    if (check_answer(status, json, err) < 0)
        return -1;
    *answer = json_incref(json);
    return 0;
}

int agent_hook(const struct agent_place *at, const char *secret, const char *key,
               const json_t *call, unsigned wait_ms, int *exit_code, struct error **err)
{
    json_auto_t *question =
        json_pack("{s:s, s:i, s:O}", "key", key, "wait_ms", (int)wait_ms, "exec", (json_t *)call);
    autowipe char *body = json_dumps(question, JSON_COMPACT);
    buffer_auto got = BUFFER_INIT(ANSWER_MAX);
    long status;
    ask(at, secret, "/internal/hook", body, deadline_in_ms(wait_ms + AGENT_WAIT_MS), &got, &status);
    if (status == 202)
        return error_set(err, ERR_HOOK_RUNS, "The hook is running.");
    if (status == 404)
        return error_set(err, ERR_NOT_SERVED,
                         "The agent of this sandbox is older and runs no hooks. Create a sandbox "
                         "from a newer version of the template.");
    json_auto_t *json = json_read(got.data, got.size, 0, NULL);
    if (check_answer(status, json, err) < 0)
        return -1;
    const json_t *code = json_object_get(json, "exit_code");
    bool ended = json_is_integer(code) && json_integer_value(code) >= 0;
    *exit_code = ended ? (int)(json_integer_value(code) & 0xff) : -1;
    return 0;
}

int agent_cpus(const struct agent_place *at, const char *secret, struct deadline until,
               unsigned *cpus, struct error **err)
{
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    request(at, secret, "/metrics", NULL, until, &answer, &status);
    if (check_status(status, 200, err) < 0)
        return -1;
    json_auto_t *json = json_read(answer.data, answer.size, 0, NULL);
    json_int_t count = json_integer_value(json_object_get(json, "cpu_count"));
    if (count < 1 || count > UINT16_MAX)
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The answer of the sandbox's agent has no number of processors.");
    *cpus = (unsigned)count;
    return 0;
}

int agent_run(const struct agent_place *at, const char *secret, const char *line,
              struct deadline until, int *exit_code, struct error **err)
{
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    json_auto_t *question = json_pack("{s:s}", "cmd", line);
    autofree char *body = json_dumps(question, JSON_COMPACT);
    long status;
    ask(at, secret, "/exec", body, until, &answer, &status);
    if (check_status(status, 200, err) < 0)
        return -1;
    json_auto_t *json = json_read(answer.data, answer.size, 0, NULL);
    const json_t *code = json_object_get(json, "exit_code");
    if (!json_is_integer(code))
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The answer of the sandbox's agent has no exit code.");
    *exit_code = (int)json_integer_value(code);
    return 0;
}

int agent_wait(const struct agent_place *at, struct deadline until,
               int (*tick)(void *context, struct error **err), void *tick_context,
               struct error **err)
{
    int64_t now_ms = clock_monotonic_ms(), tick_at_ms = now_ms;
    for (;; now_ms = clock_monotonic_ms()) {
        buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
        long status;
        if (tick && now_ms >= tick_at_ms && tick(tick_context, err) < 0)
            return -1;
        if (now_ms >= tick_at_ms)
            tick_at_ms = now_ms + WAIT_TICK_MS;
        request(at, "", "/health", NULL, until, &answer, &status);
        if (status || deadline_passed(until))
            return check_status(status, 204, err);
        clock_sleep_ms(RETRY_PAUSE_MS);
    }
}

void agent_wait_while_refused(const struct agent_place *at, struct deadline until)
{
    bool refused = false;
    while (!deadline_passed(until)) {
        buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
        long status;
        enum asked asked = ask(at, "", "/health", NULL, deadline_within_ms(until, AGENT_WAIT_MS),
                               &answer, &status);
        /* An agent that starts again may be late once its sandbox has an address. */
        if (asked != ASK_REFUSED && !(refused && asked == ASK_LATE))
            return;
        refused = true;
        clock_sleep_ms(REFUSED_PAUSE_MS);
    }
}

static int parse_listener(const struct buffer *answer, enum agent_listener *listener,
                          struct error **err)
{
    json_auto_t *json = json_read(answer->data, answer->size, 0, NULL);
    const char *word = json_string_value(json_object_get(json, "listener"));
    if (str_equal(word, "any"))
        *listener = AGENT_LISTENER_ANY;
    else if (str_equal(word, "loopback"))
        *listener = AGENT_LISTENER_LOOPBACK;
    else if (str_equal(word, "none"))
        *listener = AGENT_LISTENER_NONE;
    else
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The answer of the sandbox's agent has no list of listening programs.");
    return 0;
}

int agent_port_listener(const struct agent_place *at, const char *secret, uint16_t port,
                        struct deadline until, enum agent_listener *listener, struct error **err)
{
    char path[64];
    snprintf(path, sizeof path, "/internal/ports/%u", port);
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    if (ask(at, secret, path, NULL, until, &answer, &status) == ASK_LATE)
        return error_set(err, ERR_AGENT_SILENT, "The sandbox's agent does not answer.");
    if (check_status(status, 200, err) < 0)
        return -1;
    return parse_listener(&answer, listener, err);
}
