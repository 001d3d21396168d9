/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copy the source of a template version to a host that takes sandboxes. This is necessary when the
 * only hosts with the source are being drained or have no room for a create. The existing source
 * stays.
 */
#pragma once

#include "moving/moving.h"

extern const struct mover template_mover;
extern const struct move_start template_move_start;
