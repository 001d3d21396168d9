/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/page_server.h"

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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/memory_loss.h"
#include "base/places.h"
#include "base/str.h"
#include "common/team_note.h"
#include "helper/criu/page_look.h"
#include "helper/criu/pages.h"

#define DEVICE   "/dev/userfaultfd"
#define LOCKS    "/run/sandlot-pages"
#define FINISHED 0x52535446 /* CRIU's word at the end of a restore */

enum {
    FILES_OPEN = 1024,
    FILES_SERVER = 4096, /* of a server: two for each process */
    SERVERS_MOST = 32,   /* on this host; further containers get all memory first */
    SERVERS_OF_TENANT = 16,
    SPACES_MOST = 1024, /* processes, with those that they fork meanwhile */
    SPACES_BUSY = 64,   /* more: earlier ones get all their memory before another fork continues */
    CHUNK = 1 << 20,
    CHUNK_FAULT = 64 << 10,
    RANGES_AT_ONCE = 64,     /* of a part in the background */
    EVENTS_AT_ONCE = 64,     /* of a process */
    RANGES_MOST = 256 << 10, /* with those of forks and of what the guest unmaps */
    MEMORY_MOST = 64 << 20,  /* of a server itself; more than RANGES_MOST can need */
    FULL_MS = 10,            /* between two attempts in a container whose memory is full */
    SERVE_S = 600,           /* the longest time, and one more second for each BYTES_PER_S */
    BYTES_PER_S = 1 << 20,   /* of a disk that others keep busy */
    WORK_S = 10, /* the most processor time, and one more second for each BYTES_PER_WORK */
    BYTES_PER_WORK = 64 << 20,
    NOTHING_MS = 1, /* until the next look when no page can be copied */
    LOOK_MS = 5,
    MIB_MOST = 1 << 20,
};

/* The memory of a process. */
struct space {
    int uffd;  /* -1: the process is gone */
    int pages; /* the file of its pages */
    struct page_ranges ranges;
    struct page_ranges wiped; /* what the kernel clears in a child */
    uint64_t follows;         /* the end of the last fault's copy */
    size_t ahead;             /* the size of that copy */
};

struct server {
    int image, socket, lock, place;
    bool finished; /* CRIU has restored everything else */
    int64_t begun_ms, give_up_ms;
    uint64_t size; /* of all memory that comes later */
    int init;      /* pidfd of the container's first process; -1: not known yet */
    struct space spaces[SPACES_MOST];
    unsigned count, next; /* next: the place in spaces of the next look for ended processes */
    uint8_t *buffer;      /* CHUNK bytes */
    const char *container;
    const char *loss; /* the file that says why the memory is lost; NULL: none */
    char why[MEMORY_LOSS_SIZE];
};

enum copied { COPIED, COPY_LATER, COPY_FULL, COPY_FAILED };

/* Note why the server ends early, for the guard, which shares the memory. */
static void fail(struct server *server, const char *what, int error)
{
    snprintf(server->why, sizeof server->why, "%s%s%s", what, error ? ": " : "",
             error ? strerror(error) : "");
}

/* --- copies --- */

