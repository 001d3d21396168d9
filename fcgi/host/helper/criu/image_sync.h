/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write images to the disk, so that a power failure does not lose them. */
#pragma once

/* Write the file system of an image to the disk, in a process of its own: the pause does not wait
 * for it. While one such process writes, the next one waits, and others need not start: they are
 * covered by the one that waits. So a host has at most two, however many pauses there are. */
void image_sync(const char *folder);
