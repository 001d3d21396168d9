/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users of the sandbox, read from its /etc/passwd and /etc/group: a static program has no NSS. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "agent/common/rpc_error.h"

#define USER_NAME_MAX   256
#define USER_GROUPS_MAX 256

struct user {
    char *name;
    char *home;
    char *shell; /* of his command lines: /bin/sh, if his own one runs none */
    uid_t uid;
    gid_t gid;
    gid_t groups[USER_GROUPS_MAX]; /* supplementary, gid included */
    size_t group_count;
};

/* Set the paths of the two files; tests name others. Static storage. */
void users_set_files(const char *passwd_file, const char *group_file);

/* Look up "USER" or "USER:GROUP". The group is a name or a number, and replaces the user's own
 * ones. The caller calls user_deinit(). RPC_UNAUTHENTICATED: no such user or group; RPC_INTERNAL:
 * no user list. */
int users_find(const char *name, struct user *user, struct rpc_error *error);
void user_deinit(struct user *user);

/* Return names of an owner, for listings; the number as text when it has none. Answers for the same
 * ids in a row come from memory until users_forget(). Valid until the next call. */
const char *users_name_of_uid(uid_t uid);
const char *users_name_of_gid(gid_t gid);
void users_forget(void);

#define user_auto __attribute__((cleanup(user_deinit))) struct user
