/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the end of a process reads in an end event. */
#pragma once

#include <jansson.h>

#include "agent/process/process.h"

/* Return {"event":{"end":{…}}}: exitCode, exited, status, and error unless it was exit code 0;
 * reason and message where the status does not say it. */
json_t *process_end_event(const struct process_end *how);
