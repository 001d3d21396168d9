/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <curl/curl.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/arguments.h"
#include "cli/deployments.h"
#include "cli/help.h"
#include "cli/output.h"

/* Advice for the user. */
static const char *advice(enum error_code code)
{
    switch (code) {
    case ERR_UNAUTHORIZED:
        return "Log in with `sandlot login URL`, or set SANDLOT_URL and SANDLOT_KEY.";
    case ERR_SANDBOX_NOT_RUNNING:
        return "`sandlot resume` starts a paused sandbox.";
    case ERR_SANDBOX_QUOTA_EXCEEDED:
    case ERR_STOPPED_QUOTA_EXCEEDED:
        return "`sandlot list` shows your sandboxes, `sandlot rm` deletes one.";
    case ERR_SANDBOX_BUSY:
    case ERR_REQUEST_IN_PROGRESS:
        return "Try again in a moment.";
    case ERR_RATE_LIMITED:
    case ERR_NO_CAPACITY:
    case ERR_RUNTIME_UNAVAILABLE:
        return "Try again later. If the error stays, tell the operator.";
    default:
        return NULL;
    }
}

static int exit_code_of(const struct cli_call *call, enum error_code code)
{
    if (code == ERR_CONFIG)
        return CLI_USAGE;
    if (call->verb && call->verb->flags & CLI_EXEC)
        return CLI_EXEC_FAILED;
    switch (code) {
    case ERR_NOT_FOUND:
    case ERR_TEMPLATE_NOT_FOUND:
    case ERR_VOLUME_NOT_FOUND:
        return CLI_NOT_FOUND;
    case ERR_UNAUTHORIZED:
    case ERR_INSUFFICIENT_SCOPE:
    case ERR_TEAM_FORBIDDEN:
        return CLI_DENIED;
    case ERR_RATE_LIMITED:
    case ERR_NO_CAPACITY:
    case ERR_RUNTIME_UNAVAILABLE:
        return CLI_UNAVAILABLE;
    default:
        return CLI_FAILED;
    }
}

static int complain(const struct cli_call *call, const struct error *err)
{
    const char *hint = advice(err->code);
    autofree char *message = printable(err->message, "\n");
    autofree char *field = printable(err->field ? err->field : "", "");
    size_t length = strlen(message);
    bool is_sentence = length && strchr(".!?", message[length - 1]);
    bool names_field = *field && !strstr(message, field);
    if (names_field && is_sentence && message[length - 1] == '.')
        message[length - 1] = '\0'; /* it follows the field */
    fprintf(stderr, "sandlot%s%s: %s%s%s%s%s", call->verb ? " " : "",
            call->verb ? call->verb->name : "", message, names_field ? " (" : "",
            names_field ? field : "", names_field ? ")" : "",
            is_sentence && !names_field ? "" : ".");
    fprintf(stderr, "%s%s\n", hint ? " " : "", hint ? hint : "");
    return exit_code_of(call, err->code);
}

static bool wants_color(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && kind && !str_equal(kind, "dumb");
}

static int run(struct cli_call *call, struct error **err)
{
    struct cli *cli = call->cli;
    cli->json = cli_flag(call, "json");
    cli->deployment = cli_value(call, "deployment");
    if (!cli->deployment && getenv("SANDLOT_DEPLOYMENT"))
        cli->deployment = getenv("SANDLOT_DEPLOYMENT");
    cli->ca_file = xstrdup_or_null(cli_value(call, "ca"));
    if (!(call->verb->flags & CLI_OFFLINE) && deployments_choose(cli, err) < 0)
        return -1;
    return call->verb->run(call, err);
}

static void cli_close(struct cli *cli)
{
    if (cli->curl)
        curl_easy_cleanup(cli->curl);
    free(cli->url);
    free(cli->ca_file);
    mem_wipe_free(cli->key);
}

static int serve(struct cli_call *call, bool has_words, struct error **err)
{
    if (call->verb && !cli_flag(call, "help"))
        return run(call, err);
    if (call->verb)
        help_print_verb(stdout, call->verb);
    else if (has_words)
        help_print_all(stdout);
    else
        help_print_short(stdout);
    return 0;
}

/* A file or connection must not get the number of a stream that the caller has closed. */
static void open_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY); /* has this number */
}

int main(int argc, char **argv)
{
    open_streams();
    struct cli cli = {.color = wants_color()};
    struct cli_call call = {.cli = &cli};
    error_auto err = NULL;
    log_init("sandlot");
    setlocale(LC_CTYPE, "C.UTF-8");     /* for the width of characters */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* the key may be in the environment */
    signal(SIGPIPE, SIG_IGN);
    if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return CLI_FAILED;
    if (argc == 2 && str_equal(argv[1], "--version")) {
        puts("sandlot " PACKAGE_VERSION);
        return CLI_DONE;
    }
    int code = CLI_DONE;
    if (arguments_parse(argv + 1, (size_t)argc - 1, &call, &err) < 0 ||
        serve(&call, argc > 1, &err) < 0)
        code = complain(&call, err);
    else
        code = argc == 1 ? CLI_USAGE : cli.exit_code;
    code = output_end(code);
    arguments_free(&call);
    cli_close(&cli);
    return code;
}
