/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox.h"

#include <stdlib.h>

#include "base/str.h"

const char *on_timeout_name(enum sandbox_on_timeout on_timeout)
{
    return on_timeout == ON_TIMEOUT_PAUSE ? "pause" : "kill";
}

const char *on_pause_failure_name(enum sandbox_on_pause_failure on_pause_failure)
{
    return on_pause_failure == ON_PAUSE_FAILURE_KEEP_RUNNING ? "keep_running" : "disk";
}

enum sandbox_on_pause_failure on_pause_failure_of(const char *name)
{
    return str_equal(name, "keep_running") ? ON_PAUSE_FAILURE_KEEP_RUNNING : ON_PAUSE_FAILURE_DISK;
}

void sandbox_deinit(struct sandbox *sandbox)
{
    free(sandbox->metadata);
    free(sandbox->volume_mounts);
    free(sandbox->network);
    free(sandbox->network_failure);
    *sandbox = (struct sandbox){0};
}

const char *sandbox_network_status(const struct sandbox *sandbox)
{
    return sandbox->network_applied == sandbox->network_revision ? "applied" : "pending";
}

const char *sandbox_network_reason(const struct sandbox *sandbox)
{
    if (sandbox->network_applied == sandbox->network_revision)
        return NULL;
    if (sandbox_state_told(sandbox->state) == SANDBOX_STOPPED || sandbox->state == SANDBOX_COPYING)
        return "The sandbox is stopped; the policy is applied before its first packet.";
    if (sandbox->network_failure && *sandbox->network_failure)
        return sandbox->network_failure;
    return "The firewall of the sandbox's host is being updated.";
}

const char *sandbox_made_from(const struct sandbox *sandbox)
{
    bool restored = *sandbox->snapshot_id && !*sandbox->forked_from;
    return restored ? sandbox->snapshot_id : sandbox->template_slug;
}

bool sandbox_has_volumes(const struct sandbox *sandbox)
{
    return !str_equal(sandbox->volume_mounts, "{}");
}
