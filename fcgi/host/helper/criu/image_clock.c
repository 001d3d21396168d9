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
#include "base/str.h"
#include "helper/criu/message.h"

/* CRIU's image of the time namespace: two words of magic, the size of a message, the message. Its
 * name has the number 0 for the host's namespace, and another number for the one that a restore
 * has made. */
#define CLOCK_IMAGE "timens-"
#define HEAD_SIZE   12
#define IMAGE_MAX   256

/* timens_entry.boottime, and timespec */
enum { FIELD_BOOTTIME = 2 };
enum { FIELD_S = 1, FIELD_NS = 2 };

/* Set seconds and nanoseconds in the bytes that both have together. The nanoseconds lose precision
 * if the seconds need another byte. Return whether the time has changed. */
static bool advance(struct message time, const struct timespec *now)
{
    struct message_field s, ns;
    if (!message_take(&time, &s) || s.id != FIELD_S || s.inner.at || !message_take(&time, &ns) ||
        ns.id != FIELD_NS || ns.inner.at || time.at != time.end)
        return false;
    const uint8_t tag = ns.start[-1]; /* between both */
    size_t room = (size_t)(time.end - s.start) - sizeof tag;
    size_t s_size = (size_t)(ns.start - s.start) - sizeof tag;
    if (s_size < message_number_size((uint64_t)now->tv_sec))
        s_size = message_number_size((uint64_t)now->tv_sec);
    if ((uint64_t)now->tv_sec <= s.number || s_size >= room || room > MESSAGE_NUMBER_MAX * 2)
        return false;
    size_t ns_size = room - s_size;
    uint64_t most = ns_size < 5 ? (UINT64_C(1) << 7 * ns_size) - 1 : UINT64_MAX;
    uint64_t ns_now = (uint64_t)now->tv_nsec;
    message_put_number(s.start, s_size, (uint64_t)now->tv_sec);
    s.start[s_size] = tag;
    message_put_number(s.start + s_size + sizeof tag, ns_size, ns_now < most ? ns_now : most);
    return true;
}

static bool advance_in(struct message clocks, const struct timespec *now)
{
    struct message_field clock;
    while (message_take(&clocks, &clock))
        if (clock.id == FIELD_BOOTTIME && clock.inner.at)
            return advance(clock.inner, now);
    return false;
}

static void advance_file(int folder, const char *name, const struct timespec *now)
{
    uint8_t data[IMAGE_MAX];
    autoclose int fd = openat(folder, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t size = pread(fd, data, sizeof data, 0);
    if (size <= HEAD_SIZE || size == (ssize_t)sizeof data ||
        !advance_in((struct message){data + HEAD_SIZE, data + size}, now))
        return;
    if (pwrite(fd, data, (size_t)size, 0) != size)
        fprintf(stderr, "sandlot-criu: cannot write %s: %s\n", name, strerror(errno));
}

void image_advance_clock(const char *folder, const struct timespec *now)
{
    DIR *images = opendir(folder);
    struct dirent *image;
    while (images && (image = readdir(images)))
        if (str_starts_with(image->d_name, CLOCK_IMAGE))
            advance_file(dirfd(images), image->d_name, now);
    if (images)
        closedir(images);
}
