/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of a template's source that are made before somebody wants one, at sandlot-spares in the
 * pool: the kernel makes a snapshot by writing out all that the file system has not written yet,
 * which takes a start tens of milliseconds; one that is there is only given its name. A spare that
 * was made before the source changed is not used. They go with the source, and the oldest when
 * there are many. What fails is lost without a word: without a spare a copy is made when it is
 * wanted.
 */
#pragma once

#include <stdbool.h>

/* Whether it is the folder of a template's source. */
bool spare_is_for(const char *instance);

/* `subvolume snapshot` of a source: EXIT_SUCCESS, or -1 when there is no spare, of which nothing
 * has been done. */
int spare_take(const char *source, const char *to);

/* A process that nobody waits for makes those that are missing, a moment later. is_new: incusd is
 * not done with the source yet, and it looks again. */
void spare_make_later(const char *source, bool is_new);

/* An instance is removed. */
void spare_remove(const char *instance);
