/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * End a process that cannot continue: its own state or a table is wrong, or a library has no memory
 * left. Its supervisor starts it again. A fault of input is an error instead.
 */
#pragma once

/* Log why and abort. */
__attribute__((noreturn)) void panic(const char *why);
