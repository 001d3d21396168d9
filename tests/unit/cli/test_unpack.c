/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archives of a sandbox that means harm, unpacked below "here"; "away" is a neighbour of that. */
#include "unit/folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/printable.h"
#include "base/tar.h"
#include "cli/unpack.h"

static FILE *out;

/* --- archives --- */

static void write_blocks(const char *data, size_t size)
{
    static const char zeros[TAR_BLOCK];
    assert_int_equal(fwrite(data, 1, size, out), size);
    size_t more = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
    assert_int_equal(fwrite(zeros, 1, more, out), more);
}

static void put(char type, const char *name, const char *target, unsigned mode, const char *data)
{
    struct tar_header header = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    size_t size = strlen(data);
    memcpy(header.name, name, strnlen(name, sizeof header.name));
    memcpy(header.target, target, strnlen(target, sizeof header.target));
    snprintf(header.mode, sizeof header.mode, "%07o", mode);
    snprintf(header.size, sizeof header.size, "%011o", (unsigned)size);
    snprintf(header.mtime, sizeof header.mtime, "%011o", 500U);
    snprintf(header.checksum, sizeof header.checksum, "%06o", tar_checksum(&header));
    write_blocks((const char *)&header, sizeof header);
    write_blocks(data, size);
}

static void begin(void)
{
    out = fopen("archive", "we");
    assert_non_null(out);
}

static int unpack_here(uint64_t *left_out, struct error **err)
{
    static const char zeros[2 * TAR_BLOCK];
    fwrite(zeros, 1, sizeof zeros, out);
    assert_int_equal(fclose(out), 0);
    autoclose int here = open("here", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return unpack(here, "archive", true, left_out, err);
}

static void unpack_well(void)
{
    struct error *err = NULL;
    uint64_t left_out;
    assert_ok(unpack_here(&left_out, &err));
    assert_int_equal(left_out, 0);
}

static void refuse(const char *saying)
{
    struct error *err = NULL;
    uint64_t left_out;
    assert_fails_saying(unpack_here(&left_out, &err), ERR_INTERNAL, saying);
    assert_int_equal(access("away/file", F_OK), -1);
}

static int make_places(void **state)
{
    return system(
               "chmod -R u+rwx here 2>/dev/null; rm -rf here away && mkdir here away") /* NOLINT */
               ? -1
               : 0;
}

static unsigned mode_of(const char *path)
{
    struct stat found;
    assert_int_equal(lstat(path, &found), 0);
    return found.st_mode & 07777;
}

static void assert_text(const char *path, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

/* --- what an honest one has --- */

TEST_WITH(a_folder_comes_with_modes_times_and_links, make_places, NULL)
{
    struct stat found, name;
    begin();
    put('5', "./", "", 0750, "");
    put('5', "./below/", "", 0555, "");
    put('0', "./below/file", "", 0640, "some text");
    put('1', "./other", "./below/file", 0640, "");
    put('2', "./link", "below/file", 0777, "");
    unpack_well();
    assert_int_equal(mode_of("here"), 0750);
    assert_int_equal(mode_of("here/below"), 0555);
    assert_int_equal(mode_of("here/below/file"), 0640);
    assert_text("here/link", "some text");
    assert_int_equal(stat("here/below/file", &found), 0);
    assert_int_equal(stat("here/other", &name), 0);
    assert_int_equal(found.st_ino, name.st_ino);
    assert_int_equal(found.st_mtim.tv_sec, 500);
    assert_int_equal(stat("here/below", &found), 0);
    assert_int_equal(found.st_mtim.tv_sec, 500);
}

TEST_WITH(long_names_come_in_both_ways, make_places, NULL)
{
    char name[300] = "", record[400];
    while (strlen(name) < 240)
        strcat(name, "part/"); /* NOLINT */
    begin();
    strcat(name, "gnu"); /* NOLINT */
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        put('L', "././@LongLink", "", 0, name);
        put('5', "cut", "", 0755, "");
        *slash = '/';
    }
    put('L', "././@LongLink", "", 0, name);
    put('0', "cut", "", 0644, "one");
    memcpy(name + strlen(name) - 3, "pax", 3);
    snprintf(record, sizeof record, "%zu path=%s\n", strlen(name) + strlen("000 path=\n"), name);
    put('x', "head", "", 0, record);
    put('0', "cut", "", 0644, "two");
    unpack_well();
    autofree char *pax = xasprintf("here/%s", name);
    assert_text(pax, "two");
    memcpy(name + strlen(name) - 3, "gnu", 3);
    autofree char *gnu = xasprintf("here/%s", name);
    assert_text(gnu, "one");
}

TEST_WITH(what_is_there_is_replaced_and_not_written_through, make_places, NULL)
{
    begin();
    put('0', "file", "", 0644, "old");
    unpack_well();
    assert_int_equal(link("here/file", "away/other name"), 0);
    begin();
    put('0', "file", "", 0644, "new");
    unpack_well();
    assert_text("here/file", "new");
    assert_text("away/other name", "old");
}

/* --- ways out --- */

TEST_WITH(no_path_leads_out, make_places, NULL)
{
    static const char *const paths[] = {"../away/file", "a/../../away/file", "/tmp/away/file",
                                        "..",           "./../away/file",    "a/.."};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        begin();
        put('5', "a", "", 0755, "");
        put('0', paths[i], "", 0644, "x");
        refuse("leads out of");
    }
}