static void forget(struct space *space)
{
    if (space->uffd >= 0)
        close(space->uffd);
    space->uffd = -1;
    page_ranges_deinit(&space->ranges);
    page_ranges_deinit(&space->wiped);
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
static enum copied after_error(struct server *server, struct space *space, uint64_t address,
                               size_t size, int error)
{
    switch (error) {
    case EAGAIN: /* an event about this memory waits to be read */
        return COPY_LATER;
    case EEXIST:
        page_ranges_cut(&space->ranges, address, address + PAGE_BYTES);
        wake(space, address);
        return COPIED;
    case ENOENT: /* it ends within the chunk, or is no longer mapped */
        if (size > PAGE_BYTES)
            return COPIED;
        page_ranges_cut(&space->ranges, address, address + PAGE_BYTES);
        wake(space, address);
        return COPIED;
    case ENOMEM: /* the kernel has killed a process of the container, or is about to */
        clock_sleep_ms(FULL_MS);
        return COPY_FULL;
    case ESRCH: /* it has ended */
        forget(space);
        return COPIED;
    default:
        fail(server, "cannot copy a page of memory", error);
        return COPY_FAILED;
    }
}

/* Copy from the buffer. Returns 0, or -1 with errno. *done: the bytes before an error.
 *
 * While another thread moves or unmaps this memory, some kernels look for it before they notice
 * the change, and find nothing (ENOENT). They notice it in a second call (EAGAIN), because the
 * change lasts until its event is read. */
static int order_copy(const struct server *server, const struct space *space, uint64_t address,
                      size_t size, uint64_t *done)
{
    struct uffdio_copy order = {
        .dst = address, .src = (uint64_t)(uintptr_t)server->buffer, .len = size};
    int result = ioctl(space->uffd, UFFDIO_COPY, &order);
    if (result < 0 && errno == ENOENT && order.copy <= 0)
        result = ioctl(space->uffd, UFFDIO_COPY, &order);
    *done = result == 0 ? size : order.copy > 0 ? (uint64_t)order.copy : 0;
    return result;
}

static enum copied copy(struct server *server, struct space *space, uint64_t address, size_t size)
{
    const struct page_range *range = page_ranges_find(&space->ranges, address);
    if (!range)
        return COPIED;
    if (size > range->end - address)
        size = range->end - address;
    if (read_pages(space, range->place + (address - range->start), server->buffer, size) < 0) {
        fail(server, "cannot read the memory image", errno);
        return COPY_FAILED;
    }
    while (size) {
        uint64_t done;
        int copied = order_copy(server, space, address, size, &done);
        int error = copied < 0 ? errno : 0;
        if (done) { /* perhaps a part */
            page_ranges_cut(&space->ranges, address, address + done);
            return error == EAGAIN ? COPY_LATER : COPIED;
        }
        enum copied result = after_error(server, space, address, size, error);
        if (result != COPIED || error != ENOENT || size == PAGE_BYTES)
            return result;
        size = size / 2 / PAGE_BYTES * PAGE_BYTES;
    }
    return COPIED;
}

/* --- events --- */

/* Return how much to copy for a fault: more each time while a process reads one page after the
 * other. */
static size_t read_ahead(struct space *space, uint64_t address)
{
    size_t more = space->ahead < CHUNK ? space->ahead * 2 : CHUNK;
    space->ahead = address == space->follows ? more : CHUNK_FAULT;
    space->follows = address + space->ahead;
    return space->ahead;
}

static enum copied on_fault(struct server *server, struct space *space, uint64_t address)
{
    struct uffdio_zeropage zero = {.range = {address, PAGE_BYTES}};
    if (page_ranges_find(&space->ranges, address))
        return copy(server, space, address, read_ahead(space, address));
    return ioctl(space->uffd, UFFDIO_ZEROPAGE, &zero) < 0 ? COPY_LATER : COPIED;
}

static size_t range_count(const struct server *server)
{
    size_t count = 0;
    for (unsigned i = 0; i < server->count; i++)
        count += server->spaces[i].ranges.count + server->spaces[i].wiped.count;
    return count;
}

/* Copy from the end of the last range: that moves no other range in the list. */
static enum copied copy_last(struct server *server, struct space *space, size_t most)
{
    const struct page_range *last = &space->ranges.list[space->ranges.count - 1];
    uint64_t size = last->end - last->start;
    if (size > most)
        size = most;
    return copy(server, space, last->end - size, size);
}

/* Copy a page to each of some processes, and so forget those that have ended. A shell that forks
 * all the time has many such children. */
static int look_for_ended(struct server *server, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct space *space = &server->spaces[server->next++ % server->count];
        if (space->uffd < 0 || !space->ranges.count)
            continue;
        enum copied result = copy_last(server, space, PAGE_BYTES);
        if (result == COPY_FAILED)
            return -1;
        if (result == COPY_FULL)
            return 0;
    }
    return 0;
}

static int on_fork(struct server *server, struct space *parent, int uffd)
{
    if (range_count(server) + parent->ranges.count > RANGES_MOST &&
        look_for_ended(server, server->count) < 0)
        return -1;
    if (server->count == SPACES_MOST || range_count(server) + parent->ranges.count > RANGES_MOST) {
        fail(server, "too many processes were forked before their memory was complete", 0);
        return -1;
    }
    struct space *child = &server->spaces[server->count++];
    *child = (struct space){.uffd = uffd, .pages = parent->pages};
    page_ranges_copy(&parent->ranges, &child->ranges);
    page_ranges_copy(&parent->wiped, &child->wiped);
    page_ranges_cut_all(&child->ranges, &child->wiped);
    return 0;
}

