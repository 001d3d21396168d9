/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/relay_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "config/settings.h"
#include "http/link.h"

#define PEM_MAX 65536

static int read_text(const char *path, int flags, char **text, struct error **err)
{
    struct stat info;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERR_CONFIG, "cannot read %s: it is not a regular file", path);
    autowipe char *room = xcalloc(1, PEM_MAX);
    ssize_t size = read(fd, room, PEM_MAX - 1);
    if (size < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    *text = xstrndup(room, (size_t)size);
    return 0;
}

int relay_read_path(const char *path, char **text, struct error **err)
{
    return read_text(path, 0, text, err);
}

int relay_read_sent(const char *path, char **text, struct error **err)
{
    return read_text(path, O_NOFOLLOW | O_NONBLOCK, text, err);
}

int relay_read(const char *dir, const char *name, char **text, struct error **err)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    return relay_read_path(path, text, err);
}

int relay_read_authority(const char *dir, struct certificate_pair *authority, struct error **err)
{
    if (relay_read(dir, LINK_AUTHORITY_FILE, &authority->certificate, err) < 0 ||
        relay_read(dir, RELAY_AUTHORITY_KEY, &authority->key, err) < 0)
        return error_context(
            err, "this machine has no authority; create it with `sandlotctl host authority`");
    return 0;
}

int relay_sign_host(const char *dir, const char *host_name, struct certificate_pair *authority,
                    struct certificate_pair *pair, struct error **err)
{
    autofree char *subject = xasprintf("%s." LINK_DOMAIN, host_name);
    return relay_read_authority(dir, authority, err) < 0
               ? -1
               : authority_sign(authority, CERTIFICATE_OF_CALLED, subject, RELAY_LEAF_DAYS, pair,
                                err);
}

/* --- writing --- */

int relay_write(const char *dir, const char *name, const char *text, mode_t mode, gid_t group,
                struct error **err)
{
    autofree char *path = xasprintf("%s/%s", dir, name),
                  *draft = xasprintf("%s/.%s.new", dir, name);
    unlink(draft);
    autoclose int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t size = strlen(text);
    if (fd >= 0 && write(fd, text, size) == (ssize_t)size && fchown(fd, (uid_t)-1, group) == 0 &&
        fchmod(fd, mode) == 0 && fsync(fd) == 0 && rename(draft, path) == 0)
        return 0;
    error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
    unlink(draft);
    return -1;
}

char *relay_pair_text(const struct certificate_pair *pair)
{
    return xasprintf("%s\n%s", pair->certificate, pair->key);
}

int relay_write_pair(const char *dir, const char *name, const struct certificate_pair *pair,
                     mode_t mode, gid_t group, struct error **err)
{
    autowipe char *text = relay_pair_text(pair);
    return relay_write(dir, name, text, mode, group, err);
}

/* --- folders --- */

int relay_make_dir(const char *dir, struct error **err)
{
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot create %s", dir);
    return 0;
}

bool relay_has(const char *dir, const char *name)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

bool relay_is_fresh(const char *authority_dir, const char *dir, const char *file, const char *name)
{
    autofree char *authority = NULL, *certificate = NULL;
    error_auto unreadable = NULL;
    return relay_read(authority_dir, LINK_AUTHORITY_FILE, &authority, &unreadable) == 0 &&
           relay_read(dir, file, &certificate, &unreadable) == 0 &&
           authority_signed(authority, certificate, name, RELAY_RENEW_DAYS);
}

const char *relay_dir_of_host(const struct settings *settings)
{
    return *settings->relay_dir ? settings->relay_dir : RELAY_DIR;
}

bool relay_is_host_only(const struct settings *settings)
{
    return relay_has(relay_dir_of_host(settings), LINK_HOST_FILE) &&
           access(settings->key_file, F_OK) < 0 && errno == ENOENT;
}