TEST_WITH(no_link_of_the_archive_is_followed, make_places, NULL)
{
    begin();
    put('2', "out", "../away", 0777, "");
    put('0', "out/file", "", 0644, "x");
    refuse("is a link or a file");
}

/* The first archive makes the link, the second goes through it. */
TEST_WITH(no_link_of_an_earlier_archive_is_followed, make_places, NULL)
{
    begin();
    put('2', "out", "../away", 0777, "");
    put('2', "file", "../away/file", 0777, "");
    unpack_well();
    begin();
    put('0', "out/file", "", 0644, "x");
    refuse("is a link or a file");
    begin();
    put('0', "file", "", 0644, "x");
    unpack_well();
    assert_int_equal(access("away/file", F_OK), -1);
    assert_text("here/file", "x");
    begin();
    put('5', "out", "", 0777, "");
    put('0', "out/file", "", 0644, "y");
    unpack_well();
    assert_int_equal(access("away/file", F_OK), -1);
    assert_text("here/out/file", "y");
}

TEST_WITH(no_hard_link_leads_out, make_places, NULL)
{
    struct stat found;
    assert_int_equal(system("echo secret >away/secret"), 0); /* NOLINT */
    begin();
    put('1', "mine", "../away/secret", 0644, "");
    refuse("leads out of");
    begin();
    put('2', "out", "../away", 0777, "");
    put('1', "mine", "out/secret", 0644, "");
    refuse("is a link or a file");
    begin();
    put('2', "link", "../away/secret", 0777, "");
    put('1', "mine", "link", 0644, "");
    put('0', "mine", "", 0644, "x");
    unpack_well();
    assert_int_equal(stat("away/secret", &found), 0);
    assert_int_equal(found.st_nlink, 1);
    assert_text("away/secret", "secret\n");
}

TEST_WITH(a_folder_that_became_a_link_keeps_its_mode, make_places, NULL)
{
    assert_int_equal(chmod("away", 0700), 0);
    begin();
    put('5', "a", "", 0777, "");
    put('1', "b", "a", 0644, "");
    refuse("cannot make");
    begin();
    put('5', "a", "", 0777, "");
    put('2', "a", "../away", 0777, "");
    refuse("cannot make");
    assert_int_equal(mode_of("away"), 0700);
}

/* --- what is left out --- */

TEST_WITH(special_bits_and_files_are_left_out, make_places, NULL)
{
    struct error *err = NULL;
    uint64_t left_out;
    begin();
    put('0', "tool", "", 07755, "x");
    put('5', "folder", "", 07777, "");
    put('3', "null", "", 0666, "");
    put('4', "disk", "", 0666, "");
    put('6', "pipe", "", 0666, "");
    assert_ok(unpack_here(&left_out, &err));
    assert_int_equal(left_out, 3);
    assert_int_equal(mode_of("here/tool"), 0755);
    assert_int_equal(mode_of("here/folder"), 0777);
    assert_int_equal(access("here/null", F_OK), -1);
    assert_int_equal(access("here/disk", F_OK), -1);
    assert_int_equal(access("here/pipe", F_OK), -1);
}

/* --- what is none --- */

TEST_WITH(what_is_no_archive_is_refused, make_places, NULL)
{
    begin();
    put('S', "sparse", "", 0644, "x");
    refuse("unknown type");
    begin();
    put('x', "head", "", 0, "12 path=none");
    refuse("not a valid tar file");
    begin();
    put('x', "head", "", 0, "22 GNU.sparse.major=1\n");
    refuse("not a valid tar file");
    begin();
    put('0', "file", "", 0644, "x");
    assert_int_equal(fseek(out, 10, SEEK_SET), 0);
    fputc('y', out);
    assert_int_equal(fseek(out, 0, SEEK_END), 0);
    refuse("not a valid tar file");
    begin();
    assert_int_equal(fwrite("short", 1, 5, out), 5);
    refuse("not a valid tar file");
}

/* --- what a terminal sees of names --- */

TEST(a_terminal_sees_no_controls)
{
    static const char *const texts[][2] = {
        {"plain ä € 😀", "plain ä € 😀"},
        {"\033[2J\a\x7f", "?[2J??"},
        {"c1 \xc2\x9b"
         "31m \xc2\x80\xc2\x9f\xc2\xa0",
         "c1 ?31m ??\xc2\xa0"},
        {"raw \x9b"
         "31m",
         "raw ?31m"},
        {"turned \xe2\x80\xae"
         "txt",
         "turned ?txt"},
        {"long \xc0\x80 \xe0\x82\x9b", "long ?? ???"},
        {"cut \xe2\x82", "cut ??"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        autofree char *shown = printable(texts[i][0], "");
        assert_string_equal(shown, texts[i][1]);
    }
    autofree char *lines = printable("a\nb\tc\r", "\n\t");
    assert_string_equal(lines, "a\nb\tc?");
}

TEST_GROUP(make_folder, remove_folder)
