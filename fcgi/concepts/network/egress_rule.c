/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/egress_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "network/policy_entry.h"

#define MENTION       "${"
#define MENTION_OURS  "${secrets."
#define METHOD_MAX    20
#define VALUE_MAX     2048 /* bytes of a value with mentions of secrets, as in E2B's API */
#define WIRE_TEXT_MAX 512

const char *const egress_header_names[] = {
#define EGRESS_HEADER(name) name,
#include "network/egress_headers.def"
#undef EGRESS_HEADER
    NULL};

/* --- forms --- */

static int check_host(const json_t *value, const char *pointer, struct error **err)
{
    struct policy_entry entry;
    error_auto problem = NULL;
    const char *text = json_string_value(value);
    bool is_name = policy_entry_parse(text, &entry, &problem) == 0;
    if (is_name) {
        is_name = entry.kind == POLICY_HOST && !entry.port && str_equal(entry.name, text);
        policy_entry_deinit(&entry);
    }
    return is_name ? 0
                   : error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                     "Write one host, in lower case and without a port.");
}

static int check_port(const json_t *value, const char *pointer, struct error **err)
{
    json_int_t port = json_integer_value(value);
    return port == EGRESS_PORT || port == EGRESS_PORT_HTTP
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                 "The port of a rule is %d (HTTPS) or %d (HTTP).", EGRESS_PORT,
                                 EGRESS_PORT_HTTP);
}

static int check_method(const json_t *value, const char *pointer, struct error **err)
{
    for (const char *c = json_string_value(value); *c; c++)
        if (*c < 'A' || *c > 'Z')
            return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                   "Write a method in capital letters, such as GET.");
    return 0;
}

/* Whether no server can read the path as another one: no dots or double slashes to remove, and none
 * of these bytes behind a percent sign. */
static bool is_plain(const char *path, size_t size)
{
    if (!size || path[0] != '/')
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)path[i];
        bool at_start = c == '/';
        const char *rest = path + i + 1;
        size_t left = size - i - 1;
        if (c <= ' ' || c >= 0x7f || c == '\\' || c == ';')
            return false;
        if (at_start && left && rest[0] == '/')
            return false;
        if (at_start && left && rest[0] == '.' &&
            (left == 1 || rest[1] == '/' || (rest[1] == '.' && (left == 2 || rest[2] == '/'))))
            return false;
        if (c == '%' && (left < 2 || strchr("01", rest[0]) || !strncasecmp(rest, "2e", 2) ||
                         !strncasecmp(rest, "2f", 2) || !strncasecmp(rest, "5c", 2) ||
                         !strncasecmp(rest, "25", 2) || !strncasecmp(rest, "3b", 2)))
            return false;
    }
    return true;
}

static int check_path(const json_t *value, const char *pointer, struct error **err)
{
    const char *text = json_string_value(value), *star = strchr(text, '*');
    size_t size = strlen(text);
    if (is_plain(text, size) && !strpbrk(text, "?#") && (!star || star == text + size - 1))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "A path begins with a slash and may end with a star, such as /v1/*. It "
                           "has no . or .. as a part, no query and no escaped slashes.");
}

static int check_headers(const json_t *value, const char *pointer, struct error **err);

static int check_query(const json_t *value, const char *pointer, struct error **err);

static int check_filled_headers(const json_t *value, const char *pointer, struct error **err);

static int check_filled_query(const json_t *value, const char *pointer, struct error **err);

static const struct schema_member method_item = {
    .type = SCHEMA_STRING, .min = 1, .max = METHOD_MAX, .check = check_method};
static const struct schema_member path_item = {
    .type = SCHEMA_STRING, .min = 1, .max = EGRESS_PATH_MAX, .check = check_path};
static const struct schema_member value_item = {.type = SCHEMA_STRING, .min = 1, .max = VALUE_MAX};
static const struct schema_member wire_value_item = {
    .type = SCHEMA_STRING, .min = 1, .max = EGRESS_HEADER_MAX};

#define HOST_MEMBERS                                                                         \
    {.name = "host",                                                                         \
     .type = SCHEMA_STRING,                                                                  \
     .required = true,                                                                       \
     .min = 1,                                                                               \
     .max = EGRESS_HOST_MAX,                                                                 \
     .check = check_host},                                                                   \
    {                                                                                        \
        .name = "port", .type = SCHEMA_INTEGER, .min = EGRESS_PORT_HTTP, .max = EGRESS_PORT, \
        .check = check_port                                                                  \
    }
#define LIMIT_MEMBERS                                                             \
    {.name = "methods",                                                           \
     .type = SCHEMA_ARRAY,                                                        \
     .min = 1,                                                                    \
     .max = EGRESS_METHODS_MAX,                                                   \
     .item = &method_item},                                                       \
    {                                                                             \
        .name = "paths", .type = SCHEMA_ARRAY, .min = 1, .max = EGRESS_PATHS_MAX, \
        .item = &path_item                                                        \
    }

