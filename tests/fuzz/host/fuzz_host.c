/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that programs of a host read. The first byte chooses the parser of the rest: an archive
 * that is unpacked, the configuration of a container, an order to sandlot-limits, the sockets or
 * the memory of an image. */
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "helper/criu/pages.h"
#include "helper/criu/sockets.h"
#include "helper/criu/tar_pack.h"
#include "helper/launcher/container_config.h"
#include "limits/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* Everything lands below the folder: a file next to it stays as it is. */
static void try_archive(char *data, size_t size)
{
    char folder[] = "/tmp/fuzz-host-XXXXXX";
    if (size > TAR_MOST || !mkdtemp(folder))
        return;
    autofree char *inside = xasprintf("%s/in", folder);
    autofree char *witness = xasprintf("%s/witness", folder);
    if (mkdir(inside, 0700) < 0)
        abort();
    /* A header's sum is made right, so that more than the first check is reached. */
    for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
        struct tar_header *header = (void *)(data + at);
        if (!memcmp(header->magic, "ustar", 5))
            snprintf(header->checksum, sizeof header->checksum, "%06o", tar_checksum(header));
    }
    (void)tar_unpack(inside, data, size);
    if (access(witness, F_OK) == 0)
        abort();
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void try_config(const char *data, size_t size)
{
    autoclose int file = memfd_create("config", MFD_CLOEXEC);
    struct container_config config;
    error_auto err = NULL;
    char path[32];
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (container_config_read(path, &config, &err) < 0)
        assert(err && err->code == ERR_CONFIG);
    assert(config.mount_count <= CONTAINER_MOUNTS_MAX && config.link_count <= CONTAINER_LINKS_MAX);
    for (unsigned i = 0; i < config.mount_count; i++)
        assert(config.mounts[i].target[0] != '/');
    container_config_deinit(&config);
}

static void try_order(const char *data, size_t size)
{
    autofree char *line = xstrndup(data, size);
    struct order order;
    error_auto err = NULL;
    if (order_read(line, &order, &err) < 0) {
        assert(err && err->code == ERR_INVALID_REQUEST);
        return;
    }
    assert(order_name_is_valid(order.instance) && order.mount_count <= ORDER_MOUNTS_MAX);
    for (unsigned i = 0; i < order.mount_count; i++) {
        const char *path = order.mounts[i].path;
        assert(path[0] == '/' && !strstr(path, "//") && !strstr(path, "/../") &&
               !strstr(path, "/./"));
    }
}

/* An edit that succeeds changes nothing when it is repeated. */
static void try_sockets(char *data, size_t size)
{
    unsigned char *bytes = (unsigned char *)data;
    autofree char *before = xmemdup(data, size);
    if (sockets_edit(bytes, size) < 0) {
        assert(!memcmp(before, data, size));
        return;
    }
    autofree char *once = xmemdup(data, size);
    assert(sockets_edit(bytes, size) == 0 && !memcmp(once, data, size));
}

static void write_at(int folder, const char *name, const char *data, size_t size)
{
    autoclose int file = openat(folder, name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
}

static void check_ranges(const struct page_ranges *ranges)
{
    uint64_t total = 0;
    assert(ranges->count <= ranges->room);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct page_range *range = &ranges->list[i];
        assert(range->start < range->end && (!i || range[-1].end <= range->start));
        assert(page_ranges_find(ranges, range->start) == range);
        total += range->end - range->start;
    }
    assert(total == ranges->size);
}

/* The same bytes are each of the files. Parts are cut and moved as the guest's events do it. */
static void try_pages(const char *data, size_t size)
{
    static const char *const names[] = {"pagemap-1.img", "mm-1.img", "ids-1.img", "fdinfo-1.img"};
    char folder[] = "/tmp/fuzz-host-XXXXXX";
    struct page_ranges ranges = {0}, wiped = {0}, copy = {0};
    uint32_t id, memory, files;
    autoclose int image = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (image < 0)
        abort();
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        write_at(image, names[i], data, size);
    if (page_ranges_read(image, 1, &ranges, &id) == 0 && ranges.count) {
        check_ranges(&ranges);
        page_ranges_copy(&ranges, &copy);
        uint64_t from = ranges.list[0].start, middle = ranges.list[ranges.count / 2].start;
        page_ranges_cut(&ranges, from + PAGE_BYTES, middle + PAGE_BYTES);
        check_ranges(&ranges);
        page_ranges_move(&ranges, from, middle, PAGE_BYTES);
        check_ranges(&ranges);
        page_ranges_cut_all(&ranges, &copy);
        check_ranges(&ranges);
    }
    if (pages_wiped_read(image, 1, &wiped) == 0)
        check_ranges(&wiped);
    (void)pages_ids_read(image, 1, &memory, &files);
    (void)pages_files_highest(image, 1);
    page_ranges_deinit(&ranges);
    page_ranges_deinit(&wiped);
    page_ranges_deinit(&copy);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > 65536)
        return 0;
    autofree char *rest = xmalloc(size);
    memcpy(rest, data + 1, size - 1);
    switch (data[0]) {
    case 't':
        try_archive(rest, size - 1);
        break;
    case 'c':
        try_config(rest, size - 1);
        break;
    case 'o':
        try_order(rest, size - 1);
        break;
    case 's':
        try_sockets(rest, size - 1);
        break;
    case 'p':
        try_pages(rest, size - 1);
        break;
    default:
        break;
    }
    return 0;
}
