/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Notify systemd that the service is ready: sd_notify(3) of a unit with Type=notify. Do nothing
 * without NOTIFY_SOCKET. */
void ready_tell(void);
