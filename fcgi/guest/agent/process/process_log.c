/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guest_limits.h"
#include "base/mem.h"

/* Small writes are joined to a piece, within this time and up to this size. */
#define MERGE_MS  1000
#define MERGE_MAX 4096

/* The log space of an entry. A source counts for each of its entries, although several share it. */
static size_t room_of(const struct process_log_source *source, size_t size)
{
    return sizeof(struct process_log_entry) + sizeof *source + strlen(source->command) +
           (source->tag ? strlen(source->tag) : 0) + size;
}

void process_log_init(struct process_log *log)
{
    *log = (struct process_log){.max = PROCESS_LOG_DEFAULT};
    TAILQ_INIT(&log->entries);
}

struct process_log_source *process_log_source_new(pid_t pid, const char *command, const char *tag)
{
    struct process_log_source *source = xcalloc(1, sizeof *source);
    source->users = 1;
    source->pid = pid;
    source->command = xstrndup(command, GUEST_LOG_COMMAND_BYTES_MAX);
    source->tag = xstrdup_or_null(tag);
    if (trace_id())
        memcpy(source->trace_id, trace_id(), sizeof source->trace_id);
    return source;
}

void process_log_source_release(struct process_log_source *source)
{
    if (--source->users)
        return;
    free(source->command);
    free(source->tag);
    free(source);
}

static void drop_oldest(struct process_log *log)
{
    struct process_log_entry *entry = TAILQ_FIRST(&log->entries);
    TAILQ_REMOVE(&log->entries, entry, link);
    log->bytes -= room_of(entry->source, entry->size);
    process_log_source_release(entry->source);
    free(entry);
}

static void make_room(struct process_log *log, size_t size)
{
    while (!TAILQ_EMPTY(&log->entries) && log->bytes + size > log->max)
        drop_oldest(log);
}

void process_log_clear(struct process_log *log)
{
    while (!TAILQ_EMPTY(&log->entries))
        drop_oldest(log);
}

void process_log_set_max(struct process_log *log, size_t max)
{
    log->max = max;
    make_room(log, 0);
}

/* Whether a piece is joined to the entry. */
static bool continues(const struct process_log *log, const struct process_log_entry *entry,
                      const struct process_log_entry *as, size_t size)
{
    return entry && !log->sealed && entry->source == as->source && entry->kind == as->kind &&
           entry->offset + entry->size == as->offset && entry->size + size <= MERGE_MAX &&
           room_of(entry->source, entry->size + size) <= log->max &&
           as->at_ms - entry->at_ms < MERGE_MS;
}

static void extend(struct process_log *log, struct process_log_entry *entry, const char *data,
                   size_t size)
{
    TAILQ_REMOVE(&log->entries, entry, link);
    entry = xreallocarray(entry, 1, sizeof *entry + entry->size + size);
    memcpy(entry->data + entry->size, data, size);
    entry->size += size;
    log->bytes += size;
    TAILQ_INSERT_TAIL(&log->entries, entry, link);
}

static void add(struct process_log *log, const struct process_log_entry *as, const char *data,
                size_t size)
{
    struct process_log_entry *entry = xmalloc(sizeof *entry + size);
    *entry = *as;
    entry->size = size;
    entry->position = ++log->last_position;
    entry->source->users++;
    memcpy(entry->data, data, size);
    log->bytes += room_of(entry->source, size);
    log->sealed = false;
    TAILQ_INSERT_TAIL(&log->entries, entry, link);
}

void process_log_append(struct process_log *log, struct process_log_source *source,
                        enum process_output_kind kind, uint64_t offset, const char *data,
                        size_t size)
{
    struct process_log_entry *last = TAILQ_LAST(&log->entries, process_log_entries);
    size_t head = room_of(source, 0);
    size_t most = log->max > head ? log->max - head : 0;
    size_t cut = size > most ? size - most : 0;
    const struct process_log_entry as = {
        .source = source, .at_ms = clock_now_ms(), .offset = offset + cut, .kind = kind};
    if (cut == size)
        return;
    if (continues(log, last, &as, size - cut))
        extend(log, last, data + cut, size - cut);
    else
        add(log, &as, data + cut, size - cut);
    make_room(log, 0);
}

void process_log_note_kills(struct process_log *log, uint64_t kills)
{
    uint64_t new = kills - log->kills_noted;
    if (!new)
        return;
    log->kills_noted = kills;
    struct process_log_source *source = process_log_source_new(1, "kernel", NULL);
    autofree char *line =
        xasprintf("out of memory: the kernel killed %llu process%s of the sandbox\n",
                  (unsigned long long)new, new == 1 ? "" : "es");
    process_log_append(log, source, PROCESS_STDERR, 0, line, strlen(line));
    process_log_source_release(source);
}

const struct process_log_entry *process_log_find(const struct process_log *log,
                                                 const struct process_log_source *source,
                                                 enum process_output_kind kind, uint64_t offset)
{
    const struct process_log_entry *entry;
    TAILQ_FOREACH(entry, &log->entries, link)
    {
        if (entry->source == source && entry->kind == kind && entry->offset + entry->size > offset)
            break;
    }
    return entry;
}
