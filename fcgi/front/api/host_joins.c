/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine that joins as a host sends its token again and again until it has joined. */
#include <stdio.h>

#include "api/api.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "joining/join.h"

#define PEM_MAX 16384

static const struct schema_member offer_members[] = {
    {.name = "url", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 255},
    {.name = "server_cert", .type = SCHEMA_STRING, .required = true, .min = 1, .max = PEM_MAX},
    {.name = "relay", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 255},
    {.name = "vcpus", .type = SCHEMA_INTEGER, .required = true, .min = 1, .max = 1000000},
    {.name = "memory_mb", .type = SCHEMA_INTEGER, .required = true, .min = 64, .max = INT32_MAX},
    {.name = NULL},
};

const struct schema_member host_join_schema[] = {
    {.name = "token", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 256},
    {.name = "machine",
     .type = SCHEMA_STRING,
     .required = true,
     .min = JOIN_MACHINE_LENGTH,
     .max = JOIN_MACHINE_LENGTH},
    {.name = "architecture", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 32},
    {.name = "offer", .type = SCHEMA_OBJECT, .members = offer_members},
    {.name = NULL},
};

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* Record the join for the operator who made the token, because the machine has not signed in. */
static void record(struct api *api, const struct http_request *request, const struct join *join)
{
    error_auto err = NULL;
    struct audit_entry entry = {.actor = AUDIT_OPERATOR, .result = AUDIT_DONE};
    snprintf(entry.action, sizeof entry.action, "%s", audit_HOST_JOIN.name);
    snprintf(entry.resource, sizeof entry.resource, "%s", join->name);
    snprintf(entry.address, sizeof entry.address, "%s", request->remote_address);
    snprintf(entry.request_id, sizeof entry.request_id, "%s", request->request_id);
    if (audit_write(api->worker.db, api->worker.ring, &entry, &err) < 0)
        log_error("cannot record in the audit log that a machine has used its token",
                  LOG_STR("host", join->name), LOG_ERROR(err));
}

static int take_offer(struct api *api, const struct http_request *request, struct join *join,
                      struct error **err)
{
    const json_t *given = json_object_get(request->json, "offer");
    if (!given)
        return 0;
    const struct join_offer offer = {
        .url = text_of(given, "url"),
        .server_cert = text_of(given, "server_cert"),
        .relay_url = text_of(given, "relay"),
        .architecture = text_of(request->json, "architecture"),
        .vcpus = (uint32_t)json_integer_value(json_object_get(given, "vcpus")),
        .memory_mb = (uint32_t)json_integer_value(json_object_get(given, "memory_mb")),
    };
    return join_offer(api->worker.db, join, &offer, err);
}

int host_joins_take(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    join_auto join = {.options = NULL};
    json_auto_t *files = NULL;
    bool taken;
    const struct join_caller caller = {
        .token = text_of(request->json, "token"),
        .machine = text_of(request->json, "machine"),
        .address = request->remote_address,
        .architecture = text_of(request->json, "architecture"),
    };
    if (join_take(api->worker.db, api->worker.ring, &caller, &join, &taken, &files, err) < 0)
        return -1;
    if (taken) {
        record(api, request, &join);
        log_info("a machine has used its token, and is joining as a host",
                 LOG_STR("host", join.name), LOG_STR("address", request->remote_address));
    }
    if (take_offer(api, request, &join, err) < 0)
        return -1;
    return http_response_json(response, 200,
                              json_pack("{s:s, s:s, s:o, s:s, s:O, s:O?}", "name", join.name,
                                        "state", join_state_names[join.state], "since",
                                        time_to_json(join.since_ms), "failure", join.failure,
                                        "options", join.options, "files", files));
}
