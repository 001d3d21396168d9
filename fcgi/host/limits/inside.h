/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do work inside a running instance, as its root.
 *
 * The owner of the instance may be hostile, so a process in its namespaces does the work, with a
 * time limit.
 */
#pragma once

#include "limits/group.h"

/* Open the first process of an instance. *init: a process descriptor, which the caller closes.
 * Errors: ERR_NOT_FOUND (no such instance runs), ERR_RUNTIME_REFUSED. */
int inside_find(const struct groups *groups, const char *instance, int *init, struct error **err);

/* Open the user namespace of this process. Returns the descriptor, which the caller closes, or -1.
 * Errors: ERR_RUNTIME_REFUSED. */
int inside_users(int init, struct error **err);

/* Run work() in a new process, as root in the user and mount namespaces of `init`, and kill it
 * after most_ms. work() returns NULL, or a literal that names the failure, with errno. Errors:
 * ERR_RUNTIME_REFUSED. */
int inside_run(int init, unsigned most_ms, const char *(*work)(const void *context),
               const void *context, struct error **err);

/* Wait for the ends of all processes of inside_run(). A file system of the guest can hold a killed
 * one for as long as the guest runs. */
void inside_wait(void);

/* Open a path below a folder with O_PATH. Links are not followed, and the path cannot leave the
 * folder. more: further RESOLVE_… flags. Returns the descriptor, which the caller closes, or -1
 * with errno. */
int inside_open(int folder, const char *path, uint64_t flags, uint64_t more);
