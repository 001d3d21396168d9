/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The teams that a key or a sign-in reaches now. For streams, which stay open after their
 * request. */
#pragma once

#include "account/api_key.h"

/* Read the teams that a key or a sign-in (its id) reaches into principal->teams. Read its end into
 * principal->expires_at_ms. The use of a sign-in moves this time. The list is empty when the key or
 * sign-in has ended or its user is disabled. End with principal_deinit(). */
int access_teams_read(struct db *db, const char *credential_id, struct principal *principal,
                      struct error **err);
