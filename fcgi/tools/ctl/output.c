/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/output.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/printable.h"

#define CELL_MAX 4096

/* JSON escapes C0 only, and a terminal acts on C1 too. */
void ctl_dump_json(const json_t *value, size_t flags)
{
    json_dumpf(value, stdout, flags | (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
    putchar('\n');
}

void ctl_print_json(json_t *value)
{
    json_auto_t *owned = value;
    ctl_dump_json(owned, JSON_INDENT(2));
}

void ctl_print(const struct ctl *ctl, json_t *object, const char *format, ...)
{
    if (ctl->json) {
        ctl_print_json(object);
        return;
    }
    json_decref(object);
    va_list ap;
    va_start(ap, format);
    autowipe char *text = xvasprintf(format, ap);
    va_end(ap);
    autowipe char *shown = printable(text, "\n\t");
    puts(shown);
}

/* A value as a cell. */
static void format_cell(const json_t *value, struct buffer *out)
{
    size_t index;
    json_t *element;
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        printable_append(json_string_value(value), "", out);
        break;
    case JSON_INTEGER:
        buffer_printf(out, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_TRUE:
        buffer_append_string(out, "yes");
        break;
    case JSON_FALSE:
        buffer_append_string(out, "no");
        break;
    case JSON_ARRAY:
        json_array_foreach ((json_t *)value, index, element) {
            if (index)
                buffer_append_char(out, ',');
            format_cell(element, out);
        }
        break;
    default:
        break;
    }
    if (!out->size)
        buffer_append_char(out, '-');
}

static void print_cell(const char *text, size_t width, bool last)
{
    if (last) {
        printf("%s\n", text);
        return;
    }
    printf("%s%*s", text, (int)(width - printable_width(text) + 2), "");
}

void ctl_print_table(const json_t *rows, const struct ctl_column *columns, unsigned count)
{
    autofree size_t *widths = xcalloc(count, sizeof *widths);
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    size_t index;
    json_t *row;
    for (unsigned c = 0; c < count; c++) {
        widths[c] = printable_width(columns[c].title);
        json_array_foreach ((json_t *)rows, index, row) {
            buffer_clear(&cell);
            format_cell(json_object_get(row, columns[c].key), &cell);
            size_t width = printable_width(buffer_string(&cell));
            if (width > widths[c])
                widths[c] = width;
        }
    }
    for (unsigned c = 0; c < count; c++)
        print_cell(columns[c].title, widths[c], c + 1 == count);
    json_array_foreach ((json_t *)rows, index, row) {
        for (unsigned c = 0; c < count; c++) {
            buffer_clear(&cell);
            format_cell(json_object_get(row, columns[c].key), &cell);
            print_cell(buffer_string(&cell), widths[c], c + 1 == count);
        }
    }
}

void ctl_print_rows(const struct ctl *ctl, const char *name, json_t *rows,
                    const struct ctl_column *columns, unsigned count)
{
    if (ctl->json) {
        ctl_print_json(json_pack("{s:o}", name, rows));
        return;
    }
    ctl_print_table(rows, columns, count);
    json_decref(rows);
}
