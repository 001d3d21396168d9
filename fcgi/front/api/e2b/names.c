/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of templates, tags and secrets. E2B's names ignore case, and `base` always exists. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/e2b/e2b.h"
#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "template/template_tag.h"

#define BASE "base" /* the template of E2B's clients without an explicit one */

void e2b_lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* Check whether the team has its own template `base`. */
static int has_base(struct api *api, bool ready_alone, bool *has, struct error **err)
{
    const struct team *team = api->access.team;
    autofree struct template_version *versions = NULL;
    unsigned count = 0;
    *has = false;
    if (template_version_list_named(api->worker.db, team->id, team->slug, BASE, &versions, &count,
                                    err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        *has |= !ready_alone || versions[i].state == TEMPLATE_READY;
    return 0;
}

int e2b_template_of(struct api *api, const char *name, char **reference, struct error **err)
{
    autofree char *lower = xstrdup(name);
    bool has_own = true;
    e2b_lower(lower);
    bool is_base = str_equal(lower, BASE) || str_equal(lower, BASE ":" TEMPLATE_TAG_DEFAULT) ||
                   str_equal(lower, BASE ":" TEMPLATE_TAG_LATEST);
    if (is_base && has_base(api, true, &has_own, err) < 0)
        return -1;
    *reference = xstrdup(has_own ? lower : api->settings->default_template);
    return 0;
}

int e2b_read_template_name(struct api *api, char **name, struct error **err)
{
    bool has_own = true;
    e2b_lower(*name);
    if (str_equal(*name, BASE) && has_base(api, false, &has_own, err) < 0)
        return -1;
    if (has_own)
        return 0;
    free(*name);
    *name = xstrdup(api->settings->default_template);
    return 0;
}

int e2b_template_find(struct api *api, const char *name, struct template_view *view, unsigned *at,
                      struct error **err)
{
    autofree char *meant = xstrdup(name);
    return e2b_read_template_name(api, &meant, err) < 0
               ? -1
               : template_view_find(api, meant, view, at, err);
}

/* Return whether one of the first tags is this one. */
static bool has_before(const json_t *tags, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(json_string_value(json_array_get(tags, i)), name))
            return true;
    return false;
}

int e2b_read_tags(json_t *tags, const char *field, struct error **err)
{
    for (size_t at = 0; at < json_array_size(tags);) {
        json_t *tag = json_array_get(tags, at);
        autofree char *name = xstrdup(json_string_value(tag));
        e2b_lower(name);
        if (!template_tag_is_valid(name))
            return error_set_field(err, ERR_INVALID_REQUEST, field,
                                   "A tag is 1 to %d letters, digits, dots, underscores and "
                                   "hyphens, beginning with a letter or a digit.",
                                   TEMPLATE_TAG_MAX);
        if (has_before(tags, at, name))
            json_array_remove(tags, at);
        else {
            json_string_set(tag, name);
            at++;
        }
    }
    return 0;
}

json_t *e2b_rename_secrets(const char *text, const char *from, const char *to)
{
    buffer_auto renamed = BUFFER_INIT(2 * strlen(text) + 1);
    for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
        buffer_append(&renamed, text, (size_t)(at - text));
        buffer_append_string(&renamed, to);
    }
    buffer_append_string(&renamed, text);
    return json_string(buffer_string(&renamed));
}
