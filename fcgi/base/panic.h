/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a process that cannot go on: its own state or a table is wrong, or a library has no
 * memory left. Its supervisor starts it again. What input can bring about is an error instead.
 */
#pragma once

/* Log why and abort. */
__attribute__((noreturn)) void panic(const char *why);
