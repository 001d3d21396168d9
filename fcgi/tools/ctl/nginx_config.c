/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/nginx_config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/nginx_html.h"
#include "endpoint/endpoint.h"
#include "host/host_check.h"
#include "network/egress_rule.h"

#define TEMPLATE_MAX       262144
#define RENDERED_MAX       (2 * TEMPLATE_MAX)
#define NAME_MAX_BYTES     64
#define FILES_MAX          32
#define DEFAULT_DIR        "/etc/sandlot/nginx"
#define SUFFIX             ".in"
#define API_TIMEOUT_S      240 /* for a worker, beside its waits for agents */
#define WAKE_MARGIN_S      30  /* additional time of a wake after resume_wait_s */
#define BURST_FACTOR       2
#define SITE_FACTOR        4 /* a /48 of IPv6, which has many networks, compared with a /64 */
#define LIMIT_CONN_MAX     65535
#define HASHED_NAME_MAX    46 /* two pointers and the name with two bytes more, in eights */
#define ENDPOINTS_TEXT_MAX 16384
#define NAME_CHARACTERS    "abcdefghijklmnopqrstuvwxyz0123456789_"
#define VALUE_CHARACTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:+,=~"

struct output {
    char *name; /* without .in */
    struct buffer text;
};

struct renderer {
    const struct settings *settings;
    const struct nginx_relay *relay; /* the host, for files of a host; else NULL */
    const char *output_dir;
    struct output files[FILES_MAX];
    size_t count;
};

static char *public_port(const struct settings *settings)
{
    const char *colon = strchr(settings->data_plane_host, ':');
    return xstrdup(colon ? colon + 1 : "443");
}

/* The port of one of our addresses, with its colon. */
static char *public_authority_end(const struct settings *settings)
{
    autofree char *port = public_port(settings);
    return str_equal(port, "443") ? xstrdup("") : xasprintf(":%s", port);
}

/* The ports at which strangers reach this machine, as elements of a set of nftables. */
static char *front_ports(const struct settings *settings)
{
    buffer_auto ports = BUFFER_INIT(64);
    buffer_printf(&ports, "%" PRIu64, settings->listen_port);
    if (settings->redirect_port && settings->redirect_port != settings->listen_port)
        buffer_printf(&ports, ", %" PRIu64, settings->redirect_port);
    if (settings->ssh_port != settings->listen_port &&
        settings->ssh_port != settings->redirect_port)
        buffer_printf(&ports, ", %" PRIu64, settings->ssh_port);
    return buffer_steal(&ports);
}

/* The host with its dots escaped, for a server_name pattern. */
static char *host_regex(const char *host)
{
    buffer_auto regex = BUFFER_INIT(1024);
    for (const char *c = host; *c; c++)
        buffer_printf(&regex, "%s%c", *c == '.' ? "\\" : "", *c);
    return buffer_steal(&regex);
}

/* Free host, and return it as a server_name; NULL for NULL. nginx refuses a name that is too long
 * for a bucket of its hash table, which has 64 bytes by default, but takes a pattern. */
static char *server_name(char *host)
{
    if (!host || strlen(host) <= HASHED_NAME_MAX)
        return host;
    autofree char *regex = host_regex(host);
    free(host);
    return xasprintf("\"~^%s$\"", regex);
}

/* The names that may be outside the domain of the data planes. */
static char *named_hosts(const struct settings *settings)
{
    autofree char *api = server_name(settings_api_host(settings));
    autofree char *console = server_name(settings_console_host(settings));
    return xasprintf("%s%s%s", api, console ? " " : "", console ? console : "");
}

static char *domain_regex(const struct settings *settings)
{
    autofree char *domain = settings_data_plane_domain(settings);
    return host_regex(domain);
}

/* Beside the socket: /run/sandlot is a tmpfs that only root writes to. NULL when it is set. */
static char *gate_cache_dir(const struct settings *settings)
{
    const char *slash = strrchr(settings->gate_socket, '/');
    if (*settings->gate_cache_dir || !slash)
        return NULL;
    return xasprintf("%.*s/gate-cache", (int)(slash - settings->gate_socket),
                     settings->gate_socket);
}

static char *preview_host_header(const struct settings *settings)
{
    bool is_local = !strcmp(settings->preview_host_header, "localhost");
    return xstrdup(is_local ? "localhost:$sandlot_port" : "$http_host");
}

