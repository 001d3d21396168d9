/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a process that is still in its image: ranges of addresses, each with its place in
 * the file of pages. All numbers are bytes, and multiples of the size of a page.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096

struct page_range {
    uint64_t start, end;
    uint64_t place; /* of the start, in the file of pages */
};

/* In rising order of addresses; ranges do not overlap. */
struct page_ranges {
    struct page_range *list;
    size_t count, room;
    uint64_t size; /* of all */
};

void page_ranges_deinit(struct page_ranges *ranges);

/* Read the ranges of a process that CRIU leaves to a page server. pid: inside the container.
 * *pages_id: the number of the file of pages. Returns 0, or -1 for a file that cannot be read or
 * has an unknown form. */
int page_ranges_read(int image, int pid, struct page_ranges *ranges, uint32_t *pages_id);

/* Return the range with an address, or NULL. */
const struct page_range *page_ranges_find(const struct page_ranges *ranges, uint64_t address);

/* Forget a part, of any size. */
void page_ranges_cut(struct page_ranges *ranges, uint64_t start, uint64_t end);

/* Give a part other addresses. */
void page_ranges_move(struct page_ranges *ranges, uint64_t from, uint64_t to, uint64_t size);

void page_ranges_copy(const struct page_ranges *ranges, struct page_ranges *copy);

/* Forget the parts that other ranges have too. */
void page_ranges_cut_all(struct page_ranges *ranges, const struct page_ranges *others);

/* Read the ranges that the kernel clears in a child (MADV_WIPEONFORK), without their places. Since
 * version 2.41, glibc has the state of getrandom() in such a range. Returns 0 or -1. */
int pages_wiped_read(int image, int pid, struct page_ranges *wiped);

/* Read CRIU's ids of the memory and of the open files of a process. Processes with the same id
 * share it. Returns 0 or -1. */
int pages_ids_read(int image, int pid, uint32_t *memory, uint32_t *files);

/* Return the highest number in a list of open files (fdinfo-NUMBER.img), or -1. */
int pages_files_highest(int image, int number);
