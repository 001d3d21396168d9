/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "helper/criu/pages.h"

#define PAGE UINT64_C(4096)

/* --- images --- */

static char folder[] = "/tmp/sandlot-pages-XXXXXX";
static int image;

static int set_up(void **state)
{
    assert_non_null(mkdtemp(folder));
    image = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return image < 0;
}

static int tear_down(void **state)
{
    autofree char *command = xasprintf("rm -r %s", folder);
    close(image);
    return system(command);
}

static void write_image(const char *name, const char *messages, size_t size)
{
    static const char magic[8] = "magic";
    autofree char *path = xasprintf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fwrite(magic, sizeof magic, 1, file);
    fwrite(messages, size, 1, file);
    assert_int_equal(fclose(file), 0);
}
#define WRITE_IMAGE(name, messages) write_image(name, messages, sizeof messages - 1)

/* --- ranges --- */

static struct page_ranges ranges;

static void begin(void)
{
    /* Pages 16 to 31 and 64 to 79, at the places 0 and 16. */
    static const char pagemap[] = "\x02\x00\x00\x00"
                                  "\x08\x07"
                                  "\x08\x00\x00\x00"
                                  "\x08\x80\x80\x04\x10\x10\x20\x06"
                                  "\x08\x00\x00\x00"
                                  "\x08\x80\x80\x10\x10\x10\x20\x06";
    uint32_t pages_id;
    WRITE_IMAGE("pagemap-5.img", pagemap);
    page_ranges_deinit(&ranges);
    assert_int_equal(page_ranges_read(image, 5, &ranges, &pages_id), 0);
    assert_int_equal(pages_id, 7);
}

/* expected: "start-end@place …" in pages. */
static void assert_ranges(const char *expected)
{
    autofree char *found = xstrdup("");
    for (size_t i = 0; i < ranges.count; i++) {
        const struct page_range *range = &ranges.list[i];
        char *longer = xasprintf("%s%u-%u@%u ", found, (unsigned)(range->start / PAGE),
                                 (unsigned)(range->end / PAGE), (unsigned)(range->place / PAGE));
        free(found);
        found = longer;
    }
    assert_string_equal(found, expected);
    uint64_t size = 0;
    for (size_t i = 0; i < ranges.count; i++)
        size += ranges.list[i].end - ranges.list[i].start;
    assert_int_equal(ranges.size, size);
}

TEST(lazy_pages_are_read)
{
    /* Eager pages, absent ones, and a count in both forms. */
    static const char mixed[] = "\x02\x00\x00\x00"
                                "\x08\x01"
                                "\x08\x00\x00\x00"
                                "\x08\x80\x80\x04\x10\x02\x20\x04"
                                "\x08\x00\x00\x00"
                                "\x08\x80\x80\x08\x10\x02\x20\x02"
                                "\x0a\x00\x00\x00"
                                "\x08\x80\x80\x10\x10\x01\x20\x06\x28\x03";
    uint32_t pages_id;
    begin();
    assert_ranges("16-32@0 64-80@16 ");
    assert_int_equal(ranges.size, 32 * PAGE);
    page_ranges_deinit(&ranges);
    WRITE_IMAGE("pagemap-6.img", mixed);
    assert_int_equal(page_ranges_read(image, 6, &ranges, &pages_id), 0);
    assert_ranges("64-67@2 ");
    page_ranges_deinit(&ranges);
    write_image("pagemap-7.img", mixed, sizeof mixed - 4);
    assert_int_equal(page_ranges_read(image, 7, &ranges, &pages_id), -1);
    page_ranges_deinit(&ranges);
    assert_int_equal(page_ranges_read(image, 8, &ranges, &pages_id), -1);
}

