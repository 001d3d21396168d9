/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/sandbox_input.h"

#include <string.h>

#include "api/network_input.h"
#include "base/guest_limits.h"
#include "base/instance.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/metadata.h"
#include "sandbox/request_host.h"
#include "sandbox/sandbox_ports.h"
#include "service/hooks.h"
#include "service/service.h"

#define TIMEOUT_DEFAULT_S 300
#define TIMEOUT_MAX_S     31536000 /* no plan can allow more */
#define ENVS_MAX_BYTES    65536

static const struct schema_member slug_item = {.type = SCHEMA_STRING, .min = 1, .max = 63};
static const struct schema_member env_item = {.type = SCHEMA_STRING, .max = ENVS_MAX_BYTES};
static const struct schema_member any_item = {.type = SCHEMA_ANY};
static const struct schema_member patch_item = {.type = SCHEMA_ANY, .nullable = true};
static const char *const protocol_choices[] = {"http", "https", NULL};
static const char *const all_ports[] = {"all", NULL};

/* Check a timeout. The team's plan limits it further, and is checked later. */
static int check_timeout(const json_t *value, const char *pointer, struct error **err)
{
    json_int_t timeout_s = json_integer_value(value);
    if (timeout_s >= 1 && timeout_s <= TIMEOUT_MAX_S)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "A timeout must be whole seconds, from 1 to the max_timeout of the "
                           "team's plan (GET /v1/sandbox_limits). Every sandbox has one.");
}

#define TIMEOUT_MEMBER                                                     \
    {                                                                      \
        .name = "timeout", .type = SCHEMA_INTEGER, .check = check_timeout, \
    }
#define PORTS_HINT "expose ports with \"exposed_ports\": [{\"port\": 3000}]"
#define DISK_HINT                                                                             \
    "the size of the disk comes from the team's plan (disk_gb of GET /v1/sandbox_limits); a " \
    "request cannot choose it"

static int request_host_check(const json_t *value, const char *pointer, struct error **err)
{
    const char *text = json_string_value(value);
    if (!*text || request_host_is_valid(text))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "Write the Host header for servers as a name with or without a port, "
                           "such as localhost:${PORT}. ${PORT} means the port of the request.");
}

static int name_check(const json_t *value, const char *pointer, struct error **err)
{
    const char *name = json_string_value(value);
    if (!*name || sandbox_name_is_valid(name))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "A sandbox's name is 1 to %zu letters, digits, dots, underscores and "
                           "hyphens, beginning with a letter or a digit; not an id, and none of "
                           "new, new-keep and keep.",
                           SANDBOX_NAME_SIZE - 1);
}

/* Members from the rows of sandbox_fields.def. */
#define BOOL_MEMBER(in, at, member, json, request, answer, change, ...) \
    in##_##request(at##_##change(, {.name = json, .type = SCHEMA_BOOLEAN}))
#define CHOICE_MEMBER(in, at, member, json, request, answer, change, ...) \
    in##_##request(                                                       \
        at##_##change(, {.name = json, .type = SCHEMA_STRING, .choices = member##_names}))
#define TEXT_MEMBER(in, at, member, json, request, answer, change, size, ...) \
    in##_##request(at##_##change(, {.name = json,                             \
                                    .type = SCHEMA_STRING,                    \
                                    .nullable = true,                         \
                                    .max = (size)-1,                          \
                                    .check = member##_check}))
#define NUMBER_MEMBER(in, at, member, json, request, answer, change, least, most, ...) \
    in##_##request(at##_##change(                                                      \
        ,                                                                              \
        {.name = json, .type = SCHEMA_INTEGER, .nullable = true, .min = (least), .max = (most)}))
/* These rows follow another row, so a comma comes first. */
#define FIELD_MEMBERS(in, at) \
    SANDBOX_FIELDS(BOOL_MEMBER, CHOICE_MEMBER, TEXT_MEMBER, NUMBER_MEMBER, in, at)

static const struct schema_member lifecycle_members[] = {
    {.name = "auto_pause", .hint = "write it next to lifecycle; it means on_timeout = pause"},
    {.name = "timeout", .hint = "write it next to lifecycle, not in it"} FIELD_MEMBERS(IN_LIFECYCLE,
                                                                                       AT_UPDATE),
    {.name = NULL},
};

static const struct schema_member port_members[] = {
    {.name = "port", .type = SCHEMA_INTEGER, .required = true, .min = 1, .max = 65535},
    {.name = "protocol", .type = SCHEMA_STRING, .choices = protocol_choices},
    {.name = "public", .type = SCHEMA_BOOLEAN},
    {.name = NULL},
};
static const struct schema_member port_item = {.type = SCHEMA_OBJECT, .members = port_members};
static const struct schema_member number_item = {.type = SCHEMA_INTEGER, .min = 1, .max = 65535};

