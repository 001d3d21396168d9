/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads in addition to the one that handles the signals of a program. */
#pragma once

#include <pthread.h>

/* Start a thread with all signals blocked. attributes: NULL for the usual ones. Returns -1 if the
 * kernel refuses. */
int thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                 void *context);
