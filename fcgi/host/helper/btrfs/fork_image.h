/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Share the memory image of a fork between all its sandboxes.
 *
 * A fork starts with a snapshot, "fork-…", of a sandbox and its memory. The memory image is in a
 * separate subvolume. A snapshot of this subvolume would write the whole image to the disk while
 * the sandbox is frozen. Each copy would then read the image from the disk again. Instead, the
 * image moves to a folder next to the instances, and all sandboxes of the fork share its data in
 * the page cache. The snapshot holds only its name (fcgi/host/helper/launcher). The image is
 * deleted with the snapshot.
 *
 * Failures are printed to standard error, with the reason from the C library.
 */
#pragma once

/* Return the path of the image for a fork's snapshot; the caller frees it. NULL: the snapshot is
 * not a fork's. */
char *fork_image_of(const char *snapshot);

/* Write the owner and the name of the image into the snapshot, in place of the image. The snapshot
 * has an empty folder there. Returns 0 or -1. */
int fork_image_name(const char *snapshot, const char *image);

/* Handle `subvolume snapshot` and `subvolume delete`. Return the exit status, or -1, with nothing
 * done, when the call does not belong to a fork. */
int fork_image_snapshot(const char *from, const char *to);
int fork_image_delete(const char *snapshot);
