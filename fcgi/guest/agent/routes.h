/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All routes of the agent. */
#pragma once

#include "agent/framework/route.h"

extern const struct route_table routes;
