/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds of one sandbox. The agent and the runtime enforce them and the API shows them; all three
 * read them here. */
#pragma once

/* Processes and threads together. */
#define GUEST_PROCESSES_MAX 500

/* File descriptors of one process: the highest limit that the kernel lets a process set. */
#define GUEST_OPEN_FILES_MAX 1048576

/* One argument or variable of a program: MAX_ARG_STRLEN of the kernel without the NUL. A shell gets
 * a longer line through a file descriptor. */
#define GUEST_ARGUMENT_BYTES_MAX 131071

/* A request of the data plane as JSON, and so a command line. */
#define GUEST_REQUEST_BYTES_MAX (4 * 1024 * 1024)

/* All variables of a program together. */
#define GUEST_ENVIRONMENT_BYTES_MAX (256 * 1024)

/* Of each of stdout and stderr in an answer of POST /exec; a stream has no such bound. */
#define GUEST_OUTPUT_BYTES_MAX (1024 * 1024)

/* Of a command in the log of processes, and of a process's tag. A byte that is no UTF-8 becomes
 * three. */
#define GUEST_LOG_COMMAND_BYTES_MAX 128
#define GUEST_TAG_BYTES_MAX         256

/* Entries of one ListDir. */
#define GUEST_LISTED_MAX 20000

/* Services of a template, and of a create; characters of a name (str_is_name()). */
#define SERVICES_MAX     16
#define SERVICE_NAME_MAX 63

/* Of a service's health command. */
#define SERVICE_INTERVAL_MAX_S 3600
#define SERVICE_TIMEOUT_MAX_S  60
