/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Tell who started us that we serve: sd_notify(3) of a unit with Type=notify. Nothing happens where
 * NOTIFY_SOCKET names none. */
void ready_tell(void);
