/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/meminfo.h"
#include "base/sizing.h"
#include "base/str.h"
#include "common/group_usage.h"
#include "config.h"
#include "crypto/authority.h"
#include "firewall/calls.h"
#include "firewall/egress.h"
#include "firewall/sizing.h"
#include "firewall/state.h"
#include "http/router.h"
#include "network/firewall_client.h"

#define BOOT_ID_FILE  "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE  37
#define RELAY_PEM_MAX 16384

static int read_address(const struct http_request *request, uint32_t *address, struct error **err)
{
    struct policy_address parsed;
    if (policy_address_parse(request->captures[0], &parsed) < 0 || parsed.family != POLICY_IPV4)
        return error_set(err, ERR_NOT_FOUND, "the path must have an IPv4 address");
    *address = (uint32_t)parsed.bytes[0] << 24 | (uint32_t)parsed.bytes[1] << 16 |
               (uint32_t)parsed.bytes[2] << 8 | parsed.bytes[3];
    return 0;
}

/* --- waiting requests --- */

/* A request that waits for sandlot-limits, or for the addresses of denied names. Both may take a
 * second, and a tenant decides how often. The one thread therefore serves others meanwhile
 * (http_request.pending). Requests beyond the places of a team do not wait: Incus sets the size,
 * and the policy gets its names later. */
struct pending {
    struct filter *filter;
    uint64_t number; /* of its place; 0: no place */
    int sizing;      /* a connection of sizing_begin(); -1: no connection, or closed */
    char answer[SIZING_ANSWER_SIZE];
    struct deadline sizing_until;
    bool is_put; /* false: it waits for sandlot-limits alone */
    struct filter_put put;
};

static void pending_free(void *context)
{
    struct pending *pending = context;
    if (pending->number)
        places_leave(&pending->filter->pending, pending->number);
    cleanup_close_(&pending->sizing);
    free(pending);
}

static struct pending *pend_begin(struct filter *filter, const struct tenant *tenant,
                                  const char *size)
{
    struct pending *pending = xcalloc(1, sizeof *pending);
    pending->filter = filter;
    if (places_take(&filter->pending, tenant, filter->last_pending + 1))
        pending->number = ++filter->last_pending;
    pending->sizing = pending->number ? sizing_begin(filter->settings->limits_socket, size) : -1;
    pending->sizing_until = deadline_in_ms(SIZING_WAIT_MS);
    return pending;
}

static void pend(struct http_request *request, struct pending *pending)
{
    request->pending = pending;
    request->pending_free = pending_free;
}

static bool sizing_is_over(struct pending *pending)
{
    if (pending->sizing >= 0 && sizing_end(pending->sizing, pending->answer))
        pending->sizing = -1;
    return pending->sizing < 0 || deadline_passed(pending->sizing_until);
}

static int answer_sizing(const struct filter *filter, struct pending *pending,
                         struct http_response *response)
{
    char *answer = pending->answer;
    bool ready = sizing_is_done(answer);
    answer[strcspn(answer, "\n")] = '\0';
    if (!answer[0])
        snprintf(answer, SIZING_ANSWER_SIZE, "sandlot-limits does not answer on %s",
                 filter->settings->limits_socket);
    return http_response_json(response, 200, json_pack("{s:s?}", "reason", ready ? NULL : answer));
}

/* Continue a waiting request: answer it, or let it wait again. */
static int pend_end(struct filter *filter, struct http_request *request,
                    struct http_response *response, struct error **err)
{
    struct pending *pending = request->pending;
    bool over = sizing_is_over(pending), named = true;
    int result = pending->is_put ? filter_put_end(filter, &pending->put, &named, err) : 0;
    if (result == 0 && !(over && named) && pending->number && request->may_pend)
        return 0;
    request->pending = NULL;
    if (result == 0)
        result = pending->is_put
                     ? http_response_json(response, 200,
                                          json_pack("{s:I, s:b}", "revision",
                                                    (json_int_t)pending->put.revision, "sized",
                                                    sizing_is_done(pending->answer)))
                     : answer_sizing(filter, pending, response);
    pending_free(pending);
    return result;
}

/* --- handlers --- */

/* The thread for names and that for proxies wait for the filter's lock, so the names of all
 * sandboxes do. A handler takes the lock when it needs the filter, and not while it parses a policy
 * or reads the kernel's lists. */
