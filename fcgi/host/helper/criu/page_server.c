/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/page_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/pages.h"

#define DEVICE    "/dev/userfaultfd"
#define LOCKS     "/run/sandlot-pages"
#define USED_FILE "sandlot-memory-mib"
#define FINISHED  0x52535446 /* CRIU's word at the end of a restore */

enum {
    FILES_OPEN = 1024,
    FILES_MOST = 512,   /* CRIU puts its own files after those of a process */
    SPACES_MOST = 1024, /* processes, with those that they fork meanwhile */
    SPACES_BUSY = 64,   /* more: earlier ones get all their memory before another fork continues */
    CHUNK = 1 << 20,
    CHUNK_FAULT = 64 << 10,
    LEAST = 16 << 20,      /* smaller images are read first */
    RANGES_MOST = 4 << 20, /* of all processes */
    FULL_MS = 10,          /* between two attempts in a container whose memory is full */
    SERVE_S = 60,          /* the longest time, and one more second for each BYTES_PER_S */
    BYTES_PER_S = 16 << 20,
    LOOK_MS = 5,
};

/* The memory of a process. */
struct space {
    int uffd;  /* -1: the process is gone */
    int pages; /* the file of its pages */
    struct page_ranges ranges;
};

struct server {
    int image, socket, lock;
    bool finished; /* CRIU has restored everything else */
    int64_t give_up_ms;
    uint64_t size; /* of all memory that comes later */
    int init;      /* pidfd of the container's first process; -1: not known yet */
    struct space spaces[SPACES_MOST];
    unsigned count;
    uint8_t *buffer; /* CHUNK bytes */
};

enum copied { COPIED, COPY_LATER, COPY_FAILED };

static void say(const char *what)
{
    syslog(LOG_ERR, "sandlot-criu: page server: %s: %s", what, strerror(errno));
}

/* --- copies --- */

static void forget(struct space *space)
{
    if (space->uffd >= 0)
        close(space->uffd);
    space->uffd = -1;
    page_ranges_deinit(&space->ranges);
}

