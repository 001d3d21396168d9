/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of all access tokens of a sandbox, and of the connections that were made with them. */
#pragma once

#include "worker/worker.h"

/* End all tokens of a sandbox, and disconnect their holders if it runs; tokens made afterwards are
 * valid. Takes a second or two, because nginx keeps decisions of the gate for a second. After a
 * failure to disconnect, a dispatcher tries again. */
int sandbox_sessions_end(struct worker *worker, const char *id, struct error **err);

/* For the dispatcher: disconnect the holders of one sandbox whose tokens have ended with the access
 * of a person (account/access_end.h). *worked: there was one, and it took no long time. */
int sandbox_sessions_next(struct worker *worker, bool *worked, struct error **err);