/* Handle an event that is no page fault. */
static int take_change(struct server *server, struct space *space, const struct uffd_msg *event)
{
    switch (event->event) {
    case UFFD_EVENT_FORK:
        return on_fork(server, space, (int)event->arg.fork.ufd);
    case UFFD_EVENT_REMAP:
        page_ranges_move(&space->ranges, event->arg.remap.from, event->arg.remap.to,
                         event->arg.remap.len);
        page_ranges_move(&space->wiped, event->arg.remap.from, event->arg.remap.to,
                         event->arg.remap.len);
        return 0;
    case UFFD_EVENT_UNMAP:
        page_ranges_cut(&space->wiped, event->arg.remove.start, event->arg.remove.end);
        page_ranges_cut(&space->ranges, event->arg.remove.start, event->arg.remove.end);
        return 0;
    case UFFD_EVENT_REMOVE:
        page_ranges_cut(&space->ranges, event->arg.remove.start, event->arg.remove.end);
        return 0;
    default:
        fail(server, "the kernel reported an unknown event", 0);
        return -1;
    }
}

/* Read the events of a process, at most up to its next fork.
 *
 * The kernel delivers page faults before changes of the mappings, and copies nothing before a
 * change is read. So faults that must wait for a change are woken at the end only. */
static int take_events(struct server *server, struct space *space)
{
    uint64_t waiting[EVENTS_AT_ONCE];
    unsigned count = 0;
    int result = 0;
    for (unsigned i = 0; i < EVENTS_AT_ONCE && result == 0; i++) {
        struct uffd_msg event;
        ssize_t got = read(space->uffd, &event, sizeof event);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (got != sizeof event) { /* the memory is not complete, so the uffd may not be closed */
            fail(server, "cannot read an event of the kernel", got < 0 ? errno : 0);
            return -1;
        }
        if (event.event == UFFD_EVENT_PAGEFAULT) {
            uint64_t address = event.arg.pagefault.address & ~(uint64_t)(PAGE_BYTES - 1);
            enum copied copied = on_fault(server, space, address);
            if (copied == COPY_LATER || copied == COPY_FULL)
                waiting[count++] = address;
            result = copied == COPY_FAILED ? -1 : copied == COPY_FULL;
        } else {
            result = take_change(server, space, &event);
            if (result == 0 && event.event == UFFD_EVENT_FORK)
                break;
        }
    }
    for (unsigned i = 0; i < count; i++)
        wake(space, waiting[i]);
    return result < 0 ? -1 : 0;
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
        fail(server, "the container has too many processes", 0);
        return -1;
    }
    struct space *space = &server->spaces[server->count];
    *space = (struct space){.uffd = uffd, .pages = -1};
    if (page_ranges_read(server->image, pid, &space->ranges, &pages_id) < 0 ||
        pages_wiped_read(server->image, pid, &space->wiped) < 0)
        return -1;
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

