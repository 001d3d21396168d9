/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/output.h"
#include "ctl/source_build.h"

static json_t *version_json(const struct template_version *v)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:s, s:s, s:b, s:o}", "id",
                     v->id, "template_id", v->template_id, "team", v->team_slug, "slug", v->slug,
                     "version", (int)v->version, "state", template_state_names[v->state],
                     "isolation", template_isolation(v->virtual_machine), "cpu", (int)v->cpu,
                     "memory_mb", (int)v->memory_mb, "image", v->image, "fingerprint",
                     v->fingerprint, "net_admin", v->net_admin, "created_at",
                     time_to_json(v->created_at_ms));
}

/* Owner of a template: the team named, else the deployment. plan: whose baseline is the fallback.
 */
static int find_owner(struct ctl *ctl, const char *slug, struct team *owner, struct plan *plan,
                      struct error **err)
{
    struct plan plans[PLANS_MAX];
    unsigned count;
    *owner = (struct team){.id = TEAM_DEPLOYMENT_ID};
    if (slug)
        return team_get_by_slug(ctl->db, slug, owner, err) < 0 ||
                       plan_get(ctl->db, owner->plan, plan, err) < 0
                   ? -1
                   : 0;
    if (plan_list(ctl->db, plans, &count, err) < 0)
        return -1;
    if (!count)
        return error_set(err, ERR_CONFIG, "The database has no plan.");
    *plan = plans[0];
    return 0;
}

/* The default template is a setting, so that it is the same for all programs; say so before a
 * version is built in vain. */
static int check_default(const struct ctl *ctl, const char *slug, const char *team,
                         struct error **err)
{
    if (team)
        return error_set(err, ERR_INVALID_REQUEST,
                         "The default template belongs to the deployment, not to a team.");
    if (strcmp(slug, ctl->settings->default_template) != 0)
        return error_set(err, ERR_CONFIG,
                         "The default template is %s: write `default_template = %s` into %s, then "
                         "run this again.",
                         ctl->settings->default_template, slug, ctl->config_path);
    return 0;
}

static int count_active(void *context, const struct host *host, struct error **err)
{
    unsigned *count = context;
    (void)err;
    *count += host->state == HOST_ACTIVE;
    return 0;
}

static int add_and_build(struct ctl *ctl, const struct ctl_arguments *arguments,
                         struct template_version *version, struct error **err)
{
    struct team owner;
    struct plan plan;
    unsigned active = 0;
    if (hosts_each(ctl->db, count_active, &active, NULL, err) < 0)
        return -1;
    if (!active)
        return error_set(err, ERR_CONFIG,
                         "There is no active host to build the template on; add one with "
                         "`sandlotctl host add`.");
    if (find_owner(ctl, ctl_text(arguments, "team"), &owner, &plan, err) < 0)
        return -1;
    if (template_version_add(ctl->db, owner.id, arguments->operands[0],
                             ctl_text(arguments, "image"),
                             (uint32_t)ctl_number(arguments, "cpu", plan.cpu_default),
                             (uint32_t)ctl_number(arguments, "memory-mb", plan.memory_mb_default),
                             ctl_flag(arguments, "net-admin"), version, err) < 0)
        return -1;
    return source_build_all(ctl, version, err);
}

int ctl_template_add(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct template_version version;
    if (ctl_flag(arguments, "default") &&
        check_default(ctl, arguments->operands[0], ctl_text(arguments, "team"), err) < 0)
        return -1;
    if (add_and_build(ctl, arguments, &version, err) < 0)
        return -1;
    ctl_print(ctl, version_json(&version), "%s:%u (%s) is ready.", version.slug, version.version,
              version.id);
    return 0;
}

int ctl_template_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"SLUG", "slug"},           {"VERSION", "version"}, {"STATE", "state"},
        {"ISOLATION", "isolation"}, {"CPU", "cpu"},         {"MEMORY MB", "memory_mb"},
        {"IMAGE", "image"},         {"ID", "id"},           {"TEAM", "team"},
    };
    struct team team;
    autofree struct template_version *versions = NULL;
    unsigned count;
    const char *slug = ctl_text(arguments, "team");
    if (slug && team_get_by_slug(ctl->db, slug, &team, err) < 0)
        return -1;
    if (template_version_list(ctl->db, slug ? team.id : NULL, &versions, &count, err) < 0)
        return -1;
    json_t *rows = JSON_LIST(versions, count, version_json);
    ctl_print_rows(ctl, "template_versions", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

/* "slug" or "slug:version"; *number 0: the whole template. */
static int parse_name(const char *text, char slug[SLUG_MAX + 1], uint64_t *number,
                      struct error **err)
{
    size_t length = strcspn(text, ":");
    *number = 0;
    if (length <= SLUG_MAX &&
        (!text[length] || str_parse_u64(text + length + 1, 1, UINT32_MAX, number) == 0)) {
        memcpy(slug, text, length);
        slug[length] = '\0';
        return 0;
    }
    return error_set(err, ERR_INVALID_REQUEST,
                     "Write a template as SLUG, and a version as SLUG:NUMBER.");
}

int ctl_template_delete(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    char slug[SLUG_MAX + 1];
    uint64_t number;
    struct team team = {.id = TEAM_DEPLOYMENT_ID};
    const char *team_slug = ctl_text(arguments, "team");
    autofree struct template_version *versions = NULL;
    unsigned count;
    if (parse_name(arguments->operands[0], slug, &number, err) < 0 ||
        (team_slug && team_get_by_slug(ctl->db, team_slug, &team, err) < 0) ||
        template_version_list(ctl->db, NULL, &versions, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        const struct template_version *version = &versions[i];
        if (strcmp(version->slug, slug) != 0 || strcmp(version->owner, team.id) != 0 ||
            (number && version->version != number))
            continue;
        if ((number ? template_version_delete(ctl->db, version->id, err)
                    : template_delete(ctl->db, version->template_id, err)) < 0)
            return -1;
        ctl_print(ctl, json_pack("{s:s, s:s}", "template", slug, "deleted", arguments->operands[0]),
                  "%s is deleted.", arguments->operands[0]);
        return 0;
    }
    return error_set(err, ERR_NOT_FOUND, "There is no template or version %s%s%s.",
                     arguments->operands[0], team_slug ? " of team " : "",
                     team_slug ? team_slug : "");
}
