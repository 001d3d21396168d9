/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "template/template_reference.h"

const char *const template_state_names[TEMPLATE_STATE_COUNT] = {
#define STATE(symbol, name) [symbol] = name,
#include "template/template_state.def"
#undef STATE
};

/* No slug holds a '_', so ids and slugs are never mistaken for each other. */
static int parse_version(const char *text, struct template_reference *reference)
{
    uint64_t number;
    if (id_is_valid("tpv_", text)) {
        reference->kind = REFERENCE_SLUG_ID;
        memcpy(reference->id, text, ID_SIZE);
        return 0;
    }
    if (str_parse_u64(text, 1, UINT32_MAX, &number) < 0)
        return -1;
    reference->kind = REFERENCE_SLUG_NUMBER;
    reference->number = (uint32_t)number;
    return 0;
}

int template_reference_parse(const char *text, struct template_reference *reference)
{
    *reference = (struct template_reference){.kind = REFERENCE_SLUG};
    if (id_is_valid("tpl_", text) || id_is_valid("tpv_", text)) {
        reference->kind = str_starts_with(text, "tpl_") ? REFERENCE_TEMPLATE : REFERENCE_VERSION;
        memcpy(reference->id, text, ID_SIZE);
        return 0;
    }
    size_t length = strcspn(text, ":");
    if (length > SLUG_MAX)
        return -1;
    memcpy(reference->slug, text, length);
    reference->slug[length] = '\0';
    if (!slug_is_valid(reference->slug))
        return -1;
    return text[length] ? parse_version(text + length + 1, reference) : 0;
}

bool template_is_deployments(const struct template_version *version)
{
    return !strcmp(version->owner, TEAM_DEPLOYMENT_ID);
}

void template_source_name(const char *version_id, char out[64])
{
    snprintf(out, 64, "tpl-%s", version_id + strlen("tpv_"));
}
