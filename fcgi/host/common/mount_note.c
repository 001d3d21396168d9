/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mount_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/mem.h"

#define NOTE_MAX 65536

static char *path_of(const char *folder, const char *name)
{
    const char *project_end = strrchr(name, '_');
    return xasprintf("%s/%s", folder, project_end ? project_end + 1 : name);
}

/* DEVICE:INODE PATH */
static char *line_of(const struct stat *volume, const char *path)
{
    return xasprintf("%ju:%ju %s\n", (uintmax_t)volume->st_dev, (uintmax_t)volume->st_ino, path);
}

static int write_file(const char *path, const char *text)
{
    size_t length = strlen(text);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, text, length) == (ssize_t)length ? 0 : -1;
}

int mount_note_write(const char *folder, const char *instance, const struct mount_noted *mounts,
                     unsigned count, struct error **err)
{
    buffer_auto text = BUFFER_INIT(NOTE_MAX);
    autofree char *path = path_of(folder, instance);
    autofree char *fresh = xasprintf("%s.new", path);
    for (unsigned i = 0; i < count; i++) {
        autofree char *line = line_of(&mounts[i].volume, mounts[i].path);
        buffer_append_string(&text, line);
    }
    if (buffer_overflowed(&text) || (mkdir(folder, 0700) < 0 && errno != EEXIST) ||
        write_file(fresh, buffer_string(&text)) < 0 || rename(fresh, path) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write the note %s", path);
    return 0;
}

char *mount_note_read(const char *folder, const char *name)
{
    autofree char *path = path_of(folder, name);
    autofree char *text = xmalloc(NOTE_MAX + 1);
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, NOTE_MAX);
    if (size < 0)
        return NULL;
    text[size] = '\0';
    return steal_pointer(&text);
}

bool mount_note_has(const char *note, const struct stat *volume, const char *path)
{
    autofree char *line = line_of(volume, path);
    const char *found = strstr(note, line);
    while (found && found > note && found[-1] != '\n')
        found = strstr(found + 1, line);
    return found;
}

char *mount_note_next(const char **note)
{
    const char *path = strchr(*note, ' ');
    const char *end = path ? strchr(path, '\n') : NULL;
    if (!end)
        return NULL;
    *note = end + 1;
    return xstrndup(path + 1, (size_t)(end - path) - 1);
}

void mount_note_remove(const char *folder, const char *name)
{
    autofree char *path = path_of(folder, name);
    unlink(path);
}
