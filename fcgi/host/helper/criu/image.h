/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handle the folder of a memory image, and the files in it that CRIU does not write. */
#pragma once

#include <stdbool.h>

/* Before a dump: replace the folder with a subvolume that counts neither as the sandbox's disk nor
 * as the guests' part of the pool (fcgi/host/helper/guard). If this fails, the folder stays. */
void image_make_room(const char *folder);

/* After a dump: note the owner and the sizes of the files, and correct the image. Processes that
 * were frozen for the dump are marked as running. */
void image_seal(const char *folder);

/* Return the instance that a folder of images belongs to; the caller frees it. */
char *image_owner(const char *folder);

/* Note how much memory the container used. */
void image_note_memory(const char *folder, unsigned mib);

/* After image_seal(), for a container that continues to run: mark an image in a subvolume as free
 * to move (fcgi/host/helper/btrfs). Nothing will start from its present place. */
void image_mark_running(const char *folder);

/* Return whether the files are as the dump left them. Images of earlier versions have no such
 * data. */
bool image_is_whole(const char *folder);

/* Return whether the image was made from the container that it belongs to now. */
bool image_is_of_owner(const char *folder);

/* Mark or check an image whose tmpfs contents are not compressed. Images of earlier versions have
 * no mark. */
void image_mark_plain(const char *folder);
bool image_is_plain(const char *folder);
