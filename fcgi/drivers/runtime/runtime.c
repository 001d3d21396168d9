/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

void runtime_source_name(const char *version_id, char name[INSTANCE_NAME_SIZE])
{
    snprintf(name, INSTANCE_NAME_SIZE, "tpl-%s", version_id + strlen("tpv_"));
}

void runtime_close(struct runtime *runtime)
{
    if (runtime)
        runtime->ops->close(runtime);
}

static int check_limit(void *context, struct error **err)
{
    const struct runtime *runtime = context;
    if (clock_monotonic_ms() < runtime->limit_ms)
        return 0;
    return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the host did not answer in time");
}

void runtime_limit(struct runtime *runtime, unsigned ms)
{
    runtime->limit_ms = clock_monotonic_ms() + ms;
    runtime->tick = ms ? check_limit : NULL;
    runtime->tick_context = runtime;
}

void runtime_usage_free(struct runtime_usage *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}

#define CONSOLE_LINES      6
#define CONSOLE_CHARACTERS (RUNTIME_CONSOLE_SIZE - 3 * CONSOLE_LINES)

/* Return the character after a sequence of ECMA-48 that begins at text: ESC [ 0 m. */
static const char *skip_sequence(const char *text)
{
    if (*++text == '[')
        for (text++; *text >= 0x20 && *text < 0x40; text++)
            continue;
    return *text ? text + 1 : text;
}

/* Copy what a person can read. Each end of a line is one "\n", and no line is empty. */
static char *readable(const char *text)
{
    char *copy = xmalloc(strlen(text) + 1), *to = copy;
    while (*text) {
        if (*text == '\033') {
            text = skip_sequence(text);
            continue;
        }
        if (*text >= 0x20 && *text < 0x7f)
            *to++ = *text;
        else if (*text == '\n' && to > copy && to[-1] != '\n')
            *to++ = '\n';
        text++;
    }
    if (to > copy && to[-1] == '\n')
        to--;
    *to = '\0';
    return copy;
}

void runtime_console_tail(const char *text, char tail[RUNTIME_CONSOLE_SIZE])
{
    autofree char *copy = readable(text);
    const char *end = copy + strlen(copy), *from = end;
    unsigned lines = 0, used = 0;
    while (from > copy && end - from < CONSOLE_CHARACTERS && lines < CONSOLE_LINES)
        lines += *--from == '\n';
    from += *from == '\n';
    tail[0] = '\0';
    for (; from < end; from++) {
        const char one[] = {*from, '\0'};
        used += (unsigned)snprintf(tail + used, RUNTIME_CONSOLE_SIZE - used, "%s",
                                   *from == '\n' ? " / " : one);
    }
}

const struct runtime_listing *runtime_listing_find(const struct runtime_listing *list, size_t count,
                                                   const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

void runtime_listing_free(struct runtime_listing *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].sandbox_id);
    }
    free(list);
}