const struct schema_member sandbox_create_schema[] = {
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = 63},
    {.name = "template", .type = SCHEMA_STRING, .min = 1, .max = 200},
    {.name = "template_id", .type = SCHEMA_STRING, .min = 1, .max = 128},
    {.name = "snapshot_id", .type = SCHEMA_STRING, .min = 1, .max = 128},
    TIMEOUT_MEMBER,
    {.name = "lifecycle", .type = SCHEMA_OBJECT, .members = lifecycle_members},
    {.name = "auto_pause", .type = SCHEMA_BOOLEAN},
    {.name = "metadata",
     .type = SCHEMA_MAP,
     .keeps_numbers = true,
     .max = METADATA_KEYS_MAX,
     .item = &any_item},
    {.name = "envs", .type = SCHEMA_MAP, .item = &env_item},
    {.name = "hooks", .type = SCHEMA_OBJECT, .members = hooks_schema},
    {.name = "services", .type = SCHEMA_ARRAY, .max = SERVICES_MAX, .item = &service_item},
    {.name = "volume_mounts", .type = SCHEMA_MAP, .item = &slug_item},
    NETWORK_MEMBERS FIELD_MEMBERS(IN_BODY, AT_CREATE),
    {.name = "exposed_ports",
     .type = SCHEMA_ARRAY,
     .max = SANDBOX_PORTS_MAX,
     .choices = all_ports,
     .item = &port_item},
    {.name = "https_ports", .type = SCHEMA_ARRAY, .max = SANDBOX_PORTS_MAX, .item = &number_item},
    {.name = "cpu", .type = SCHEMA_INTEGER, .min = 1, .max = 1024},
    {.name = "memory_mb", .type = SCHEMA_INTEGER, .min = 1, .max = 16777216},
    {.name = "disk", .hint = DISK_HINT},
    {.name = "disk_gb", .hint = DISK_HINT},
    {.name = "port", .hint = PORTS_HINT},
    {.name = "ports", .hint = PORTS_HINT},
    {.name = "volumes", .hint = "mount volumes with \"volume_mounts\": {\"/path\": \"name\"}"},
    {.name = "network",
     .hint = "write the members of the policy next to the others: allow_internet_access, "
             "allow_package_registry_access, allow_public_traffic, allow_out, deny_out, "
             "egress_profiles"},
    {.name = "environment", .hint = "write environment variables as \"envs\""},
    {.name = NULL},
};

const struct schema_member sandbox_resume_schema[] = {
    TIMEOUT_MEMBER,
    {.name = "extend_only", .type = SCHEMA_BOOLEAN},
    {.name = "memory", .type = SCHEMA_BOOLEAN},
    {.name = NULL},
};

const struct schema_member sandbox_pause_schema[] = {
    {.name = "memory", .type = SCHEMA_BOOLEAN},
    {.name = NULL},
};

const struct schema_member sandbox_rollback_schema[] = {
    {.name = "checkpoint", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 256},
    TIMEOUT_MEMBER,
    {.name = NULL},
};

const struct schema_member sandbox_hold_schema[] = {
    {.name = "seconds",
     .type = SCHEMA_INTEGER,
     .required = true,
     .min = 1,
     .max = AGENT_HOLD_MAX_S},
    {.name = NULL},
};

#define FORK_MEMBERS \
    {.name = "count", .type = SCHEMA_INTEGER, .min = 1, .max = SANDBOX_FORKS_MAX}, TIMEOUT_MEMBER

const struct schema_member sandbox_fork_schema[] = {
    FORK_MEMBERS,
    {.name = "name", .type = SCHEMA_STRING, .max = SANDBOX_NAME_SIZE - 1, .check = name_check},
    {.name = NULL},
};

const struct schema_member sandbox_fork_unnamed_schema[] = {FORK_MEMBERS, {.name = NULL}};

const struct schema_member sandbox_update_schema[] = {
    {.name = "metadata",
     .type = SCHEMA_MAP,
     .nullable = true,
     .keeps_numbers = true,
     .item = &patch_item},
    {.name = "lifecycle", .type = SCHEMA_OBJECT, .members = lifecycle_members},
    TIMEOUT_MEMBER FIELD_MEMBERS(IN_BODY, AT_UPDATE),
    {.name = "auto_pause",
     .hint = "change an existing sandbox with \"lifecycle\": {\"on_timeout\": \"pause\"}"},
    {.name = "https_ports",
     .hint = "PUT /v1/sandboxes/{id}/ports/{port} with \"protocol\": \"https\""},
    {.name = "disk", .hint = DISK_HINT},
    {.name = "disk_gb", .hint = DISK_HINT},
    {.name = "ports", .hint = "expose ports with PUT /v1/sandboxes/{id}/ports/{port}"},
    {.name = "exposed_ports", .hint = "expose ports with PUT /v1/sandboxes/{id}/ports/{port}"},
    {.name = "volumes", .hint = "volumes are mounted at the create, and cannot change later"},
    {.name = "volume_mounts", .hint = "volumes are mounted at the create, and cannot change later"},
    {.name = "network", .hint = "replace the policy with PUT /v1/sandboxes/{id}/network"},
    {.name = NULL},
};

