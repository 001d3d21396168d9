/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls with a time limit that a dump has interrupted, in the image of a thread. */
#include "unit/folder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "helper/criu/image_calls.h"
#include "helper/criu/records.h"

#define IMAGE        "image/core-7.img"
#define IP           0x7f0000001234
#define STACK        0x7ffd00000010
#define HEAP         0x55d000000020
#define LOW          0x1000 /* a pointer of few bytes */
#define REGISTERS    28
#define INTERRUPTED  ((uint64_t)-EINTR)
#define FUTEX_OF_OWN 128

enum { AX = 11, CX = 12, DX = 13, SI = 14, DI = 15, ORIG_AX = 16, AT = 17, R10 = 8, MODE = 28 };

/* --- the image --- */

static void add_number(struct buffer *out, unsigned field, uint64_t number)
{
    uint8_t bytes[2 * MESSAGE_NUMBER_MAX];
    uint64_t tag = (uint64_t)field << 3;
    size_t at = message_number_size(tag), size = message_number_size(number);
    message_put_number(bytes, at, tag);
    message_put_number(bytes + at, size, number);
    buffer_append(out, bytes, at + size);
}

static void add_message(struct buffer *out, unsigned field, const struct buffer *inner)
{
    uint8_t bytes[2 * MESSAGE_NUMBER_MAX];
    uint64_t tag = (uint64_t)field << 3 | 2;
    size_t at = message_number_size(tag), size = message_number_size(inner->size);
    message_put_number(bytes, at, tag);
    message_put_number(bytes + at, size, inner->size);
    buffer_append(out, bytes, at + size);
    buffer_append(out, inner->data, inner->size);
}

/* Pending signals: the fields of their part and of the list in it, and the bytes of the list. */
static struct {
    unsigned part, list, size;
} pending;

static void add_pending(struct buffer *core)
{
    buffer_auto part = BUFFER_INIT(64), list = BUFFER_INIT(64);
    for (unsigned i = 0; i < pending.size; i += 2)
        add_number(&list, 1, 15);
    add_message(&part, pending.list, &list);
    add_message(core, pending.part, &part);
}

static void write_image(const uint64_t registers[REGISTERS + 1])
{
    buffer_auto all = BUFFER_INIT(4096), thread = BUFFER_INIT(4096), core = BUFFER_INIT(4096),
                file = BUFFER_INIT(4096);
    for (unsigned i = 1; i <= REGISTERS; i++)
        add_number(&all, i, registers[i]);
    add_number(&thread, 1, HEAP);
    add_message(&thread, 2, &all);
    add_message(&thread, 3, &all); /* other registers, with the same numbers */
    add_number(&core, 1, 1);
    add_message(&core, 2, &thread);
    if (pending.part)
        add_pending(&core);
    buffer_append(&file, "magicand", 8);
    uint32_t size = (uint32_t)core.size;
    buffer_append(&file, &size, sizeof size);
    buffer_append(&file, core.data, core.size);
    FILE *out = fopen(IMAGE, "we");
    assert_non_null(out);
    assert_int_equal(fwrite(file.data, 1, file.size, out), file.size);
    assert_int_equal(fclose(out), 0);
}

static uint64_t found[2][REGISTERS + 1];

static void read_core(struct message core)
{
    struct message_field field, inner, number;
    unsigned set = 0;
    while (message_take(&core, &field))
        while (field.id == 2 && message_take(&field.inner, &inner)) {
            while (inner.inner.at && message_take(&inner.inner, &number))
                found[set][number.id] = number.number;
            set += inner.id >= 2;
        }
    assert_int_equal(set, 2);
}

/* --- the calls --- */

struct call_case {
    uint64_t ax, call, di, si, dx, r10;
    bool restarts;
    uint64_t di_after, dx_after; /* 0: unchanged */
    unsigned mode;
};