/* Bound the rest, now that the size is known. */
static void set_limits(struct server *server)
{
    const rlim_t seconds = WORK_S + (rlim_t)(server->size / BYTES_PER_WORK);
    const struct rlimit work = {seconds, seconds + 1};
    setrlimit(RLIMIT_CPU, &work);
    server->give_up_ms =
        clock_monotonic_ms() + (SERVE_S + (int64_t)(server->size / BYTES_PER_S)) * 1000;
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
        set_limits(server);
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

/* Handle the waiting events. */
static int take_all(struct server *server, int wait_ms)
{
    static struct pollfd polled[SPACES_MOST + 1];
    /* Further processes wait until earlier ones have all their memory. */
    unsigned count = server->count < SPACES_BUSY ? server->count : SPACES_BUSY;
    for (unsigned i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = server->spaces[i].uffd, .events = POLLIN};
    polled[count] = (struct pollfd){.fd = server->finished ? -1 : server->socket, .events = POLLIN};
    if (poll(polled, count + 1, wait_ms) < 0)
        return errno == EINTR ? 0 : -1;
    if (polled[count].revents && take_message(server) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (polled[i].revents && server->spaces[i].uffd >= 0 &&
            take_events(server, &server->spaces[i]) < 0)
            return -1;
    return 0;
}

/* Return the space with the least missing memory: one that is complete causes no more events.
 * NULL: none. skipped: wait for an event. */
static struct space *smallest(struct server *server, const bool *skipped)
{
    struct space *found = NULL;
    for (unsigned i = 0; i < server->count; i++) {
        struct space *space = &server->spaces[i];
        if (space->uffd >= 0 && space->ranges.count && !skipped[i] &&
            (!found || space->ranges.size < found->ranges.size))
            found = space;
    }
    return found;
}

/* Copy the next part in the background: at most CHUNK bytes of RANGES_AT_ONCE ranges. Returns
 * whether anything was copied or forgotten, or -1. */
static int copy_next(struct server *server)
{
    bool skipped[SPACES_MOST] = {false};
    size_t left = CHUNK;
    for (unsigned i = 0; i < RANGES_AT_ONCE && left; i++) {
        struct space *space = smallest(server, skipped);
        if (!space)
            break;
        uint64_t before = space->ranges.size;
        enum copied result = copy_last(server, space, left);
        if (result == COPY_FAILED)
            return -1;
        if (result == COPY_FULL)
            break;
        skipped[space - server->spaces] = result == COPY_LATER;
        uint64_t done = before - space->ranges.size;
        left -= done < left ? (size_t)done : left;
    }
    return left < CHUNK;
}

/* Return whether the container makes too much work. */
static bool is_over(struct server *server)
{
    bool many = range_count(server) > RANGES_MOST;
    if (!many && clock_monotonic_ms() < server->give_up_ms)
        return false;
    fail(server, many ? "the memory has too many ranges" : "the memory was not complete in time",
         0);
    return true;
}

/* Return 0 when all memory is there, or -1. */
static int serve(struct server *server)
{
    int copied = 1;
    for (;;) {
        int wait_ms = copied ? 0 : NOTHING_MS;
        if (take_all(server, server->finished ? wait_ms : -1) < 0)
            return -1;
        drop_gone(server);
        if (!server->finished)
            continue;
        if (!server->count)
            return 0;
        /* Also while events come, or a busy container would never have all its memory. */
        if ((copied = copy_next(server)) < 0 || is_over(server))
            return -1;
        if (server->count > SPACES_BUSY && look_for_ended(server, SPACES_BUSY) < 0)
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

/* Write why, for dispatchers (base/memory_loss.h). */
static void note_loss(const struct server *server, const char *why)
{
    autoclose int fd =
        server->loss
            ? open(server->loss, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
            : -1;
    ssize_t ignored = fd < 0 ? 0 : write(fd, why, strlen(why));
    (void)ignored;
    syslog(LOG_ERR, "sandlot-criu: the page server ended early and its container is killed: %s",
           why);
}

static void kill_container(const struct server *server)
{
    struct pollfd end = {.fd = server->init, .events = POLLIN};
    syscall(SYS_pidfd_send_signal, server->init, SIGKILL, NULL, 0);
    /* Until then the descriptors stay open, and page faults wait. */
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
}

/* Run the server in a process that shares all memory and files, and kill the container if the
 * server dies. */
static void guard(struct server *server)
{
    static char stack[256 << 10] __attribute__((aligned(16)));
    int status = -1;
    pid_t pid = clone(run_server, stack + sizeof stack, CLONE_FILES | CLONE_VM | SIGCHLD, server);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
        syslog(LOG_INFO, "sandlot-criu: page server: %s has all its memory: %u MiB in %u ms",
               server->container, (unsigned)(server->size >> 20),
               (unsigned)(clock_monotonic_ms() - server->begun_ms));
        return;
    }
    if (server->init < 0)
        return;
    if (pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        note_loss(server, "the memory needed too much processor time");
    else
        note_loss(server, *server->why ? server->why : "the page server was killed");
    kill_container(server);
}

/* --- begin --- */

/* Return whether an operator has switched it off. */
static bool is_off(void)
{
    const char *setting = getenv(PAGES_SETTING);
    return setting && (str_equal(setting, "no") || (*setting == '/' && access(setting, F_OK) == 0));
}

static char *lock_of(const char *container)
{
    return xasprintf(LOCKS "/%s", container);
}

/* Open and lock a file. Returns -1 if another process has the lock, or has just deleted the file.
 */
static int lock_file(const char *path)
{
    struct stat ours, there;
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &ours) < 0 ||
        stat(path, &there) < 0 || ours.st_ino != there.st_ino)
        return -1;
    return steal_fd(&fd);
}

static struct tenant tenant_of_place(const char *path)
{
    char text[TENANT_SIZE] = "";
    struct tenant tenant = {0};
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
        tenant_parse(text, &tenant);
    return tenant;
}

static int write_tenant(int place, const struct tenant *tenant)
{
    char text[TENANT_SIZE];
    tenant_print(tenant, text);
    ssize_t size = (ssize_t)strlen(text);
    return ftruncate(place, 0) < 0 || pwrite(place, text, (size_t)size, 0) != size ? -1 : 0;
}

/* Lock one of the host's SERVERS_MOST place files, and write the numbers of the team and of the
 * user into it. A team and a user can lock at most SERVERS_OF_TENANT; all containers whose team is
 * not known count as one team. Returns a descriptor that holds the lock, or -1. */
static int take_place(const char *container)
{
    struct places places = {.most = SERVERS_MOST, .most_of_tenant = SERVERS_OF_TENANT};
    const struct tenant tenant = team_note_read(TEAM_NOTES, container);
    autoclose int free_place = -1;
    autoclose int all = open(LOCKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (all < 0 || flock(all, LOCK_EX) < 0) /* one at a time counts */
        return -1;
    for (unsigned i = 0; i < SERVERS_MOST; i++) {
        autofree char *path = xasprintf(LOCKS "/.%u", i);
        autoclose int fd = lock_file(path);
        if (fd < 0)
            places.taken[places.count++] = (struct place){tenant_of_place(path), i};
        else if (free_place < 0)
            free_place = steal_fd(&fd);
    }
    if (free_place < 0 || !places_has_room(&places, &tenant) ||
        write_tenant(free_place, &tenant) < 0)
        return -1;
    return steal_fd(&free_place);
}

/* Keep nothing of the caller but the descriptors of the server. */
static void close_others(const struct server *server)
{
    int null = open("/dev/null", O_RDWR);
    int kept[] = {server->image, server->socket, server->lock, server->place};
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    for (int fd = 3; fd < FILES_OPEN; fd++)
        if (fd != kept[0] && fd != kept[1] && fd != kept[2] && fd != kept[3])
            close(fd);
    close_range(FILES_OPEN, ~0U, 0);
}

/* Write to the lock how much memory is to come, in MiB, and the pid of the guard. */
static void describe(const struct server *server)
{
    autofree char *text = xasprintf("%u %d\n", (unsigned)(server->size >> 20), (int)getpid());
    ssize_t ignored =
        ftruncate(server->lock, 0) < 0 ? 0 : pwrite(server->lock, text, strlen(text), 0);
    (void)ignored;
}

static void set_limit(int kind, rlim_t most)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)kind, &now) < 0)
        return;
    now.rlim_cur = most < now.rlim_max ? most : now.rlim_max;
    setrlimit((__rlimit_resource_t)kind, &now);
}

