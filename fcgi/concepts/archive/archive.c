/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/archive.h"

#include <stdlib.h>

#define HURRIED_TRIES 2

const char *const archive_kind_names[ARCHIVE_KINDS] = {
    [ARCHIVE_SANDBOX] = "sandbox",
    [ARCHIVE_CHECKPOINT] = "checkpoint",
};
const char *const archive_folders[ARCHIVE_KINDS] = {
    [ARCHIVE_SANDBOX] = "sandboxes",
    [ARCHIVE_CHECKPOINT] = "checkpoints",
};

void archive_deinit(struct archive *archive)
{
    free(archive->upload);
    archive->upload = NULL;
}

bool archive_is_on(const struct settings *settings)
{
    return settings->archive_url[0] != '\0';
}

int archive_open(const struct settings *settings, bool hurry, struct objects **objects,
                 struct error **err)
{
    const struct objects_place place = {
        .url = settings->archive_url,
        .region = settings->archive_region,
        .credentials_file = settings->archive_credentials_file,
        .tries = hurry ? HURRIED_TRIES : 0,
    };
    return objects_open(&place, objects, err) < 0
               ? error_context(err, ARCHIVE_AT "%s", settings->archive_url)
               : 0;
}
