/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers in a sandbox. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/forward.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "cli/verbs.h"

#define CONNECTIONS_MAX 64

/* The preview of a port, which is exposed to those with a token unless it is exposed already. */
static int find_preview(struct cli_call *call, const char *id, uint64_t port, json_t **preview,
                        struct error **err)
{
    error_auto failed = NULL;
    autofree char *behind = xasprintf("/ports/%llu", (unsigned long long)port);
    autofree char *path = api_path("/v1/sandboxes/", behind, id);
    if (api_call(call->cli, "GET", path, NULL, preview, &failed) == 0)
        return 0;
    if (failed->code != ERR_NOT_FOUND)
        return error_move(err, &failed);
    return api_call(call->cli, "PUT", path, json_pack("{s:b}", "public", cli_flag(call, "public")),
                    preview, err);
}

/* A token that opens the preview of this port and nothing else. */
static int preview_token(struct cli *cli, const char *id, uint64_t port, const char *lifetime,
                         char **token, struct error **err)
{
    json_auto_t *answer = NULL;
    autofree char *path = api_path("/v1/sandboxes/", "/sessions", id);
    json_t *wish = json_pack("{s:s, s:I}", "lifetime", lifetime, "port", (json_int_t)port);
    if (api_call(cli, "POST", path, wish, &answer, err) < 0)
        return -1;
    const json_t *session = json_object_get(answer, "session");
    const char *found = json_string_value(json_object_get(session, "access_token"));
    if (!found)
        return error_set(err, ERR_INTERNAL, "the answer of %s%s has no member session", cli->url,
                         path);
    *token = xstrdup(found);
    return 0;
}

static int read_port(const char *text, uint64_t *port, struct error **err)
{
    if (str_parse_u64(text, 1, UINT16_MAX, port) < 0)
        return cli_misuse(err, "'%s' is not a port", text);
    return 0;
}

/* --- open --- */

const struct cli_option open_options[] = {
    {"public", 0, NULL, "if the port is not exposed, expose it to everybody"},
    {"print", 0, NULL, "only print the address"},
    {NULL, 0, NULL, NULL},
};

static void open_browser(const char *url)
{
    const char *const argv[] = {"xdg-open", url, NULL};
    pid_t pid;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) == 0)
        waitpid(pid, NULL, 0);
}

int verb_open(struct cli_call *call, struct error **err)
{
    session_auto session = {.id = NULL};
    json_auto_t *preview = NULL;
    autowipe char *token = NULL;
    uint64_t port;
    if (read_port(cli_operand(call, 1), &port, err) < 0 ||
        session_open(call->cli, cli_operand(call, 0), &session, err) < 0 ||
        find_preview(call, session.id, port, &preview, err) < 0)
        return -1;
    const char *url = json_string_value(json_object_get(preview, "url"));
    bool is_public = json_is_true(json_object_get(preview, "public"));
    if (!is_public && preview_token(call->cli, session.id, port, "session", &token, err) < 0)
        return -1;
    /* The token turns into a cookie of the preview at the first request. */
    autowipe char *link =
        xasprintf("%s/%s%s", url, token ? "?access_token=" : "", token ? token : "");
    json_object_set_new(preview, "url", json_string(link));
    if (!call->cli->json && isatty(STDOUT_FILENO) && !cli_flag(call, "print"))
        open_browser(link);
    output_result(call->cli, json_incref(preview), "url");
    return 0;
}

/* --- forward --- */

const struct cli_option forward_options[] = {
    {"tcp", 0, NULL, "pass the bytes on unchanged, for a server that does not speak HTTP"},
    {NULL, 0, NULL, NULL},
};

#define AGENT "/usr/lib/sandlot/sandlot-agent"

/* The data of each connection. */
struct forwarding {
    struct cli_call *call;
    uint64_t local, port;
    bool is_tcp;
    struct forward http;
};

static int listen_at(uint64_t port, struct error **err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 128) < 0) {
        error_set_errno(err, ERR_INTERNAL, errno, "cannot listen on 127.0.0.1:%llu",
                        (unsigned long long)port);
        close(fd);
        return -1;
    }
    return fd;
}

/* The agent's own program connects to the port, in the sandbox, and its first byte says that it
 * has. A session of its own for each: a token lasts less long than this program may. */
static void serve_tcp(const struct forwarding *forwarding, int client)
{
    struct cli *cli = forwarding->call->cli;
    session_auto session = {.id = NULL};
    error_auto err = NULL;
    autofree char *port = xasprintf("%llu", (unsigned long long)forwarding->port);
    json_auto_t *process = json_pack("{s:s, s:[s, s]}", "cmd", AGENT, "args", "tcp", port);
    const struct remote_program program = {.process = process, .with_input = true, .left_out = 1};
    int exit_code;
    cli->curl = NULL; /* its connection is the parent's */
    dup2(client, STDIN_FILENO);
    dup2(client, STDOUT_FILENO);
    close(client);
    if (session_open(cli, cli_operand(forwarding->call, 0), &session, &err) < 0 ||
        remote_run(cli, &session, &program, &exit_code, &err) < 0)
        printable_print(stderr, "sandlot: %s\n", err->message);
}

