/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpack an archive from a sandbox into a folder of this machine, and write nowhere else. Each path
 * is opened part by part below that folder and through no link, so a link of this archive, or of an
 * earlier one, leads nothing away. Files, folders and links are made, with permissions and times;
 * set-uid, set-gid and sticky bits, owners, devices and FIFOs are not.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* folder: an open folder, which stays the caller's. sets_mode: the folder itself gets the mode that
 * the archive has for it. *left_out: how many devices and FIFOs were left out. What was unpacked
 * before an error stays. */
int unpack(int folder, const char *archive, bool sets_mode, uint64_t *left_out, struct error **err);