/* The pattern of an endpoint as a regular expression: a captured part is a segment with any
 * text. */
static void append_pattern(const char *pattern, struct buffer *out)
{
    for (const char *c = pattern; *c; c++) {
        if (*c != ':') {
            buffer_append_char(out, *c);
            continue;
        }
        buffer_append_string(out, "[^/]+");
        c += strcspn(c, "/") - 1;
    }
}

/* Lines of a map from method and path to the worker pool of a call that may wait. HEAD is GET. */
/* One line for each method and pool: nginx asks one expression after the other, for each request.
 */
static void append_waiting(const char *method, int pool, const char *upstream, struct buffer *lines)
{
    bool any = false;
    for (size_t i = 0; i < endpoint_count; i++) {
        if ((int)endpoints[i].pool != pool || strcmp(endpoints[i].method, method) != 0)
            continue;
        if (any)
            buffer_append_char(lines, '|');
        else
            buffer_printf(lines, "    \"~^%s (?:", strcmp(method, "GET") ? method : "(?:GET|HEAD)");
        append_pattern(endpoints[i].pattern, lines);
        any = true;
    }
    if (any)
        buffer_printf(lines, ")$\" %s;\n", upstream);
}

static char *waiting_endpoints(void)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    buffer_auto lines = BUFFER_INIT(ENDPOINTS_TEXT_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        append_waiting(methods[i], POOL_RUNTIME, "sandlot_api", &lines);
        append_waiting(methods[i], POOL_PAUSES, "sandlot_pauses", &lines);
    }
    return buffer_steal(&lines);
}

static bool is_first_of_path(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(endpoints[i].pattern, endpoints[at].pattern))
            return false;
    return true;
}

/* Every path of the worker pool files, for each method. */
static char *files_endpoints(void)
{
    buffer_auto expression = BUFFER_INIT(ENDPOINTS_TEXT_MAX);
    for (size_t i = 0; i < endpoint_count; i++) {
        if (endpoints[i].pool != POOL_FILES || !is_first_of_path(i))
            continue;
        buffer_append_string(&expression, expression.size ? "|" : "^(");
        append_pattern(endpoints[i].pattern, &expression);
    }
    buffer_append_string(&expression, ")$");
    return buffer_steal(&expression);
}

/* Text for each header that an egress rule may set: the name as it is sent, and as a part of a
 * variable. */
static char *egress_text(const char *format)
{
    buffer_auto text = BUFFER_INIT(ENDPOINTS_TEXT_MAX);
    for (size_t i = 0; egress_header_names[i]; i++) {
        autofree char *variable = xstrdup(egress_header_names[i]);
        for (char *c = variable; *c; c++)
            *c = *c == '-' ? '_' : (char)tolower((unsigned char)*c);
        for (const char *c = format; *c; c++) {
            if (*c == '%')
                buffer_append_string(&text, variable);
            else if (*c == '#')
                buffer_append_string(&text, egress_header_names[i]);
            else
                buffer_append_char(&text, *c);
        }
    }
    return buffer_steal(&text);
}

static const struct {
    const char *name, *format;
} egress_texts[] = {
    {"egress_maps", "map $sandlot_set_% $sandlot_egress_% {\n"
                    "    default $sandlot_set_%;\n"
                    "    \"\"      $http_%;\n"
                    "}\n"},
    {"egress_reads", "        auth_request_set $sandlot_set_% $upstream_http_sandlot_set_%;\n"},
    {"egress_lines", "        proxy_set_header # $sandlot_egress_%;\n"},
    {"egress_grpc_lines", "        grpc_set_header # $sandlot_egress_%;\n"},
};

/* One upstream for each way of sandlot-firewall to a host of egress rules. nginx keeps connections
 * for less time than servers usually do, because it does not repeat a request. */
static char *egress_ways(const struct settings *settings)
{
    buffer_auto text = BUFFER_INIT(TEMPLATE_MAX);
    for (int i = 0; i < EGRESS_WAYS_MAX; i++)
        buffer_printf(&text, "upstream " EGRESS_WAY "%d {\n    server unix:%s/%d.way;\n%s}\n", i,
                      settings->firewall_certificates_dir, i,
                      i < EGRESS_WAYS_KEPT
                          ? "    keepalive 4;\n    keepalive_timeout 4s;\n    keepalive_time 1m;\n"
                          : "");
    return buffer_steal(&text);
}