static const struct schema_member rule_members[] = {
    HOST_MEMBERS,
    {.name = "headers",
     .type = SCHEMA_MAP,
     .min = 1,
     .max = EGRESS_HEADERS_MAX,
     .item = &value_item,
     .check = check_headers},
    {.name = "query",
     .type = SCHEMA_MAP,
     .min = 1,
     .max = EGRESS_QUERY_MAX,
     .item = &value_item,
     .check = check_query},
    LIMIT_MEMBERS,
    {.name = NULL},
};
const struct schema_member egress_rule_item = {.type = SCHEMA_OBJECT, .members = rule_members};

static const struct schema_member name_item = {
    .type = SCHEMA_STRING, .min = 1, .max = EGRESS_SECRET_NAME_MAX};
static const struct schema_member wire_rule_members[] = {
    HOST_MEMBERS,
    {.name = "headers",
     .type = SCHEMA_MAP,
     .max = EGRESS_HEADERS_MAX,
     .item = &wire_value_item,
     .check = check_filled_headers},
    {.name = "query",
     .type = SCHEMA_MAP,
     .max = EGRESS_QUERY_MAX,
     .item = &wire_value_item,
     .check = check_filled_query},
    LIMIT_MEMBERS,
    {.name = "secrets", .type = SCHEMA_ARRAY, .max = EGRESS_SECRETS_MAX, .item = &name_item},
    {.name = "refused", .type = SCHEMA_STRING, .max = WIRE_TEXT_MAX},
    {.name = NULL},
};
static const struct schema_member wire_rule_item = {.type = SCHEMA_OBJECT,
                                                    .members = wire_rule_members};
static const struct schema_member pem_item = {.type = SCHEMA_STRING, .min = 1, .max = 8192};
const struct schema_member egress_wire_members[] = {
    {.name = "rules",
     .type = SCHEMA_ARRAY,
     .required = true,
     .min = 1,
     .max = EGRESS_RULES_MAX,
     .item = &wire_rule_item},
    {.name = "certificates", .type = SCHEMA_MAP, .max = EGRESS_RULES_MAX, .item = &pem_item},
    {.name = NULL},
};

/* --- headers --- */

static bool header_is_known(const char *name)
{
    for (size_t i = 0; egress_header_names[i]; i++)
        if (!strcasecmp(egress_header_names[i], name))
            return true;
    return false;
}

bool egress_secret_name_is_valid(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return size && size <= EGRESS_SECRET_NAME_MAX && !name[size];
}

/* Read the mention of a secret at "${". Returns the text behind it, or NULL. */
static const char *read_mention(const char *text, char name[EGRESS_SECRET_NAME_MAX + 1])
{
    if (!str_starts_with(text, MENTION_OURS))
        return NULL;
    text += strlen(MENTION_OURS);
    size_t size = strcspn(text, "}");
    if (!size || size > EGRESS_SECRET_NAME_MAX || !text[size])
        return NULL;
    memcpy(name, text, size);
    name[size] = '\0';
    return egress_secret_name_is_valid(name) ? text + size + 1 : NULL;
}

bool egress_is_mention(const char *text, char name[EGRESS_SECRET_NAME_MAX + 1])
{
    const char *rest = read_mention(text, name);
    return rest && !*rest;
}

static int check_filled(const char *text, const char *pointer, struct error **err)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
            return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                   "A value has only printable ASCII characters.");
    return 0;
}

static int check_value(const char *text, const char *pointer, struct error **err)
{
    char name[EGRESS_SECRET_NAME_MAX + 1];
    if (check_filled(text, pointer, err) < 0)
        return -1;
    if (!text[strspn(text, " ")]) /* nginx would send that of the sandbox instead */
        return error_set_field(err, ERR_INVALID_REQUEST, pointer, "A value has more than spaces.");
    for (const char *at = strstr(text, MENTION); at; at = strstr(at, MENTION)) {
        at = read_mention(at, name);
        if (!at)
            return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                   "Write a secret as ${secrets.NAME}.");
    }
    return 0;
}

/* A value of a request mentions secrets. A filled value has theirs, in which any text is allowed.
 */
typedef int value_check(const char *text, const char *pointer, struct error **err);

/* Count the spellings of a header: nginx would send one value for each spelling. */
static unsigned count_header(const json_t *headers, const char *known)
{
    unsigned count = 0;
    const char *name;
    json_t *text;
    json_object_foreach ((json_t *)headers, name, text)
        count += !strcasecmp(name, known);
    return count;
}

