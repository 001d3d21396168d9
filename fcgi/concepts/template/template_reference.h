/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways to name a template version; for this folder and its tests. */
#pragma once

#include "template/template.h"
#include "template/template_tag.h"

enum template_reference_kind {
    REFERENCE_SLUG,        /* the version that the template means */
    REFERENCE_SLUG_NUMBER, /* slug and number, or the tag with this name */
    REFERENCE_SLUG_ID,     /* slug and version_id */
    REFERENCE_SLUG_TAG,    /* slug and tag */
    REFERENCE_TEMPLATE,    /* template_id; the version that it means */
    REFERENCE_VERSION,     /* version_id */
};

struct template_reference {
    enum template_reference_kind kind;
    char team[SLUG_MAX + 1]; /* the owner; "": the requesting team or the deployment */
    char slug[SLUG_MAX + 1];
    char tag[TEMPLATE_TAG_MAX + 1];
    char id[ID_SIZE];
    uint32_t number;
};

/* Parse a name. Returns 0, or -1 when text has none of the forms. */
int template_reference_parse(const char *text, struct template_reference *reference);
