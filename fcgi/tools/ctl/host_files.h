/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files for a machine that becomes a host. */
#pragma once

#include <jansson.h>

#include "ctl/ctl.h"

/* Create a new certificate for its relay, with the key, and whom its relay and its Incus let in, by
 * the names of their files. Errors: ERR_CONFIG. */
int host_files_new(struct ctl *ctl, const char *name, json_t **files, struct error **err);
