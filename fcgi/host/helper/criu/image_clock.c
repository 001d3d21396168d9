/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/image_clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/message.h"

/* CRIU's image of the time namespace: two words of magic, the size of a message, the message. Its
 * name has the number 0 for the host's namespace, and another number for the one that a restore
 * has made. */
#define CLOCK_IMAGE "timens-"
#define SIZE_AT     8
#define HEAD_SIZE   12
#define IMAGE_MAX   256

/* timens_entry.boottime, and timespec */
enum { FIELD_BOOTTIME = 2 };
enum { FIELD_S = 1, FIELD_NS = 2 };

/* A widened number has so many bytes: room for any time. Each number follows a tag of one byte. */
enum { NUMBER_SIZE = 5, TIME_SIZE = 2 * (1 + NUMBER_SIZE) };

/* The image of a time namespace. */
struct clock_image {
    uint8_t data[IMAGE_MAX];
    size_t size;
    struct message_field boot, s, ns; /* in data */
};

/* Find the last clock of an image, CLOCK_BOOTTIME. Return whether it has this clock. */
static bool find_clock(struct clock_image *image)
{
    struct message clocks = {image->data + HEAD_SIZE, image->data + image->size};
    while (message_take(&clocks, &image->boot))
        if (image->boot.id == FIELD_BOOTTIME && image->boot.inner.at) {
            struct message time = image->boot.inner;
            return message_take(&time, &image->s) && image->s.id == FIELD_S && !image->s.inner.at &&
                   message_take(&time, &image->ns) && image->ns.id == FIELD_NS &&
                   !image->ns.inner.at && time.at == time.end && time.end == clocks.end;
        }
    return false;
}

/* Write the clock with the time of its fields in the widest form. */
static void put_clock(struct clock_image *image)
{
    uint8_t *at = image->boot.start;
    const struct message_field *const fields[] = {&image->s, &image->ns};
    *at++ = TIME_SIZE;
    for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
        *at++ = (uint8_t)(fields[i]->id << 3);
        message_put_number(at, NUMBER_SIZE, fields[i]->number);
        at += NUMBER_SIZE;
    }
    image->size = (size_t)(at - image->data);
    image->data[SIZE_AT] = (uint8_t)(image->size - HEAD_SIZE);
}

/* Set a widened clock to a later time. Return whether it has changed. */
static bool advance(struct clock_image *image, const struct timespec *now)
{
    const uint64_t s = (uint64_t)now->tv_sec, ns = (uint64_t)now->tv_nsec;
    if (image->boot.inner.end - image->boot.inner.at != TIME_SIZE || s < image->s.number ||
        (s == image->s.number && ns <= image->ns.number))
        return false;
    image->s.number = s;
    image->ns.number = ns;
    return true;
}

static void change_file(int folder, const char *name, const struct timespec *now)
{
    struct clock_image image;
    autoclose int fd = openat(folder, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t size = pread(fd, image.data, sizeof image.data, 0);
    if (size <= HEAD_SIZE || size > (ssize_t)sizeof image.data - TIME_SIZE)
        return;
    image.size = (size_t)size;
    if (!find_clock(&image) || (now && !advance(&image, now)))
        return;
    put_clock(&image);
    if (pwrite(fd, image.data, image.size, 0) != (ssize_t)image.size)
        fprintf(stderr, "sandlot-criu: cannot write %s: %s\n", name, strerror(errno));
}

static void change_files(const char *folder, const struct timespec *now)
{
    DIR *images = opendir(folder);
    struct dirent *image;
    while (images && (image = readdir(images)))
        if (str_starts_with(image->d_name, CLOCK_IMAGE))
            change_file(dirfd(images), image->d_name, now);
    if (images)
        closedir(images);
}

void image_widen_clock(const char *folder)
{
    change_files(folder, NULL);
}

void image_advance_clock(const char *folder, const struct timespec *now)
{
    change_files(folder, now);
}
