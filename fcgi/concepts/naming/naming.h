/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The present names of things, for lists that store their ids; name_columns.h reads them. */
#pragma once

/* Of an array for the name of a sandbox, a checkpoint or a volume. */
#define THING_NAME_SIZE 193
