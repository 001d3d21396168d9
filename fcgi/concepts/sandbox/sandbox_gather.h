/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sandbox is to be made of comes together on one host: the template or checkpoint that it is
 * made from, its volumes, and room for it. Clients know of no hosts, so what is on several, or on
 * one that is full, is brought to one instead of being refused.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct gathering {
    struct worker *worker;
    const struct sandbox_create *request;
    const struct sandbox *sandbox; /* as the create that was refused has planned it */
};

/* Whether bringing it together may help a create that was refused for that reason. */
int sandbox_gather_may_help(const struct gathering *gathering, const struct error *refusal,
                            bool *may, struct error **err);

/* Take the next step to it and wait until it is done, at most until give_up_ms (monotonic).
 * *gathered: the create may succeed now, or the step after this one. */
int sandbox_gather(const struct gathering *gathering, int64_t give_up_ms, bool *gathered,
                   struct error **err);
