/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Get a key from a person who confirms a code in the console (device authorisation grant, RFC
 * 8628). */
#pragma once

#include "cli/cli.h"

/* Print the address and the code to confirm, wait for the person, and set cli->key. Errors: those
 * of the API, such as ERR_NOT_FOUND (the deployment has no console), ERR_ACCESS_DENIED and
 * ERR_EXPIRED_TOKEN. */
int device_login(struct cli *cli, struct error **err);
