/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/sandbox_network.h"

#define MS_PER_MINUTE 60000

/* Add the destination to a list of the policy, unless the list has it. */
static int add_entry(json_t *policy, const char *member, const char *target, struct error **err)
{
    json_t *list = json_object_get(policy, member), *entry;
    size_t index;
    if (!list)
        json_object_set_new(policy, member, list = json_array());
    json_array_foreach (list, index, entry) {
        if (str_equal(json_string_value(entry), target))
            return 0;
    }
    if (json_array_size(list) >= NETWORK_ENTRIES_MAX)
        return error_set_field(
            err, ERR_INVALID_REQUEST, "/answer",
            "The policy has %d entries in %s, which is the most; delete some first.",
            NETWORK_ENTRIES_MAX, member);
    json_array_append_new(list, json_string(target));
    return 0;
}

static int edit(struct db *db, void *context, const struct sandbox *sandbox, char **network,
                struct error **err)
{
    struct sandbox_approval *answer = context;
    struct approval *approval = &answer->approval;
    json_auto_t *policy = json_loads(sandbox->network, 0, NULL);
    if (approval_lock(db, sandbox->id, answer->id, approval, err) < 0)
        return -1;
    bool lasts = answer->answer == APPROVAL_ALWAYS || answer->answer == APPROVAL_NEVER;
    if (lasts && (add_entry(policy, answer->answer == APPROVAL_ALWAYS ? "allow_out" : "deny_out",
                            approval->target, err) < 0 ||
                  approval_forget(db, approval->id, err) < 0))
        return -1;
    approval->until_ms = 0;
    if (!lasts) {
        approval->until_ms = clock_in_ms(answer->answer == APPROVAL_ONCE
                                             ? APPROVAL_ONCE_S * 1000
                                             : (uint64_t)answer->minutes * MS_PER_MINUTE);
        if (approval_grant(db, approval->id, approval->until_ms, err) < 0)
            return -1;
    }
    *network = json_dumps(policy, JSON_COMPACT);
    return 0;
}

int sandbox_network_approve(struct worker *worker, const char *id, struct sandbox_approval *answer,
                            struct sandbox *sandbox, struct error **err)
{
    const struct sandbox_network_change change = {.edit = edit, .context = answer};
    return sandbox_network_put(worker, id, &change, sandbox, err);
}
