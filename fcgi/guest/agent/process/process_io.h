/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The streams of a process; only for process.c and its parts. */
#pragma once

#include "agent/process/process.h"

/* Take the agent's ends over and follow the outputs. */
void process_io_open(struct process *process, const struct process_ends *ends);

/* Close everything; writers that wait are answered. */
void process_io_close(struct process *process);

/* Read on, if all watchers have room. */
void process_io_resume(struct process *process);

/* Read the present contents of the outputs after the end of the program. Do not wait for the end of
 * the outputs, because a child may hold them open: the log alone gets what it still writes. */
void process_io_hurry(struct process *process);

/* Give followers the present contents of the outputs, and no more, because the program exited a
 * while ago. */
void process_io_owe(struct process *process);

/* Open the input (process_input.c): standard input or the terminal; fd -1: closed. Closing answers
 * the writers that wait. */
void process_input_open(struct process *process, int fd);
void process_input_close(struct process *process);

/* End the process (process.c), and move it to the ended list, if it has exited and both outputs are
 * at their end. For its followers, end it also if they have all output. */
void process_end_if_done(struct process *process);
