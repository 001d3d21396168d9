/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "challenge/challenge.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define HOLDS_MS   (INT64_C(3600) * 1000)
#define LOOKS_MAX  1024 /* entries of the folder that are looked at */
#define CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/* --- names --- */

static void add_name(struct challenge_names *names, char *name)
{
    for (char *c = name; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!name || challenge_names_find(names, name))
        free(name);
    else
        names->names[names->count++] = name;
}

void challenge_names_init(struct challenge_names *names, const struct settings *settings)
{
    *names = (struct challenge_names){0};
    add_name(names, settings_data_plane_domain(settings));
    add_name(names, settings_api_host(settings));
    add_name(names, settings_console_host(settings));
}

void challenge_names_deinit(struct challenge_names *names)
{
    for (unsigned i = 0; i < names->count; i++)
        free(names->names[i]);
    names->count = 0;
}

const char *challenge_names_find(const struct challenge_names *names, const char *name)
{
    if (str_starts_with(name, CHALLENGE_PREFIX))
        name += strlen(CHALLENGE_PREFIX);
    for (unsigned i = 0; i < names->count; i++)
        if (str_equal(names->names[i], name))
            return names->names[i];
    return NULL;
}

/* --- values --- */

static bool is_value(const char *text)
{
    return strlen(text) == CHALLENGE_VALUE_SIZE - 1 &&
           strspn(text, CHARACTERS) == CHALLENGE_VALUE_SIZE - 1;
}

static bool holds(int directory_fd, const char *value)
{
    struct stat status;
    return fstatat(directory_fd, value, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           clock_now_ms() - (int64_t)status.st_mtime * 1000 < HOLDS_MS;
}

size_t challenge_list(const char *directory, struct challenge_value values[CHALLENGE_VALUES_MAX])
{
    size_t count = 0;
    const struct dirent *entry;
    DIR *open = opendir(directory);
    for (unsigned looks = 0; open && looks < LOOKS_MAX && count < CHALLENGE_VALUES_MAX; looks++) {
        if (!(entry = readdir(open)))
            break;
        if (is_value(entry->d_name) && holds(dirfd(open), entry->d_name))
            memcpy(values[count++].text, entry->d_name, CHALLENGE_VALUE_SIZE);
    }
    if (open)
        closedir(open);
    return count;
}

/* What no hook came back for. */
static void remove_old(const char *directory)
{
    const struct dirent *entry;
    DIR *open = opendir(directory);
    while (open && (entry = readdir(open)))
        if (is_value(entry->d_name) && !holds(dirfd(open), entry->d_name))
            unlinkat(dirfd(open), entry->d_name, 0);
    if (open)
        closedir(open);
}

/* --- what hooks do --- */

static int check(const struct settings *settings, const char *name, const char *value,
                 struct error **err)
{
    struct challenge_names names;
    challenge_names_init(&names, settings);
    bool ours = challenge_names_find(&names, name);
    challenge_names_deinit(&names);
    if (!ours)
        return error_set_field(err, ERR_INVALID_REQUEST, "DOMAIN",
                               "%.255s is neither the host of data_plane_host nor that of base_url "
                               "or console_url.",
                               name);
    if (!is_value(value))
        return error_set_field(err, ERR_INVALID_REQUEST, "--value",
                               "The value of a DNS-01 challenge is 43 letters, digits, hyphens "
                               "and underscores.");
    return 0;
}

int challenge_add(const struct settings *settings, const char *name, const char *value,
                  struct error **err)
{
    struct challenge_value values[CHALLENGE_VALUES_MAX];
    const char *directory = settings->acme_dir;
    if (check(settings, name, value, err) < 0)
        return -1;
    remove_old(directory);
    if (challenge_list(directory, values) == CHALLENGE_VALUES_MAX)
        return error_set(err, ERR_CONFIG,
                         "%s holds %d values already: remove those that nobody waits for",
                         directory, CHALLENGE_VALUES_MAX);
    autofree char *path = xasprintf("%s/%s", directory, value);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || futimens(fd, NULL) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
    return 0;
}

int challenge_remove(const struct settings *settings, const char *name, const char *value,
                     struct error **err)
{
    if (check(settings, name, value, err) < 0)
        return -1;
    autofree char *path = xasprintf("%s/%s", settings->acme_dir, value);
    if (unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot remove %s", path);
    return 0;
}