static int read_pages(const struct space *space, uint64_t place, uint8_t *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(space->pages, buffer + done, size - done, (off_t)(place + done));
        if (got == 0)
            errno = ENODATA;
        if (got <= 0 && errno != EINTR)
            return -1;
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* Let a waiting process touch its page again. */
static void wake(const struct space *space, uint64_t address)
{
    struct uffdio_range page = {address, PAGE_BYTES};
    ioctl(space->uffd, UFFDIO_WAKE, &page);
}

/* Decide after a copy that stopped early. */
static enum copied after_error(struct space *space, uint64_t address, size_t size)
{
    switch (errno) {
    case EAGAIN: /* an event about this memory waits to be read */
        return COPY_LATER;
    case EEXIST:
        page_ranges_cut(&space->ranges, address, address + PAGE_BYTES);
        wake(space, address);
        return COPIED;
    case ENOENT: /* it ends within the chunk, or is no longer mapped */
        if (size == PAGE_BYTES)
            page_ranges_cut(&space->ranges, address, address + PAGE_BYTES);
        return COPIED;
    case ENOMEM: /* the kernel has killed a process of the container, or is about to */
        clock_sleep_ms(FULL_MS);
        return COPY_LATER;
    case ESRCH:
    case ENOSPC:
        forget(space);
        return COPIED;
    default:
        say("cannot copy a page");
        return COPY_FAILED;
    }
}

static enum copied copy(struct server *server, struct space *space, uint64_t address, size_t size)
{
    const struct page_range *range = page_ranges_find(&space->ranges, address);
    if (!range)
        return COPIED;
    if (size > range->end - address)
        size = range->end - address;
    if (read_pages(space, range->place + (address - range->start), server->buffer, size) < 0) {
        say("cannot read the image");
        return COPY_FAILED;
    }
    while (size) {
        struct uffdio_copy order = {
            .dst = address, .src = (uint64_t)(uintptr_t)server->buffer, .len = size};
        if (ioctl(space->uffd, UFFDIO_COPY, &order) == 0) {
            page_ranges_cut(&space->ranges, address, address + size);
            return COPIED;
        }
        if (order.copy > 0) { /* a part */
            page_ranges_cut(&space->ranges, address, address + (uint64_t)order.copy);
            return errno == EAGAIN ? COPY_LATER : COPIED;
        }
        enum copied result = after_error(space, address, size);
        if (result != COPIED || errno != ENOENT || size == PAGE_BYTES)
            return result;
        size = size / 2 / PAGE_BYTES * PAGE_BYTES;
    }
    return COPIED;
}

/* --- events --- */

static int on_fault(struct server *server, struct space *space, uint64_t address)
{
    address &= ~(uint64_t)(PAGE_BYTES - 1);
    struct uffdio_zeropage zero = {.range = {address, PAGE_BYTES}};
    enum copied result = COPIED;
    if (page_ranges_find(&space->ranges, address))
        result = copy(server, space, address, CHUNK_FAULT);
    else if (ioctl(space->uffd, UFFDIO_ZEROPAGE, &zero) < 0)
        result = COPY_LATER;
    if (result == COPY_LATER)
        wake(space, address);
    return result == COPY_FAILED ? -1 : 0;
}

static int on_fork(struct server *server, struct space *parent, int uffd)
{
    if (server->count == SPACES_MOST) {
        errno = EMFILE;
        say("the container has too many new processes");
        return -1;
    }
    struct space *child = &server->spaces[server->count++];
    *child = (struct space){.uffd = uffd, .pages = parent->pages};
    page_ranges_copy(&parent->ranges, &child->ranges);
    return 0;
}

/* Handle one event. Returns 1, 0 if no event waits, or -1. */
static int take_event(struct server *server, struct space *space)
{
    struct uffd_msg event;
    ssize_t got = read(space->uffd, &event, sizeof event);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got != sizeof event) {
        forget(space);
        return 1;
    }
    switch (event.event) {
    case UFFD_EVENT_PAGEFAULT:
        return on_fault(server, space, event.arg.pagefault.address) < 0 ? -1 : 1;
    case UFFD_EVENT_FORK:
        return on_fork(server, space, (int)event.arg.fork.ufd) < 0 ? -1 : 1;
    case UFFD_EVENT_REMAP:
        page_ranges_move(&space->ranges, event.arg.remap.from, event.arg.remap.to,
                         event.arg.remap.len);
        return 1;
    case UFFD_EVENT_REMOVE:
    case UFFD_EVENT_UNMAP:
        page_ranges_cut(&space->ranges, event.arg.remove.start, event.arg.remove.end);
        return 1;
    default:
        errno = EPROTO;
        say("the kernel reported an unknown event");
        return -1;
    }
}

/* --- the restore --- */

static int open_pages(const struct server *server, uint32_t id)
{
    autofree char *name = xasprintf("pages-%u.img", id);
    return openat(server->image, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static int add_space(struct server *server, int pid, int uffd)
{
    uint32_t pages_id;
    if (server->count == SPACES_MOST) {
        errno = EMFILE;
        return -1;
    }
    struct space *space = &server->spaces[server->count];
    *space = (struct space){.uffd = uffd, .pages = -1};
    if (page_ranges_read(server->image, pid, &space->ranges, &pages_id) < 0)
        return -1;
    server->size += page_ranges_size(&space->ranges);
    space->pages = open_pages(server, pages_id);
    server->count++;
    return space->pages < 0 ? -1 : 0;
}

/* Receive bytes of CRIU, with a descriptor or the id of the sender. */
static int receive(const struct server *server, void *data, size_t size, int *fd, pid_t *sender)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {data, size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    *fd = -1;
    if (recvmsg(server->socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)size)
        return -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        struct ucred sent;
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(fd, CMSG_DATA(c), sizeof *fd);
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            memcpy(&sent, CMSG_DATA(c), sizeof sent);
            *sender = sent.pid;
        }
    }
    return 0;
}

/* Handle one message of CRIU: the id of a process inside the container, then its userfaultfd. */
static int take_message(struct server *server)
{
    int pid, fd;
    pid_t sender = 0;
    char byte;
    if (receive(server, &pid, sizeof pid, &fd, &sender) < 0)
        return -1;
    if (pid == FINISHED) {
        server->finished = true;
        server->give_up_ms =
            clock_monotonic_ms() + (SERVE_S + (int64_t)(server->size / BYTES_PER_S)) * 1000;
        return 0;
    }
    if (pid < 0) /* a process that has ended */
        return 0;
    if (pid == 1 && sender > 0)
        server->init = (int)syscall(SYS_pidfd_open, sender, 0);
    if (receive(server, &byte, sizeof byte, &fd, &sender) < 0 || fd < 0)
        return -1;
    return add_space(server, pid, fd);
}

