/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Services of a sandbox; their output is in verbs_logs.c. */
#include "base/mem.h"
#include "cli/api.h"
#include "cli/output.h"
#include "cli/verbs.h"

int verb_service_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"NAME", "name"},         {"STATE", "state"},        {"HEALTH", "health"}, {"PID", "pid"},
        {"RESTARTS", "restarts"}, {"STARTED", "started_at"}, {"REASON", "reason"}};
    json_auto_t *answer = NULL;
    if (api_call_sandbox(call, "GET", "/services", NULL, &answer, err) < 0)
        return -1;
    output_rows(call->cli, "services", json_incref(json_object_get(answer, "services")), columns,
                ARRAY_SIZE(columns));
    return 0;
}

int verb_service_restart(struct cli_call *call, struct error **err)
{
    autofree char *name = api_escape(cli_operand(call, 1));
    autofree char *path = xasprintf("/services/%s/restart", name);
    return api_call_sandbox(call, "POST", path, NULL, NULL, err);
}
