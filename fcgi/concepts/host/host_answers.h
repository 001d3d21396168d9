/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A condition on rows of hosts, for the *_db.c files that choose a host. A host on this machine is
 * tried in any case, because no other can replace it. */
#pragma once

/* alias: "h." or "" */
#define HOST_ANSWERS(alias) "(" alias "silent_since_ms IS NULL OR " alias "relay_url IS NULL)"
