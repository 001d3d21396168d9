/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the handlers of volumes share. */
#pragma once

#include "api/api.h"
#include "volume/volume.h"

extern const struct schema_member volume_create_schema[];
extern const struct schema_member volume_file_schema[];
extern const struct schema_member volume_directory_schema[];
extern const struct schema_member volume_move_schema[];

#define VOLUME_FILE_BODY_MAX ((size_t)12 << 20)

/* The volume that the first path segment names, if this key reaches its team. What exists in a
 * team out of reach does not exist: ERR_NOT_FOUND. */
int api_volume(struct api *api, const struct http_request *request, struct volume *volume,
               struct error **err);
