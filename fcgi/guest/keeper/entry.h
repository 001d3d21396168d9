/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write a file, a directory or another entry as JSON. */
#pragma once

#include <jansson.h>
#include <sys/stat.h>

/* Return {"type", "size", "mode", "uid", "gid", "accessed_at", "modified_at", "changed_at"}, a new
 * reference. */
json_t *entry_json(const struct stat *status);

/* Put bytes that name something under a key. Where they are no text, <key> gets a readable form and
 * <key>_b64 the bytes. */
void entry_set_name(json_t *entry, const char *key, const char *name);

/* Do the same for the target of a link, and nothing for other entries. The name is below directory.
 * With the O_PATH descriptor of a link, the name "" means this link. Returns the bytes of the
 * target. */
size_t entry_set_target(json_t *entry, int directory, const char *name, const struct stat *status);
