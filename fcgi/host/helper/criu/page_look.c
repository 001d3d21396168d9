/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/page_look.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "helper/criu/pages.h"

#define USED_FILE "sandlot-memory-mib"

enum {
    FILES_MOST = 512,  /* CRIU puts its own files after those of a process */
    LEAST = 128 << 20, /* reading smaller images first takes no longer */
    PROCESSES_MOST = 256,
    RANGES_MOST = 32 << 10,
};

uint64_t image_number(int image, const char *name)
{
    char text[32] = "";
    autoclose int fd = openat(image, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    return got > 0 ? strtoull(text, NULL, 10) : 0;
}

/* A look at an image before a restore. */
struct look {
    int image;
    uint64_t size;
    size_t ranges;
    uint32_t memory[PROCESSES_MOST], files[PROCESSES_MOST];
    unsigned count;
    bool served;
};

static bool is_new(const uint32_t *ids, unsigned count, uint32_t id)
{
    for (unsigned i = 0; i < count; i++)
        if (ids[i] == id)
            return false;
    return true;
}

/* CRIU closes the device in each process alone, so no two may share their files. */
static bool shares_nothing(struct look *look, int pid)
{
    uint32_t memory, files;
    if (look->count == PROCESSES_MOST || pages_ids_read(look->image, pid, &memory, &files) < 0 ||
        !is_new(look->memory, look->count, memory) || !is_new(look->files, look->count, files))
        return false;
    look->memory[look->count] = memory;
    look->files[look->count++] = files;
    return true;
}

static void look_at_memory(struct look *look, int pid)
{
    struct page_ranges ranges, wiped;
    uint32_t id;
    look->served = page_ranges_read(look->image, pid, &ranges, &id) == 0;
    if (pages_wiped_read(look->image, pid, &wiped) < 0 || !shares_nothing(look, pid))
        look->served = false;
    look->size += ranges.size;
    look->ranges += ranges.count + wiped.count;
    page_ranges_deinit(&ranges);
    page_ranges_deinit(&wiped);
}

static void look_at_files(struct look *look, int number)
{
    int highest = pages_files_highest(look->image, number);
    look->served = highest >= 0 && highest < FILES_MOST;
}

uint64_t image_served_size(int image)
{
    static struct look look;
    int copy = openat(image, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), number;
    DIR *files = copy < 0 ? NULL : fdopendir(copy);
    look = (struct look){.image = image, .served = files};
    for (struct dirent *entry; look.served && (entry = readdir(files));) {
        if (sscanf(entry->d_name, "pagemap-%d.img", &number) == 1)
            look_at_memory(&look, number);
        else if (sscanf(entry->d_name, "fdinfo-%d.img", &number) == 1)
            look_at_files(&look, number);
    }
    if (files)
        closedir(files);
    bool served = look.served && look.ranges <= RANGES_MOST && look.size >= LEAST &&
                  look.size <= image_number(image, USED_FILE) << 20;
    return served ? look.size : 0;
}
