/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent as the first process of a sandbox, for virtual machines, and for templates from OCI
 * images, which have no init.
 * It keeps one agent running, reaps orphans, and ends the sandbox at a signal. It needs no shell
 * and no other file.
 */
#pragma once

#include <stdbool.h>

/* Return whether this process is the first one of its sandbox. */
bool first_process_is(void);

/* Prepare the sandbox, and become its init. This returns in a child, which becomes the agent. When
 * it ends, the init starts another one. The environment is that of a new login of root.
 * machine: the sandbox is a virtual machine, which the init switches off at its end. */
void first_process_begin(bool machine);
