/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/firewall_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/sizing.h"
#include "base/str.h"
#include "base/tenant.h"
#include "base/trace.h"
#include "http/client.h"
#include "http/link.h"

#define ANSWER_TIMEOUT_MS 5000
#define CONNECT_MS_MAX    600000
#define BACK_OFF_MIN_MS   200
#define BACK_OFF_MAX_MS   5000
#define STATUS_STALE      409
#define ANSWER_MAX        (16u << 20) /* a list of all policies of a host */
#define MESSAGE_MAX       200
#define UNIX_SCHEME       "http+unix://"
#define USAGE_PARTS_MAX   256

struct firewall {
    char *url, *base, *socket_path; /* socket_path NULL: TLS */
    struct http_link *link;         /* through the host's relay; NULL: to url */
    char *ca_file, *client_cert_file, *client_key_file;
    CURLM *multi;
    CURL *curl; /* in multi during a call */
    struct curl_slist *headers;
    bool in_hand;
    char *body;
    struct buffer answer;
    unsigned failures; /* unanswered calls in a row */
};

/* --- opening --- */

bool firewall_url_is_valid(const char *url)
{
    for (const char *c = url; *c; c++)
        if (*c <= 0x20 || *c >= 0x7f)
            return false;
    if (str_starts_with(url, UNIX_SCHEME))
        return url[strlen(UNIX_SCHEME)] == '/' && url[strlen(UNIX_SCHEME) + 1];
    if (!str_starts_with(url, "https://"))
        return false;
    const char *authority = url + strlen("https://");
    return *authority && strcspn(authority, "/?#@") == strlen(authority);
}

static void append_path(struct buffer *line, const char *path)
{
    for (const char *c = path; *c; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == '%')
            buffer_printf(line, "%%%02X", (unsigned char)*c);
        else
            buffer_append_char(line, *c);
}

/* Append the header with the new size. A size that is too long for the header is left out; then
 * Incus changes the size. */
static struct curl_slist *append_size(struct curl_slist *headers, const struct tenant *tenant,
                                      const struct firewall_size *size)
{
    char text[TENANT_SIZE];
    buffer_auto line = BUFFER_INIT(sizeof SIZING_HEADER + SIZING_MAX - 2);
    buffer_printf(&line, SIZING_HEADER ": %s", size->instance);
    if (size->cpu)
        buffer_printf(&line, " %u %u %u", size->cpu, size->memory_mb, size->disk_gb);
    if (tenant->team) {
        tenant_print(tenant, text);
        buffer_printf(&line, " " SIZING_TENANT "%s", text);
    }
    for (unsigned i = 0; i < size->mount_count; i++) {
        buffer_printf(&line, " %s:", size->mounts[i].volume);
        append_path(&line, size->mounts[i].path);
    }
    return buffer_overflowed(&line) ? headers : curl_slist_append(headers, buffer_string(&line));
}

static struct curl_slist *append_number(struct curl_slist *headers, const char *name,
                                        uint64_t number)
{
    autofree char *line = xasprintf("%s: %llu", name, (unsigned long long)number);
    return number ? curl_slist_append(headers, line) : headers;
}

static struct curl_slist *json_headers(const struct policy_wire *whose,
                                       const struct firewall_size *size)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (whose) {
        headers = append_number(headers, POLICY_TENANT_HEADER, whose->tenant);
        headers = append_number(headers, POLICY_USER_HEADER, whose->user);
    }
    if (whose && size)
        headers = append_size(headers, &(struct tenant){whose->tenant, whose->user}, size);
    if (trace_header())
        headers = curl_slist_append(headers, trace_header());
    return curl_slist_append(headers, "Expect:");
}

static void set_address(struct firewall *firewall, const char *path)
{
    CURL *curl = firewall->curl;
    autofree char *url = xasprintf("%s%s", firewall->base, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (firewall->socket_path) {
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, firewall->socket_path);
        return;
    }
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
    if (*firewall->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, firewall->ca_file);
    if (*firewall->client_cert_file) {
        curl_easy_setopt(curl, CURLOPT_SSLCERT, firewall->client_cert_file);
        curl_easy_setopt(curl, CURLOPT_SSLKEY, firewall->client_key_file);
    }
}

