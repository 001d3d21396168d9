/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/buffer.h"
#include "base/prose.h"
#include "config/setting_table.h"

#define TEXT_MAX 1024

static void describe(const struct setting *setting, struct buffer *text)
{
    buffer_append_string(text, setting->prose);
    if (setting->kind == SETTING_KIND_CHOICE)
        buffer_printf(text, " One of %s.", setting->choices);
    if (setting->kind == SETTING_KIND_NUMBER)
        buffer_printf(text, " From %" PRIu64 " to %" PRIu64 "%s%s.", setting->min, setting->max,
                      *setting->unit ? " " : "", setting->unit);
    if (!setting->fallback)
        buffer_append_string(text, " Must be set.");
}

void settings_print_sample(FILE *out)
{
    fputs("# Settings of sandlot, as `sandlotctl config sample` prints them. Every line that is\n"
          "# commented out shows the default; `sandlot-api --check-config` checks a file.\n",
          out);
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        buffer_auto text = BUFFER_INIT(TEXT_MAX);
        const char *title = setting_section_title(setting->name);
        describe(setting, &text);
        if (title)
            fprintf(out, "\n# --- %s ---\n", title);
        fputc('\n', out);
        fputs("# ", out);
        prose_wrap(out, "# ", 2, PROSE_PARAGRAPH, buffer_string(&text));
        bool valued = setting->fallback && *setting->fallback;
        fprintf(out, "#%s =%s%s\n", setting->name, valued ? " " : "",
                valued ? setting->fallback : "");
    }
}

static void print_manual_entry(FILE *out, const struct setting *setting)
{
    buffer_auto text = BUFFER_INIT(TEXT_MAX);
    describe(setting, &text);
    fprintf(out, ".It Li %s\n", setting->name);
    prose_roff(out, buffer_string(&text));
    if (setting->fallback && *setting->fallback)
        fprintf(out, "The default is\n.Li \\&%s .\n", setting->fallback);
}

void settings_print_manual(FILE *out)
{
    bool in_list = false;
    fputs(
        ".\\\" SPDX-License-Identifier: GPL-2.0-or-later\n"
        ".\\\" Made by `sandlotctl config manual` from the table of settings; do not edit.\n"
        ".Dd November 22, 2026\n"
        ".Dt SANDLOT.CONF 5\n"
        ".Os\n"
        ".Sh NAME\n"
        ".Nm sandlot.conf\n"
        ".Nd settings of sandlot\n"
        ".Sh DESCRIPTION\n"
        "All programs of sandlot read this file when they start. It has lines of the form\n"
        ".Dl name = value\n"
        "and lines that begin with\n"
        ".Ql # ,\n"
        "which are comments. A name that is not listed here, and a value out of its bounds, is an\n"
        "error that names the line.\n"
        ".Nm sandlot-api Fl -check-config\n"
        "checks a file.\n",
        out);
    for (size_t i = 0; i < setting_count; i++) {
        const char *title = setting_section_title(setting_table[i].name);
        if (title) {
            fprintf(out, "%s.Sh %s\n.Bl -tag -width Ds\n", in_list ? ".El\n" : "", title);
            in_list = true;
        }
        print_manual_entry(out, &setting_table[i]);
    }
    fputs(".El\n.Sh SEE ALSO\n.Xr sandlotctl 8\n", out);
}
