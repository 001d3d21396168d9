/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How liblxc calls CRIU, and what is mended in that. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "helper/criu/words.h"

/* In the environment: all that liblxc wants is logged. */
#define CALL_LOG_ALL "SANDLOT_CRIU_LOG"

struct call {
    struct words command; /* CRIU, and the arguments for it */
    const char *verb;     /* "" when there is none */
    const char *images;   /* the folder; NULL: none is named */
    const char *log;      /* likewise */
    pid_t pid;            /* of the container's first process; 0: likewise */
    bool leave_running;
};

/* Whether this kernel enforces AppArmor, so that processes have a profile to be restored. */
bool call_host_has_apparmor(void);

/* Read the call. criu: the words of the command itself, up to a NULL. The arguments must outlive
 * it. apparmor: liblxc's --lsm-profile is passed on; without it CRIU would refuse the word. */
void call_read(struct call *call, bool apparmor, char *const criu[], char *const arguments[]);
/* More arguments, each given once. */
void call_add(struct call *call, const char *option, const char *value);
void call_deinit(struct call *call);

/* Volumes and the folder for mounts, which CRIU is to be told of at a dump. */
void call_map_mounts(struct call *call);
/* Where that folder is on the host now, at a restore. */
void call_map_folder(struct call *call, const char *config);