static void set_options(struct firewall *firewall, const char *path,
                        const struct policy_wire *whose, const struct firewall_size *size)
{
    CURL *curl = http_client_handle(&firewall->curl);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &firewall->answer);
    curl_slist_free_all(firewall->headers);
    firewall->headers = json_headers(whose, size);
    if (firewall->link)
        http_link_set(firewall->link, curl, LINK_TARGET_FIREWALL, path, &firewall->headers);
    else
        set_address(firewall, path);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, firewall->headers);
    /* The handshake with another machine continues in finish(), which has a limit of its own. The
     * time that a create takes in between does not count. */
    if (!firewall->socket_path)
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS_MAX);
}

int firewall_open(const struct firewall_options *options, struct firewall **out, struct error **err)
{
    if (options->url && !firewall_url_is_valid(options->url))
        return error_set(
            err, ERR_CONFIG,
            "%s is not an address of a firewall; write http+unix:///path or https://host:port",
            options->url);
    struct firewall *firewall = xcalloc(1, sizeof *firewall);
    const char *at = options->url ? options->url : options->relay_url;
    bool is_local = str_starts_with(at, UNIX_SCHEME);
    firewall->url = xstrdup(at);
    firewall->base = xstrdup(is_local ? "http://firewall" : at);
    firewall->socket_path = is_local ? xstrdup(at + strlen(UNIX_SCHEME)) : NULL;
    firewall->link =
        options->url ? NULL
                     : http_link_new(options->host_name, options->relay_url, options->relay_dir);
    firewall->ca_file = xstrdup(options->ca_file);
    firewall->client_cert_file = xstrdup(options->client_cert_file);
    firewall->client_key_file = xstrdup(options->client_key_file);
    buffer_init(&firewall->answer, ANSWER_MAX);
    http_client_handle(&firewall->curl);
    firewall->multi = curl_multi_init();
    if (!firewall->multi)
        panic("curl_multi_init() failed");
    *out = firewall;
    return 0;
}

void firewall_close(struct firewall *firewall)
{
    if (!firewall)
        return;
    if (firewall->in_hand)
        curl_multi_remove_handle(firewall->multi, firewall->curl);
    curl_easy_cleanup(firewall->curl);
    curl_multi_cleanup(firewall->multi);
    curl_slist_free_all(firewall->headers);
    http_link_free(firewall->link);
    buffer_deinit(&firewall->answer);
    free(firewall->url);
    free(firewall->base);
    free(firewall->socket_path);
    free(firewall->ca_file);
    free(firewall->client_cert_file);
    free(firewall->client_key_file);
    mem_wipe_free(firewall->body);
    free(firewall);
}

/* --- calls --- */

