/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/api.h"

#define CELL_MAX   65536
#define GAP        2  /* blanks between columns */
#define COLUMN_MIN 16 /* a time such as "59 minutes ago" stays whole */

#define BOLD       "\033[1m"
#define GREEN      "\033[32m"
#define YELLOW     "\033[33m"
#define RED        "\033[31m"
#define PLAIN      "\033[0m"

/* The member of a key such as "name", "runtime.seconds", or "name|id": the first that has one. */
static const json_t *member(const json_t *row, const char *key)
{
    const char *bar = strchr(key, '|');
    if (bar) {
        autofree char *first = xstrndup(key, (size_t)(bar - key));
        const json_t *found = member(row, first);
        return found && !json_is_null(found) ? found : member(row, bar + 1);
    }
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
        buffer_append_string(out, json_is_object(element) ? "=(" : "=");
        format_value(element, out);
        buffer_append_string(out, json_is_object(element) ? ")" : "");
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

/* A time as people say it: "2 minutes ago", "in 3 hours". False: the text is no time. */
static bool format_time(const char *text, struct buffer *out)
{
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
    int64_t at_ms;
    if (!text || clock_parse_iso8601(text, &at_ms) < 0)
        return false;
    int64_t seconds = (at_ms - clock_now_ms()) / 1000, distance = llabs(seconds);
    size_t unit = 0;
    while (unit + 1 < ARRAY_SIZE(units) && distance < units[unit].seconds)
        unit++;
    long long count = distance / units[unit].seconds;
    if (!count)
        buffer_append_string(out, "now");
    else
        buffer_printf(out, "%s%lld %s%s%s", seconds > 0 ? "in " : "", count, units[unit].unit,
                      count == 1 ? "" : "s", seconds > 0 ? "" : " ago");
    return true;
}

void output_add_size(struct buffer *out, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    buffer_printf(out, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static bool format_size(const char *key, const json_t *value, struct buffer *out)
{
    if (!strstr(key, "_bytes") || !json_is_number(value))
        return false;
    output_add_size(out, json_number_value(value));
    return true;
}

/* People read tables in a terminal: times are relative there, and sizes have units. */
static const char *cell_text(const json_t *row, const char *key, struct buffer *cell)
{
    const json_t *value = member(row, key);
    buffer_clear(cell);
    if (!isatty(STDOUT_FILENO) ||
        !(format_time(json_string_value(value), cell) || format_size(key, value, cell)))
        format_value(value, cell);
    return cell->size ? buffer_string(cell) : "-";
}

static const char *color_of(const char *text)
{
    if (str_is_choice("ready|applied|allow|running", text))
        return GREEN;
    if (str_is_choice("failed|deny|blocked", text))
        return RED;
    if (str_is_choice("creating|resuming|pausing|copying|building|pending|checkpointing", text))
        return YELLOW;
    return NULL;
}

static void print_cell(const struct cli *cli, const char *text, size_t width, bool last,
                       const char *color)
{
    size_t size, shown = printable_fit(text, width, &size);
    bool is_cut = text[size];
    if (is_cut)
        shown = printable_fit(text, width - 1, &size) + 1;
    color = cli->color ? color : NULL;
    printf("%s%.*s%s%s", color ? color : "", (int)size, text, is_cut ? "…" : "",
           color ? PLAIN : "");
    if (last)
        putchar('\n');
    else
        printf("%*s", (int)(width - shown + GAP), "");
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

static bool stays(const struct output_column *column, size_t index)
{
    return !index || str_equal(column->key, "id");
}

/* Narrow the widest columns to COLUMN_MIN, then hide the last ones (width 0), until a line fits the
 * terminal. The first column and the ids keep their width, because commands take what is in them.
 */
static void fit_columns(const struct output_column *columns, size_t *widths, size_t count)
{
    struct winsize window;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0 || !window.ws_col)
        return;
    for (;;) {
        size_t total = 0, widest = 0, last = 0;
        for (size_t c = 0; c < count; c++) {
            total += widths[c] ? widths[c] + (c ? GAP : 0) : 0;
            if (!widths[c] || stays(&columns[c], c))
                continue;
            last = c;
            if (!widest || widths[c] > widths[widest])
                widest = c;
        }
        if (total <= window.ws_col || !last)
            return;
        if (widths[widest] > COLUMN_MIN)
            widths[widest]--;
        else
            widths[last] = 0;
    }
}

static void print_table(const struct cli *cli, const json_t *rows,
                        const struct output_column *columns, size_t count)
{
    autofree size_t *widths = xcalloc(count, sizeof *widths);
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    size_t index;
    json_t *row;
    for (size_t c = 0; c < count; c++) {
        widths[c] = printable_width(columns[c].title);
        json_array_foreach ((json_t *)rows, index, row) {
            size_t width = printable_width(cell_text(row, columns[c].key, &cell));
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    fit_columns(columns, widths, count);
    size_t last = count - 1;
    while (!widths[last])
        last--;
    for (size_t c = 0; c <= last; c++)
        if (widths[c])
            print_cell(cli, columns[c].title, widths[c], c == last, BOLD);
    json_array_foreach ((json_t *)rows, index, row) {
        for (size_t c = 0; c <= last; c++) {
            const char *text = cell_text(row, columns[c].key, &cell);
            if (widths[c])
                print_cell(cli, text, widths[c], c == last, color_of(text));
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

int output_list(struct cli *cli, const char *path, const char *member, const char *name,
                const struct output_column *columns, size_t count, struct error **err)
{
    json_t *rows;
    if (api_list(cli, path, member, &rows, err) < 0)
        return -1;
    output_rows(cli, name, rows, columns, count);
    return 0;
}

int output_answer(struct cli *cli, const char *path, const char *name,
                  const struct output_column *columns, size_t count, struct error **err)
{
    json_auto_t *answer = NULL;
    if (api_call(cli, "GET", path, NULL, &answer, err) < 0)
        return -1;
    output_rows(cli, name, json_incref(json_object_get(answer, name)), columns, count);
    return 0;
}

int output_of_sandbox(struct cli_call *call, const char *what, const char *name,
                      const struct output_column *columns, size_t count, struct error **err)
{
    autofree char *id = NULL;
    if (api_sandbox_id(call->cli, cli_operand(call, 0), &id, err) < 0)
        return -1;
    autofree char *path = api_path("/v1/sandboxes/", what, id);
    return output_answer(call->cli, path, name, columns, count, err);
}

/* Print a member of an object as a line. In a terminal, print each part of a nested object as a
 * line, and nothing for a member without a value. */
static void print_member(const struct cli *cli, const json_t *object, const char *key, size_t width)
{
    buffer_auto cell = BUFFER_INIT(CELL_MAX);
    const json_t *value = json_object_get(object, key);
    const char *part, *title = key;
    json_t *inner;
    bool in_terminal = isatty(STDOUT_FILENO);
    if (!in_terminal || !json_is_object(value)) {
        const char *text = cell_text(object, key, &cell);
        if (in_terminal && str_equal(text, "-"))
            return;
        print_cell(cli, title, width, false, BOLD);
        print_cell(cli, text, SIZE_MAX, true, color_of(text));
        return;
    }
    json_object_foreach ((json_t *)value, part, inner) {
        buffer_auto line = BUFFER_INIT(CELL_MAX);
        const char *text = cell_text(value, part, &cell);
        if (str_equal(text, "-"))
            continue;
        printable_append(part, "", &line);
        buffer_printf(&line, " %s", text);
        print_cell(cli, title, width, false, BOLD);
        print_cell(cli, buffer_string(&line), SIZE_MAX, true, NULL);
        title = "";
    }
}

void output_object(const struct cli *cli, json_t *object)
{
    json_auto_t *owned = object;
    const char *key;
    json_t *value;
    size_t width = 0;
    if (cli->json) {
        print_json(owned);
        return;
    }
    json_object_foreach (owned, key, value)
        width = strlen(key) > width ? strlen(key) : width;
    json_object_foreach (owned, key, value)
        print_member(cli, owned, key, width);
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

/* Of the first writing that failed; 0: none, or stdio wrote by itself. */
static int flush_errno;

void output_flush(void)
{
    if (fflush(stdout) != 0 && !flush_errno)
        flush_errno = errno;
}

static bool reader_is_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    return poll(&output, 1, 0) == 1 && output.revents & (POLLERR | POLLHUP);
}

int output_end(int code)
{
    output_flush();
    if (!ferror(stdout))
        return code;
    if (!reader_is_gone())
        fprintf(stderr, "sandlot: cannot write the output%s%s\n", flush_errno ? ": " : "",
                flush_errno ? strerror(flush_errno) : "");
    return code == CLI_DONE ? CLI_FAILED : code;
}
