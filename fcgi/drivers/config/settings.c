/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/settings.h"

#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/setting_table.h"

struct parser {
    const char *path;
    FILE *file;
    unsigned line;
    bool *seen; /* by row of the table */
    struct settings *settings;
    struct error **err; /* the first error; later lines are skipped */
};

static int fail(struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns 0: the callback's value of inih for an error. */
static int fail(struct parser *parser, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *text = xvasprintf(format, ap);
    va_end(ap);
    error_set(parser->err, ERR_CONFIG, "%s:%u: %s", parser->path, parser->line, text);
    return 0;
}

static int unknown_name(struct parser *parser, const char *name)
{
    static const char *const names[] = {
#define SETTING_STRING(id, fallback, check, prose)          #id,
#define SETTING_NUMBER(id, fallback, min, max, unit, prose) #id,
#define SETTING_CHOICE(id, fallback, choices, prose)        #id,
#include "config/settings.def"
#undef SETTING_STRING
#undef SETTING_NUMBER
#undef SETTING_CHOICE
    };
    const char *nearest = str_nearest(name, names, ARRAY_SIZE(names));
    if (nearest)
        return fail(parser, "unknown setting \"%s\"; did you mean \"%s\"?", name, nearest);
    return fail(parser, "unknown setting \"%s\"", name);
}

static int on_setting(void *user, const char *section, const char *name, const char *value)
{
    struct parser *parser = user;
    if (*parser->err)
        return 0;
    if (*section)
        return fail(parser, "sections such as [%s] are not used here", section);
    size_t row = 0;
    while (row < setting_count && strcmp(setting_table[row].name, name))
        row++;
    if (row == setting_count)
        return unknown_name(parser, name);
    if (parser->seen[row])
        return fail(parser, "%s is set a second time", name);
    parser->seen[row] = true;
    autofree char *problem = setting_problem(&setting_table[row], value);
    if (problem)
        return fail(parser, "%s must be %s", name, problem);
    setting_store(&setting_table[row], parser->settings, value);
    return 1;
}

/* Read a line for inih. Its own reader would cut a long line in two. It would also take an indented
 * line for the continuation of the previous one. Count the lines for error messages. */
static char *read_line(char *line, int size, void *user)
{
    struct parser *parser = user;
    if (*parser->err || !fgets(line, size, parser->file))
        return NULL;
    parser->line++;
    size_t length = strlen(line);
    if (length + 1 == (size_t)size && line[length - 1] != '\n') {
        fail(parser, "the line is longer than %d characters", size - 2);
        return NULL;
    }
    size_t indent = strspn(line, " \t");
    memmove(line, line + indent, length - indent + 1);
    return line;
}

static int parse(struct parser *parser, struct error **err)
{
    int line = ini_parse_stream(read_line, parser, on_setting, parser);
    if (*err)
        return -1;
    if (line > 0)
        return error_set(err, ERR_CONFIG, "%s:%d: the line is not \"name = value\"", parser->path,
                         line);
    if (line < 0 || ferror(parser->file))
        return error_set(err, ERR_CONFIG, "%s cannot be read", parser->path);
    for (size_t i = 0; i < setting_count; i++)
        if (!setting_table[i].fallback && !parser->seen[i])
            return error_set(err, ERR_CONFIG, "%s: %s must be set", parser->path,
                             setting_table[i].name);
    return 0;
}

static struct settings *with_defaults(void)
{
    struct settings *settings = xcalloc(1, sizeof *settings);
    for (size_t i = 0; i < setting_count; i++)
        setting_store(&setting_table[i], settings,
                      setting_table[i].fallback ? setting_table[i].fallback : "");
    return settings;
}

/* Directories whose default is a matter of ./configure, so that the sample file is not. */
static void fill_installed(char **directory, const char *installed)
{
    if (**directory)
        return;
    free(*directory);
    *directory = xstrdup(installed);
}

int settings_load(const char *path, struct settings **settings, struct error **err)
{
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", path);
    autofree bool *seen = xcalloc(setting_count, sizeof *seen);
    settings_auto loaded = with_defaults();
    struct parser parser = {
        .path = path, .file = file, .seen = seen, .settings = loaded, .err = err};
    if (parse(&parser, err) < 0)
        return -1;
    fill_installed(&loaded->sql_dir, SANDLOT_SQL_DIR);
    fill_installed(&loaded->keeper_program, SANDLOT_KEEPER);
    fill_installed(&loaded->nginx_template_dir, SANDLOT_NGINX_DIR);
    fill_installed(&loaded->console_dir, SANDLOT_CONSOLE_DIR);
    *settings = steal_pointer(&loaded);
    return 0;
}

void settings_free(struct settings *settings)
{
    if (!settings)
        return;
#define SETTING_STRING(name, fallback, check, prose) free(settings->name);
#define SETTING_NUMBER(name, fallback, min, max, unit, prose)
#define SETTING_CHOICE(name, fallback, choices, prose) free(settings->name);
#include "config/settings.def"
#undef SETTING_STRING
#undef SETTING_NUMBER
#undef SETTING_CHOICE
    free(settings);
}

char *settings_get(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        const void *place = (const char *)settings + setting->offset;
        if (strcmp(setting->name, name))
            continue;
        if (setting->kind == SETTING_KIND_NUMBER)
            return xasprintf("%" PRIu64, *(const uint64_t *)place);
        return xstrdup(*(char *const *)place);
    }
    return NULL;
}

const char *settings_unit(const char *name)
{
    for (size_t i = 0; i < setting_count; i++)
        if (!strcmp(setting_table[i].name, name) && setting_table[i].unit)
            return setting_table[i].unit;
    return "";
}

static char *host_of(const char *url)
{
    const char *host = strstr(url, "://") + 3;
    return xstrndup(host, strcspn(host, ":"));
}

char *settings_api_host(const struct settings *settings)
{
    return host_of(settings->base_url);
}

char *settings_console_host(const struct settings *settings)
{
    return *settings->console_url ? host_of(settings->console_url) : NULL;
}

char *settings_data_plane_domain(const struct settings *settings)
{
    return xstrndup(settings->data_plane_host, strcspn(settings->data_plane_host, ":"));
}

/* The kernel may have been built or started without it, or told to give no device an address. */
static bool has_ipv6(void)
{
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                          .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    autoclose int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && bind(fd, (const struct sockaddr *)&loopback, sizeof loopback) == 0;
}

bool settings_listen_ipv6(const struct settings *settings)
{
    if (!strcmp(settings->listen_ipv6, "auto"))
        return has_ipv6();
    return !strcmp(settings->listen_ipv6, "on");
}
