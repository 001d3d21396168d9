/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The proof of a backup beside a deployment that goes on meanwhile. */
#pragma once

#include "ctl/backup.h"
#include "ctl/ctl.h"

/* Load the dump into a database of its own and compare its tables with those of this version
 * (*older: they are of an older one, and are not compared); and let each host take in what it is
 * to have, in a project of its own. Nothing of it stays. */
int restore_check(struct ctl *ctl, const struct backup *backup, bool *older, struct error **err);