TEST(parts_are_cut)
{
    begin();
    page_ranges_cut(&ranges, 20 * PAGE, 22 * PAGE);
    assert_ranges("16-20@0 22-32@6 64-80@16 ");
    page_ranges_cut(&ranges, 16 * PAGE, 17 * PAGE);
    page_ranges_cut(&ranges, 70 * PAGE, 90 * PAGE);
    assert_ranges("17-20@1 22-32@6 64-70@16 ");
    page_ranges_cut(&ranges, 40 * PAGE, 40 * PAGE);
    page_ranges_cut(&ranges, 40 * PAGE, 50 * PAGE);
    assert_ranges("17-20@1 22-32@6 64-70@16 ");
    /* Longer than an int. */
    page_ranges_cut(&ranges, 18 * PAGE, UINT64_C(1) << 46);
    assert_ranges("17-18@1 ");
    assert_non_null(page_ranges_find(&ranges, 17 * PAGE));
    assert_null(page_ranges_find(&ranges, 18 * PAGE));
    assert_null(page_ranges_find(&ranges, 16 * PAGE));
}

TEST(parts_are_moved)
{
    struct page_ranges copy;
    begin();
    page_ranges_copy(&ranges, &copy);
    page_ranges_move(&ranges, 24 * PAGE, 100 * PAGE, 4 * PAGE);
    assert_ranges("16-24@0 28-32@12 64-80@16 100-104@8 ");
    page_ranges_move(&ranges, 64 * PAGE, 0, 90 * PAGE);
    assert_ranges("0-16@16 36-40@8 ");
    assert_int_equal(copy.count, 2);
    assert_int_equal(copy.size, 32 * PAGE);
    page_ranges_deinit(&copy);
}

TEST(ranges_may_overlap_after_a_move)
{
    begin();
    page_ranges_move(&ranges, 16 * PAGE, 20 * PAGE, 16 * PAGE);
    assert_ranges("20-36@0 64-80@16 ");
    page_ranges_move(&ranges, 20 * PAGE, 70 * PAGE, 4 * PAGE);
    assert_ranges("24-36@4 64-70@16 70-74@0 74-80@26 ");
}

/* --- other images --- */

TEST(advice_for_forks_is_found)
{
    WRITE_IMAGE("mm-1.img", "\x06\x00\x00\x00"
                            "\x72\x04\x08\x01\x48\x08");
    /* Pages 18 and 19, and a range without this advice. */
    WRITE_IMAGE("mm-2.img", "\x18\x00\x00\x00"
                            "\x72\x0c\x08\x80\xc0\x04\x10\x80\x80\x05\x48\x80\x80\x10"
                            "\x72\x08\x08\x80\x80\x10\x10\x80\xc0\x10");
    struct page_ranges wiped;
    assert_int_equal(pages_wiped_read(image, 1, &wiped), 0);
    assert_int_equal(wiped.count, 0);
    assert_int_equal(pages_wiped_read(image, 3, &wiped), -1);
    assert_int_equal(pages_wiped_read(image, 2, &wiped), 0);
    assert_int_equal(wiped.count, 1);
    begin();
    page_ranges_cut_all(&ranges, &wiped);
    assert_ranges("16-18@0 20-32@4 64-80@16 ");
    page_ranges_deinit(&wiped);
}

TEST(shared_things_are_known)
{
    uint32_t memory, files;
    WRITE_IMAGE("ids-1.img", "\x04\x00\x00\x00"
                             "\x08\x05\x10\x09");
    WRITE_IMAGE("ids-2.img", "\x02\x00\x00\x00"
                             "\x08\x01");
    assert_int_equal(pages_ids_read(image, 1, &memory, &files), 0);
    assert_int_equal(memory, 5);
    assert_int_equal(files, 9);
    assert_int_equal(pages_ids_read(image, 2, &memory, &files), -1);
    WRITE_IMAGE("fdinfo-2.img", "\x02\x00\x00\x00"
                                "\x20\x02"
                                "\x03\x00\x00\x00"
                                "\x20\x80\x08");
    assert_int_equal(pages_files_highest(image, 2), 1024);
    assert_int_equal(pages_files_highest(image, 3), -1);
}

TEST_GROUP(set_up, tear_down)