static bool has_console(const struct settings *settings)
{
    return *settings->console_url;
}

static bool has_relays(const struct settings *settings)
{
    return *settings->relay_dir;
}

static bool has_redirect(const struct settings *settings)
{
    return settings->redirect_port;
}

#define NO_RELAYS "# relay_dir is empty: nginx connects to every host directly.\n"

/* Templates for optional parts of an installation. */
static const struct optional {
    const char *name;
    bool (*has)(const struct settings *settings);
    const char *comment;
} optionals[] = {
    {"sandlot-console.inc.in", has_console, "# console_url is empty: there is no console.\n"},
    {"sandlot-redirect.inc.in", has_redirect,
     "# redirect_port is 0: nginx does not listen without TLS.\n"},
    {"sandlot-relayed.inc.in", has_relays, NO_RELAYS},
    {"sandlot-relayed-data.inc.in", has_relays, NO_RELAYS},
    {"sandlot-relayed-preview.inc.in", has_relays, NO_RELAYS},
};

/* The text instead of a template; NULL: render the template. */
static const char *comment_instead(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(optionals); i++)
        if (!strcmp(name, optionals[i].name) && !optionals[i].has(settings))
            return optionals[i].comment;
    return NULL;
}

/* The values for the relay of a host. */
static char *relay_value(const struct nginx_relay *relay, const char *name)
{
    struct address_range range;
    char address[IPV4_TEXT_SIZE];
    if (!strcmp(name, "host_name"))
        return xstrdup(relay->host_name);
    if (!strcmp(name, "dir"))
        return xstrdup(relay->dir);
    if (!strcmp(name, "port"))
        return xasprintf("%u", relay->port);
    if (!strcmp(name, "range"))
        return xstrdup(relay->range);
    if (address_network_parse(relay->range, &range) < 0)
        return NULL;
    if (!strcmp(name, "range_first"))
        return xstrdup(ipv4_format(range.first, address));
    return strcmp(name, "range_last") ? NULL : xstrdup(ipv4_format(range.last, address));
}

/* This machine does not know the abilities of another machine. */
static bool listens_ipv6(const struct renderer *renderer)
{
    const struct settings *settings = renderer->settings;
    return renderer->relay ? str_equal(settings->listen_ipv6, "on")
                           : settings_listen_ipv6(settings);
}

/* Return a limit of nginx for a /48 of IPv6. */
static char *site_limit(uint64_t of_address)
{
    uint64_t most = of_address * SITE_FACTOR;
    return xasprintf("%" PRIu64, most < LIMIT_CONN_MAX ? most : LIMIT_CONN_MAX);
}

