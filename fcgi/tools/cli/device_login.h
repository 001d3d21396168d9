/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A key from somebody who confirms a code in the console: the device authorisation grant, RFC 8628.
 */
#pragma once

#include "cli/cli.h"

/* Say where to confirm which code, wait for that, and set cli->key. Errors: ERR_NOT_FOUND when the
 * deployment has no console, ERR_ACCESS_DENIED, ERR_EXPIRED_TOKEN. */
int device_login(struct cli *cli, struct error **err);