static int with_lock(struct filter *filter,
                     int (*handler)(void *context, struct http_request *request,
                                    struct http_response *response, struct error **err),
                     struct http_request *request, struct http_response *response,
                     struct error **err)
{
    filter_lock(filter);
    int result = handler(filter, request, response, err);
    filter_unlock(filter);
    return result;
}

#define LOCKED(name)                                                             \
    static int name##_locked(void *context, struct http_request *request,        \
                             struct http_response *response, struct error **err) \
    {                                                                            \
        return with_lock(context, name, request, response, err);                 \
    }
LOCKED(egress_answer)

/* Return the number in a header; 0: the header is missing or wrong. */
static uint64_t number_of(const struct http_request *request, const char *header)
{
    uint64_t number = 0;
    const char *text = http_header(request, header);
    return text && str_parse_u64(text, 1, UINT64_MAX, &number) == 0 ? number : 0;
}

/* Put a policy in force, and wait for its names. Takes the contents of wire. */
static int put_wire(struct filter *filter, struct policy_wire *wire, struct http_request *request,
                    struct http_response *response, struct error **err)
{
    const struct tenant tenant = {wire->tenant, wire->user};
    struct pending *pending = pend_begin(filter, &tenant, http_header(request, SIZING_HEADER));
    pending->is_put = true;
    pending->put = (struct filter_put){.address = wire->address, .revision = wire->revision};
    snprintf(pending->put.sandbox_id, sizeof pending->put.sandbox_id, "%s", wire->sandbox_id);
    if (filter_put(filter, wire, http_query(request, "new"), err) < 0) {
        pending_free(pending);
        return -1;
    }
    pending->put.until = deadline_in_ms(FILTER_LOOKUP_WAIT_MS);
    pend(request, pending);
    return pend_end(filter, request, response, err);
}

static int put_policy(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct filter *filter = context;
    policy_wire_auto wire = {0};
    uint32_t address;
    if (read_address(request, &address, err) < 0 || policy_wire_read(request->json, &wire, err) < 0)
        return -1;
    if (wire.address != address)
        return error_set_field(err, ERR_INVALID_REQUEST, "/address",
                               "the path has another address than the policy");
    wire.tenant = number_of(request, POLICY_TENANT_HEADER);
    wire.user = number_of(request, POLICY_USER_HEADER);
    wire.bytes = request->body.size;
    filter_lock(filter);
    int result = put_wire(filter, &wire, request, response, err);
    filter_unlock(filter);
    return result;
}

static int delete_policy(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    uint32_t address;
    const char *sandbox_id = http_query(request, "sandbox_id");
    if (read_address(request, &address, err) < 0)
        return -1;
    if (!sandbox_id)
        return error_set_field(err, ERR_INVALID_REQUEST, "sandbox_id", "sandbox_id is missing");
    if ((http_query(request, "ended") ? filter_ended(context, address, sandbox_id, err)
                                      : filter_delete(context, address, sandbox_id, err)) < 0)
        return -1;
    return http_response_json(response, 204, NULL);
}

LOCKED(delete_policy)

static void read_boot_id(char boot_id[BOOT_ID_SIZE])
{
    autofclose FILE *file = fopen(BOOT_ID_FILE, "re");
    if (!file || !fgets(boot_id, BOOT_ID_SIZE, file))
        boot_id[0] = '\0';
}

/* The answer is written after the lock was released, so it shares nothing with the filter. room:
 * for entries that need approval; what is listed is taken from it. */
