/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stand-in for the workers behind nginx, for test_nginx: it decides by the route token's first
 * letters and repeats what it was asked.
 *
 *   edge_gate UPSTREAM BODY_MAX            serve FastCGI on fd 0
 *   edge_gate render CONFIG TEMPLATES OUT  as `sandlotctl nginx-config`
 *   edge_gate relay CONFIG TEMPLATES OUT PORT
 *                                          what a relay on 127.0.0.1:PORT needs, and the front for
 * it
 *
 * With EDGE_RELAY (an address of a relay) in its environment all sandboxes are on another machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/authority.h"
#include "ctl/nginx_config.h"
#include "ctl/nginx_hosts.h"
#include "http/server.h"

#define HOST  "h1"
#define RANGE "127.0.0.0/16"

static const char *upstream;

static json_t *parameters_json(const struct http_request *request)
{
    json_t *all = json_object();
    for (char **entry = request->parameters; *entry; entry++) {
        char name[128];
        size_t length = strcspn(*entry, "=");
        snprintf(name, sizeof name, "%.*s", (int)length, *entry);
        json_object_set_new(all, name, json_string(*entry + length + 1));
    }
    return all;
}

static void refuse(struct http_response *response, const char *reason)
{
    response->status = 403;
    http_response_header(response, "Sandlot-Answer", "%s", reason);
}

/* Ascending over all workers, and the only answer that nginx may keep. */
static void count_answer(struct http_response *response)
{
    http_response_header(response, "Agent-Secret", "counted-%" PRId64, clock_monotonic_us());
}

/* The other one is at the same port; nobody knows it, so that no connection to it is kept. */
static void send_through(struct http_response *response, const char *route, const char *relay)
{
    bool is_other = str_starts_with(route, "other");
    response->status = 401;
    if (str_starts_with(route, "norelay"))
        http_response_header(response, "Through", "https://127.0.0.1:1");
    else if (is_other)
        http_response_header(response, "Through", "https://127.0.0.2%s", strrchr(relay, ':'));
    else
        http_response_header(response, "Through", "%s", relay);
    http_response_header(response, "Host-Name", is_other ? "h2" : HOST);
}

static void allow(struct http_response *response, const struct http_request *request)
{
    const char *route = http_parameter(request, "SANDLOT_ROUTE");
    bool preview = str_equal(http_parameter(request, "SANDLOT_KIND"), "preview");
    const char *relay = getenv("EDGE_RELAY");
    if (relay)
        send_through(response, route, relay);
    http_response_header(response, "Sandlot-Answer", "%s",
                         str_starts_with(route, "down")      ? "127.0.0.9:1"
                         : str_starts_with(route, "outside") ? "127.1.0.1:80"
                                                             : upstream);
    if (str_starts_with(route, "count")) {
        count_answer(response);
        return;
    }
    /* What the wake pool says is not kept anyway. */
    if (!http_parameter(request, "SANDLOT_WAKE"))
        http_response_header(response, "X-Accel-Expires", "0");
    if (!preview)
        http_response_header(response, "Agent-Secret", "agent-secret-%s",
                             http_parameter(request, "SANDLOT_WAKE") ? "woken" : "plain");
    else if (str_starts_with(route, "relay"))
        http_response_header(response, "Relay-Port", "%s", http_parameter(request, "SANDLOT_PORT"));
}

static void decide(struct http_request *request, struct http_response *response)
{
    const char *route = http_parameter(request, "SANDLOT_ROUTE");
    bool wake = http_parameter(request, "SANDLOT_WAKE") != NULL;
    if (str_starts_with(route, "refuse"))
        refuse(response, "no_sandbox");
    else if (str_starts_with(route, "crash"))
        response->status = 500;
    else if (str_starts_with(route, "wake") && !wake)
        response->status = 409;
    else if (str_starts_with(route, "wakeno"))
        refuse(response, "quota");
    else if (str_starts_with(route, "wakebad"))
        response->status = 409;
    else {
        if (wake)
            usleep(str_starts_with(route, "wakeslow") ? 5000000 : 500000);
        allow(response, request);
    }
}

