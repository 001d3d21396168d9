/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the team of an instance, and the user who created it. sandlot-limits stores both as a
 * symbolic link, before or while the instance starts. */
#pragma once

#include "base/tenant.h"

#define TEAM_NOTES "/run/sandlot-teams"

/* Return the team and the user of an instance; 0 for both if they are not known. folder:
 * TEAM_NOTES. name: INSTANCE or PROJECT_INSTANCE. */
struct tenant team_note_read(const char *folder, const char *name);