/* --- the server --- */

static void drop_gone(struct server *server)
{
    for (unsigned i = 0; i < server->count;) {
        struct space *space = &server->spaces[i];
        if (space->uffd >= 0 && (!server->finished || space->ranges.count)) {
            i++;
            continue;
        }
        /* A process without missing pages needs no server. The files of pages stay open. */
        forget(space);
        *space = server->spaces[--server->count];
    }
}

/* Handle the waiting events. Returns whether there was one, or -1. */
static int take_all(struct server *server, int wait_ms)
{
    static struct pollfd polled[SPACES_MOST + 1];
    /* Further processes wait until earlier ones have all their memory. */
    unsigned count = server->count < SPACES_BUSY ? server->count : SPACES_BUSY;
    int worked = 0;
    for (unsigned i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = server->spaces[i].uffd, .events = POLLIN};
    polled[count] = (struct pollfd){.fd = server->finished ? -1 : server->socket, .events = POLLIN};
    if (poll(polled, count + 1, wait_ms) < 0)
        return errno == EINTR ? 0 : -1;
    if (polled[count].revents && take_message(server) < 0)
        return -1;
    worked = polled[count].revents != 0;
    for (unsigned i = 0; i < count; i++) {
        if (!polled[i].revents)
            continue;
        int result = take_event(server, &server->spaces[i]);
        if (result < 0)
            return -1;
        worked |= result;
    }
    return worked;
}

/* Copy the next part in the background. */
static int copy_next(struct server *server)
{
    for (unsigned i = 0; i < server->count; i++) {
        struct space *space = &server->spaces[i];
        if (space->uffd < 0 || !space->ranges.count)
            continue;
        enum copied result = copy(server, space, space->ranges.list[0].start, CHUNK);
        if (result == COPY_FAILED)
            return -1;
        if (result == COPIED)
            return 0;
    }
    return 0;
}

/* Return whether the container makes too much work. */
static bool is_over(const struct server *server)
{
    size_t ranges = 0;
    for (unsigned i = 0; i < server->count; i++)
        ranges += server->spaces[i].ranges.count;
    if (ranges <= RANGES_MOST && clock_monotonic_ms() < server->give_up_ms)
        return false;
    errno = ranges > RANGES_MOST ? ENOBUFS : ETIMEDOUT;
    say("cannot complete the memory of a container");
    return true;
}

/* Return 0 when all memory is there, or -1. */
static int serve(struct server *server)
{
    for (;;) {
        int worked = take_all(server, server->finished ? 0 : -1);
        if (worked < 0)
            return -1;
        drop_gone(server);
        if (server->finished && !server->count)
            return 0;
        /* Also while events come, or a busy container would never have all its memory. */
        if (server->finished && copy_next(server) < 0)
            return -1;
        if (server->finished && is_over(server))
            return -1;
    }
}

/* --- the guard --- */