static void serve(const struct forwarding *forwarding, int client)
{
    if (forwarding->is_tcp)
        serve_tcp(forwarding, client);
    else
        forward_serve(forwarding->call->cli, &forwarding->http, client);
}

/* A process for each connection: they neither wait for each other nor share a failure. */
static void serve_all(const struct forwarding *forwarding, int listener)
{
    int connections = 0;
    for (;;) {
        while (connections && waitpid(-1, NULL, connections < CONNECTIONS_MAX ? WNOHANG : 0) > 0)
            connections--;
        int client = accept(listener, NULL, NULL);
        if (client < 0 && errno != EINTR && errno != ECONNABORTED)
            return;
        if (client < 0)
            continue;
        pid_t pid = fork();
        if (pid == 0) {
            close(listener);
            serve(forwarding, client);
            _exit(0);
        }
        connections += pid > 0;
        close(client);
    }
}

static int read_ports(struct cli_call *call, struct forwarding *forwarding, struct error **err)
{
    const char *word = cli_operand(call, 1), *colon = strchr(word, ':');
    autofree char *first = xstrndup(word, strcspn(word, ":"));
    return read_port(first, &forwarding->local, err) < 0 ||
                   read_port(colon ? colon + 1 : first, &forwarding->port, err) < 0
               ? -1
               : 0;
}

static int listen_and_serve(const struct forwarding *forwarding, struct error **err)
{
    autoclose int listener = listen_at(forwarding->local, err);
    if (listener < 0)
        return -1;
    output_note(forwarding->call->cli,
                "%s127.0.0.1:%llu is port %llu of the sandbox; Ctrl-C ends it.",
                forwarding->is_tcp ? "" : "http://", (unsigned long long)forwarding->local,
                (unsigned long long)forwarding->port);
    serve_all(forwarding, listener);
    return error_set_errno(err, ERR_INTERNAL, errno, "cannot accept further connections");
}

int verb_forward(struct cli_call *call, struct error **err)
{
    session_auto session = {.id = NULL};
    json_auto_t *preview = NULL;
    autowipe char *token = NULL;
    struct forwarding forwarding = {.call = call, .is_tcp = cli_flag(call, "tcp")};
    if (read_ports(call, &forwarding, err) < 0 ||
        session_open(call->cli, cli_operand(call, 0), &session, err) < 0 ||
        (!forwarding.is_tcp &&
         (find_preview(call, session.id, forwarding.port, &preview, err) < 0 ||
          preview_token(call->cli, session.id, forwarding.port, "sandbox", &token, err) < 0)))
        return -1;
    autowipe char *header = xasprintf(FORWARD_TOKEN_HEADER ": %s", token ? token : "");
    forwarding.http = (struct forward){
        .url = json_string_value(json_object_get(preview, "url")),
        .host = json_string_value(json_object_get(preview, "host")),
        .token_header = header,
    };
    return listen_and_serve(&forwarding, err);
}

/* --- ports that are exposed --- */

const struct cli_option port_expose_options[] = {
    {"public", 0, NULL, "expose it to everybody; default: to clients with a token"},
    {"https", 0, NULL, "the server in the sandbox speaks TLS"},
    {NULL, 0, NULL, NULL},
};

/* "/ports/3000" of the second operand; the caller frees it. NULL: it is no port. */
static char *port_path(const struct cli_call *call, struct error **err)
{
    uint64_t port;
    if (read_port(cli_operand(call, 1), &port, err) < 0)
        return NULL;
    return xasprintf("/ports/%llu", (unsigned long long)port);
}

int verb_port_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"PORT", "port"},
                                                   {"PROTOCOL", "protocol"},
                                                   {"PUBLIC", "public"},
                                                   {"STATUS", "gateway_status"},
                                                   {"URL", "url"}};
    return output_of_sandbox(call, "/ports", "ports", columns, ARRAY_SIZE(columns), err);
}

int verb_port_expose(struct cli_call *call, struct error **err)
{
    autofree char *path = port_path(call, err);
    json_t *port;
    if (!path)
        return -1;
    json_t *body = json_pack("{s:b, s:s}", "public", cli_flag(call, "public"), "protocol",
                             cli_flag(call, "https") ? "https" : "http");
    if (api_call_sandbox(call, "PUT", path, body, &port, err) < 0)
        return -1;
    output_result(call->cli, port, "url");
    return 0;
}

int verb_port_withdraw(struct cli_call *call, struct error **err)
{
    autofree char *path = port_path(call, err);
    return path ? api_call_sandbox(call, "DELETE", path, NULL, NULL, err) : -1;
}
