/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dump, with an end to it. */
#pragma once

#include "helper/criu/call.h"

/* Returns what the program exits with. */
int dump_run(struct call *call);
