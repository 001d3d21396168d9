/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is done in an instance that runs, with the rights of its root, whose owner may be hostile:
 * by a process in its namespaces, which is not waited for without end.
 */
#pragma once

#include "limits/group.h"

/* The first process of an instance, as a descriptor. Errors: ERR_NOT_FOUND (no such instance runs),
 * ERR_RUNTIME_REFUSED. */
int inside_find(const struct groups *groups, const char *instance, int *init, struct error **err);

/* Let work() run in the user and mount namespaces of that process, for most_ms at most. It returns
 * NULL, or a literal that says what failed, with errno. Errors: ERR_RUNTIME_REFUSED. */
int inside_run(int init, unsigned most_ms, const char *(*work)(const void *context),
               const void *context, struct error **err);

/* What is at a path below a folder, as with O_PATH: not through a link, and not out of the folder.
 * more: RESOLVE_… beside that. -1 with errno. */
int inside_open(int folder, const char *path, uint64_t flags, uint64_t more);
