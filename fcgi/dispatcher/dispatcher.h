/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The background worker: whatever is due by the database's word, one piece at a time. */
#pragma once

#include <signal.h>

#include "sandbox/lifecycle.h"

/* Work until *stop is set; the piece in hand is finished first. */
void dispatcher_run(struct sandbox_service *service, const volatile sig_atomic_t *stop);
