/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For *_db.c that choose a host: a condition on rows of hosts. One of this machine is tried in any
 * case, since nobody else can stand in for it. */
#pragma once

/* alias: "h." or "" */
#define HOST_ANSWERS(alias) "(" alias "silent_since_ms IS NULL OR " alias "relay_url IS NULL)"
