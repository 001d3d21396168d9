/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "helper/criu/message.h"

/* An image of CRIU: two words of magic, then messages of protobuf, each after its size. Numbers are
 * little-endian. */
#define MAGIC_SIZE 8
#define WORD       4
#define IMAGE_MOST (1 << 30)
#define PAGES_MOST (UINT64_C(1) << 40) /* of one entry */

enum { HEAD_PAGES_ID = 1 };
enum {
    ENTRY_ADDRESS = 1,
    ENTRY_COUNT_OLD = 2,
    ENTRY_IN_PARENT = 3,
    ENTRY_FLAGS = 4,
    ENTRY_COUNT = 5
};
enum { PAGES_IN_PARENT = 1, PAGES_LAZY = 2, PAGES_PRESENT = 4 };
enum { MM_VMAS = 14, VMA_START = 1, VMA_END = 2, VMA_MADVICE = 9 };
enum { IDS_MEMORY = 1, IDS_FILES = 2 };
enum { FILE_NUMBER = 4 };
#define WIPE_ON_FORK 18 /* the number of madvise() */

/* --- the list --- */

void page_ranges_deinit(struct page_ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct page_ranges){.count = 0};
}

/* Return the position of the first range that ends after an address. */
static size_t place_of(const struct page_ranges *ranges, uint64_t address)
{
    size_t low = 0;
    for (size_t high = ranges->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (ranges->list[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct page_range *page_ranges_find(const struct page_ranges *ranges, uint64_t address)
{
    size_t at = place_of(ranges, address);
    return at < ranges->count && ranges->list[at].start <= address ? &ranges->list[at] : NULL;
}

/* Make room for more ranges at a position. */
static void open_gap(struct page_ranges *ranges, size_t at, size_t count)
{
    if (!count)
        return;
    while (ranges->room < ranges->count + count) {
        ranges->room = ranges->room ? ranges->room * 2 : 64;
        ranges->list = xreallocarray(ranges->list, ranges->room, sizeof *ranges->list);
    }
    memmove(ranges->list + at + count, ranges->list + at,
            (ranges->count - at) * sizeof *ranges->list);
    ranges->count += count;
}

/* Insert a range. Returns -1 for one that is empty, or has an address of another range. */
static int insert(struct page_ranges *ranges, struct page_range range)
{
    size_t at = place_of(ranges, range.start);
    if (range.end <= range.start || (at < ranges->count && ranges->list[at].start < range.end))
        return -1;
    open_gap(ranges, at, 1);
    ranges->list[at] = range;
    ranges->size += range.end - range.start;
    return 0;
}

/* Make ranges begin at an address, if one contains it. */
static void split(struct page_ranges *ranges, uint64_t address)
{
    size_t at = place_of(ranges, address);
    if (at == ranges->count || ranges->list[at].start >= address)
        return;
    open_gap(ranges, at + 1, 1);
    struct page_range *left = &ranges->list[at], *right = left + 1;
    *right = (struct page_range){address, left->end, left->place + (address - left->start)};
    left->end = address;
}

/* Return the position after the last range that ends at an address or before it. */
static size_t end_of(const struct page_ranges *ranges, size_t at, uint64_t end)
{
    while (at < ranges->count && ranges->list[at].end <= end)
        at++;
    return at;
}

void page_ranges_cut(struct page_ranges *ranges, uint64_t start, uint64_t end)
{
    if (end <= start)
        return;
    split(ranges, start);
    split(ranges, end);
    size_t first = place_of(ranges, start), last = end_of(ranges, first, end);
    for (size_t i = first; i < last; i++)
        ranges->size -= ranges->list[i].end - ranges->list[i].start;
    if (last > first)
        memmove(ranges->list + first, ranges->list + last,
                (ranges->count - last) * sizeof *ranges->list);
    ranges->count -= last - first;
}

void page_ranges_move(struct page_ranges *ranges, uint64_t from, uint64_t to, uint64_t size)
{
    split(ranges, from);
    split(ranges, from + size);
    size_t first = place_of(ranges, from), count = end_of(ranges, first, from + size) - first;
    struct page_range *moved = xreallocarray(NULL, count + 1, sizeof *moved);
    if (count)
        memcpy(moved, ranges->list + first, count * sizeof *moved);
    page_ranges_cut(ranges, from, from + size);
    page_ranges_cut(ranges, to, to + size);
    /* Nothing is left at the new place, so they stay together there. */
    size_t at = place_of(ranges, to);
    open_gap(ranges, at, count);
    for (size_t i = 0; i < count; i++) {
        struct page_range range = {moved[i].start + (to - from), moved[i].end + (to - from),
                                   moved[i].place};
        ranges->list[at + i] = range;
        ranges->size += range.end - range.start;
    }
    free(moved);
}

void page_ranges_copy(const struct page_ranges *ranges, struct page_ranges *copy)
{
    *copy =
        (struct page_ranges){.count = ranges->count, .room = ranges->count, .size = ranges->size};
    copy->list = xreallocarray(NULL, ranges->count + 1, sizeof *copy->list);
    if (ranges->count)
        memcpy(copy->list, ranges->list, ranges->count * sizeof *copy->list);
}

void page_ranges_cut_all(struct page_ranges *ranges, const struct page_ranges *others)
{
    for (size_t i = 0; i < others->count; i++)
        page_ranges_cut(ranges, others->list[i].start, others->list[i].end);
}

/* --- images --- */

struct file {
    uint8_t *data;
    size_t size;
};

static int map_file(int image, const char *kind, int pid, struct file *file)
{
    autofree char *name = xasprintf("%s-%d.img", kind, pid);
    struct stat found;
    autoclose int fd = openat(image, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0 || found.st_size < MAGIC_SIZE || found.st_size > IMAGE_MOST)
        return -1;
    void *data = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return -1;
    *file = (struct file){data, (size_t)found.st_size};
    return 0;
}

/* Take the next message of a file. Returns 0 at the end, -1 for another form. */
static int next_message(struct message *rest, struct message *message)
{
    if (rest->at == rest->end)
        return 0;
    if (rest->end - rest->at < WORD)
        return -1;
    uint32_t size = rest->at[0] | (uint32_t)rest->at[1] << 8 | (uint32_t)rest->at[2] << 16 |
                    (uint32_t)rest->at[3] << 24;
    rest->at += WORD;
    if (size > (size_t)(rest->end - rest->at))
        return -1;
    *message = (struct message){rest->at, rest->at + size};
    rest->at += size;
    return 1;
}

static int take_entry(struct message entry, struct page_ranges *ranges, uint64_t *place)
{
    struct message_field field;
    uint64_t address = 0, count = 0, flags = PAGES_PRESENT;
    bool in_parent = false;
    while (message_take(&entry, &field)) {
        if (field.id == ENTRY_ADDRESS)
            address = field.number;
        else if (field.id == ENTRY_COUNT || (field.id == ENTRY_COUNT_OLD && !count))
            count = field.number;
        else if (field.id == ENTRY_FLAGS)
            flags = field.number;
        else if (field.id == ENTRY_IN_PARENT)
            in_parent = field.number;
    }
    if (in_parent || !(flags & PAGES_PRESENT))
        return 0;
    if (count > PAGES_MOST)
        return -1;
    uint64_t size = count * PAGE_BYTES, from = *place;
    *place += size;
    return flags & PAGES_LAZY && size
               ? insert(ranges, (struct page_range){address, address + size, from})
               : 0;
}

int page_ranges_read(int image, int pid, struct page_ranges *ranges, uint32_t *pages_id)
{
    struct file file;
    struct message message;
    struct message_field field;
    uint64_t place = 0;
    int result;
    *ranges = (struct page_ranges){.count = 0};
    *pages_id = 0;
    if (map_file(image, "pagemap", pid, &file) < 0)
        return -1;
    struct message rest = {file.data + MAGIC_SIZE, file.data + file.size};
    result = next_message(&rest, &message);
    while (result > 0 && message_take(&message, &field))
        if (field.id == HEAD_PAGES_ID)
            *pages_id = (uint32_t)field.number;
    while (result > 0 && (result = next_message(&rest, &message)) > 0)
        if (take_entry(message, ranges, &place) < 0)
            result = -1;
    munmap(file.data, file.size);
    return *pages_id ? result : -1;
}

static int take_wiped(struct message vma, struct page_ranges *wiped)
{
    struct message_field field;
    struct page_range range = {.place = 0};
    bool is_wiped = false;
    while (message_take(&vma, &field)) {
        if (field.id == VMA_START)
            range.start = field.number;
        else if (field.id == VMA_END)
            range.end = field.number;
        else if (field.id == VMA_MADVICE)
            is_wiped = field.number & UINT64_C(1) << WIPE_ON_FORK;
    }
    return is_wiped ? insert(wiped, range) : 0;
}

int pages_wiped_read(int image, int pid, struct page_ranges *wiped)
{
    struct file file;
    struct message message;
    struct message_field field;
    *wiped = (struct page_ranges){.count = 0};
    if (map_file(image, "mm", pid, &file) < 0)
        return -1;
    struct message rest = {file.data + MAGIC_SIZE, file.data + file.size};
    int result = next_message(&rest, &message);
    while (result > 0 && message_take(&message, &field))
        if (field.id == MM_VMAS && field.inner.at && take_wiped(field.inner, wiped) < 0)
            result = -1;
    munmap(file.data, file.size);
    return result > 0 ? 0 : -1;
}

int pages_ids_read(int image, int pid, uint32_t *memory, uint32_t *files)
{
    struct file file;
    struct message message;
    struct message_field field;
    *memory = *files = 0;
    if (map_file(image, "ids", pid, &file) < 0)
        return -1;
    struct message rest = {file.data + MAGIC_SIZE, file.data + file.size};
    int result = next_message(&rest, &message);
    while (result > 0 && message_take(&message, &field)) {
        if (field.id == IDS_MEMORY)
            *memory = (uint32_t)field.number;
        else if (field.id == IDS_FILES)
            *files = (uint32_t)field.number;
    }
    munmap(file.data, file.size);
    return *memory && *files ? 0 : -1;
}

int pages_files_highest(int image, int number)
{
    struct file file;
    struct message message;
    struct message_field field;
    int highest = 0, result;
    if (map_file(image, "fdinfo", number, &file) < 0)
        return -1;
    struct message rest = {file.data + MAGIC_SIZE, file.data + file.size};
    while ((result = next_message(&rest, &message)) > 0)
        while (message_take(&message, &field))
            if (field.id == FILE_NUMBER && field.number > (uint64_t)highest)
                highest = field.number < INT32_MAX ? (int)field.number : INT32_MAX;
    munmap(file.data, file.size);
    return result < 0 ? -1 : highest;
}