/* whose: the policy whose tenants the firewall shall know, or NULL. Takes body (may be NULL). */
static void begin_sizing(struct firewall *firewall, const char *method, const char *path,
                         char *body, const struct policy_wire *whose,
                         const struct firewall_size *size)
{
    int running;
    error_auto before = NULL;
    firewall_end(firewall, &before);
    firewall->body = body;
    buffer_clear(&firewall->answer);
    set_options(firewall, path, whose, size);
    if (body)
        curl_easy_setopt(firewall->curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(firewall->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_multi_add_handle(firewall->multi, firewall->curl);
    firewall->in_hand = true;
    /* On a socket of this machine, these steps write the whole request. To another machine they
     * only begin, and firewall_end() continues. */
    for (int step = 0; step < 4; step++)
        curl_multi_perform(firewall->multi, &running);
}

static void begin(struct firewall *firewall, const char *method, const char *path, char *body)
{
    begin_sizing(firewall, method, path, body, NULL, NULL);
}

/* Wait until the call has ended or the time is over; return the result of its transfer. The time
 * counts from here, because the caller may come long after the answer. */
static CURLcode finish(struct firewall *firewall)
{
    CURLcode result = CURLE_OPERATION_TIMEDOUT;
    int running = 1, left;
    int64_t give_up_ms = clock_monotonic_ms() + ANSWER_TIMEOUT_MS;
    while (curl_multi_perform(firewall->multi, &running) == CURLM_OK && running) {
        int64_t left_ms = give_up_ms - clock_monotonic_ms();
        if (left_ms <= 0)
            break;
        curl_multi_poll(firewall->multi, NULL, 0, (int)left_ms, NULL);
    }
    for (CURLMsg *message; (message = curl_multi_info_read(firewall->multi, &left));)
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    return result;
}

/* Make an error of the sentence in an error body, bounded and printable. */
static int refused(const struct firewall *firewall, long status, struct error **err)
{
    json_auto_t *json =
        json_loadb(buffer_string(&firewall->answer), firewall->answer.size, 0, NULL);
    const char *message = json_string_value(json_object_get(json, "message"));
    char text[MESSAGE_MAX + 1] = "";
    for (size_t i = 0; message && message[i] && i < MESSAGE_MAX; i++)
        text[i] = (char)(message[i] >= 0x20 && message[i] < 0x7f ? message[i] : '?');
    return error_set(err, ERR_RUNTIME_REFUSED, "the firewall answered %ld%s%s", status,
                     *text ? ": " : "", text);
}

bool firewall_told(const struct firewall *firewall)
{
    long size = 0;
    return firewall->in_hand &&
           curl_easy_getinfo(firewall->curl, CURLINFO_REQUEST_SIZE, &size) == CURLE_OK && size > 0;
}

int firewall_end(struct firewall *firewall, struct error **err)
{
    long status = 0;
    if (!firewall->in_hand)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "no call to the firewall was started");
    CURLcode result = finish(firewall);
    if (result == CURLE_OK)
        status = http_link_status(firewall->link, firewall->curl);
    curl_multi_remove_handle(firewall->multi, firewall->curl);
    firewall->in_hand = false;
    mem_wipe_free(steal_pointer(&firewall->body));
    if (!status || status >= 500) {
        firewall->failures++;
        if (status)
            return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the firewall at %s answered %ld",
                             firewall->url, status);
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the firewall at %s does not answer: %s",
                         firewall->url, curl_easy_strerror(result));
    }
    firewall->failures = 0;
    if (status == STATUS_STALE)
        return error_set(err, ERR_LEASE_LOST, "the firewall has a newer revision of the policy");
    return status >= 200 && status < 300 ? 0 : refused(firewall, status, err);
}

bool firewall_sized(const struct firewall *firewall)
{
    json_auto_t *json =
        json_loadb(buffer_string(&firewall->answer), firewall->answer.size, 0, NULL);
    return json_is_true(json_object_get(json, "sized"));
}

unsigned firewall_back_off_ms(const struct firewall *firewall)
{
    unsigned doubled = firewall->failures > 8 ? 8 : firewall->failures;
    unsigned wait_ms = (unsigned)BACK_OFF_MIN_MS << doubled;
    return wait_ms < BACK_OFF_MAX_MS ? wait_ms : BACK_OFF_MAX_MS;
}

