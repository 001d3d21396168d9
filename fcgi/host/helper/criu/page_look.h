/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look at a memory image before a restore: can a page server copy its memory? */
#pragma once

#include <stdint.h>

/* Return the size of an image that can be served, or 0. Such an image is large, but not larger than
 * the memory was. It has not too many processes and ranges, and the descriptors for CRIU are free.
 */
uint64_t image_served_size(int image);

/* Return the number that a file in a folder begins with, or 0. */
uint64_t image_number(int folder, const char *name);