static json_t *policy_summary(const struct filter_sandbox *sandbox, size_t *room)
{
    json_t *asked = approval_entries_json(&sandbox->asks, *room, clock_monotonic_ms());
    *room -= json_array_size(asked);
    char text[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address address = policy_address_ipv4(sandbox->address);
    return json_pack("{s:s, s:s, s:I, s:I, s:o*, s:o*}", "address",
                     policy_address_text(&address, text), "sandbox_id", sandbox->wire.sandbox_id,
                     "revision", (json_int_t)sandbox->wire.revision, "denied",
                     (json_int_t)sandbox->denials.total, "secrets_used",
                     json_deep_copy(sandbox->secrets_used), "asked", asked);
}

static int list_policies(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    const struct filter *filter = context;
    char started_at[CLOCK_ISO8601_SIZE], boot_id[BOOT_ID_SIZE];
    json_t *policies = json_array();
    size_t room = APPROVAL_ENTRIES_LIST_MAX;
    (void)request;
    (void)err;
    /* From another bucket each time, so that all have their turn for the room. */
    static size_t first;
    first += FILTER_BUCKETS / 8 + 1;
    for (size_t i = 0; i < FILTER_BUCKETS; i++)
        for (const struct filter_sandbox *sandbox = filter->buckets[(first + i) % FILTER_BUCKETS];
             sandbox; sandbox = sandbox->next)
            if (!sandbox->closed)
                json_array_append_new(policies, policy_summary(sandbox, &room));
    read_boot_id(boot_id);
    return http_response_json(response, 200,
                              json_pack("{s:o, s:s, s:s}", "policies", policies, "started_at",
                                        clock_format_iso8601(filter->started_at_ms, started_at),
                                        "boot_id", boot_id));
}

LOCKED(list_policies)

static int list_denials(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    uint32_t address;
    if (read_address(request, &address, err) < 0)
        return -1;
    const struct filter_sandbox *sandbox = filter_find(context, address);
    if (!sandbox)
        return error_set(err, ERR_NOT_FOUND, "the address has no policy");
    return http_response_json(response, 200,
                              json_pack("{s:o}", "denials", denials_json(&sandbox->denials)));
}

LOCKED(list_denials)

static int end_calls(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    uint32_t address;
    unsigned ended;
    (void)context;
    if (read_address(request, &address, err) < 0 || calls_end(address, &ended, err) < 0)
        return -1;
    return http_response_json(response, 200, json_pack("{s:i}", "ended", (int)ended));
}

static int end_previews(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    uint32_t address;
    uint64_t port;
    unsigned ended;
    (void)context;
    if (read_address(request, &address, err) < 0)
        return -1;
    if (str_parse_u64(request->captures[1], 0, UINT16_MAX, &port) < 0)
        return error_set(err, ERR_NOT_FOUND, "the path must end with a port");
    if (previews_end(address, (uint16_t)port, &ended, err) < 0)
        return -1;
    return http_response_json(response, 200, json_pack("{s:i}", "ended", (int)ended));
}

/* Return how long all processors of the machine together were idle since its start, in
 * milliseconds. The time that a processor waited for a disk does not count (proc_stat(5)). 0:
 * cannot read it. */
static uint64_t idle_time_ms(void)
{
    autofclose FILE *file = fopen("/proc/stat", "re");
    uint64_t ticks;
    long a_second = sysconf(_SC_CLK_TCK);
    if (!file || a_second <= 0 || fscanf(file, "cpu %*u %*u %*u %" SCNu64, &ticks) != 1)
        return 0;
    return ticks * 1000 / (uint64_t)a_second;
}

static int get_host(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct meminfo memory;
    (void)context;
    (void)request;
    (void)err;
    meminfo_read(&memory);
    return http_response_json(
        response, 200,
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "processors",
                  (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory_bytes",
                  (json_int_t)memory.total, "memory_available_bytes", (json_int_t)memory.available,
                  "now_ms", (json_int_t)clock_now_ms(), "idle_ms", (json_int_t)idle_time_ms()));
}

static int get_egress_addresses(void *context, struct http_request *request,
                                struct http_response *response, struct error **err)
{
    struct filter *filter = context;
    (void)request;
    (void)err;
    sources_look(&filter->sources);
    return http_response_json(response, 200,
                              json_pack("{s:I, s:o}", "count", (json_int_t)filter->sources.count,
                                        "missing", sources_missing(&filter->sources)));
}

LOCKED(get_egress_addresses)

static int list_usage(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct group_usage list[GROUP_USAGE_PAGE];
    char next[GROUP_USAGE_NAME_SIZE];
    const char *after = http_query(request, "after");
    json_t *instances = json_array();
    (void)context;
    (void)err;
    unsigned count = group_usage_read(GROUP_USAGE_ROOT, after ? after : "", list, next);
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(instances,
                              json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", list[i].name, "cpu_ms",
                                        (json_int_t)list[i].cpu_ms, "memory_bytes",
                                        (json_int_t)list[i].memory_bytes, "cache_bytes",
                                        (json_int_t)list[i].cache_bytes, "memory_kills",
                                        (json_int_t)list[i].memory_kills));
    return http_response_json(response, 200,
                              json_pack("{s:o, s:s}", "instances", instances, "next", next));
}

