/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that programs of a host read. The first byte chooses the parser of the rest: an archive
 * that is unpacked, the configuration of a container, an order to sandlot-limits. */
#include <assert.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
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
    default:
        break;
    }
    return 0;
}