const struct schema_member port_put_schema[] = {
    {.name = "protocol", .type = SCHEMA_STRING, .choices = protocol_choices},
    {.name = "public", .type = SCHEMA_BOOLEAN},
    {.name = NULL},
};

/* --- template or checkpoint --- */

static int read_source(const json_t *body, struct sandbox_create *create, struct error **err)
{
    static const char *const names[] = {"template", "template_id", "snapshot_id"};
    static const char *const fields[] = {"/template", "/template_id", "/snapshot_id"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = json_string_value(json_object_get(body, names[i]));
        if (!value)
            continue;
        if (create->source)
            return error_set_field(err, ERR_INVALID_REQUEST, fields[i],
                                   "Give at most one of template, template_id and snapshot_id.");
        create->source = value;
        create->source_field = fields[i];
    }
    return 0;
}

/* --- fields of sandbox_fields.def --- */

static void read_choices(const json_t *body, struct sandbox_choices *choices,
                         struct sandbox_chosen *chosen)
{
    const json_t *lifecycle = json_object_get(body, "lifecycle");
    const json_t *value;
#define OBJECT_BODY      body
#define OBJECT_LIFECYCLE lifecycle
#define READ(member, json, request, read)            \
    value = json_object_get(OBJECT_##request, json); \
    chosen->member = value != NULL;                  \
    if (value)                                       \
        read;
#define READ_BOOL(a, b, member, json, request, ...) \
    READ(member, json, request, choices->member = json_is_true(value))
#define READ_CHOICE(a, b, member, json, request, ...) \
    READ(member, json, request, choices->member = member##_of(json_string_value(value)))
#define READ_TEXT(a, b, member, json, request, ...)              \
    READ(member, json, request,                                  \
         snprintf(choices->member, sizeof choices->member, "%s", \
                  json_is_null(value) ? "" : json_string_value(value)))
#define READ_NUMBER(a, b, member, json, request, ...) \
    READ(member, json, request, choices->member = (uint32_t)json_integer_value(value))
    SANDBOX_FIELDS(READ_BOOL, READ_CHOICE, READ_TEXT, READ_NUMBER, , )
}

static int read_lifecycle(const json_t *body, const struct sandbox_chosen *chosen,
                          struct sandbox_create *create, struct error **err)
{
    const json_t *auto_pause = json_object_get(body, "auto_pause");
    bool pause = create->on_timeout == ON_TIMEOUT_PAUSE;
    if (json_is_true(auto_pause) && chosen->on_timeout && !pause)
        return error_set_field(err, ERR_INVALID_REQUEST, "/auto_pause",
                               "auto_pause contradicts lifecycle.on_timeout = kill.");
    if (json_is_false(auto_pause) && pause)
        return error_set_field(err, ERR_INVALID_REQUEST, "/auto_pause",
                               "auto_pause = false contradicts lifecycle.on_timeout = pause.");
    if (json_is_true(auto_pause))
        create->on_timeout = ON_TIMEOUT_PAUSE;
    if (sandbox_choices_check(&create->choices, chosen, err) < 0)
        return -1;
    const json_t *timeout = json_object_get(body, "timeout");
    create->timeout_s =
        timeout ? (uint64_t)json_integer_value(timeout) : (uint64_t)TIMEOUT_DEFAULT_S;
    return 0;
}

/* --- environment and services --- */

static int read_envs(const json_t *body, char **text, struct error **err)
{
    const json_t *envs = json_object_get(body, "envs");
    const char *name;
    json_t *value;
    size_t total = 0;
    if (envs_check_names(envs, "/envs", err) < 0)
        return -1;
    json_object_foreach ((json_t *)envs, name, value) {
        total += strlen(name) + json_string_length(value) + 2;
    }
    if (total > ENVS_MAX_BYTES)
        return error_set_field(err, ERR_INVALID_REQUEST, "/envs",
                               "The environment is larger than %d KiB.", ENVS_MAX_BYTES / 1024);
    if (json_object_size(envs))
        *text = json_dumps(envs, JSON_COMPACT);
    return 0;
}

static int read_services(const json_t *body, char **text, struct error **err)
{
    const json_t *services = json_object_get(body, "services");
    if (services_check(services, "/services", err) < 0)
        return -1;
    if (services)
        *text = json_dumps(services, JSON_COMPACT);
    return 0;
}

/* --- volumes --- */

static int read_volume_mounts(const json_t *body, struct sandbox_create *create, char **text,
                              struct error **err)
{
    const json_t *mounts = json_object_get(body, "volume_mounts");
    if (volume_mounts_read(mounts, create->mounts, &create->mount_count, err) < 0)
        return -1;
    if (create->mount_count)
        *text = json_dumps(mounts, JSON_COMPACT | JSON_SORT_KEYS);
    return 0;
}

/* --- ports --- */

struct exposed_port exposed_port_of(const json_t *entry)
{
    return (struct exposed_port){
        .port = (uint16_t)json_integer_value(json_object_get(entry, "port")),
        .is_public = !json_is_false(json_object_get(entry, "public")),
        .is_https = str_equal(json_string_value(json_object_get(entry, "protocol")), "https"),
    };
}

static int check_port(uint16_t port, const char *pointer, struct error **err)
{
    if (!sandbox_port_is_reserved(port))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "Port %u is reserved and cannot be exposed.", port);
}

static struct exposed_port *find_port(struct sandbox_create *create, uint16_t port)
{
    for (unsigned i = 0; i < create->port_count; i++)
        if (create->ports[i].port == port)
            return &create->ports[i];
    return NULL;
}

/* Read https_ports. If all ports are exposed, the port is public and gets an entry of its own for
 * its protocol. */
static int read_https_ports(const json_t *body, struct sandbox_create *create, struct error **err)
{
    size_t index;
    json_t *entry;
    json_array_foreach (json_object_get(body, "https_ports"), index, entry) {
        uint16_t number = (uint16_t)json_integer_value(entry);
        autofree char *pointer = xasprintf("/https_ports/%zu", index);
        struct exposed_port *port = find_port(create, number);
        if (check_port(number, pointer, err) < 0)
            return -1;
        if (!port && (!create->all_ports || create->port_count == SANDBOX_PORTS_MAX))
            return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                   "Port %u is not among exposed_ports.", number);
        if (port)
            port->is_https = true;
        else
            create->ports[create->port_count++] = (struct exposed_port){number, true, true};
    }
    return 0;
}

