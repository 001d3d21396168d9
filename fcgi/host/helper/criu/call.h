/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read and correct liblxc's calls of CRIU. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "helper/criu/words.h"

/* In the environment: keep liblxc's options for a verbose log. */
#define CALL_LOG_ALL "SANDLOT_CRIU_LOG"

struct call {
    struct words command; /* CRIU and its arguments */
    const char *verb;     /* "": none */
    const char *images;   /* the folder; NULL: not set */
    const char *root;     /* the container's disk, for a restore; NULL: not set */
    const char *log;      /* NULL: not set */
    const char *group;    /* the container's control group of version 1; NULL: not set */
    pid_t pid;            /* of the container's first process; 0: not set */
    bool leave_running;
};

/* Return whether this kernel enforces AppArmor. Only then do processes have a profile to
 * restore. */
bool call_host_has_apparmor(void);

/* Read a call. criu: the words of the command itself, up to a NULL. The arguments must outlive the
 * call. apparmor: pass on liblxc's --lsm-profile; without AppArmor, CRIU would refuse this
 * option. */
void call_read(struct call *call, bool apparmor, char *const criu[], char *const arguments[]);
/* Add an option. value may be NULL. */
void call_add(struct call *call, const char *option, const char *value);
/* Remove an option and its value, if the call has it. */
void call_remove(struct call *call, const char *option);
void call_deinit(struct call *call);

/* Add the options for volumes and for the folder for mounts, which a dump needs. */
void call_map_mounts(struct call *call);
/* Add the option for the folder's present place on the host, which a restore needs. */
void call_map_folder(struct call *call, const char *config);
