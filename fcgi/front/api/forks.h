/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forks, for the handlers of more than one table of endpoints. */
#pragma once

#include "api/api.h"

struct forks {
    struct sandbox_forked *list; /* owned */
    unsigned count;
};
void forks_deinit(struct forks *forks);
#define forks_auto __attribute__((cleanup(forks_deinit))) struct forks

/* Fork the sandbox of the request as the body, which was checked, says; or find what an earlier
 * attempt with its Idempotency-Key made. Fails where there is none. */
int forks_make(struct api *api, const json_t *body, struct forks *forks, struct error **err);
