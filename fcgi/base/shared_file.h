/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that processes share through a file: of zeros at first, and kept as long as the file. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Map size bytes of the file, which is made, or made longer, when need be. It is never cut: others
 * may have more of it mapped. fd: stays open, for locks, and is the caller's to close;
 * NULL: closed. The map holds to the end of the process. Errors: ERR_CONFIG. */
int shared_file_map(const char *path, size_t size, int *fd, void **map, struct error **err);