static int check_each_header(const json_t *value, const char *pointer, value_check *check,
                             struct error **err)
{
    const char *name;
    json_t *text;
    json_object_foreach ((json_t *)value, name, text) {
        autofree char *at = schema_pointer(pointer, name);
        if (!header_is_known(name))
            return error_set_field(err, ERR_INVALID_REQUEST, at,
                                   "A rule cannot set this header; doc/reference/egress-rules.md "
                                   "lists those that it can.");
        if (count_header(value, name) > 1)
            return error_set_field(err, ERR_INVALID_REQUEST, at,
                                   "The rule sets this header twice.");
        if (json_is_string(text) && check(json_string_value(text), at, err) < 0)
            return -1;
    }
    return 0;
}

static int check_headers(const json_t *value, const char *pointer, struct error **err)
{
    return check_each_header(value, pointer, check_value, err);
}

static int check_filled_headers(const json_t *value, const char *pointer, struct error **err)
{
    return check_each_header(value, pointer, check_filled, err);
}

/* --- query --- */

#define PLAIN_OF_QUERY \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~" /* RFC 3986 */

static int check_each_parameter(const json_t *value, const char *pointer, value_check *check,
                                struct error **err)
{
    const char *name;
    json_t *text;
    json_object_foreach ((json_t *)value, name, text) {
        autofree char *at = schema_pointer(pointer, name);
        size_t size = strspn(name, PLAIN_OF_QUERY);
        if (!size || size > EGRESS_QUERY_NAME_MAX || name[size])
            return error_set_field(err, ERR_INVALID_REQUEST, at,
                                   "The name of a query parameter has at most %d letters, digits, "
                                   "hyphens, dots, underscores and tildes.",
                                   EGRESS_QUERY_NAME_MAX);
        if (json_is_string(text) && check(json_string_value(text), at, err) < 0)
            return -1;
    }
    return 0;
}

static int check_query(const json_t *value, const char *pointer, struct error **err)
{
    return check_each_parameter(value, pointer, check_value, err);
}

static int check_filled_query(const json_t *value, const char *pointer, struct error **err)
{
    return check_each_parameter(value, pointer, check_filled, err);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read a name in a query as servers do. The text is changed. */
static void decode(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++) {
        int high = *c == '%' ? digit_of(c[1]) : -1, low = high < 0 ? -1 : digit_of(c[2]);
        *to++ = (char)(low < 0 ? (*c == '+' ? ' ' : *c) : high * 16 + low);
        c += low < 0 ? 0 : 2;
    }
    *to = '\0';
}

static bool sets_parameter(const json_t *query, const char *part, size_t size)
{
    autofree char *name = xstrndup(part, size);
    name[strcspn(name, "=")] = '\0';
    decode(name);
    return json_object_get(query, name);
}

/* Append the parameters of the request that the rule does not set. Some servers part them at a
 * semicolon, too. Returns whether there was one. */
static bool append_others(struct buffer *target, const json_t *query, const char *rest)
{
    bool any = false;
    for (char before = '?'; *rest;) {
        size_t size = strcspn(rest, "&;");
        if (size && !sets_parameter(query, rest, size)) {
            buffer_append_char(target, any ? before : '?');
            buffer_append(target, rest, size);
            any = true;
        }
        before = rest[size];
        rest += size + (rest[size] != '\0');
    }
    return any;
}

static void append_parameter(struct buffer *target, char before, const char *name,
                             const char *value)
{
    buffer_append_char(target, before);
    buffer_append_string(target, name);
    buffer_append_char(target, '=');
    for (const char *c = value; *c; c++) {
        if (strchr(PLAIN_OF_QUERY, *c))
            buffer_append_char(target, *c);
        else
            buffer_printf(target, "%%%02X", (unsigned char)*c);
    }
}

/* A header of the answer to nginx has the target. */
static bool can_be_target(const char *uri)
{
    for (const char *c = uri; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || *c == '#')
            return false;
    return *uri == '/';
}

char *egress_target(const json_t *rule, const char *uri)
{
    const json_t *query = json_object_get(rule, "query");
    struct buffer target = BUFFER_INIT(EGRESS_TARGET_MAX);
    size_t path = strcspn(uri, "?");
    const char *name;
    json_t *value;
    buffer_append(&target, uri, path);
    bool any = append_others(&target, query, uri + path + (uri[path] != '\0'));
    json_object_foreach ((json_t *)query, name, value) {
        append_parameter(&target, any ? '&' : '?', name, json_string_value(value));
        any = true;
    }
    if (can_be_target(uri) && !buffer_overflowed(&target))
        return buffer_steal(&target);
    buffer_wipe(&target);
    return NULL;
}

/* --- secrets --- */

