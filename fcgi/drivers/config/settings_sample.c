/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "config/setting_table.h"

#define WIDTH    78
#define TEXT_MAX 1024

/* The text as comment lines, broken at blanks. */
static void print_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column && column + 1 + word > WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        fputs(column ? " " : "# ", out);
        fwrite(text, 1, word, out);
        column += (column ? 1 : 2) + word;
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

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
        describe(setting, &text);
        fputc('\n', out);
        print_wrapped(out, buffer_string(&text));
        bool valued = setting->fallback && *setting->fallback;
        fprintf(out, "#%s =%s%s\n", setting->name, valued ? " " : "",
                valued ? setting->fallback : "");
    }
}
