/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key ring in a backup, which only a passphrase or a recipient's private key opens. */
#pragma once

#include "base/buffer.h"
#include "ctl/arguments.h"
#include "ctl/ctl.h"

#define BACKUP_KEYRING_FILE "keyring.locked"
#define BACKUP_KEYRING_MAX  ((size_t)128 << 10)

/* Lock the key ring of the deployment into a new file, with the passphrase or the recipient of the
 * options. Errors: ERR_CONFIG. */
int backup_keys_write(const struct ctl *ctl, const struct ctl_arguments *arguments,
                      const char *path, struct error **err);

/* Open it with the passphrase or the identity of the options; the caller wipes text. Without both,
 * text stays empty. Errors: ERR_CONFIG. */
int backup_keys_read(const struct ctl_arguments *arguments, const char *path, struct buffer *text,
                     struct error **err);
