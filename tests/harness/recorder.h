/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A runtime for tests of handlers: it writes down what it is asked for, and in place of an instance
 * it starts the agent that was built, as a process on the instance's address, which is one of
 * 127.0.0.0/8. So the calls to the agent are real ones. Pausing an instance stops that process.
 */
#pragma once

#include "runtime/runtime.h"

/* For runtimes_open_by(). All that are opened have the same instances. */
int recorder_open(const struct runtime_host *host, struct runtime **runtime, struct error **err);

/* How often this was asked for ("create", "pause", "resume", "destroy", …). */
unsigned recorder_count(const char *call);

/* Everything that was asked for since the last recorder_forget(), a line a call: "create NAME". */
const char *recorder_calls(void);
void recorder_forget(void);

/* The next call of that name fails with this code, and does nothing. */
void recorder_fail(const char *call, enum error_code code);

/* End all instances. */
void recorder_end(void);