/* A value that follows from settings and tables; NULL for an unknown name. */
static char *derived_value(const struct renderer *renderer, const char *name)
{
    const struct settings *settings = renderer->settings;
    if (!strcmp(name, "output_dir"))
        return xstrdup(renderer->output_dir);
    if (!strcmp(name, "api_name"))
        return server_name(settings_api_host(settings));
    if (!strcmp(name, "console_name"))
        return server_name(settings_console_host(settings));
    if (!strcmp(name, "data_plane_name"))
        return server_name(settings_data_plane_domain(settings));
    if (!strcmp(name, "console_host"))
        return settings_console_host(settings);
    if (!strcmp(name, "data_plane_domain"))
        return settings_data_plane_domain(settings);
    if (!strcmp(name, "data_plane_domain_regex"))
        return domain_regex(settings);
    if (!strcmp(name, "public_port"))
        return public_port(settings);
    if (!strcmp(name, "public_authority_end"))
        return public_authority_end(settings);
    if (!strcmp(name, "named_hosts"))
        return named_hosts(settings);
    if (!strcmp(name, "gate_cache_dir"))
        return gate_cache_dir(settings);
    if (!strcmp(name, "preview_host_header"))
        return preview_host_header(settings);
    if (!strcmp(name, "waiting_endpoints"))
        return waiting_endpoints();
    if (!strcmp(name, "files_endpoints"))
        return files_endpoints();
    if (!strcmp(name, "egress_ways"))
        return egress_ways(settings);
    for (size_t i = 0; i < ARRAY_SIZE(egress_texts); i++)
        if (!strcmp(name, egress_texts[i].name))
            return egress_text(egress_texts[i].format);
    if (renderer->relay) {
        char *value = relay_value(renderer->relay, name);
        if (value)
            return value;
    }
    if (!strcmp(name, "relay"))
        return xstrdup(*settings->relay_dir ? "" : "#");
    if (!strcmp(name, "ipv6"))
        return xstrdup(listens_ipv6(renderer) ? "" : "#");
    if (!strcmp(name, "metrics"))
        return xstrdup(settings->metrics_port ? "" : "#");
    if (!strcmp(name, "front"))
        return xstrdup(settings->address_sockets ? "" : "#");
    if (!strcmp(name, "front_ports"))
        return front_ports(settings);
    if (!strcmp(name, "address_socket_burst"))
        return xasprintf("%" PRIu64, settings->address_socket_rate * BURST_FACTOR);
    if (!strcmp(name, "site_sockets"))
        return xasprintf("%" PRIu64, settings->address_sockets * SITE_FACTOR);
    if (!strcmp(name, "site_socket_rate"))
        return xasprintf("%" PRIu64, settings->address_socket_rate * SITE_FACTOR);
    if (!strcmp(name, "site_socket_burst"))
        return xasprintf("%" PRIu64, settings->address_socket_rate * SITE_FACTOR * BURST_FACTOR);
    if (!strcmp(name, "site_connections"))
        return site_limit(settings->address_connections);
    if (!strcmp(name, "site_requests"))
        return site_limit(settings->api_requests);
    if (!strcmp(name, "key_burst"))
        return xasprintf("%" PRIu64, settings->key_rate * BURST_FACTOR);
    if (!strcmp(name, "address_burst"))
        return xasprintf("%" PRIu64, settings->address_rate * BURST_FACTOR);
    if (!strcmp(name, "wake_timeout_s"))
        return xasprintf("%" PRIu64, settings->resume_wait_s + WAKE_MARGIN_S);
    if (!strcmp(name, "api_timeout_s"))
        return xasprintf("%" PRIu64,
                         settings->resume_wait_s + settings->machine_start_s + API_TIMEOUT_S);
    return nginx_html_value(name, settings->base_url);
}

static int append_value(const struct renderer *renderer, const char *name, struct buffer *out,
                        struct error **err);

/* One upstream for each pool of workers. */
static int append_upstreams(const struct renderer *renderer, struct buffer *out, struct error **err)
{
    static const struct {
        const char *name, *socket;
    } pools[] = {
#define POOL(name, ...) {#name, #name "_socket"},
#include "config/pools.def"
#undef POOL
    };
    for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
        buffer_printf(out, "upstream sandlot_%s {\n    server unix:", pools[i].name);
        if (append_value(renderer, pools[i].socket, out, err) < 0)
            return -1;
        buffer_append_string(out, ";\n}\n");
    }
    return 0;
}

static int append_value(const struct renderer *renderer, const char *name, struct buffer *out,
                        struct error **err)
{
    if (!strcmp(name, "pool_upstreams"))
        return append_upstreams(renderer, out, err);
    autofree char *derived = derived_value(renderer, name);
    autofree char *value = derived ? NULL : settings_get(renderer->settings, name);
    if (!derived && !value)
        return error_set(err, ERR_CONFIG, "unknown placeholder @%s@", name);
    /* Derived values are ours, or made of host names. */
    if (value && (!*value || strspn(value, VALUE_CHARACTERS) != strlen(value)))
        return error_set(
            err, ERR_CONFIG,
            "%s is \"%s\", which has characters that nginx's configuration cannot have", name,
            value);
    buffer_append_string(out, derived ? derived : value);
    return 0;
}

