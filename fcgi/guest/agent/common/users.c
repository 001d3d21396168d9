/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define SHELL "/bin/sh"

static const char *passwd_path = "/etc/passwd";
static const char *group_path = "/etc/group";

/* The last owner that was named: a directory listing asks for the same one again and again. */
static struct {
    bool known;
    unsigned id;
    char name[USER_NAME_MAX + 1];
} last_user, last_group;

void users_set_files(const char *passwd_file, const char *group_file)
{
    passwd_path = passwd_file;
    group_path = group_file;
}

static bool group_has_member(const struct group *group, const char *name)
{
    for (char **member = group->gr_mem; *member; member++)
        if (!strcmp(*member, name))
            return true;
    return false;
}

static void find_groups(struct user *user)
{
    user->groups[user->group_count++] = user->gid;
    autofclose FILE *file = fopen(group_path, "re");
    if (!file)
        return;
    for (struct group *group; (group = fgetgrent(file)) && user->group_count < USER_GROUPS_MAX;)
        if (group->gr_gid != user->gid && group_has_member(group, user->name))
            user->groups[user->group_count++] = group->gr_gid;
}

/* Let the user have this group alone, as Docker does. text: a name or a number. */
static int take_group(const char *text, struct user *user, struct rpc_error *error)
{
    uint64_t number = 0;
    bool is_known = str_parse_u64(text, 0, UINT32_MAX - 1, &number) == 0;
    autofclose FILE *file = fopen(group_path, "re");
    for (struct group *group; file && (group = fgetgrent(file));) {
        if (!strcmp(group->gr_name, text)) {
            number = group->gr_gid;
            is_known = true;
            break;
        }
    }
    if (!is_known)
        return rpc_error_set(error, RPC_UNAUTHENTICATED, "invalid group: '%s'", text);
    user->gid = user->groups[0] = (gid_t)number;
    user->group_count = 1;
    return 0;
}

/* Root is always there, also if the system has no list of users, or a list without root. */
static int find_root(const char *name, struct user *user, struct rpc_error *error)
{
    if (strcmp(name, "root") != 0)
        return rpc_error_set(error, RPC_UNAUTHENTICATED, "invalid username: '%s'", name);
    user->name = xstrdup(name);
    user->home = xstrdup("/");
    user->shell = xstrdup(SHELL);
    user->groups[user->group_count++] = 0;
    return 0;
}

/* Return whether a shell runs command lines. The users of servers often have a program in its place
 * that ends at once, and images lack many shells. */
static bool runs_lines(const char *shell)
{
    const char *slash = strrchr(shell, '/');
    return slash && strcmp(slash, "/nologin") != 0 && strcmp(slash, "/false") != 0 &&
           access(shell, X_OK) == 0;
}

int users_find(const char *name, struct user *user, struct rpc_error *error)
{
    memset(user, 0, sizeof *user);
    if (!*name || strlen(name) > USER_NAME_MAX)
        return rpc_error_set(error, RPC_UNAUTHENTICATED, "invalid username");
    size_t length = strcspn(name, ":");
    autofclose FILE *file = fopen(passwd_path, "re");
    if (!file && (errno != ENOENT || strcmp(name, "root") != 0))
        return rpc_error_set(error, RPC_FAILED_PRECONDITION, "the sandbox has no user list: %s",
                             strerror(errno));
    for (struct passwd *entry; file && (entry = fgetpwent(file));) {
        if (strlen(entry->pw_name) != length || strncmp(entry->pw_name, name, length) != 0)
            continue;
        user->name = xstrdup(entry->pw_name);
        user->home = xstrdup(*entry->pw_dir == '/' ? entry->pw_dir : "/");
        user->shell = xstrdup(runs_lines(entry->pw_shell) ? entry->pw_shell : SHELL);
        user->uid = entry->pw_uid;
        user->gid = entry->pw_gid;
        if (name[length])
            return take_group(name + length + 1, user, error);
        find_groups(user);
        return 0;
    }
    return find_root(name, user, error);
}

void user_deinit(struct user *user)
{
    free(user->name);
    free(user->home);
    free(user->shell);
    memset(user, 0, sizeof *user);
}

const char *users_name_of_uid(uid_t uid)
{
    if (last_user.known && last_user.id == uid)
        return last_user.name;
    last_user.known = true;
    last_user.id = uid;
    snprintf(last_user.name, sizeof last_user.name, "%u", uid);
    autofclose FILE *file = fopen(passwd_path, "re");
    for (struct passwd *entry; file && (entry = fgetpwent(file));) {
        if (entry->pw_uid == uid) {
            snprintf(last_user.name, sizeof last_user.name, "%s", entry->pw_name);
            break;
        }
    }
    return last_user.name;
}

const char *users_name_of_gid(gid_t gid)
{
    if (last_group.known && last_group.id == gid)
        return last_group.name;
    last_group.known = true;
    last_group.id = gid;
    snprintf(last_group.name, sizeof last_group.name, "%u", gid);
    autofclose FILE *file = fopen(group_path, "re");
    for (struct group *entry; file && (entry = fgetgrent(file));) {
        if (entry->gr_gid == gid) {
            snprintf(last_group.name, sizeof last_group.name, "%s", entry->gr_name);
            break;
        }
    }
    return last_group.name;
}

void users_forget(void)
{
    last_user.known = false;
    last_group.known = false;
}
