/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test a backup while the deployment keeps running. */
#pragma once

#include "ctl/backup.h"
#include "ctl/ctl.h"

/* Load the dump into a temporary database, and compare its tables with those of this version.
 * *older: they are of an older version, and are not compared. Let each host import its objects, in
 * a temporary project. Everything is deleted afterwards. */
int restore_check(struct ctl *ctl, const struct backup *backup, bool *older, struct error **err);
