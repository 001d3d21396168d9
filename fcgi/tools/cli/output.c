/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"

#define CELL_MAX 65536

#define BOLD     "\033[1m"
#define GREEN    "\033[32m"
#define YELLOW   "\033[33m"
#define RED      "\033[31m"
#define PLAIN    "\033[0m"

static const json_t *member(const json_t *row, const char *key)
{
    const char *dot = strchr(key, '.');
    if (!dot)
        return json_object_get(row, key);
    autofree char *first = xstrndup(key, (size_t)(dot - key));
    return member(json_object_get(row, first), dot + 1);
}

static void format_value(const json_t *value, struct buffer *out);

static void format_list(const json_t *value, struct buffer *out)
{
    size_t index;
    json_t *element;
    json_array_foreach ((json_t *)value, index, element) {
        buffer_append_string(out, index ? "," : "");
        format_value(element, out);
    }
}

static void format_members(const json_t *value, struct buffer *out)
{
    const char *key;
    json_t *element;
    size_t before = out->size;
    json_object_foreach ((json_t *)value, key, element) {
        buffer_append_string(out, out->size > before ? " " : "");
        printable_append(key, "", out);
        buffer_append_char(out, '=');
        format_value(element, out);
    }
}

static void format_value(const json_t *value, struct buffer *out)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        printable_append(json_string_value(value), "", out);
        break;
    case JSON_INTEGER:
        buffer_printf(out, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        buffer_printf(out, "%.2f", json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        buffer_append_string(out, json_is_true(value) ? "yes" : "no");
        break;
    case JSON_ARRAY:
        format_list(value, out);
        break;
    case JSON_OBJECT:
        format_members(value, out);
        break;
    default:
        break;
    }
}

static const char *cell_text(const json_t *row, const char *key, struct buffer *cell)
{
    buffer_clear(cell);
    format_value(member(row, key), cell);
    return cell->size ? buffer_string(cell) : "-";
}

static size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static const char *color_of(const char *text)
{
    if (str_is_choice("ready|applied|allow|running", text))
        return GREEN;
    if (str_is_choice("failed|deny|blocked", text))
        return RED;
    if (str_is_choice("creating|restoring|stopping|building|pending|checkpointing", text))
        return YELLOW;
    return NULL;
}

static void print_cell(const struct cli *cli, const char *text, size_t width, bool last,
                       const char *color)
{
    color = cli->color ? color : NULL;
    printf("%s%s%s", color ? color : "", text, color ? PLAIN : "");
    if (last)
        putchar('\n');
    else
        printf("%*s", (int)(width - text_width(text) + 2), "");
}

/* JSON escapes C0 only. */
static void dump_json(const json_t *value, size_t flags)
{
    json_dumpf(value, stdout, flags | (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
    putchar('\n');
}

static void print_json(const json_t *value)
{
    dump_json(value, JSON_INDENT(2));
}

void output_json_line(const json_t *value)
{
    dump_json(value, JSON_COMPACT);
}

static void print_table(const struct cli *cli, const json_t *rows,
                        const struct output_column *columns, size_t count)
{
    autofree size_t *widths = xcalloc(count, sizeof *widths);
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    size_t index;
    json_t *row;
    for (size_t c = 0; c < count; c++) {
        widths[c] = text_width(columns[c].title);
        json_array_foreach ((json_t *)rows, index, row) {
            size_t width = text_width(cell_text(row, columns[c].key, &cell));
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (size_t c = 0; c < count; c++)
        print_cell(cli, columns[c].title, widths[c], c + 1 == count, BOLD);
    json_array_foreach ((json_t *)rows, index, row) {
        for (size_t c = 0; c < count; c++) {
            const char *text = cell_text(row, columns[c].key, &cell);
            print_cell(cli, text, widths[c], c + 1 == count, color_of(text));
        }
    }
}

void output_rows(const struct cli *cli, const char *name, json_t *rows,
                 const struct output_column *columns, size_t count)
{
    if (cli->json) {
        json_auto_t *whole = json_pack("{s:o}", name, rows);
        print_json(whole);
        return;
    }
    print_table(cli, rows, columns, count);
    json_decref(rows);
}

void output_object(const struct cli *cli, json_t *object)
{
    json_auto_t *owned = object;
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    const char *key;
    json_t *value;
    size_t width = 0;
    if (cli->json) {
        print_json(owned);
        return;
    }
    json_object_foreach (owned, key, value)
        width = strlen(key) > width ? strlen(key) : width;
    json_object_foreach (owned, key, value) {
        print_cell(cli, key, width, false, BOLD);
        const char *text = cell_text(owned, key, &cell);
        print_cell(cli, text, 0, true, color_of(text));
    }
}

void output_result(const struct cli *cli, json_t *object, const char *key)
{
    json_auto_t *owned = object;
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    if (cli->json)
        print_json(owned);
    else
        puts(cell_text(owned, key, &cell));
}

void output_note(const struct cli *cli, const char *format, ...)
{
    if (cli->json)
        return;
    va_list ap;
    va_start(ap, format);
    autofree char *text = xvasprintf(format, ap);
    va_end(ap);
    autofree char *shown = printable(text, "\n");
    fprintf(stderr, "%s\n", shown);
}
