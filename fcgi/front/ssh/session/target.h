/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the user name of an SSH client means: words with '+' between them.
 *
 *   new, new-keep             a new sandbox of the default template
 *   python+nodejs, new+NAME   a new one of the template python-nodejs, of the template NAME
 *   sbx_…                     the sandbox of that id
 *   NAME                      the sandbox that is called so; without one, a new one of that
 *                             template
 *   NAME+attach, sbx_…+attach a terminal in it that goes on since its connection broke;
 *                             attach=PROCESS when there are several
 *
 * A new one takes keep, timeout=30m, cpu=2, memory=2048, name=…, team=… and KEY:VALUE for metadata.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define TARGET_MAX        512 /* bytes of a user name */
#define TARGET_LABELS_MAX 16

struct target {
    char *text;     /* as it came */
    char *name;     /* of a template, or of a sandbox; NULL: the default template */
    bool may_exist; /* it may name a sandbox that is there */
    bool must_exist;
    bool keep;
    bool attach; /* to a terminal that is there; the process, NULL: the newest that nobody has */
    char *attach_process;
    char *timeout, *cpu, *memory, *label_name, *team;
    char *labels[TARGET_LABELS_MAX]; /* KEY=VALUE */
    unsigned label_count;
};
void target_deinit(struct target *target);

/* Errors: ERR_INVALID_REQUEST with what is wrong with which word. */
int target_parse(const char *text, struct target *target, struct error **err);
