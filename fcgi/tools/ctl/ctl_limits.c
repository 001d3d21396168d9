/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print the table of bounds (bound/bound.h). */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bound/bound.h"
#include "ctl/output.h"

#define CELL_MAX 4096

static json_t *text_json(const struct ctl *ctl, const char *text)
{
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    if (!*text)
        return json_null();
    bound_append(text, ctl->settings, "", &cell);
    return json_string(buffer_string(&cell));
}

static json_t *names_json(const char *names)
{
    autofree char *copy = xstrdup(names);
    char *rest = NULL;
    json_t *list = json_array();
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        json_array_append_new(list, json_string(name));
    return list;
}

static json_t *bound_json(const struct ctl *ctl, const struct bound *bound)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s*}", "name", bound->name, "kind",
                     bound_kind_names[bound->kind], "covers", names_json(bound->covers), "per_user",
                     text_json(ctl, bound->per_user), "per_team", text_json(ctl, bound->per_team),
                     "in_all", text_json(ctl, bound->in_all), "at_bound",
                     text_json(ctl, bound->at_bound), "test", *bound->test ? bound->test : NULL);
}

int ctl_limits(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"SHARED", "name"},       {"KIND", "kind"},     {"PER USER", "per_user"},
        {"PER TEAM", "per_team"}, {"IN ALL", "in_all"}, {"AT THE BOUND", "at_bound"},
        {"TEST", "test"},
    };
    (void)err;
    if (ctl_flag(arguments, "markdown")) {
        bound_print_page(ctl->settings, stdout);
        return 0;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < bound_count; i++)
        json_array_append_new(rows, bound_json(ctl, &bounds[i]));
    ctl_print_rows(ctl, "limits", rows, columns, ARRAY_SIZE(columns));
    return 0;
}
