/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static unsigned index_of(const char *const names[], const char *name)
{
    for (unsigned i = 0; names[i]; i++)
        if (str_equal(names[i], name))
            return i;
    return 0;
}

#define LIST(...) __VA_ARGS__
#define NAMES(a, b, member, json, request, answer, change, names, ...) \
    const char *const member##_names[] = {LIST names, NULL};           \
    const char *member##_name(enum sandbox_##member value)             \
    {                                                                  \
        return member##_names[value];                                  \
    }                                                                  \
    enum sandbox_##member member##_of(const char *name)                \
    {                                                                  \
        return (enum sandbox_##member)index_of(member##_names, name);  \
    }
SANDBOX_FIELDS(NOTHING_OF_FIELD_, NAMES, NOTHING_OF_FIELD_, NOTHING_OF_FIELD_, , )

#define DEFAULT(a, b, member, json, request, answer, change, value, ...) .member = value,
const struct sandbox_choices sandbox_choices_default = {
    SANDBOX_FIELDS(DEFAULT, NOTHING_OF_FIELD_, NOTHING_OF_FIELD_, NOTHING_OF_FIELD_, , )};

int sandbox_choices_check(const struct sandbox_choices *choices,
                          const struct sandbox_chosen *chosen, struct error **err)
{
    if (!choices->auto_resume || choices->on_timeout == ON_TIMEOUT_PAUSE || choices->idle_timeout)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST,
                           chosen->auto_resume  ? "/lifecycle/auto_resume"
                           : chosen->on_timeout ? "/lifecycle/on_timeout"
                                                : "/lifecycle/idle_timeout",
                           "auto_resume needs on_timeout = pause or an idle_timeout.");
}

bool sandbox_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    return length >= 1 && length < SANDBOX_NAME_SIZE && strspn(name, ALPHANUMERIC) > 0 &&
           strspn(name, ALPHANUMERIC "._-") == length && !str_starts_with(name, "sbx_") &&
           !str_is_choice("new|new-keep|keep", name);
}

void sandbox_deinit(struct sandbox *sandbox)
{
    free(sandbox->metadata);
    free(sandbox->volume_mounts);
    free(sandbox->hooks);
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
        return "The sandbox is paused; sandlot applies the policy when it resumes, before its "
               "first packet.";
    if (sandbox->network_failure && *sandbox->network_failure)
        return sandbox->network_failure;
    return "sandlot is sending the policy to the firewall of the sandbox's host.";
}

const char *sandbox_made_from(const struct sandbox *sandbox)
{
    bool restored = *sandbox->snapshot_id && !*sandbox->forked_from;
    return restored ? sandbox->snapshot_id : sandbox->template_slug;
}

bool sandbox_has_ended(const struct sandbox *sandbox)
{
    return str_equal(sandbox->stop_reason, STOPPED_ENDED) ||
           str_equal(sandbox->stop_reason, STOPPED_REBOOTING) ||
           str_equal(sandbox->stop_reason, STOPPED_MEMORY_LOST);
}

bool sandbox_has_volumes(const struct sandbox *sandbox)
{
    return !str_equal(sandbox->volume_mounts, "{}");
}
