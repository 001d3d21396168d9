/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns with the present names of things. For *_db.c files only. */
#pragma once

/* The name of the sandbox with this id, of ASCII text; '' without one. A deleted sandbox has its
 * name as long as its row exists. */
#define NAME_OF_SANDBOX(id) \
    "COALESCE((SELECT named.name FROM sandboxes named WHERE named.id = " id "), '')"

/* The same for a sandbox, a checkpoint or a volume. */
#define NAME_OF_THING(id)                                                   \
    "COALESCE((SELECT named.name FROM sandboxes named WHERE named.id = " id \
    "), (SELECT named.name FROM checkpoints named WHERE named.id = " id     \
    "), (SELECT named.name FROM volumes named WHERE named.id = " id "), '')"