static int run_server(void *context)
{
    return serve(context) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void spare_from_oom(void)
{
    autoclose int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t ignored = fd < 0 ? 0 : write(fd, "-1000", 5);
    (void)ignored;
}

/* Run the server in a process that shares all memory and files, and kill the container if the
 * server dies. */
static void guard(struct server *server)
{
    static char stack[256 << 10] __attribute__((aligned(16)));
    int status;
    pid_t pid = clone(run_server, stack + sizeof stack, CLONE_FILES | CLONE_VM | SIGCHLD, server);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        return;
    if (server->init < 0)
        return;
    struct pollfd end = {.fd = server->init, .events = POLLIN};
    syslog(LOG_ERR, "sandlot-criu: the page server ended early; its container is killed");
    syscall(SYS_pidfd_send_signal, server->init, SIGKILL, NULL, 0);
    /* Until then the descriptors stay open, and page faults wait. */
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
}

/* --- begin --- */

static uint64_t number_in(int image, const char *name)
{
    char text[32] = "";
    autoclose int fd = openat(image, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    return got > 0 ? strtoull(text, NULL, 10) : 0;
}

/* Return whether the lazy restore is switched on. */
static bool is_on(void)
{
    const char *setting = getenv(PAGES_SETTING);
    return setting &&
           (str_equal(setting, "yes") || (*setting == '/' && access(setting, F_OK) == 0));
}

/* A look at an image before a restore. */
struct look {
    int image;
    uint64_t size;
    uint32_t memory[SPACES_MOST], files[SPACES_MOST];
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
    if (look->count == SPACES_MOST || pages_ids_read(look->image, pid, &memory, &files) < 0 ||
        !is_new(look->memory, look->count, memory) || !is_new(look->files, look->count, files))
        return false;
    look->memory[look->count] = memory;
    look->files[look->count++] = files;
    return true;
}

static void look_at_memory(struct look *look, int pid)
{
    struct page_ranges ranges;
    uint32_t id;
    look->served = page_ranges_read(look->image, pid, &ranges, &id) == 0 &&
                   !pages_are_wiped_on_fork(look->image, pid) && shares_nothing(look, pid);
    look->size += page_ranges_size(&ranges);
    page_ranges_deinit(&ranges);
}

static void look_at_files(struct look *look, int number)
{
    int highest = pages_files_highest(look->image, number);
    look->served = highest >= 0 && highest < FILES_MOST;
}

/* Return whether an image can be served: it is large, but not larger than the memory was, no range
 * is cleared by forks, and the descriptors for CRIU are free. */
static bool is_served(int image)
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
    return look.served && look.size >= LEAST && look.size <= number_in(image, USED_FILE) << 20;
}

static char *lock_of(const char *container)
{
    return xasprintf(LOCKS "/%s", container);
}

/* Keep nothing of the caller but the descriptors of the server. */
static void close_others(const struct server *server)
{
    int null = open("/dev/null", O_RDWR);
    int kept[] = {server->image, server->socket, server->lock};
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    for (int fd = 3; fd < FILES_OPEN; fd++)
        if (fd != kept[0] && fd != kept[1] && fd != kept[2])
            close(fd);
    close_range(FILES_OPEN, ~0U, 0);
}

static void become_server(struct server *server, const char *path)
{
    int passes = 1;
    setsid();
    close_others(server);
    spare_from_oom();
    setsockopt(server->socket, SOL_SOCKET, SO_PASSCRED, &passes, sizeof passes);
    server->buffer = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (server->buffer != MAP_FAILED)
        guard(server);
    unlink(path);
    _exit(EXIT_SUCCESS);
}

/* Give CRIU its descriptors. They stay open in CRIU, and in no process of the container
 * (preload.c). */
static int lend(int device, int socket)
{
    return dup2(device, PAGES_DEVICE_FD) < 0 || dup2(socket, PAGES_SOCKET_FD) < 0 ||
                   setenv(PAGES_ENVIRONMENT, "yes", 1) < 0
               ? -1
               : 0;
}

void page_server_begin(struct call *call, const char *container)
{
    static struct server server = {.init = -1};
    int ends[2];
    autofree char *path = lock_of(container);
    if (!is_on())
        return;
    autoclose int image = open(call->images, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int device = open(DEVICE, O_RDWR | O_CLOEXEC);
    if (image < 0 || device < 0 || !is_served(image))
        return;
    mkdir(LOCKS, 0700);
    autoclose int lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    autoclose int ours = ends[0], theirs = ends[1];
    if (lend(device, theirs) < 0)
        return;
    server.image = image;
    server.socket = ours;
    server.lock = lock;
    pid_t pid = fork();
    if (pid == 0)
        become_server(&server, path);
    if (pid < 0)
        unsetenv(PAGES_ENVIRONMENT);
    else
        call_add(call, "--lazy-pages", NULL);
}

int page_server_await(const char *container, unsigned limit_s)
{
    autofree char *path = lock_of(container);
    autoclose int lock = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)limit_s * 1000;
    while (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0) {
        if (clock_monotonic_ms() > give_up_ms)
            return -1;
        clock_sleep_ms(LOOK_MS);
    }
    return 0;
}
