/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archive checkpoints. A checkpoint never changes, so its copy stays valid until it is deleted, on
 * each host. */
#pragma once

#include "archive/archive_work.h"

archive_look checkpoint_archive_look;
