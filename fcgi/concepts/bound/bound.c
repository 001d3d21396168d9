/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bound/bound.h"

#include <assert.h>
#include <string.h>

#include "account/access_end.h"
#include "account/access_revision.h"
#include "account/api_key.h"
#include "account/invitation.h"
#include "account/member.h"
#include "approval/approval.h"
#include "base/guest_limits.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "idempotency/idempotency.h"
#include "login/credential.h"
#include "login/device.h"
#include "login/login.h"
#include "login/passkey.h"
#include "login/team_link.h"
#include "network/egress_profile.h"
#include "network/egress_rule.h"
#include "network/policy.h"
#include "recipe/recipe.h"
#include "recipe/recipe_file.h"
#include "retention/retention.h"
#include "sandbox/metadata.h"
#include "secret/secret.h"
#include "template/template.h"
#include "template/template_tag.h"
#include "volume/volume_mount.h"
#include "webhook/webhook.h"

#define CELL_MAX        4096
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

/* The number of a macro as text, so that the table follows it. */
#define TEXT_OF(number) #number
#define N(number)       TEXT_OF(number)

const struct bound bounds[] = {
#define BOUND(kind, name, covers, per_user, per_team, in_all, at_bound, test) \
    {kind, name, covers, per_user, per_team, in_all, at_bound, test},
#include "bound/bounds.def"
};
const size_t bound_count = ARRAY_SIZE(bounds);

const char *const bound_kind_names[BOUND_KIND_COUNT] = {
    [BOUND_TABLE] = "table", [BOUND_POOL] = "pool",   [BOUND_FRONT] = "front",
    [BOUND_HOST] = "host",   [BOUND_GUEST] = "guest",
};

static const struct {
    const char *title;
    const char *covers; /* title of the column; NULL: the kind covers nothing that has a name */
} sections[BOUND_KIND_COUNT] = {
    [BOUND_TABLE] = {"Tables of the database", "tables"},
    [BOUND_POOL] = {"Worker pools", "worker pools"},
    [BOUND_FRONT] = {"Front nodes", NULL},
    [BOUND_HOST] = {"Host nodes", NULL},
    [BOUND_GUEST] = {"One sandbox", NULL},
};

void bound_append(const char *text, const struct settings *settings, const char *quote,
                  struct buffer *out)
{
    for (const char *dollar; (dollar = strchr(text, '$'));) {
        size_t length = strspn(dollar + 1, NAME_CHARACTERS);
        autofree char *name = xstrndup(dollar + 1, length);
        autofree char *value = settings_get(settings, name);
        assert(value); /* a test reads the whole table */
        const char *unit = settings_unit(name);
        buffer_printf(out, "%.*s%s%s%s (%s%s%s)", (int)(dollar - text), text, value,
                      *unit ? " " : "", unit, quote, name, quote);
        text = dollar + 1 + length;
    }
    buffer_append_string(out, text);
}

static void print_cell(const char *text, const struct settings *settings, FILE *out)
{
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    bound_append(*text ? text : "–", settings, "`", &cell);
    fprintf(out, " %s |", buffer_string(&cell));
}

static void print_names(const char *names, FILE *out)
{
    autofree char *copy = xstrdup(names);
    char *rest = NULL;
    const char *between = " ";
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        fprintf(out, "%s`%s`", between, name);
        between = ", ";
    }
    fputs(" |", out);
}

static void print_row(const struct bound *bound, const struct settings *settings, FILE *out)
{
    fputs("|", out);
    print_cell(bound->name, settings, out);
    if (sections[bound->kind].covers)
        print_names(bound->covers, out);
    print_cell(bound->per_user, settings, out);
    print_cell(bound->per_team, settings, out);
    print_cell(bound->in_all, settings, out);
    print_cell(bound->at_bound, settings, out);
    if (*bound->test)
        print_names(bound->test, out);
    else
        print_cell("", settings, out);
    fputs("\n", out);
}

static void print_section(enum bound_kind kind, const struct settings *settings, FILE *out)
{
    const char *covers = sections[kind].covers;
    fprintf(out, "\n## %s\n\n| shared |", sections[kind].title);
    if (covers)
        fprintf(out, " %s |", covers);
    fprintf(out, " for a user | for a team | %s | at the bound | test |\n|---|---|---|---|---|---|",
            kind == BOUND_FRONT ? "for an address, or in all" : "in all");
    fputs(covers ? "---|\n" : "\n", out);
    for (size_t i = 0; i < bound_count; i++)
        if (bounds[i].kind == kind)
            print_row(&bounds[i], settings, out);
}

void bound_print_page(const struct settings *settings, FILE *out)
{
    fputs(
        "# Bounds of everything that tenants share\n\n"
        "This page is for the operator of a deployment and for developers of sandlot. A row has a "
        "thing that\n"
        "teams share, and the part that one user or team can use. [Limits](limits.md) is for "
        "owners of teams.\n"
        "On your front node, this command prints the page with your own settings:\n\n"
        "    sandlotctl limits --markdown\n\n"
        "| in a row | means |\n|---|---|\n"
        "| `pool_wait_ms` and other names behind a number | a [setting](settings.md), which you "
        "can change |\n"
        "| `SANDLOT_…_WORKERS` | a variable in `/etc/sandlot/workers.env` |\n"
        "| `--memory-mb` and other options | an [option](host-capacity.md) of `sandlotctl host "
        "add` |\n"
        "| in all | in the whole deployment for tables; on one front node or host for the rest |\n"
        "| a dash as a bound | there is no bound of this kind |\n"
        "| no bound | nothing limits a team: watch the size of the thing |\n"
        "| `PROCESS_…` | a process of `sandlot-dispatcher`, which serves one kind of background "
        "job |\n"
        "| a test | a file below `tests/`, and a function in this file |\n\n"
        "Both bounds hold: \"for a team\" for each team, and \"for a user\" for all teams of the "
        "user together.\n"
        "The words are in the [glossary](../dev/glossary.md).\n",
        out);
    for (unsigned kind = 0; kind < BOUND_KIND_COUNT; kind++)
        print_section((enum bound_kind)kind, settings, out);
}
