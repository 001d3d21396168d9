/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A checkpoint goes to another host, with its memory if it has one. It can be used all the while:
 * where it is until its row names the other host, and what is made from it then is let finish.
 */
#pragma once

#include "moving/moving.h"

extern const struct mover checkpoint_mover;
extern const struct move_start checkpoint_move_start;

extern const struct db_statement_list checkpoint_move_statements;