static char *policy_path(uint32_t address, const char *suffix, const char *sandbox_id)
{
    char text[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address of = policy_address_ipv4(address);
    return xasprintf("/v1/policies/%s%s%s", policy_address_text(&of, text), suffix, sandbox_id);
}

void firewall_put_begin(struct firewall *firewall, const struct policy_wire *wire, bool is_new,
                        const struct firewall_size *size)
{
    json_auto_t *json = policy_wire_json(wire);
    autofree char *path = policy_path(wire->address, is_new ? "?new=1" : "", "");
    begin_sizing(firewall, "PUT", path, json_dumps(json, JSON_COMPACT), wire, size);
}

void firewall_remove_begin(struct firewall *firewall, uint32_t address, const char *sandbox_id)
{
    autofree char *path = policy_path(address, "?sandbox_id=", sandbox_id);
    begin(firewall, "DELETE", path, NULL);
}

void firewall_ended_begin(struct firewall *firewall, uint32_t address, const char *sandbox_id)
{
    autofree char *path = policy_path(address, "?ended=1&sandbox_id=", sandbox_id);
    begin(firewall, "DELETE", path, NULL);
}

void firewall_calls_end_begin(struct firewall *firewall, uint32_t address)
{
    autofree char *path = policy_path(address, "/calls", "");
    begin(firewall, "DELETE", path, NULL);
}

void firewall_previews_end_begin(struct firewall *firewall, uint32_t address, uint16_t port)
{
    char text[sizeof "65535"];
    snprintf(text, sizeof text, "%u", port);
    autofree char *path = policy_path(address, "/previews/", text);
    begin(firewall, "DELETE", path, NULL);
}

void firewall_relay_begin(struct firewall *firewall, const char *certificate, const char *key)
{
    json_auto_t *json = json_pack("{s:s, s:s}", "certificate", certificate, "key", key);
    begin(firewall, "PUT", FIREWALL_RELAY_PATH, json_dumps(json, JSON_COMPACT));
}

/* --- reading --- */

static int get(struct firewall *firewall, const char *path, json_t **json, struct error **err)
{
    begin(firewall, "GET", path, NULL);
    if (firewall_end(firewall, err) < 0)
        return -1;
    *json = json_loadb(buffer_string(&firewall->answer), firewall->answer.size, 0, NULL);
    buffer_deinit(&firewall->answer);
    return *json ? 0 : error_set(err, ERR_RUNTIME_REFUSED, "the firewall's answer is not JSON");
}

static bool read_policy(const json_t *json, struct firewall_policy *policy)
{
    struct policy_address address;
    const char *text = json_string_value(json_object_get(json, "address"));
    const char *sandbox_id = json_string_value(json_object_get(json, "sandbox_id"));
    if (!text || !sandbox_id || policy_address_parse(text, &address) < 0 ||
        address.family != POLICY_IPV4)
        return false;
    *policy = (struct firewall_policy){
        .revision = (uint64_t)json_integer_value(json_object_get(json, "revision")),
        .denied = (uint64_t)json_integer_value(json_object_get(json, "denied")),
        .secrets_used = json_incref(json_object_get(json, "secrets_used")),
        .asked = json_incref(json_object_get(json, "asked"))};
    snprintf(policy->sandbox_id, sizeof policy->sandbox_id, "%s", sandbox_id);
    for (unsigned i = 0; i < 4; i++)
        policy->address = policy->address << 8 | address.bytes[i];
    return true;
}

void firewall_policies_free(struct firewall_policy *policies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_decref(policies[i].secrets_used);
        json_decref(policies[i].asked);
    }
    free(policies);
}

int firewall_list(struct firewall *firewall, struct firewall_policy **policies, size_t *count,
                  struct error **err)
{
    json_auto_t *json = NULL;
    json_t *entry;
    size_t index;
    if (get(firewall, "/v1/policies", &json, err) < 0)
        return -1;
    const json_t *list = json_object_get(json, "policies");
    if (!json_is_array(list))
        return error_set(err, ERR_RUNTIME_REFUSED, "the firewall's list has no policies");
    *policies = xcalloc(json_array_size(list) + 1, sizeof **policies);
    *count = 0;
    json_array_foreach ((json_t *)list, index, entry) {
        if (read_policy(entry, &(*policies)[*count]))
            ++*count;
    }
    return 0;
}

int firewall_host(struct firewall *firewall, struct firewall_host *host, struct error **err)
{
    json_auto_t *json = NULL;
    json_int_t processors, total, available, now_ms = 0, idle_ms = 0;
    if (get(firewall, "/v1/host", &json, err) < 0)
        return -1;
    if (json_unpack(json, "{s:I, s:I, s:I, s?I, s?I}", "processors", &processors, "memory_bytes",
                    &total, "memory_available_bytes", &available, "now_ms", &now_ms, "idle_ms",
                    &idle_ms) < 0 ||
        processors < 1 || total < 1 || available < 0 || available > total || idle_ms < 0)
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "the firewall's answer lacks the processors or the memory of its machine");
    *host = (struct firewall_host){.processors = (unsigned)processors,
                                   .memory_bytes = (uint64_t)total,
                                   .memory_available_bytes = (uint64_t)available,
                                   .now_ms = now_ms,
                                   .idle_ms = (uint64_t)idle_ms};
    return 0;
}

