/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Let programs of the sandbox trust the authority of egress rules (concepts/network). */
#pragma once

#include "agent/common/environment.h"

/* Write the certificate (PEM; "": nothing) to a file of its own, and append it to the system's list
 * of authorities, unless it is there. A file that cannot be written is logged and skipped. */
void authority_adopt(const char *pem);

/* Set the variables by which programs with a list of their own find these files. */
int authority_set_environment(struct environment *environment, struct rpc_error *error);
