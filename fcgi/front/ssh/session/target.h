/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The meaning of an SSH client's user name: words with '+' between them.
 *
 *   new, new-keep             a new sandbox of the default template
 *   python+nodejs, new+NAME   a new sandbox of the template python-nodejs, or NAME
 *   sbx_…                     the sandbox with that id
 *   NAME                      the sandbox with that name, or else a new sandbox of the template
 *                             with that name
 *   NAME+attach, sbx_…+attach the terminal whose connection broke; attach=PROCESS selects one of
 *                             several
 *
 * A new sandbox takes keep, timeout=30m, cpu=2, memory=2048, name=…, team=… and KEY:VALUE for
 * metadata.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define TARGET_MAX        512 /* bytes of a user name */
#define TARGET_LABELS_MAX 16

struct target {
    char *text;     /* the user name as sent */
    char *name;     /* of a template or a sandbox; NULL: the default template */
    bool may_exist; /* name may be an existing sandbox */
    bool must_exist;
    bool keep;
    bool attach; /* to a running terminal; attach_process NULL: the newest, if possible one without
                  * a client */
    char *attach_process;
    char *timeout, *cpu, *memory, *label_name, *team;
    char *labels[TARGET_LABELS_MAX]; /* KEY=VALUE */
    unsigned label_count;
};
void target_deinit(struct target *target);

/* Read a user name. The caller calls target_deinit(), also after an error. Errors:
 * ERR_INVALID_REQUEST, which names the wrong word. */
int target_parse(const char *text, struct target *target, struct error **err);