static int refusal_status(const struct http_request *request)
{
    const char *reason = http_parameter(request, "SANDLOT_REASON");
    if (str_equal(reason, "no_sandbox"))
        return 404;
    if (str_equal(reason, "upstream_failed"))
        return 502;
    return str_equal(reason, "upstream_timeout") ? 504 : 503;
}

static void serve(void *context, struct http_request *request, struct http_response *response)
{
    (void)context;
    const char *kind = http_parameter(request, "SANDLOT_KIND");
    if (kind && strcmp(kind, "refusal")) {
        response->is_bare = true;
        decide(request, response);
        return;
    }
    const char *hand_on_to = http_parameter(request, "SANDLOT_HAND_ON");
    if (hand_on_to && http_header(request, "X-Hand-On")) {
        response->status = 202;
        http_response_header(response, "X-Accel-Redirect", "%s", hand_on_to);
        return;
    }
    json_t *answer = json_object();
    json_object_set_new(answer, "parameters", parameters_json(request));
    json_object_set_new(answer, "body_size", json_integer((json_int_t)request->body.size));
    json_object_set_new(answer, "request_id", json_string(request->request_id));
    json_object_set_new(answer, "socket", json_string(getenv("EDGE_NAME")));
    http_response_json(response, kind ? refusal_status(request) : 200, answer);
}

static int render(char **argv, struct error **err)
{
    settings_auto settings = NULL;
    if (settings_load(argv[2], &settings, err) < 0)
        return -1;
    return nginx_config_render(settings, argv[3], argv[4], err);
}

static int put(const char *dir, const char *name, const char *text, struct error **err)
{
    bool changed;
    return nginx_config_put_file(dir, name, text, &changed, err);
}

static int put_pair(const char *dir, const char *name, const struct certificate_pair *pair,
                    struct error **err)
{
    autofree char *text = xasprintf("%s%s", pair->certificate, pair->key);
    return put(dir, name, text, err);
}

/* Into the folder of credentials, for both sides. */
static int put_certificates(const char *dir, struct error **err)
{
    certificate_pair_auto authority = {0}, front = {0}, host = {0};
    if (authority_new("test", 2, &authority, err) < 0 ||
        authority_sign(&authority, CERTIFICATE_OF_CALLER, "front.sandlot", 2, &front, err) < 0 ||
        authority_sign(&authority, CERTIFICATE_OF_CALLED, HOST ".host.sandlot", 2, &host, err) < 0)
        return -1;
    return put(dir, "ca.pem", authority.certificate, err) < 0 ||
                   put_pair(dir, "front.pem", &front, err) < 0 ||
                   put_pair(dir, "host.pem", &host, err) < 0
               ? -1
               : 0;
}

static int make_relay(char **argv, struct error **err)
{
    settings_auto settings = NULL;
    if (settings_load(argv[2], &settings, err) < 0 ||
        put_certificates(settings->relay_dir, err) < 0)
        return -1;
    autofree char *url = xasprintf("https://127.0.0.1:%s", argv[5]);
    struct host host = {.id = 1, .name = HOST, .relay_url = url};
    autofree char *hosts = nginx_hosts_text(&host, 1);
    struct nginx_relay relay = {.host_name = HOST,
                                .range = RANGE,
                                .dir = settings->relay_dir,
                                .port = (unsigned)atoi(argv[5])};
    return put(argv[4], NGINX_HOSTS_FILE, hosts, err) < 0
               ? -1
               : nginx_config_render_relay(settings, argv[3], &relay, settings->relay_dir, err);
}

int main(int argc, char **argv)
{
    error_auto err = NULL;
    if ((argc == 5 && render(argv, &err) == 0) || (argc == 6 && make_relay(argv, &err) == 0))
        return 0;
    if (argc == 5 || argc == 6)
        fprintf(stderr, "%s\n", err->message);
    if (argc != 3)
        return 2;
    uint64_t body_max;
    upstream = argv[1];
    if (str_parse_u64(argv[2], 0, 1u << 20, &body_max) < 0)
        return 2;
    struct http_server server = {.serve = serve, .body_max = body_max};
    if (http_server_run(&server, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err->message);
    return 1;
}