static void check(const struct call_case *c)
{
    uint64_t registers[REGISTERS + 1] = {
        [AX] = c->ax,   [ORIG_AX] = c->call, [DI] = c->di, [SI] = c->si,    [DX] = c->dx,
        [R10] = c->r10, [AT] = IP,           [CX] = IP,    [MODE] = c->mode};
    write_image(registers);
    image_restart_calls("image");
    records_change(IMAGE, read_core);
    for (unsigned i = 1; i <= REGISTERS; i++)
        assert_int_equal(found[1][i], registers[i]);
    if (c->restarts) {
        registers[AX] = c->call;
        registers[AT] = IP - 2;
    }
    registers[DI] = c->di_after ? c->di_after : c->di;
    registers[DX] = c->dx_after ? c->dx_after : c->dx;
    for (unsigned i = 1; i <= REGISTERS; i++)
        assert_int_equal(found[0][i], registers[i]);
}

TEST(interrupted_calls_are_repeated)
{
    static const struct call_case cases[] = {
        /* sleep(): one place for time and rest */
        {INTERRUPTED, 35, STACK, STACK, 0, 0, true, 0, 0, 1},
        /* nanosleep() with a place for the rest, and without */
        {INTERRUPTED, 35, HEAP, STACK, 0, 0, true, STACK, 0, 1},
        {INTERRUPTED, 35, HEAP, 0, 0, 0, true, 0, 0, 1},
        {INTERRUPTED, 35, LOW, STACK, 0, 0, false, 0, 0, 1},
        {INTERRUPTED, 230, 1, 0, HEAP, STACK, true, 0, STACK, 1},
        {INTERRUPTED, 230, 1, 0, HEAP, 0, true, 0, 0, 1},
        {INTERRUPTED, 7, HEAP, 1, 60000, 0, true, 0, 0, 1},
        /* sem_timedwait(), on the time of day and on another clock */
        {INTERRUPTED, 202, HEAP, 9 | 128 | 256, 0, STACK, true, 0, 0, 1},
        {INTERRUPTED, 202, HEAP, 9, 0, STACK, true, 0, 0, 1},
        /* FUTEX_WAIT, whose limit is a span of time */
        {INTERRUPTED, 202, HEAP, FUTEX_OF_OWN, 0, STACK, false, 0, 0, 1},
        /* epoll_wait(), which the kernel does not continue either */
        {INTERRUPTED, 232, 5, HEAP, 1, 60000, false, 0, 0, 1},
        /* has returned, or is not in a call */
        {0, 35, STACK, STACK, 0, 0, false, 0, 0, 1},
        {INTERRUPTED, (uint64_t)-1, STACK, STACK, 0, 0, false, 0, 0, 1},
        /* of 32 bits, where 7 is waitpid() */
        {INTERRUPTED, 7, HEAP, 1, 60000, 0, false, 0, 0, 2},
    };
    assert_int_equal(mkdir("image", 0700), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check(&cases[i]);
}

TEST(calls_that_a_signal_ends_are_not_repeated)
{
    static const struct call_case poll = {INTERRUPTED, 7, HEAP, 1, 60000, 0, false, 0, 0, 1};
    struct call_case again = poll;
    again.restarts = true;
    pending.part = 3, pending.list = 10, pending.size = 2; /* of the process */
    check(&poll);
    pending.size = 0;
    check(&again);
    pending.part = 5, pending.list = 9, pending.size = 2; /* of the thread */
    check(&poll);
    pending.list = 10;
    check(&again);
    pending.part = 0;
}

static size_t read_bytes(char *out, size_t size)
{
    FILE *file = fopen(IMAGE, "re");
    assert_non_null(file);
    size_t got = fread(out, 1, size, file);
    fclose(file);
    return got;
}

TEST(what_is_cut_off_stays)
{
    const uint64_t registers[REGISTERS + 1] = {[AX] = INTERRUPTED, [ORIG_AX] = 7, [AT] = IP};
    char before[1024], after[1024];
    struct stat whole;
    write_image(registers);
    assert_int_equal(stat(IMAGE, &whole), 0);
    for (off_t cut = 1; cut < whole.st_size; cut++) {
        write_image(registers);
        size_t size = read_bytes(before, sizeof before);
        assert_int_equal(size, whole.st_size);
        assert_int_equal(truncate(IMAGE, cut), 0);
        image_restart_calls("image");
        assert_int_equal(read_bytes(after, sizeof after), cut);
        assert_memory_equal(before, after, (size_t)cut);
    }
}

TEST_GROUP(make_folder, remove_folder)
