/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A checkpoint never changes, so that a copy of it holds until it is deleted, wherever it is. */
#pragma once

#include "archive/archive_work.h"

archive_look checkpoint_archive_look;
