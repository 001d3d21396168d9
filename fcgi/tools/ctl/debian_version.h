/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Versions of Debian's packages: "[EPOCH:]UPSTREAM[-REVISION]" (Debian policy, 5.6.12). */
#pragma once

/* Compare as dpkg does. Return a negative number, 0 or a positive number as a is older than b, the
 * same, or newer. A text that is no version has some order too. */
int debian_version_compare(const char *a, const char *b);