static int get_sizing(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    const struct tenant none = {0};
    pend(request, pend_begin(context, &none, SIZING_CHECK));
    return pend_end(context, request, response, err);
}

LOCKED(get_sizing)

static const char *text_member(const struct http_request *request, const char *name)
{
    return json_string_value(json_object_get(request->json, name));
}

/* Store the pair for sandlot-relay.path, whose service installs it as root if the deployment's
 * authority signed it. Anything else starts no program of root. */
static int put_relay(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    const struct filter *filter = context;
    certificate_pair_auto pair = {0};
    if (certificate_pair_read(text_member(request, "certificate"), text_member(request, "key"),
                              &pair, err) < 0 ||
        state_put_relay(filter->settings->firewall_state_dir, &pair, err) < 0)
        return -1;
    return http_response_json(response, 200, json_object());
}

static const struct schema_member relay_members[] = {
    {.name = "certificate",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = RELAY_PEM_MAX},
    {.name = "key", .type = SCHEMA_STRING, .required = true, .min = 1, .max = RELAY_PEM_MAX},
    {.name = NULL},
};

static int get_health(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    const struct filter *filter = context;
    (void)request;
    (void)err;
    return http_response_json(response, filter->table_missing ? 503 : 200,
                              json_pack("{s:s, s:s, s:s, s:b, s:b, s:i}", "status",
                                        filter->table_missing ? "table_missing" : "ok", "version",
                                        PACKAGE_VERSION, "table", filter->settings->firewall_table,
                                        "table_loaded", !filter->table_missing,
                                        "wakes_idle_connections", flows_wake_idle(filter->flows),
                                        "sandboxes", (int)filter->count));
}

LOCKED(get_health)

static const struct route_query put_query[] = {{.name = "new"}, {.name = NULL}};
static const struct route_query delete_query[] = {
    {.name = "sandbox_id"}, {.name = "ended"}, {.name = NULL}};

static const struct route_query usage_query[] = {{.name = "after"}, {.name = NULL}};

#define ADDRESS "/v1/policies/:address"
static const struct route routes[] = {
    {.method = "GET", .pattern = "/health", .operation = "getHealth", .handler = get_health_locked},
    {.method = "GET", .pattern = "/v1/host", .operation = "getHost", .handler = get_host},
    {.method = "GET",
     .pattern = "/v1/egress",
     .operation = "askEgress",
     .handler = egress_answer_locked},
    {.method = "GET",
     .pattern = "/v1/egress_addresses",
     .operation = "getEgressAddresses",
     .handler = get_egress_addresses_locked},
    {.method = "GET",
     .pattern = "/v1/sizing",
     .operation = "getSizing",
     .handler = get_sizing_locked},
    {.method = "GET",
     .pattern = "/v1/usage",
     .operation = "listUsage",
     .handler = list_usage,
     .query = usage_query},
    {.method = "GET",
     .pattern = "/v1/policies",
     .operation = "listPolicies",
     .handler = list_policies_locked},
    {.method = "PUT",
     .pattern = FIREWALL_RELAY_PATH,
     .operation = "putRelay",
     .handler = put_relay,
     .body = relay_members,
     .body_required = true},
    {.method = "PUT",
     .pattern = ADDRESS,
     .operation = "putPolicy",
     .handler = put_policy,
     .body = policy_wire_members,
     .body_required = true,
     .query = put_query},
    {.method = "DELETE",
     .pattern = ADDRESS,
     .operation = "deletePolicy",
     .handler = delete_policy_locked,
     .query = delete_query},
    {.method = "GET",
     .pattern = ADDRESS "/denials",
     .operation = "listDenials",
     .handler = list_denials_locked},
    {.method = "DELETE",
     .pattern = ADDRESS "/calls",
     .operation = "endCalls",
     .handler = end_calls},
    {.method = "DELETE",
     .pattern = ADDRESS "/previews/:port",
     .operation = "endPreviews",
     .handler = end_previews},
};

static int answer_pending(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    return pend_end(context, request, response, err);
}

void filter_serve(void *context, struct http_request *request, struct http_response *response)
{
    struct filter *filter = context;
    const struct router router = {.routes = routes, .count = ARRAY_SIZE(routes), .context = filter};
    error_auto err = NULL;
    if (!request->pending)
        router_serve(&router, request, response);
    else if (with_lock(filter, answer_pending, request, response, &err) < 0)
        http_response_error(response, request, err);
}
