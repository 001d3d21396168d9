/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receivers of a team's events. */
#include <stdlib.h>

#include "base/mem.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs.h"

const struct cli_option webhook_create_options[] = {
    {"kind", 'k', "KIND", "only events of this kind, such as sandbox.paused; may be repeated"},
    {"team", 0, "TEAM", "team of the events; default: your personal team"},
    {NULL, 0, NULL, NULL},
};

int verb_webhook_create(struct cli_call *call, struct error **err)
{
    json_t *body = json_object();
    json_t *webhook;
    input_texts(call, "kind", body, "kinds");
    input_text(body, "url", cli_operand(call, 0));
    input_text(body, "team", cli_value(call, "team"));
    if (api_call(call->cli, "POST", "/v1/webhooks", body, &webhook, err) < 0)
        return -1;
    output_note(call->cli, "The secret signs each delivery. sandlot shows it only once.");
    output_object(call->cli, webhook);
    return 0;
}

const struct cli_option webhook_list_options[] = {
    {"team", 0, "TEAM", "only those of this team"},
    {NULL, 0, NULL, NULL},
};

int verb_webhook_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"ID", "id"},           {"TEAM", "team"},       {"URL", "url"},
        {"KINDS", "kinds"},     {"ENABLED", "enabled"}, {"DELIVERED", "delivered_at"},
        {"FAILED", "failed_at"}};
    const char *team = cli_value(call, "team");
    autofree char *path = team ? api_path("/v1/webhooks?team=", "", team) : xstrdup("/v1/webhooks");
    return output_list(call->cli, path, "webhooks", "webhooks", columns, ARRAY_SIZE(columns), err);
}

int verb_webhook_show(struct cli_call *call, struct error **err)
{
    autofree char *path = api_path("/v1/webhooks/", "", cli_operand(call, 0));
    json_t *webhook;
    if (api_call(call->cli, "GET", path, NULL, &webhook, err) < 0)
        return -1;
    output_object(call->cli, webhook);
    return 0;
}

int verb_webhook_test(struct cli_call *call, struct error **err)
{
    autofree char *path = api_path("/v1/webhooks/", "/test", cli_operand(call, 0));
    json_t *message;
    if (api_call(call->cli, "POST", path, NULL, &message, err) < 0)
        return -1;
    output_result(call->cli, message, "id");
    return 0;
}

int verb_webhook_messages(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"ID", "id"},
                                                   {"KIND", "kind"},
                                                   {"STATE", "state"},
                                                   {"ATTEMPTS", "attempts"},
                                                   {"STATUS", "last_status"},
                                                   {"ERROR", "last_error"},
                                                   {"NEXT", "next_at"}};
    autofree char *path = api_path("/v1/webhooks/", "/messages", cli_operand(call, 0));
    return output_list(call->cli, path, "messages", "messages", columns, ARRAY_SIZE(columns), err);
}

int verb_webhook_resend(struct cli_call *call, struct error **err)
{
    const char *message = cli_operand(call, 1);
    autofree char *path =
        api_path("/v1/webhooks/", message ? "/messages/" : "/resend", cli_operand(call, 0));
    autofree char *one = message ? api_path(path, "/resend", message) : NULL;
    json_t *answer;
    if (api_call(call->cli, "POST", one ? one : path, NULL, &answer, err) < 0)
        return -1;
    output_object(call->cli, answer);
    return 0;
}

int verb_webhook_rm(struct cli_call *call, struct error **err)
{
    autofree char *path = api_path("/v1/webhooks/", "", cli_operand(call, 0));
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}
