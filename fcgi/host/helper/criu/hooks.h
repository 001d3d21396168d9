/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What CRIU calls this program for while it restores an image that may be of another container. */
#pragma once

/* action: what CRIU says in CRTOOLS_SCRIPT_ACTION. Returns what the program exits with. */
int hooks_act(const char *action);
