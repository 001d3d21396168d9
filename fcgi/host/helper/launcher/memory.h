/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find, lock and delete the memory images in the folder of an instance. */
#pragma once

#include <stdbool.h>

#include "helper/launcher/container_config.h"

/* Return whether a container must start from the image of another one in `folder`, for the first
 * time. name: of the container. */
bool memory_is_of_other(const struct container_config *config, const char *name,
                        const char *folder);

/* Note that the container was started from the image. Returns whether the note could be written. */
bool memory_mark_used(const char *folder);

/* Return the place of the image itself: sandboxes of a fork share one (fcgi/host/helper/btrfs), in
 * a folder next to the instances. The caller frees it. */
char *memory_image(const char *folder);

/* Lock an image against deletion until the descriptor is closed. Returns the descriptor, or -1 with
 * errno when the image does not exist. */
int memory_hold(const char *image);

/* Return the seconds that a restore may take in addition to those of any start. */
unsigned memory_read_s(const char *image);

/* Delete a folder with its contents, if it exists. Files that cannot be deleted stay. */
void memory_remove(const char *folder);

/*
 * Delete an image that has been restored. name: of its container.
 *
 * Deleting a subvolume takes a quarter of a second for each GiB. So rename it into the folder of
 * shared images, and leave a process that deletes it. fcgi/host/helper/guard deletes the rest if
 * this process dies. While the previous image of the container exists, delete the image at once. So
 * a container has at most one image that waits for its deletion.
 */
void memory_retire(const char *name, const char *folder);

/* Move the renamed image back to `folder` for incusd's own restore. */
void memory_give_back(const char *folder);
