/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/relay_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/link.h"

#define PEM_MAX 65536

int relay_read_path(const char *path, char **text, struct error **err)
{
    autofree char *read = xcalloc(1, PEM_MAX);
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    size_t size = fread(read, 1, PEM_MAX - 1, file);
    *text = xstrndup(read, size);
    mem_wipe(read, size);
    return 0;
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
        return error_context(err, "there is no authority here (`sandlotctl host authority`)");
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

static char *draft_of(const char *dir, const char *name)
{
    return xasprintf("%s/.%s.new", dir, name);
}

static int write_draft(const char *dir, const char *name, const char *text, mode_t mode,
                       gid_t group, struct error **err)
{
    autofree char *draft = draft_of(dir, name);
    unlink(draft);
    autoclose int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t size = strlen(text);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size || fchown(fd, (uid_t)-1, group) < 0 ||
        fchmod(fd, mode) < 0 || fsync(fd) < 0) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", draft);
        unlink(draft);
        return -1;
    }
    return 0;
}

static int place_draft(const char *dir, const char *name, struct error **err)
{
    autofree char *path = xasprintf("%s/%s", dir, name), *draft = draft_of(dir, name);
    if (rename(draft, path) == 0)
        return 0;
    error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
    unlink(draft);
    return -1;
}

int relay_write(const char *dir, const char *name, const char *text, mode_t mode, gid_t group,
                struct error **err)
{
    return write_draft(dir, name, text, mode, group, err) < 0 ? -1 : place_draft(dir, name, err);
}

int relay_write_pair(const struct relay_pair_files *files, const struct certificate_pair *pair,
                     struct error **err)
{
    const char *dir = files->dir;
    if (write_draft(dir, files->key, pair->key, files->key_mode, files->key_group, err) < 0 ||
        write_draft(dir, files->certificate, pair->certificate, 0644, (gid_t)-1, err) < 0 ||
        place_draft(dir, files->key, err) < 0)
        return -1;
    return place_draft(dir, files->certificate, err);
}

/* --- folders --- */

int relay_make_dir(const char *dir, struct error **err)
{
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot make %s", dir);
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
