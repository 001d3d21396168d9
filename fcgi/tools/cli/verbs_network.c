/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network policy of a sandbox. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs.h"

#define FOLLOW_S 2

int verb_network_show(struct cli_call *call, struct error **err)
{
    json_t *policy;
    if (api_call_sandbox(call, "GET", "/network", NULL, &policy, err) < 0)
        return -1;
    output_object(call->cli, policy);
    return 0;
}

const struct cli_option network_set_options[] = {
    {"internet", 0, NULL, "allow everything except the denied entries"},
    NETWORK_OPTIONS,
    {NULL, 0, NULL, NULL},
};

int verb_network_set(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_t *policy;
    if (input_network(call, body, err) < 0 ||
        api_call_sandbox(call, "PUT", "/network", json_incref(body), &policy, err) < 0)
        return -1;
    output_result(call->cli, policy, "status");
    return 0;
}

int verb_network_check(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_pack("{s:s}", "host", cli_operand(call, 1));
    json_t *verdict;
    if (input_number(body, "port", cli_operand(call, 2), "the port", err) < 0 ||
        api_call_sandbox(call, "POST", "/network/check", json_incref(body), &verdict, err) < 0)
        return -1;
    if (!str_equal(json_string_value(json_object_get(verdict, "verdict")), "allow"))
        call->cli->exit_code = CLI_FAILED;
    if (call->cli->json)
        output_object(call->cli, verdict);
    else
        output_result(call->cli, verdict, "message");
    return 0;
}

/* --- denials --- */

const struct cli_option denials_options[] = {
    {"follow", 'f', NULL, "keep running and print new denials"},
    {NULL, 0, NULL, NULL},
};

static void print_denial(const struct cli *cli, const json_t *denial)
{
    const json_t *port = json_object_get(denial, "port");
    if (cli->json) {
        output_json_line(denial);
        return;
    }
    printable_print(stdout, "%s  %-10s  %s", json_string_value(json_object_get(denial, "at")),
                    json_string_value(json_object_get(denial, "kind")),
                    json_string_value(json_object_get(denial, "target")));
    if (json_is_integer(port))
        printf(":%lld", (long long)json_integer_value(port));
    printf("  %lld\n", (long long)json_integer_value(json_object_get(denial, "count")));
}

/* Those that were not in the former answer as they are now. */
static void print_new(const struct cli *cli, const json_t *denials, const json_t *known)
{
    size_t i, k;
    json_t *denial, *old;
    json_array_foreach ((json_t *)denials, i, denial) {
        bool is_known = false;
        json_array_foreach ((json_t *)known, k, old)
            is_known |= json_equal(denial, old);
        if (!is_known)
            print_denial(cli, denial);
    }
    output_flush();
}

static int follow(struct cli_call *call, struct error **err)
{
    json_auto_t *known = NULL;
    while (!ferror(stdout)) {
        json_t *answer;
        if (api_call_sandbox(call, "GET", "/network/denials", NULL, &answer, err) < 0)
            return -1;
        print_new(call->cli, json_object_get(answer, "denials"), json_object_get(known, "denials"));
        json_decref(known);
        known = answer;
        sleep(FOLLOW_S);
    }
    return 0;
}

int verb_network_denials(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"AT", "at"},     {"KIND", "kind"},         {"TARGET", "target"},
        {"PORT", "port"}, {"PROTOCOL", "protocol"}, {"COUNT", "count"}};
    if (cli_flag(call, "follow"))
        return follow(call, err);
    return output_of_sandbox(call, "/network/denials", "denials", columns, ARRAY_SIZE(columns),
                             err);
}

/* --- approvals --- */

int verb_network_approvals(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"ID", "id"},
                                                   {"TARGET", "target"},
                                                   {"STATE", "state"},
                                                   {"ASKED", "asked_at"},
                                                   {"UNTIL", "until"}};
    return output_of_sandbox(call, "/approvals", "approvals", columns, ARRAY_SIZE(columns), err);
}

const struct cli_option approve_options[] = {
    {"for", 0, "DURATION", "allow it for this time, in whole minutes: 30m, 2h"},
    {"always", 0, NULL, "add it to the allowed entries"},
    {"never", 0, NULL, "add it to the denied entries"},
    {NULL, 0, NULL, NULL},
};

static int add_minutes(json_t *body, const char *span, struct error **err)
{
    uint64_t seconds;
    if (duration_parse(span, &seconds) < 0 || seconds % 60)
        return cli_misuse(err, "--for must be whole minutes, such as 30m or 2h, not '%s'", span);
    json_object_set_new(body, "minutes", json_integer((json_int_t)(seconds / 60)));
    return 0;
}

int verb_network_approve(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_t *approval;
    const char *span = cli_value(call, "for");
    bool always = cli_flag(call, "always"), never = cli_flag(call, "never");
    if (!!span + always + never > 1)
        return cli_misuse(err, "give only one of --for, --always and --never");
    if (span && add_minutes(body, span, err) < 0)
        return -1;
    json_object_set_new(body, "answer",
                        json_string(span     ? "minutes"
                                    : always ? "always"
                                    : never  ? "never"
                                             : "once"));
    autofree char *id = api_escape(cli_operand(call, 1));
    autofree char *path = xasprintf("/approvals/%s", id);
    if (api_call_sandbox(call, "POST", path, json_incref(body), &approval, err) < 0)
        return -1;
    output_result(call->cli, approval, "state");
    return 0;
}
