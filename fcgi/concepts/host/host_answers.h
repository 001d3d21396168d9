/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A condition on rows of hosts and their order, for the *_db.c files that choose a host. A host on
 * this machine is tried in any case, because perhaps no other exists; but last if its Incus does
 * not answer. */
#pragma once

/* alias: "h." or "" */
#define HOST_ANSWERS(alias) "(" alias "silent_since_ms IS NULL OR " alias "relay_url IS NULL)"

#define HOST_BEST_FIRST \
    "h.silent_since_ms IS NOT NULL, CAST(h.memory_mb AS SIGNED) - h.used_memory_mb DESC"
