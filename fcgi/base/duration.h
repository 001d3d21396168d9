/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Durations as people write them: "300", "300s", "30m", "1h30m", "1d". */
#pragma once

#include <stdint.h>

/* Read a duration. Returns 0, or -1 for any other text. */
int duration_parse(const char *text, uint64_t *seconds);
