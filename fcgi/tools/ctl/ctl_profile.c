/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/output.h"
#include "network/egress_profile.h"

#define LINE_SIZE 1024

static json_t *profile_json(const struct egress_profile *profile)
{
    return json_pack("{s:s, s:O, s:I, s:o}", "name", profile->name, "entries", profile->entries,
                     "sandboxes", (json_int_t)profile->sandboxes, "updated_at",
                     time_to_json(profile->updated_at_ms));
}

int ctl_profile_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {{"NAME", "name"},
                                                {"ENTRIES", "entry_count"},
                                                {"SANDBOXES", "sandboxes"},
                                                {"UPDATED", "updated_at"}};
    struct egress_profile *profiles = NULL;
    size_t count;
    (void)arguments;
    if (egress_profile_list(ctl->db, &profiles, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = profile_json(&profiles[i]);
        json_object_set_new(row, "entry_count",
                            json_integer((json_int_t)json_array_size(profiles[i].entries)));
        json_array_append_new(rows, row);
    }
    egress_profiles_free(profiles, count);
    ctl_print_rows(ctl, "profiles", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

int ctl_profile_show(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct egress_profile profile;
    size_t index;
    json_t *entry;
    if (egress_profile_get(ctl->db, arguments->operands[0], &profile, err) < 0)
        return -1;
    json_auto_t *object = profile_json(&profile);
    egress_profile_deinit(&profile);
    if (ctl->json) {
        ctl_print_json(json_incref(object));
        return 0;
    }
    json_array_foreach (json_object_get(object, "entries"), index, entry) {
        puts(json_string_value(entry));
    }
    return 0;
}

/* One entry a line; a '#' starts a comment. "-" is standard input. */
static int read_entries(const char *path, json_t *entries, struct error **err)
{
    char line[LINE_SIZE];
    bool is_input = str_equal(path, "-");
    FILE *file = is_input ? stdin : fopen(path, "re");
    autofclose FILE *owned = is_input ? NULL : file;
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    while (fgets(line, sizeof line, file)) {
        if (!strchr(line, '\n') && !feof(file))
            return error_set(err, ERR_CONFIG, "%s has a line that is too long", path);
        line[strcspn(line, "#\n")] = '\0';
        char *rest = NULL;
        for (char *word = strtok_r(line, " \t\r", &rest); word;
             word = strtok_r(NULL, " \t\r", &rest))
            json_array_append_new(entries, json_string(word));
    }
    return ferror(file) ? error_set(err, ERR_CONFIG, "cannot read %s", path) : 0;
}

int ctl_profile_set(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    json_auto_t *entries = json_array();
    struct egress_profile profile;
    uint64_t sandboxes;
    unsigned files;
    const char *const *paths = ctl_list(arguments, "file", &files);
    for (unsigned i = 1; i < arguments->operand_count; i++)
        json_array_append_new(entries, json_string(arguments->operands[i]));
    for (unsigned i = 0; i < files; i++)
        if (read_entries(paths[i], entries, err) < 0)
            return -1;
    if (!json_array_size(entries) && !files && !ctl_flag(arguments, "empty"))
        return error_set(err, ERR_INVALID_REQUEST,
                         "Give the profile's entries, a --file with entries, or --empty.");
    if (egress_profile_put(ctl->db, name, entries, &sandboxes, err) < 0 ||
        egress_profile_get(ctl->db, name, &profile, err) < 0)
        return -1;
    ctl_print(ctl, profile_json(&profile), "Profile %s has %zu entries; %llu sandboxes include it.",
              name, json_array_size(profile.entries), (unsigned long long)sandboxes);
    egress_profile_deinit(&profile);
    return 0;
}

int ctl_profile_delete(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    if (egress_profile_delete(ctl->db, name, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s}", "name", name), "Profile %s is deleted.", name);
    return 0;
}
