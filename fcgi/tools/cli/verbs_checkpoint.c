/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checkpoints: disks of sandboxes that are kept. */
#include <stdlib.h>

#include "base/mem.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs.h"

int verb_checkpoint_create(struct cli_call *call, struct error **err)
{
    autofree char *id = NULL;
    json_t *checkpoint;
    if (api_sandbox_id(call->cli, cli_operand(call, 0), &id, err) < 0)
        return -1;
    autofree char *path = api_path("/v1/sandboxes/", "/checkpoints", id);
    json_t *body = json_object();
    input_text(body, "name", cli_operand(call, 1));
    if (api_call(call->cli, "POST", path, body, &checkpoint, err) < 0)
        return -1;
    output_result(call->cli, checkpoint, "id");
    return 0;
}

const struct cli_option checkpoint_list_options[] = {
    {"sandbox", 's', "SANDBOX", "only those of this sandbox"},
    {"team", 0, "TEAM", "only those of this team"},
    {NULL, 0, NULL, NULL},
};

int verb_checkpoint_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"NAME", "name"},
                                                   {"VERSION", "version"},
                                                   {"ID", "id"},
                                                   {"SANDBOX", "sandbox_name|sandbox_id"},
                                                   {"MIB", "size_mb"},
                                                   {"TEMPLATE", "template"},
                                                   {"CREATED", "created_at"}};
    autofree char *id = NULL;
    const char *sandbox = cli_value(call, "sandbox"), *team = cli_value(call, "team");
    if (sandbox && api_sandbox_id(call->cli, sandbox, &id, err) < 0)
        return -1;
    autofree char *of_team = api_path("team=", "&", team ? team : "");
    autofree char *of_sandbox = api_path("sandbox_id=", "&", id ? id : "");
    autofree char *path =
        xasprintf("/v1/checkpoints?%s%s", team ? of_team : "", id ? of_sandbox : "");
    return output_list(call->cli, path, "checkpoints", "checkpoints", columns, ARRAY_SIZE(columns),
                       err);
}

int verb_checkpoint_show(struct cli_call *call, struct error **err)
{
    autofree char *id = NULL;
    json_t *checkpoint;
    if (api_checkpoint_id(call->cli, cli_operand(call, 0), true, &id, err) < 0)
        return -1;
    autofree char *path = api_path("/v1/checkpoints/", "", id);
    if (api_call(call->cli, "GET", path, NULL, &checkpoint, err) < 0)
        return -1;
    output_object(call->cli, checkpoint);
    return 0;
}

int verb_checkpoint_rm(struct cli_call *call, struct error **err)
{
    for (size_t i = 0; i < call->operand_count; i++) {
        autofree char *id = NULL;
        if (api_checkpoint_id(call->cli, call->operands[i], false, &id, err) < 0)
            return -1;
        autofree char *path = api_path("/v1/checkpoints/", "", id);
        if (api_call(call->cli, "DELETE", path, NULL, NULL, err) < 0)
            return error_context(err, "%s", call->operands[i]);
    }
    return 0;
}
