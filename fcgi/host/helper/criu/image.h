/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of a memory image, and what this program keeps in it beside CRIU's own files. */
#pragma once

#include <stdbool.h>

/* Before a dump: a subvolume of its own, which neither the sandbox's size nor the guests' part of
 * the pool holds (fcgi/host/helper/guard). A folder stays a folder where that cannot be. */
void image_make_room(const char *folder);

/* After a dump: whose it is, how large its files are, and that its processes run: those of one that
 * was frozen for the dump do as well. */
void image_seal(const char *folder);

/* After that, of a container that is to live on: an image that is a subvolume may be taken away
 * (fcgi/host/helper/btrfs), as nothing will be started from where it lies. */
void image_mark_running(const char *folder);

/* Whether its files are as the dump left them. Images of before do not say. */
bool image_is_whole(const char *folder);

/* Whether it was made of the container that it lies with. */
bool image_is_of_owner(const char *folder);

/* Before a restore: CRIU's children open its files as the container's root, whose place in the
 * range of user ids the configuration names. incusd hands over what it restores itself. */
void image_hand_over(const char *folder, const char *config);

/* What lies in tmpfs is in it as it is, not packed. Images of before do not say so. */
void image_mark_plain(const char *folder);
bool image_is_plain(const char *folder);
