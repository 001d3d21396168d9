/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpack an archive from a sandbox into a folder of this machine, and write nowhere else. Each path
 * is opened part by part below that folder and through no link. A link of this archive, or of an
 * earlier one, therefore cannot lead out of the folder. Files, folders and links are created, with
 * permissions and times. Set-uid, set-gid and sticky bits, owners, devices and FIFOs are left out.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Unpack an archive. folder: an open folder, which stays the caller's. sets_mode: the folder itself
 * gets the mode that the archive has for it. *left_out: the number of devices and FIFOs. Files that
 * were unpacked before an error stay. */
int unpack(int folder, const char *archive, bool sets_mode, uint64_t *left_out, struct error **err);
