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
#include "base/str.h"
#include "cli/forward.h"
#include "cli/output.h"
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

static int read_port(const char *text, uint64_t *port, struct error **err)
{
    if (str_parse_u64(text, 1, UINT16_MAX, port) < 0)
        return cli_misuse(err, "'%s' is not a port", text);
    return 0;
}

/* --- open --- */

const struct cli_option open_options[] = {
    {"public", 0, NULL, "expose the port to everybody, if it is not exposed yet"},
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
    uint64_t port;
    if (read_port(cli_operand(call, 1), &port, err) < 0 ||
        session_open(call->cli, cli_operand(call, 0), &session, err) < 0 ||
        find_preview(call, session.id, port, &preview, err) < 0)
        return -1;
    const char *url = json_string_value(json_object_get(preview, "url"));
    bool is_public = json_is_true(json_object_get(preview, "public"));
    /* The token turns into a cookie of the preview at the first request. */
    autowipe char *link = xasprintf("%s/%s%s", url, is_public ? "" : "?access_token=",
                                    is_public ? "" : strchr(session.token_header, ' ') + 1);
    json_object_set_new(preview, "url", json_string(link));
    if (!call->cli->json && isatty(STDOUT_FILENO) && !cli_flag(call, "print"))
        open_browser(link);
    output_result(call->cli, json_incref(preview), "url");
    return 0;
}

/* --- forward --- */

const struct cli_option forward_options[] = {{NULL, 0, NULL, NULL}};

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

/* A process for each connection: they neither wait for each other nor share a failure. */
static void serve_all(const struct cli *cli, const struct forward *forward, int listener)
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
            forward_serve(cli, forward, client);
            _exit(0);
        }
        connections += pid > 0;
        close(client);
    }
}

int verb_forward(struct cli_call *call, struct error **err)
{
    session_auto session = {.id = NULL};
    json_auto_t *preview = NULL;
    uint64_t local, port;
    const char *word = cli_operand(call, 1), *colon = strchr(word, ':');
    autofree char *first = xstrndup(word, strcspn(word, ":"));
    if (read_port(first, &local, err) < 0 || read_port(colon ? colon + 1 : first, &port, err) < 0 ||
        session_open(call->cli, cli_operand(call, 0), &session, err) < 0 ||
        find_preview(call, session.id, port, &preview, err) < 0)
        return -1;
    const struct forward forward = {
        .url = json_string_value(json_object_get(preview, "url")),
        .host = json_string_value(json_object_get(preview, "host")),
        .token_header = session.token_header,
    };
    autoclose int listener = listen_at(local, err);
    if (listener < 0)
        return -1;
    output_note(call->cli, "http://127.0.0.1:%llu is port %llu of the sandbox; Ctrl-C ends it.",
                (unsigned long long)local, (unsigned long long)port);
    serve_all(call->cli, &forward, listener);
    return error_set_errno(err, ERR_INTERNAL, errno, "no further connection is taken");
}
