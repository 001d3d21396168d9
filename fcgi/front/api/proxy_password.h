/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The password of an egress proxy, which a request has in plain text. It becomes a secret of the
 * team, which is deleted after the last sandbox and egress proxy that mention it. */
#pragma once

#include "api/api.h"
#include "secret/secret.h"

struct proxy_password {
    char name[SECRET_NAME_MAX + 1]; /* of the secret */
    json_t *hosts;                  /* of the secret, checked; owned */
    const char *value;              /* NULL: the request has none; borrowed */
};
void proxy_password_deinit(struct proxy_password *password);
#define proxy_password_auto __attribute__((cleanup(proxy_password_deinit))) struct proxy_password

/* Store it as an act of its own, next to that of the request. An equal one that the team has stays
 * as it is. Errors: ERR_INVALID_REQUEST at /egressProxy/password (the team has SECRETS_MADE_MAX).
 */
int proxy_password_store(struct api *api, const char *team_id,
                         const struct proxy_password *password, struct error **err);