static int each_secret(const json_t *rule, const char *member, egress_visit *visit, void *context,
                       struct error **err)
{
    char name[EGRESS_SECRET_NAME_MAX + 1];
    const char *key;
    json_t *value;
    json_object_foreach (json_object_get(rule, member), key, value) {
        const struct egress_place place = {member, key};
        const char *at = strstr(json_string_value(value), MENTION);
        while (at && (at = read_mention(at, name))) {
            if (visit(context, &place, name, err) < 0)
                return -1;
            at = strstr(at, MENTION);
        }
    }
    return 0;
}

int egress_rule_each_secret(const json_t *rule, egress_visit *visit, void *context,
                            struct error **err)
{
    return each_secret(rule, "headers", visit, context, err) < 0
               ? -1
               : each_secret(rule, "query", visit, context, err);
}

char *egress_value_fill(const char *value, const char *(*value_of)(void *context, const char *name),
                        void *context)
{
    struct buffer text = BUFFER_INIT(EGRESS_HEADER_MAX);
    char name[EGRESS_SECRET_NAME_MAX + 1];
    const char *filled = "";
    while (filled && *value) {
        const char *at = strstr(value, MENTION);
        size_t plain = at ? (size_t)(at - value) : strlen(value);
        buffer_append(&text, value, plain);
        value += plain;
        if (!at)
            continue;
        value = read_mention(at, name);
        filled = value ? value_of(context, name) : NULL;
        if (filled)
            buffer_append_string(&text, filled);
    }
    if (filled && !buffer_overflowed(&text))
        return buffer_steal(&text);
    buffer_wipe(&text);
    return NULL;
}

/* --- deciding --- */

uint16_t egress_port(const json_t *rule)
{
    const json_t *port = json_object_get(rule, "port");
    return port ? (uint16_t)json_integer_value(port) : EGRESS_PORT;
}

static bool is_of(const json_t *rule, const char *name, uint16_t port)
{
    return str_equal(json_string_value(json_object_get(rule, "host")), name) &&
           (!port || port == egress_port(rule));
}

bool egress_has_host(const json_t *egress, const char *name, uint16_t port)
{
    size_t index;
    json_t *rule;
    json_array_foreach (json_object_get(egress, "rules"), index, rule) {
        if (is_of(rule, name, port))
            return true;
    }
    return false;
}

static bool has_method(const json_t *rule, const char *method)
{
    const json_t *methods = json_object_get(rule, "methods");
    size_t index;
    json_t *value;
    json_array_foreach ((json_t *)methods, index, value) {
        if (str_equal(json_string_value(value), method))
            return true;
    }
    return !methods;
}

static bool has_path(const json_t *rule, const char *path, size_t size)
{
    const json_t *paths = json_object_get(rule, "paths");
    size_t index;
    json_t *value;
    if (!paths)
        return true;
    if (!is_plain(path, size))
        return false;
    json_array_foreach ((json_t *)paths, index, value) {
        const char *text = json_string_value(value);
        size_t length = strlen(text);
        bool is_prefix = text[length - 1] == '*';
        length -= is_prefix;
        if ((is_prefix ? size >= length : size == length) && !memcmp(text, path, length))
            return true;
    }
    return false;
}

/* The header Host may have a port; only the one of the connection. */
static bool is_host(const char *header, const char *name, uint16_t port)
{
    char end[sizeof ":65535"];
    size_t size = strlen(name);
    snprintf(end, sizeof end, ":%u", port);
    return !strncasecmp(header, name, size) && (!header[size] || str_equal(header + size, end));
}

static const json_t *refuse(const char **reason, const char *why)
{
    *reason = why;
    return NULL;
}

const json_t *egress_decide(const json_t *egress, const struct egress_request *request,
                            const char **reason)
{
    size_t index, size = strcspn(request->uri, "?");
    json_t *rule;
    bool method = false, tls = request->port == EGRESS_PORT;
    if ((tls && !str_equal(request->sni, request->host)) ||
        !is_host(request->http_host, request->host, request->port))
        return refuse(reason,
                      tls ? "The request's host differs from the host of its TLS connection."
                          : "The host in the request line differs from the header Host.");
    if (!egress_has_host(egress, request->host, request->port))
        return refuse(reason, "This sandbox has no egress rule for the host at this port.");
    json_array_foreach (json_object_get(egress, "rules"), index, rule) {
        if (!is_of(rule, request->host, request->port) || !has_method(rule, request->method))
            continue;
        method = true;
        if (!has_path(rule, request->uri, size))
            continue;
        const char *refused = json_string_value(json_object_get(rule, "refused"));
        return refused ? refuse(reason, refused) : rule;
    }
    return refuse(reason, method
                              ? "No egress rule of this sandbox allows the path at this host."
                              : "No egress rule of this sandbox allows the method at this host.");
}