static void become_server(struct server *server, const char *path)
{
    int passes = 1;
    sigset_t none;
    setsid();
    /* liblxc blocks signals, also SIGXCPU. */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGXCPU, SIG_DFL);
    /* Only the end of the container ends them. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    close_others(server);
    describe(server);
    spare_from_oom();
    set_limit(RLIMIT_DATA, MEMORY_MOST);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_NOFILE, FILES_SERVER);
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

void page_server_begin(struct call *call, const char *container, const char *loss)
{
    static struct server server = {.init = -1};
    int ends[2];
    autofree char *path = lock_of(container);
    if (is_off())
        return;
    autoclose int image = open(call->images, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int device = open(DEVICE, O_RDWR | O_CLOEXEC);
    uint64_t size = image < 0 || device < 0 ? 0 : image_served_size(image);
    if (!size)
        return;
    mkdir(LOCKS, 0700);
    autoclose int place = take_place(container);
    autoclose int lock = place < 0 ? -1 : lock_file(path);
    if (lock < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    autoclose int ours = ends[0], theirs = ends[1];
    if (lend(device, theirs) < 0)
        return;
    server.size = size;
    server.image = image;
    server.socket = ours;
    server.lock = lock;
    server.place = place;
    server.container = container;
    server.loss = loss;
    server.begun_ms = clock_monotonic_ms();
    pid_t pid = fork();
    if (pid == 0)
        become_server(&server, path);
    if (pid < 0)
        unsetenv(PAGES_ENVIRONMENT);
    else
        call_add(call, "--lazy-pages", NULL);
}

unsigned page_server_mib(const char *container)
{
    autoclose int locks = open(LOCKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t mib = locks < 0 ? 0 : image_number(locks, container);
    return mib < MIB_MOST ? (unsigned)mib : MIB_MOST;
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
