/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The teams of a host's instances. sandlot-limits notes the team of an instance as a symbolic link,
 * before or while the instance starts. */
#pragma once

#include <stdint.h>

#define TEAM_NOTES "/run/sandlot-teams"

/* Return the number of the team of an instance, or 0 if it is not known. folder: TEAM_NOTES. name:
 * INSTANCE or PROJECT_INSTANCE. */
uint64_t team_note_read(const char *folder, const char *name);
