/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/agent_client.h"

#include <jansson.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/ipv4.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/client.h"

#define ANSWER_MAX     4096
#define RETRY_PAUSE_MS 3 /* an agent answers some 12 ms after its instance has started */

int agent_secret(const struct keyring *ring, const char *instance_name, uint16_t key_id,
                 char secret[AGENT_SECRET_SIZE], struct error **err)
{
    return mac_hex(ring, key_id, KEY_PURPOSE_AGENT, instance_name, secret, err);
}

/* One request; *status 0 means that no answer came. body NULL: GET. Returns whether the time ran
 * out. */
static bool ask(uint32_t to, const char *secret, const char *path, const char *body,
                unsigned wait_ms, struct buffer *answer, long *status)
{
    static CURL *kept; /* for the life of the process, and so are its connections */
    CURL *curl = http_client_handle(&kept);
    char address[IPV4_TEXT_SIZE], header[128];
    autofree char *url = xasprintf("http://%s:%d%s", ipv4_format(to, address), AGENT_PORT, path);
    snprintf(header, sizeof header, AGENT_SECRET_HEADER ": %s", secret);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    mem_wipe(header, sizeof header);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
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
    *status = 0;
    CURLcode result = curl_easy_perform(curl);
    if (result == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
    http_client_free_headers(headers);
    return result == CURLE_OPERATION_TIMEDOUT;
}

static void request(uint32_t to, const char *secret, const char *path, const char *body,
                    struct buffer *answer, long *status)
{
    ask(to, secret, path, body, AGENT_WAIT_MS, answer, status);
}

static int check_status(long status, long wanted, struct error **err)
{
    if (status == wanted)
        return 0;
    if (!status)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the sandbox's agent does not answer");
    /* Whoever owns a sandbox can put anything in the agent's place: no failure of the service. */
    return error_set(err, ERR_RUNTIME_FAILED,
                     "The sandbox's agent gave a wrong answer: status %ld.", status);
}

static char *init_body(const char *sandbox_id, const char *secret, const char *envs)
{
    /* Put together as text: the JSON library keeps copies that it does not wipe. */
    return xasprintf("{\"sandbox_id\":\"%s\",\"secret\":\"%s\",\"default_user\":\"user\","
                     "\"envs\":%s}",
                     sandbox_id, secret, *envs ? envs : "{}");
}

int agent_init(uint32_t address, const char *sandbox_id, const char *secret, const char *envs,
               unsigned wait_ms, struct error **err)
{
    autowipe char *body = init_body(sandbox_id, secret, envs);
    int64_t give_up_ms = clock_monotonic_ms() + wait_ms;
    for (;;) {
        buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
        long status;
        request(address, secret, "/init", body, &answer, &status);
        if (status || clock_monotonic_ms() >= give_up_ms)
            return check_status(status, 204, err);
        clock_sleep_ms(RETRY_PAUSE_MS);
    }
}

int agent_knows(uint32_t address, const char *secret, unsigned wait_ms, bool *knows,
                struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + wait_ms;
    for (;;) {
        buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
        long status;
        request(address, secret, "/internal/ports/1", NULL, &answer, &status);
        *knows = status == 200;
        if (status)
            return 0;
        if (clock_monotonic_ms() >= give_up_ms)
            return check_status(status, 200, err);
        clock_sleep_ms(RETRY_PAUSE_MS);
    }
}

int agent_hang_up(uint32_t address, const char *secret, struct error **err)
{
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    request(address, secret, "/internal/hang-up", "", &answer, &status);
    return check_status(status, 204, err);
}

int agent_cpus(uint32_t address, const char *secret, unsigned *cpus, struct error **err)
{
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    request(address, secret, "/metrics", NULL, &answer, &status);
    if (check_status(status, 200, err) < 0)
        return -1;
    json_auto_t *json = json_loadb(answer.data ? answer.data : "", answer.size, 0, NULL);
    json_int_t count = json_integer_value(json_object_get(json, "cpu_count"));
    if (count < 1 || count > UINT16_MAX)
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The sandbox's agent gave a wrong answer: it counts no processors.");
    *cpus = (unsigned)count;
    return 0;
}

int agent_wait(uint32_t address, unsigned wait_ms, struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + wait_ms;
    for (;;) {
        buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
        long status;
        request(address, "", "/health", NULL, &answer, &status);
        if (status || clock_monotonic_ms() >= give_up_ms)
            return check_status(status, 204, err);
        clock_sleep_ms(RETRY_PAUSE_MS);
    }
}

static int parse_listener(const struct buffer *answer, enum agent_listener *listener,
                          struct error **err)
{
    json_auto_t *json = json_loadb(answer->data ? answer->data : "", answer->size, 0, NULL);
    const char *word = json_string_value(json_object_get(json, "listener"));
    if (str_equal(word, "any"))
        *listener = AGENT_LISTENER_ANY;
    else if (str_equal(word, "loopback"))
        *listener = AGENT_LISTENER_LOOPBACK;
    else if (str_equal(word, "none"))
        *listener = AGENT_LISTENER_NONE;
    else
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The sandbox's agent gave a wrong answer: it does not say who listens.");
    return 0;
}

int agent_port_listener(uint32_t address, const char *secret, uint16_t port, unsigned wait_ms,
                        enum agent_listener *listener, struct error **err)
{
    char path[64];
    snprintf(path, sizeof path, "/internal/ports/%u", port);
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    long status;
    if (ask(address, secret, path, NULL, wait_ms, &answer, &status))
        return error_set(err, ERR_AGENT_SILENT, "The sandbox's agent does not answer.");
    if (check_status(status, 200, err) < 0)
        return -1;
    return parse_listener(&answer, listener, err);
}
