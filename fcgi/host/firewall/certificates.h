/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keep the certificates of hosts with egress rules, with their keys, in files that nginx reads for
 * each handshake: <address of the sandbox>-<host>.pem. So each sandbox gets those of its own policy
 * only. The folder is on a tmpfs; its group is nginx's, and new files inherit it.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* Write the files of a new policy, and remove those that only the old one had. NULL: a policy
 * without egress rules. A failure is logged: the handshakes then fail. */
void certificates_change(const char *directory, uint32_t address, const json_t *old,
                         const json_t *fresh);
