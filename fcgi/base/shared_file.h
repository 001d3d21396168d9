/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that processes share through a file: of zeros at first, and kept as long as the file. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Map size bytes of the file, and create or lengthen it when needed. The file is never cut: other
 * processes may have mapped more. fd: stays open, for locks, and the caller closes it; NULL:
 * closed. The map stays to the end of the process. Errors: ERR_CONFIG. */
int shared_file_map(const char *path, size_t size, int *fd, void **map, struct error **err);
