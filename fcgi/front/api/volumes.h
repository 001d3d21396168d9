/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schemas of the handlers for volumes. */
#pragma once

#include "api/api.h"
#include "volume/volume.h"

extern const struct schema_member volume_create_schema[];
extern const struct schema_member volume_file_schema[];
extern const struct schema_member volume_directory_schema[];
extern const struct schema_member volume_move_schema[];
extern const struct schema_member volume_update_schema[];

/* Check the name of a new volume, a string. Errors: ERR_INVALID_REQUEST at pointer. */
int volume_check_name(const json_t *value, const char *pointer, struct error **err);

#define VOLUME_FILE_BODY_MAX ((size_t)12 << 20)
