/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stop or kill a worker at named places in the lifecycle, so that a test can cause a crash or a
 * race. Only with configure --enable-fault-points; without it, fault_point() does nothing.
 *
 * A test makes the directory `faults` next to the API socket, writable for the workers, and arms a
 * point with a file of its name there. Its content is an action and, if only one program should be
 * caught, that program's name:
 *
 *   kill [PROGRAM]    the worker ends as by kill -9
 *   wait [PROGRAM]    it stays there until its file is removed
 *
 * The first worker to come by takes the file by renaming it to NAME.PID, so each file catches one.
 */
#pragma once

#ifdef SANDLOT_FAULT_POINTS

enum fault_point {
#define FAULT_POINT(symbol, name) symbol,
#include "base/fault_points.def"
#undef FAULT_POINT
};

/* Look for the files in the folder of this socket. */
void fault_point_open(const char *api_socket);
void fault_point(enum fault_point point);

#else

#define fault_point_open(api_socket) ((void)0)
#define fault_point(point)           ((void)0)

#endif