static bool is_name(const char *text)
{
    return !text[strspn(text, "0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")];
}

static bool read_usage(const json_t *json, struct runtime_usage *usage)
{
    const char *name;
    json_int_t cpu_ms, memory, cache, kills;
    if (json_unpack((json_t *)json, "{s:s, s:I, s:I, s:I, s:I}", "name", &name, "cpu_ms", &cpu_ms,
                    "memory_bytes", &memory, "cache_bytes", &cache, "memory_kills", &kills) < 0 ||
        cpu_ms < 0 || memory < 0 || cache < 0 || kills < 0)
        return false;
    *usage = (struct runtime_usage){.name = xstrdup(name),
                                    .cpu_ms = (uint64_t)cpu_ms,
                                    .memory_bytes = (uint64_t)memory,
                                    .cache_bytes = (uint64_t)cache,
                                    .memory_kills = (uint64_t)kills};
    return true;
}

/* Add one part of the list. *next: the name after which the next part begins; the caller frees. */
static int add_usage(struct firewall *firewall, struct runtime_usage **list, size_t *count,
                     char **next, struct error **err)
{
    json_auto_t *json = NULL;
    json_t *entry;
    size_t index;
    autofree char *path = xasprintf("/v1/usage?after=%s", *next);
    free(steal_pointer(next));
    if (get(firewall, path, &json, err) < 0)
        return -1;
    const json_t *found = json_object_get(json, "instances");
    const char *after = json_string_value(json_object_get(json, "next"));
    *next = xstrdup(after && is_name(after) ? after : "");
    *list = xreallocarray(*list, *count + json_array_size(found) + 1, sizeof **list);
    json_array_foreach ((json_t *)found, index, entry) {
        if (read_usage(entry, &(*list)[*count]))
            ++*count;
    }
    return 0;
}

int firewall_usage(struct firewall *firewall, struct runtime_usage **list, size_t *count,
                   struct error **err)
{
    char *next = xstrdup("");
    int result = 0;
    *list = NULL;
    *count = 0;
    for (unsigned part = 0; result == 0 && part < USAGE_PARTS_MAX && (!part || *next); part++)
        result = add_usage(firewall, list, count, &next, err);
    free(next);
    if (result == 0)
        return 0;
    runtime_usage_free(*list, *count);
    *list = NULL;
    *count = 0;
    return -1;
}

int firewall_sizing(struct firewall *firewall, char **reason, struct error **err)
{
    json_auto_t *json = NULL;
    if (get(firewall, "/v1/sizing", &json, err) < 0)
        return -1;
    const json_t *why = json_object_get(json, "reason");
    if (!json_is_string(why) && !json_is_null(why))
        return error_set(err, ERR_RUNTIME_REFUSED, "the firewall's answer has no reason");
    *reason = json_is_string(why) ? xstrdup(json_string_value(why)) : NULL;
    return 0;
}

int firewall_egress_addresses(struct firewall *firewall, json_t **missing, size_t *count,
                              struct error **err)
{
    json_auto_t *json = NULL;
    json_int_t number;
    json_t *list;
    if (get(firewall, "/v1/egress_addresses", &json, err) < 0)
        return -1;
    if (json_unpack(json, "{s:I, s:o}", "count", &number, "missing", &list) < 0 ||
        !json_is_array(list) || number < 0)
        return error_set(err, ERR_RUNTIME_REFUSED, "the firewall's answer has no egress addresses");
    *missing = json_incref(list);
    *count = (size_t)number;
    return 0;
}

int firewall_denials(struct firewall *firewall, uint32_t address, json_t **denials,
                     struct error **err)
{
    json_auto_t *json = NULL;
    autofree char *path = policy_path(address, "/denials", "");
    if (get(firewall, path, &json, err) < 0)
        return -1;
    json_t *list = json_object_get(json, "denials");
    if (!json_is_array(list))
        return error_set(err, ERR_RUNTIME_REFUSED, "the firewall's answer has no denials");
    *denials = json_incref(list);
    return 0;
}
