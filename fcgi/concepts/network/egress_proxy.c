/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/egress_proxy.h"

#include "base/mem.h"
#include "base/str.h"
#include "network/policy_entry.h"

#define PORT_MAX    65535
#define REFUSED_MAX 512

static const char *const types[] = {"socks5", "http", NULL};

static int check_host(const json_t *value, const char *pointer, struct error **err)
{
    struct policy_entry entry;
    error_auto problem = NULL;
    const char *text = json_string_value(value);
    bool is_host = policy_entry_parse(text, &entry, &problem) == 0;
    if (is_host) {
        is_host = entry.kind == POLICY_HOST && !entry.port && str_equal(entry.name, text);
        policy_entry_deinit(&entry);
    }
    return is_host || egress_proxy_address(text)
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                 "Write the proxy's host as a name in lower case or an IPv4 "
                                 "address, without a port.");
}

/* A colon ends the name in HTTP (RFC 7617). */
static int check_username(const json_t *value, const char *pointer, struct error **err)
{
    for (const char *c = json_string_value(value); *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f || *c == ':')
            return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                   "A username has only printable ASCII characters, and no colon.");
    return 0;
}

static int check_password(const json_t *value, const char *pointer, struct error **err)
{
    char name[EGRESS_SECRET_NAME_MAX + 1];
    return egress_is_mention(json_string_value(value), name)
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                 "Write the password as a secret of the team: ${secrets.NAME}.");
}

#define PLACE_MEMBERS                                                                          \
    {.name = "type", .type = SCHEMA_STRING, .required = true, .choices = types},               \
        {.name = "host",                                                                       \
         .type = SCHEMA_STRING,                                                                \
         .required = true,                                                                     \
         .min = 1,                                                                             \
         .max = POLICY_HOST_MAX,                                                               \
         .check = check_host},                                                                 \
        {.name = "port", .type = SCHEMA_INTEGER, .required = true, .min = 1, .max = PORT_MAX}, \
    {                                                                                          \
        .name = "username", .type = SCHEMA_STRING, .min = 1, .max = EGRESS_PROXY_TEXT_MAX,     \
        .check = check_username                                                                \
    }

const struct schema_member egress_proxy_members[] = {
    PLACE_MEMBERS,
    {.name = "password",
     .type = SCHEMA_STRING,
     .min = 1,
     .max = EGRESS_PROXY_TEXT_MAX,
     .check = check_password},
    {.name = NULL},
};
const struct schema_member egress_proxy_wire_members[] = {
    PLACE_MEMBERS,
    {.name = "password", .type = SCHEMA_STRING, .min = 1, .max = EGRESS_PROXY_TEXT_MAX},
    {.name = "secret", .type = SCHEMA_STRING, .min = 1, .max = EGRESS_SECRET_NAME_MAX},
    {.name = "refused", .type = SCHEMA_STRING, .max = REFUSED_MAX},
    {.name = NULL},
};

int egress_proxy_check(const json_t *proxy, const char *pointer, struct error **err)
{
    const json_t *name = json_object_get(proxy, "username");
    const char *missing = name ? "password" : "username";
    if (!name == !json_object_get(proxy, "password"))
        return 0;
    autofree char *field = schema_pointer(pointer, missing);
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "Give both username and password, or neither.");
}

bool egress_proxy_secret(const json_t *proxy, char name[EGRESS_SECRET_NAME_MAX + 1])
{
    const char *text = json_string_value(json_object_get(proxy, "password"));
    return text && egress_is_mention(text, name);
}

uint32_t egress_proxy_address(const char *host)
{
    struct policy_address parsed;
    uint32_t address = 0;
    if (policy_address_parse(host, &parsed) < 0 || parsed.family != POLICY_IPV4)
        return 0;
    for (unsigned i = 0; i < 4; i++)
        address = address << 8 | parsed.bytes[i];
    return address;
}