/* A placeholder is @name@; an at sign that begins none stands for itself (@sandlot_wake;). */
static int substitute(const struct renderer *renderer, const char *text, struct buffer *out,
                      struct error **err)
{
    unsigned line = 1;
    for (; *text; text++) {
        char name[NAME_MAX_BYTES + 1];
        size_t length = *text == '@' ? strspn(text + 1, NAME_CHARACTERS) : 0;
        if (!length || length > NAME_MAX_BYTES || text[1 + length] != '@') {
            buffer_append_char(out, *text);
            line += *text == '\n';
            continue;
        }
        memcpy(name, text + 1, length);
        name[length] = '\0';
        if (append_value(renderer, name, out, err) < 0)
            return error_context(err, "line %u", line);
        text += length + 1;
    }
    if (buffer_overflowed(out))
        return error_set(err, ERR_CONFIG, "the rendered file is larger than %d bytes",
                         RENDERED_MAX);
    return 0;
}

static int read_template(const char *path, struct buffer *text, struct error **err)
{
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", path);
    char chunk[4096];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        buffer_append(text, chunk, got);
    if (ferror(file) || buffer_overflowed(text))
        return error_set(err, ERR_CONFIG, "cannot read %s, or it is larger than %d bytes", path,
                         TEMPLATE_MAX);
    return 0;
}

static int render_file(struct renderer *renderer, const char *template_dir, const char *name,
                       struct error **err)
{
    buffer_auto text = BUFFER_INIT(TEMPLATE_MAX);
    autofree char *path = xasprintf("%s/%s", template_dir, name);
    if (renderer->count == FILES_MAX)
        return error_set(err, ERR_CONFIG, "%s has more than %d templates", template_dir, FILES_MAX);
    if (read_template(path, &text, err) < 0)
        return -1;
    struct output *output = &renderer->files[renderer->count++];
    output->name = xstrndup(name, strlen(name) - strlen(SUFFIX));
    buffer_init(&output->text, RENDERED_MAX);
    const char *instead = comment_instead(renderer->settings, name);
    if (instead) {
        buffer_append_string(&output->text, instead);
        return 0;
    }
    if (substitute(renderer, buffer_string(&text), &output->text, err) < 0)
        return error_context(err, "%s", path);
    return 0;
}

static int render_all(struct renderer *renderer, const char *template_dir, struct error **err)
{
    DIR *directory = opendir(template_dir);
    if (!directory)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", template_dir);
    int result = 0;
    struct dirent *entry;
    while (result == 0 && (entry = readdir(directory)))
        if (entry->d_name[0] != '.' && str_ends_with(entry->d_name, SUFFIX))
            result = render_file(renderer, template_dir, entry->d_name, err);
    closedir(directory);
    if (result == 0 && !renderer->count)
        return error_set(err, ERR_CONFIG, "%s has no templates (*" SUFFIX ")", template_dir);
    return result;
}

/* Beside its place and then into it: nginx never reads half a file. */
static int write_file(const char *directory, const struct output *output, struct error **err)
{
    autofree char *path = xasprintf("%s/%s", directory, output->name);
    autofree char *draft = xasprintf("%s/.%s.new", directory, output->name);
    autofclose FILE *file = fopen(draft, "we");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", draft);
    size_t size = output->text.size;
    if (fwrite(buffer_string(&output->text), 1, size, file) != size || fflush(file) != 0 ||
        fchmod(fileno(file), 0644) < 0 || fsync(fileno(file)) < 0 || rename(draft, path) < 0) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
        unlink(draft);
        return -1;
    }
    return 0;
}

static int write_all(const struct renderer *renderer, struct error **err)
{
    if (mkdir(renderer->output_dir, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot create %s", renderer->output_dir);
    for (size_t i = 0; i < renderer->count; i++)
        if (write_file(renderer->output_dir, &renderer->files[i], err) < 0)
            return -1;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct output *)a)->name, ((const struct output *)b)->name);
}

static int print_all(struct renderer *renderer, FILE *out, struct error **err)
{
    qsort(renderer->files, renderer->count, sizeof *renderer->files, by_name);
    for (size_t i = 0; i < renderer->count; i++)
        fprintf(out, "%s# --- %s/%s ---\n\n%s", i ? "\n" : "", renderer->output_dir,
                renderer->files[i].name, buffer_string(&renderer->files[i].text));
    if (fflush(out) != 0 || ferror(out))
        return error_set_errno(err, ERR_CONFIG, errno, "cannot print the configuration");
    return 0;
}

static void renderer_deinit(struct renderer *renderer)
{
    for (size_t i = 0; i < renderer->count; i++) {
        free(renderer->files[i].name);
        buffer_deinit(&renderer->files[i].text);
    }
}

