/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bring the parts of a new sandbox together on one host: the template or checkpoint, the volumes,
 * and room. Clients do not know about hosts. So when the parts are on several hosts, or on a full
 * one, they are moved to one host instead of refusing the create.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct gathering {
    struct worker *worker;
    const struct sandbox_create *request;
    const struct sandbox *sandbox; /* as the refused create has planned it */
};

/* Check whether gathering may help a create that was refused for this reason. */
int sandbox_gather_may_help(const struct gathering *gathering, const struct error *refusal,
                            bool *may, struct error **err);

/* Take the next step and wait until it is done, at most until give_up_ms (monotonic). *gathered:
 * the create may succeed now, or after another step. */
int sandbox_gather(const struct gathering *gathering, int64_t give_up_ms, bool *gathered,
                   struct error **err);
