/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a dispatcher learns that a sandbox ended because its memory could not be completed. The page
 * server of a resumed container (host/helper/criu) writes a file to the container's log folder.
 * incusd gives clients only files with this prefix. The next start deletes the file.
 */
#pragma once

#define MEMORY_LOSS_FILE "migration_pages.log"
#define MEMORY_LOSS_SIZE 512 /* of its text, the cause */

/* In the environment of the wrapper of CRIU: the path of the file. */
#define MEMORY_LOSS_ENVIRONMENT "SANDLOT_MEMORY_LOSS"
