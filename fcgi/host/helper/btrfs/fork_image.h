/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fork begins with a snapshot, "fork-…", of a sandbox and its memory. The image of that lies in a
 * subvolume of its own, and a snapshot of it would write all of it to the disk while the sandbox
 * stands still, and have each copy read its own from there. It is put beside the instances instead,
 * where all that are made from the snapshot share what the kernel still has in memory; the snapshot
 * has the name of it alone (fcgi/host/helper/launcher). It is removed with the snapshot.
 *
 * What fails is said on standard error, with the cause in the words of the C library.
 */
#pragma once

/* Where the image of a fork's snapshot is; the caller frees it. NULL: it is the snapshot of none.
 */
char *fork_image_of(const char *snapshot);

/* In place of the image, which is empty in a snapshot of what is around it: whose memory it is, and
 * where. Returns 0 or -1. */
int fork_image_name(const char *snapshot, const char *image);

/* `subvolume snapshot` and `subvolume delete`: the exit status, or -1 for what is no matter of a
 * fork, of which nothing has been done. */
int fork_image_snapshot(const char *from, const char *to);
int fork_image_delete(const char *snapshot);
