/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forks, for the handlers of /v1 and E2B. */
#pragma once

#include "api/api.h"

struct forks {
    struct sandbox_forked *list; /* owned */
    unsigned count;
};
void forks_deinit(struct forks *forks);
#define forks_auto __attribute__((cleanup(forks_deinit))) struct forks

/* Fork the sandbox of the request by a checked body, or find the sandboxes of an earlier attempt
 * with its Idempotency-Key. Fails when no sandbox was made. */
int forks_make(struct api *api, const json_t *body, struct forks *forks, struct error **err);
