/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets of a team. A value is read from the standard input, never from the command line. */
#include <stdlib.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

#define PATH_BYTES_MAX 2048

const struct cli_option secret_set_options[] = {
    {"host", 0, "HOST", "a host that may get the secret, or *. and a name; may be repeated"},
    {"keep-value", 0, NULL, "remove hosts only; to add one, give the value again"},
    {"team", 0, "TEAM", "team of the secret; default: your personal team"},
    {NULL, 0, NULL, NULL},
};

int verb_secret_set(struct cli_call *call, struct error **err)
{
    autofree char *path = api_path("/v1/secrets/", "", cli_operand(call, 0));
    bool keeps = cli_flag(call, "keep-value");
    autowipe char *value = keeps ? NULL : terminal_read_secret("Value: ");
    json_t *body = json_object();
    json_t *secret;
    if (!keeps && (!value || !*value)) {
        json_decref(body);
        return cli_misuse(err, "standard input has no value");
    }
    input_texts(call, "host", body, "hosts");
    input_text(body, "value", value);
    input_text(body, "team", cli_value(call, "team"));
    if (api_call(call->cli, "PUT", path, body, &secret, err) < 0)
        return -1;
    output_result(call->cli, secret, "name");
    return 0;
}

const struct cli_option secret_team_options[] = {
    {"team", 0, "TEAM", "team of the secret; default: your personal team"},
    {NULL, 0, NULL, NULL},
};

int verb_secret_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"NAME", "name"},
                                                   {"HOSTS", "hosts"},
                                                   {"VERSION", "version"},
                                                   {"UPDATED", "updated_at"},
                                                   {"USED", "last_used_at"}};
    buffer_auto path = BUFFER_INIT(PATH_BYTES_MAX);
    buffer_append_string(&path, "/v1/secrets");
    api_add_query(&path, "team", cli_value(call, "team"));
    return output_list(call->cli, buffer_string(&path), "secrets", "secrets", columns,
                       ARRAY_SIZE(columns), err);
}

int verb_secret_rm(struct cli_call *call, struct error **err)
{
    autofree char *secret = api_path("/v1/secrets/", "", cli_operand(call, 0));
    buffer_auto path = BUFFER_INIT(PATH_BYTES_MAX);
    buffer_append_string(&path, secret);
    api_add_query(&path, "team", cli_value(call, "team"));
    return api_call(call->cli, "DELETE", buffer_string(&path), NULL, NULL, err);
}
