/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run a dump with a time limit. */
#pragma once

#include "helper/criu/call.h"

/* Run the dump. Returns the exit status of the program. */
int dump_run(struct call *call);
