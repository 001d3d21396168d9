/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/setting_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"

#define LOWER_DIGIT "abcdefghijklmnopqrstuvwxyz0123456789"
#define HOST_MAX    253
#define HOSTS_MAX   8

static bool is_slug(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= 63 && text[0] != '-' && strspn(text, LOWER_DIGIT "-") == length;
}

/* Labels of [a-z0-9-] with dots between, size bytes long. */
static bool is_domain(const char *text, size_t size)
{
    size_t label = 0;
    if (!size || size > HOST_MAX)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.') {
            if (!label || text[i - 1] == '-')
                return false;
            label = 0;
        } else if (!strchr(LOWER_DIGIT "-", text[i]) || (!label && text[i] == '-')) {
            return false;
        } else if (++label > 63) {
            return false;
        }
    }
    return label && text[size - 1] != '-';
}

static bool is_host_and_port(const char *text)
{
    size_t host = strcspn(text, ":");
    uint64_t port;
    return is_domain(text, host) &&
           (!text[host] || str_parse_u64(text + host + 1, 1, 65535, &port) == 0);
}

static const char *check_any(const char *value)
{
    (void)value;
    return NULL;
}

static const char *check_path(const char *value)
{
    return !*value || *value == '/' ? NULL : "an absolute path";
}

static const char *check_slug(const char *value)
{
    return is_slug(value) ? NULL : "1 to 63 of a-z, 0-9 and -";
}

static const char *check_host(const char *value)
{
    return is_host_and_port(value) ? NULL : "a host name in lower case, with or without :port";
}

static bool is_host_name(const char *value)
{
    size_t length = strlen(value);
    return length > 0 && length <= HOST_MAX &&
           strspn(value, LOWER_DIGIT "ABCDEFGHIJKLMNOPQRSTUVWXYZ.:-") == length;
}

static const char *check_host_name(const char *value)
{
    return !*value || is_host_name(value) ? NULL : "a host name or an address";
}

static const char *check_host_names(const char *value)
{
    unsigned count = 0;
    for (const char *at = value; at; count++) {
        size_t length = strcspn(at, ",");
        autofree char *one = xstrndup(at, length);
        if (!is_host_name(one))
            return "host names or addresses, separated by commas";
        at = at[length] ? at + length + 1 : NULL;
    }
    return count <= HOSTS_MAX ? NULL : "at most 8 host names or addresses";
}

static const char *check_url(const char *value)
{
    bool fits = (str_starts_with(value, "https://") && is_host_and_port(value + 8)) ||
                (str_starts_with(value, "http://") && is_host_and_port(value + 7));
    return fits ? NULL : "https://host or https://host:port in lower case, without a path";
}

static const char *check_origin(const char *value)
{
    bool fits = !*value || (str_starts_with(value, "https://") && is_host_and_port(value + 8));
    return fits ? NULL : "https://host or https://host:port in lower case, without a path";
}

/* One FROM=TO, between blanks. */
static bool is_mirror(const char *entry, size_t length)
{
    const char *equals = memchr(entry, '=', length);
    return equals && equals != entry && equals + 1 != entry + length &&
           !memchr(equals + 1, '=', (size_t)(entry + length - equals - 1));
}

static const char *check_mirrors(const char *value)
{
    for (const char *at = value + strspn(value, ", \t"); *at; at += strspn(at, ", \t")) {
        size_t length = strcspn(at, ", \t");
        if (!is_mirror(at, length))
            return "REGISTRY[/PATH]=REGISTRY[/PATH], separated by commas";
        at += length;
    }
    return NULL;
}

static const char *check_templates(const char *value)
{
    for (const char *at = value + strspn(value, ", \t"); *at; at += strspn(at, ", \t")) {
        size_t length = strcspn(at, ", \t"), image = strcspn(at, "=");
        if (!image || image >= length)
            return "IMAGE=TEMPLATE, separated by commas";
        autofree char *slug = xstrndup(at + image + 1, length - image - 1);
        slug[strcspn(slug, ":")] = '\0'; /* a version or a tag */
        if (!is_slug(slug))
            return "IMAGE=TEMPLATE, separated by commas; a template is 1 to 63 of a-z, 0-9 and -";
        at += length;
    }
    return NULL;
}

const struct setting setting_table[] = {
#define SETTING_STRING(id, default_, rule, text) \
    {.name = #id,                                \
     .kind = SETTING_KIND_STRING,                \
     .offset = offsetof(struct settings, id),    \
     .fallback = (default_),                     \
     .check = check_##rule,                      \
     .prose = (text)},
#define SETTING_NUMBER(id, default_, least, most, unit_, text) \
    {.name = #id,                                              \
     .kind = SETTING_KIND_NUMBER,                              \
     .offset = offsetof(struct settings, id),                  \
     .fallback = #default_,                                    \
     .min = (least),                                           \
     .max = (most),                                            \
     .unit = (unit_),                                          \
     .prose = (text)},
#define SETTING_CHOICE(id, default_, list, text) \
    {.name = #id,                                \
     .kind = SETTING_KIND_CHOICE,                \
     .offset = offsetof(struct settings, id),    \
     .fallback = (default_),                     \
     .choices = (list),                          \
     .prose = (text)},
#include "config/settings.def"
#undef SETTING_STRING
#undef SETTING_NUMBER
#undef SETTING_CHOICE
};
const size_t setting_count = ARRAY_SIZE(setting_table);

const char *setting_section_title(const char *name)
{
    static const struct {
        const char *first, *title;
    } sections[] = {
#define SETTING_STRING(id, fallback, check, prose)
#define SETTING_NUMBER(id, fallback, min, max, unit, prose)
#define SETTING_CHOICE(id, fallback, choices, prose)
#define SETTING_SECTION(id, text) {#id, text},
#include "config/settings.def"
#undef SETTING_STRING
#undef SETTING_NUMBER
#undef SETTING_CHOICE
    };
    for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
        if (str_equal(sections[i].first, name))
            return sections[i].title;
    return NULL;
}

char *setting_problem(const struct setting *setting, const char *value)
{
    uint64_t number;
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return xstrdup("text without control characters");
    switch (setting->kind) {
    case SETTING_KIND_STRING:
        if (!*value && !setting->fallback)
            return xstrdup("set");
        return xstrdup_or_null(setting->check(value));
    case SETTING_KIND_NUMBER:
        if (str_parse_u64(value, setting->min, setting->max, &number) == 0)
            return NULL;
        return xasprintf("a number from %" PRIu64 " to %" PRIu64, setting->min, setting->max);
    case SETTING_KIND_CHOICE:
        return str_is_choice(setting->choices, value) ? NULL
                                                      : xasprintf("one of %s", setting->choices);
    }
    panic("a setting is of no known kind");
}

void setting_store(const struct setting *setting, struct settings *settings, const char *value)
{
    void *place = (char *)settings + setting->offset;
    if (setting->kind == SETTING_KIND_NUMBER) {
        if (str_parse_u64(value, setting->min, setting->max, place) < 0)
            panic("the default of a setting is out of its bounds");
        return;
    }
    char **text = place;
    free(*text);
    *text = xstrdup(value);
}
