/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do work inside a running instance, as its root.
 *
 * The owner of the instance may be hostile, so a process in its namespaces does the work, with a
 * time limit.
 */
#pragma once

#include "limits/group.h"

/* Open the first process of an instance as a process descriptor. Errors: ERR_NOT_FOUND (no such
 * instance runs), ERR_RUNTIME_REFUSED. */
int inside_find(const struct groups *groups, const char *instance, int *init, struct error **err);

/* Open the user namespace of this process. Errors: ERR_RUNTIME_REFUSED. */
int inside_users(int init, struct error **err);

/* Run work() in the user and mount namespaces of a process, for at most most_ms. The result of
 * work() is NULL, or a literal that names the failure, with errno. Errors: ERR_RUNTIME_REFUSED. */
int inside_run(int init, unsigned most_ms, const char *(*work)(const void *context),
               const void *context, struct error **err);

/* Wait for the ends of all processes of inside_run(). A file system of the guest can hold a killed
 * one for as long as the guest runs. */
void inside_wait(void);

/* Open a path below a folder with O_PATH. Links are not followed, and the path cannot leave the
 * folder. more: further RESOLVE_… flags. Returns -1 with errno. */
int inside_open(int folder, const char *path, uint64_t flags, uint64_t more);
