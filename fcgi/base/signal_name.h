/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals by the names that images and services give them. */
#pragma once

/* Return the number of a signal that can end a service: "SIGQUIT", "QUIT" or "3". 0: any other
 * text. */
int signal_number(const char *text);
