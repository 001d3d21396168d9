/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a wait status reads in an end event. */
#pragma once

#include <jansson.h>

/* {"event":{"end":{…}}}: exitCode, exited, status, and error unless it was exit code 0. */
json_t *process_end_event(int wait_status);
