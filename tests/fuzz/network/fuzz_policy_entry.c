/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An entry of a network policy: what is taken reads the same again in its canonical form. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "network/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = xstrndup((const char *)data, size);
    struct policy_entry entry, again;
    error_auto err = NULL;
    if (policy_entry_parse(text, &entry, &err) < 0) {
        if (!err || err->code != ERR_INVALID_REQUEST)
            abort();
        return 0;
    }
    autofree char *canonical = policy_entry_text(&entry);
    if (err || policy_entry_parse(canonical, &again, &err) < 0)
        abort();
    autofree char *same = policy_entry_text(&again);
    if (strcmp(canonical, same) || policy_entry_compare(&entry, &again))
        abort();
    if (entry.kind == POLICY_NETWORK) {
        struct policy_address last = policy_network_last(&entry.network, entry.prefix_length);
        if (!policy_entry_matches_address(&again, &entry.network) ||
            !policy_entry_matches_address(&again, &last))
            abort();
    } else {
        autofree char *below = xasprintf("a.%s", entry.name);
        bool host = entry.kind == POLICY_HOST;
        if (policy_entry_matches_name(&again, entry.name) != host ||
            policy_entry_matches_name(&again, below) == host)
            abort();
    }
    policy_entry_deinit(&entry);
    policy_entry_deinit(&again);
    return 0;
}
