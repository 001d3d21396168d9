/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/backup_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "crypto/lockbox.h"
#include "ctl/output.h"

#define SECRET_SIZE 1024

/* The first line of a file that is not empty, without its end; the caller wipes it. */
static int read_secret(const char *path, char secret[SECRET_SIZE], struct error **err)
{
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    setvbuf(file, NULL, _IONBF, 0); /* keep no copy of the secret in a stream buffer */
    if (!fgets(secret, SECRET_SIZE, file))
        secret[0] = '\0';
    secret[strcspn(secret, "\r\n")] = '\0';
    return *secret ? 0 : error_set(err, ERR_CONFIG, "%s is empty", path);
}

static int write_new(const char *path, const void *data, size_t size, struct error **err)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, data, size) == (ssize_t)size && fsync(fd) == 0;
    return written ? 0 : error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
}

static int lock(const struct ctl *ctl, const struct lockbox_with *with, struct buffer *locked,
                struct error **err)
{
    struct buffer text = BUFFER_INIT(BACKUP_KEYRING_MAX);
    int result = keyring_read_text(ctl->settings->key_file, &text, err);
    if (result == 0)
        result = lockbox_close(with, text.data, text.size, locked, err);
    buffer_wipe(&text);
    return result;
}

int backup_keys_write(const struct ctl *ctl, const struct ctl_arguments *arguments,
                      const char *path, struct error **err)
{
    const char *file = ctl_text(arguments, "passphrase-file");
    char secret[SECRET_SIZE] = "";
    struct buffer locked = BUFFER_INIT(BACKUP_KEYRING_MAX);
    struct lockbox_with with = {
        .passphrase = file ? secret : NULL,
        .key = file ? NULL : ctl_text(arguments, "recipient"),
    };
    int result = file ? read_secret(file, secret, err) : 0;
    if (result == 0)
        result = lock(ctl, &with, &locked, err);
    mem_wipe(secret, sizeof secret);
    if (result == 0)
        result = write_new(path, locked.data, locked.size, err);
    buffer_deinit(&locked);
    return result;
}

static int read_locked(const char *path, struct buffer *locked, struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *room = buffer_reserve(locked, BACKUP_KEYRING_MAX);
    ssize_t got = fd >= 0 ? read(fd, room, BACKUP_KEYRING_MAX) : -1;
    if (got < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    buffer_commit(locked, (size_t)got);
    return 0;
}

int backup_keys_read(const struct ctl_arguments *arguments, const char *path, struct buffer *text,
                     struct error **err)
{
    const char *passphrase = ctl_text(arguments, "passphrase-file");
    const char *identity = ctl_text(arguments, "identity-file");
    char secret[SECRET_SIZE] = "";
    struct buffer locked = BUFFER_INIT(BACKUP_KEYRING_MAX);
    struct lockbox_with with = {
        .passphrase = passphrase ? secret : NULL,
        .key = passphrase ? NULL : secret,
    };
    if (!passphrase && !identity)
        return 0;
    int result = read_secret(passphrase ? passphrase : identity, secret, err);
    if (result == 0)
        result = read_locked(path, &locked, err);
    if (result == 0)
        result = lockbox_open(&with, locked.data, locked.size, text, err);
    mem_wipe(secret, sizeof secret);
    buffer_deinit(&locked);
    return result == 0 ? 0 : error_context(err, "cannot read the key ring in %s", path);
}

int ctl_backup_recipient(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    char private_key[LOCKBOX_KEY_SIZE], public_key[LOCKBOX_KEY_SIZE];
    lockbox_new_pair(private_key, public_key);
    private_key[LOCKBOX_KEY_SIZE - 1] = '\n';
    int result = write_new(path, private_key, LOCKBOX_KEY_SIZE, err);
    mem_wipe(private_key, sizeof private_key);
    if (result < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:s}", "file", path, "recipient", public_key),
              "%s\n%s decrypts the backups for this recipient. Do not keep it on this machine.",
              public_key, path);
    return 0;
}
