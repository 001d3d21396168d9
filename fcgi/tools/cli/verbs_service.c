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
    return output_of_sandbox(call, "/services", "services", columns, ARRAY_SIZE(columns), err);
}

int verb_service_restart(struct cli_call *call, struct error **err)
{
    autofree char *name = api_escape(cli_operand(call, 1));
    autofree char *path = xasprintf("/services/%s/restart", name);
    return api_call_sandbox(call, "POST", path, NULL, NULL, err);
}
