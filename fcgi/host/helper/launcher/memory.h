/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The images of memory in the folder of an instance, which a start goes on from or has no use for.
 */
#pragma once

#include <stdbool.h>

#include "helper/launcher/container_config.h"

/* Whether the container goes on, for the first time, from the image of another one that lies in
 * `folder`. name: of the container. */
bool memory_is_of_other(const struct container_config *config, const char *name,
                        const char *folder);

/* From here on it was its first time. Returns whether that could be written down. */
bool memory_mark_used(const char *folder);

/* Where the image itself is: those of a fork share one (fcgi/host/helper/btrfs), which is beside
 * the instances. The caller frees it. */
char *memory_image(const char *folder);

/* Hold it until the descriptor is closed, so that it is not removed meanwhile. Returns the
 * descriptor, or -1 with errno when it is not there. */
int memory_hold(const char *image);

/* The seconds that a restore of the image may take, beside those that any start may. */
unsigned memory_read_s(const char *image);

/* With everything in it, if it is there. What cannot be removed stays. */
void memory_remove(const char *folder);

/* Give incusd the image that was put aside for its own restore from `folder`. */
void memory_give_back(const char *folder);
