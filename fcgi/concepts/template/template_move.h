/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of a template version is copied to a host that takes sandboxes: when the only ones
 * that have it are being emptied, or have no room for a create. What is there of it stays.
 */
#pragma once

#include "moving/moving.h"

extern const struct mover template_mover;
extern const struct move_start template_move_start;