static int check_output_dir(const char *output_dir, struct error **err)
{
    if (*output_dir != '/' || strspn(output_dir, VALUE_CHARACTERS) != strlen(output_dir))
        return error_set(err, ERR_CONFIG,
                         "the output directory must be an absolute path without characters that "
                         "nginx's configuration cannot have: %s",
                         output_dir);
    return 0;
}

/* To out, or to files when that is NULL. */
static int render(const struct settings *settings, const char *template_dir, const char *output_dir,
                  FILE *out, struct error **err)
{
    struct renderer renderer = {.settings = settings, .output_dir = output_dir};
    if (check_output_dir(output_dir, err) < 0)
        return -1;
    int result = render_all(&renderer, template_dir, err);
    if (result == 0)
        result = out ? print_all(&renderer, out, err) : write_all(&renderer, err);
    renderer_deinit(&renderer);
    return result;
}

int nginx_config_render_relay(const struct settings *settings, const char *template_dir,
                              const struct nginx_relay *relay, const char *output_dir,
                              struct error **err)
{
    struct renderer renderer = {.settings = settings, .relay = relay, .output_dir = output_dir};
    autofree char *directory = xasprintf("%s/host", template_dir);
    if (check_output_dir(output_dir, err) < 0 || check_output_dir(relay->dir, err) < 0)
        return -1;
    int result = render_all(&renderer, directory, err);
    if (result == 0)
        result = write_all(&renderer, err);
    renderer_deinit(&renderer);
    return result;
}

static void read_relay_line(const char *line, struct nginx_relay_known *known)
{
    char range[sizeof known->range];
    int end = 0;
    sscanf(line, "# The relay of the host %63[a-z0-9-],", known->host_name);
    if (sscanf(line, " %18[0-9./] 1;%n", range, &end) == 1 && end)
        memcpy(known->range, range, sizeof range);
    if (!known->port && sscanf(line, " listen %u ssl", &known->port) != 1)
        known->port = 0;
}

int nginx_relay_read(const char *dir, struct nginx_relay_known *known, struct error **err)
{
    char line[256];
    autofree char *path = xasprintf("%s/sandlot-relay.conf", dir);
    autofclose FILE *file = fopen(path, "re");
    *known = (struct nginx_relay_known){.port = 0};
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    while (fgets(line, sizeof line, file))
        read_relay_line(line, known);
    return *known->host_name && *known->range && known->port
               ? 0
               : error_set(err, ERR_CONFIG,
                           "%s does not have the name, network and port of this host; make it "
                           "again with `sandlotctl host certificate` on a front node",
                           path);
}

int nginx_config_put_file(const char *directory, const char *name, const char *text, bool *changed,
                          struct error **err)
{
    autofree char *path = xasprintf("%s/%s", directory, name);
    buffer_auto before = BUFFER_INIT(TEMPLATE_MAX);
    struct output output = {.name = (char *)(uintptr_t)name};
    error_auto none = NULL;
    *changed = read_template(path, &before, &none) < 0 || strcmp(buffer_string(&before), text) != 0;
    if (!*changed)
        return 0;
    buffer_init(&output.text, RENDERED_MAX);
    buffer_append_string(&output.text, text);
    int result = write_file(directory, &output, err);
    buffer_deinit(&output.text);
    return result;
}

int nginx_config_render(const struct settings *settings, const char *template_dir,
                        const char *output_dir, struct error **err)
{
    return render(settings, template_dir, output_dir, NULL, err);
}

int nginx_config_print(const struct settings *settings, const char *template_dir, FILE *out,
                       struct error **err)
{
    return render(settings, template_dir, DEFAULT_DIR, out, err);
}

int nginx_reload(const char *pid_file, struct error **err)
{
    char text[32] = "";
    uint64_t pid;
    autofclose FILE *file = fopen(pid_file, "re");
    if (!file || !fgets(text, sizeof text, file))
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", pid_file);
    text[strcspn(text, "\n")] = '\0';
    if (str_parse_u64(text, 2, INT32_MAX, &pid) < 0)
        return error_set(err, ERR_CONFIG, "%s has no process id", pid_file);
    if (kill((pid_t)pid, SIGHUP) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot signal nginx, process %s", text);
    return 0;
}