static int read_ports(const json_t *body, struct sandbox_create *create, struct error **err)
{
    const json_t *exposed = json_object_get(body, "exposed_ports");
    size_t index;
    json_t *entry;
    create->all_ports |= json_is_string(exposed);
    create->image_ports = !exposed && !create->all_ports;
    json_array_foreach (exposed, index, entry) {
        struct exposed_port port = exposed_port_of(entry);
        autofree char *pointer = xasprintf("/exposed_ports/%zu/port", index);
        if (check_port(port.port, pointer, err) < 0)
            return -1;
        if (find_port(create, port.port))
            return error_set_field(err, ERR_INVALID_REQUEST, pointer, "Port %u is listed twice.",
                                   port.port);
        create->ports[create->port_count++] = port;
    }
    return read_https_ports(body, create, err);
}

int sandbox_input_read(const json_t *body, struct sandbox_input *input, struct error **err)
{
    struct sandbox_create *create = &input->create;
    struct sandbox_chosen chosen;
    create->choices = sandbox_choices_default;
    read_choices(body, &create->choices, &chosen);
    if (read_source(body, create, err) < 0 || read_lifecycle(body, &chosen, create, err) < 0 ||
        metadata_read(json_object_get(body, "metadata"), &input->metadata, err) < 0 ||
        read_envs(body, &input->envs, err) < 0 || read_services(body, &input->services, err) < 0 ||
        read_volume_mounts(body, create, &input->volume_mounts, err) < 0 ||
        read_ports(body, create, err) < 0)
        return -1;
    if (json_object_size(json_object_get(body, "hooks")))
        input->hooks = json_dumps(json_object_get(body, "hooks"), JSON_COMPACT);
    create->cpu = (uint32_t)json_integer_value(json_object_get(body, "cpu"));
    create->memory_mb = (uint32_t)json_integer_value(json_object_get(body, "memory_mb"));
    create->metadata = input->metadata;
    create->envs = input->envs;
    create->services = input->services;
    create->hooks = input->hooks;
    create->volume_mounts = input->volume_mounts;
    return 0;
}

void sandbox_update_read(const json_t *body, struct sandbox_update *update)
{
    *update = (struct sandbox_update){
        .metadata = json_object_get(body, "metadata"),
        .timeout_s = (uint64_t)json_integer_value(json_object_get(body, "timeout")),
    };
    read_choices(body, &update->choices, &update->chosen);
}

void sandbox_input_deinit(struct sandbox_input *input)
{
    free(input->metadata);
    free(input->volume_mounts);
    free(input->hooks);
    mem_wipe_free(input->envs);
    mem_wipe_free(input->services);
    *input = (struct sandbox_input){0};
}
