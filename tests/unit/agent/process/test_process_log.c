/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/process/process_log.h"

#define PIECE_SIZE 3000 /* two of them are not put together */

static void append(struct process_log *log, struct process_log_source *source, uint64_t offset,
                   const char *text)
{
    process_log_append(log, source, PROCESS_STDOUT, offset, text, strlen(text));
}

static unsigned count(const struct process_log *log)
{
    const struct process_log_entry *entry;
    unsigned found = 0;
    TAILQ_FOREACH(entry, &log->entries, link)
    found++;
    return found;
}

TEST(test_drops_are_put_together_until_somebody_reads)
{
    struct process_log log;
    process_log_init(&log);
    struct process_log_source *source = process_log_source_new(7, "/bin/sh", NULL);
    append(&log, source, 0, "a");
    append(&log, source, 1, "b");
    assert_int_equal(count(&log), 1);
    assert_memory_equal(TAILQ_FIRST(&log.entries)->data, "ab", 2);
    log.sealed = true;
    append(&log, source, 2, "c");
    assert_int_equal(count(&log), 2);
    process_log_append(&log, source, PROCESS_STDERR, 0, "d", 1);
    assert_int_equal(count(&log), 3);
    assert_int_equal(TAILQ_LAST(&log.entries, process_log_entries)->position, 3);
    process_log_source_release(source);
    process_log_set_max(&log, 0);
}

TEST(test_the_oldest_makes_room)
{
    static const char piece[PIECE_SIZE];
    struct process_log log;
    process_log_init(&log);
    process_log_set_max(&log, 4 * PIECE_SIZE);
    struct process_log_source *source = process_log_source_new(7, "/bin/sh", "tag");
    for (uint64_t i = 0; i < 10; i++) {
        process_log_append(&log, source, PROCESS_STDOUT, i * PIECE_SIZE, piece, PIECE_SIZE);
        assert_true(log.bytes <= log.max);
    }
    assert_int_equal(count(&log), 3);
    assert_int_equal(TAILQ_FIRST(&log.entries)->position, 8);
    process_log_source_release(source); /* what is kept of it holds it */
    assert_string_equal(TAILQ_FIRST(&log.entries)->source->tag, "tag");
    process_log_set_max(&log, 0);
    assert_int_equal(count(&log), 0);
    assert_int_equal(log.bytes, 0);
}

TEST(test_a_piece_that_is_larger_than_the_log_leaves_its_end)
{
    char piece[PIECE_SIZE];
    struct process_log log;
    process_log_init(&log);
    process_log_set_max(&log, PIECE_SIZE / 2);
    struct process_log_source *source = process_log_source_new(7, "/bin/sh", NULL);
    memset(piece, 'x', sizeof piece);
    piece[PIECE_SIZE - 1] = 'y';
    process_log_append(&log, source, PROCESS_STDOUT, 0, piece, PIECE_SIZE);
    const struct process_log_entry *entry = TAILQ_FIRST(&log.entries);
    assert_int_equal(count(&log), 1);
    assert_true(log.bytes <= log.max);
    assert_int_equal(entry->offset + entry->size, PIECE_SIZE);
    assert_int_equal(entry->data[entry->size - 1], 'y');
    append(&log, source, PIECE_SIZE, "z");
    assert_int_equal(count(&log), 1);
    assert_int_equal(TAILQ_FIRST(&log.entries)->offset, PIECE_SIZE);
    append(&log, source, PIECE_SIZE + 7, "after a gap");
    assert_int_equal(count(&log), 2);
    process_log_source_release(source);
    process_log_set_max(&log, 0);
    assert_int_equal(log.bytes, 0);
}

TEST(test_a_byte_is_found_by_its_offset)
{
    static const char piece[PIECE_SIZE];
    struct process_log log;
    process_log_init(&log);
    struct process_log_source *one = process_log_source_new(7, "/bin/sh", NULL);
    struct process_log_source *other = process_log_source_new(8, "/bin/sh", NULL);
    process_log_append(&log, one, PROCESS_STDOUT, 0, piece, PIECE_SIZE);
    process_log_append(&log, other, PROCESS_STDOUT, 0, piece, PIECE_SIZE);
    process_log_append(&log, one, PROCESS_STDOUT, PIECE_SIZE, piece, PIECE_SIZE);
    assert_int_equal(process_log_find(&log, one, PROCESS_STDOUT, 0)->position, 1);
    assert_int_equal(process_log_find(&log, one, PROCESS_STDOUT, PIECE_SIZE - 1)->position, 1);
    assert_int_equal(process_log_find(&log, one, PROCESS_STDOUT, PIECE_SIZE)->position, 3);
    assert_null(process_log_find(&log, one, PROCESS_STDOUT, 2 * PIECE_SIZE));
    assert_null(process_log_find(&log, one, PROCESS_STDERR, 0));
    process_log_source_release(one);
    process_log_source_release(other);
    process_log_set_max(&log, 0);
}
