/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "template/template_reference.h"

#define TAG_FIRST "abcdefghijklmnopqrstuvwxyz0123456789"

const char *const template_state_names[TEMPLATE_STATE_COUNT] = {
#define STATE(symbol, name) [symbol] = name,
#include "template/template_state.def"
#undef STATE
};

const char *const template_start_names[TEMPLATE_START_COUNT] = {"", "pending", "command", "memory"};

/* Text that begins like an id is not a slug, so that ids and slugs never collide. */
bool template_slug_is_valid(const char *slug)
{
    static const char *const ids[] = {"tpl_", "tpv_", "ckp_", "sbx_"};
    size_t length = strlen(slug);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        if (str_starts_with(slug, ids[i]))
            return false;
    return length > 0 && length <= SLUG_MAX && slug[0] != '-' && slug[length - 1] != '-' &&
           strspn(slug, TAG_FIRST "_-") == length;
}

/* Parse the part behind the colon. A number may also be a tag. */
static int parse_version(const char *text, struct template_reference *reference)
{
    uint64_t number;
    if (id_is_valid("tpv_", text)) {
        reference->kind = REFERENCE_SLUG_ID;
        memcpy(reference->id, text, ID_SIZE);
        return 0;
    }
    if (str_parse_u64(text, 1, UINT32_MAX, &number) == 0) {
        reference->kind = REFERENCE_SLUG_NUMBER;
        reference->number = (uint32_t)number;
    } else if (!template_tag_is_valid(text))
        return -1;
    else
        reference->kind = REFERENCE_SLUG_TAG;
    snprintf(reference->tag, sizeof reference->tag, "%s", text);
    return 0;
}

static int parse_slug(const char *text, size_t length, char slug[SLUG_MAX + 1])
{
    if (length > SLUG_MAX)
        return -1;
    memcpy(slug, text, length);
    slug[length] = '\0';
    return template_slug_is_valid(slug) ? 0 : -1;
}

int template_name_parse(const char *name, char team[SLUG_MAX + 1], char slug[SLUG_MAX + 1])
{
    size_t length = strcspn(name, "/");
    *team = '\0';
    if (!name[length])
        return parse_slug(name, length, slug);
    return parse_slug(name, length, team) < 0
               ? -1
               : parse_slug(name + length + 1, strlen(name + length + 1), slug);
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
    autofree char *name = xstrndup(text, length);
    if (template_name_parse(name, reference->team, reference->slug) < 0)
        return -1;
    return text[length] ? parse_version(text + length + 1, reference) : 0;
}

bool template_tag_is_valid(const char *tag)
{
    size_t length = strlen(tag);
    return length >= 1 && length <= TEMPLATE_TAG_MAX && strspn(tag, TAG_FIRST "._-") == length &&
           strspn(tag, TAG_FIRST) > 0 && !str_starts_with(tag, "tpl_") &&
           !str_starts_with(tag, "tpv_");
}

bool template_is_deployments(const struct template_version *version)
{
    return !strcmp(version->owner, TEAM_DEPLOYMENT_ID);
}
