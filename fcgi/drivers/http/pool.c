/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/shared_file.h"
#include "base/str.h"

#define LISTEN_FD        0
#define SLOTS_MAX        1024
#define LOOK_PAUSE_MS    50
#define POOL_NAME_SIZE   64
#define BESIDE_OTHERS_MS 60000
#define STARTS_LEAST     2

/* One worker; a cache line of its own. pid 0: never had one. */
struct slot {
    _Alignas(64) _Atomic uint64_t team;
    _Atomic uint64_t user;
    _Atomic uint64_t sandbox;
    _Atomic int pid;
    _Atomic bool starts; /* a sandbox */
    _Atomic bool waits;  /* for a command of a tenant */
};

/* The file. used: slots from the first on that ever had a worker. */
struct table {
    struct slot slots[SLOTS_MAX];
    _Alignas(64) _Atomic unsigned used;
    _Atomic uint64_t starter_team, starter_user; /* who started a sandbox last */
    _Atomic int64_t other_started_ms; /* monotonic: when that was another one; 0: never */
};

struct pool {
    struct table *table;
    struct slot *own;
    int fd;
    bool shut, lends, repeats;
    bool claims_start;  /* the request of this worker, also while it waits */
    int64_t look_at_ms; /* again, whether all are alive */
    char name[POOL_NAME_SIZE];
};

uint64_t pool_tenant(const char *id)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a: the ids are ours, so no client can choose a
                                          * place */
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * 0x100000001b3u;
    return hash ? hash : 1;
}

/* --- slots --- */

static struct flock lock_of(unsigned at, short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = 1};
}

/* The kernel drops the lock with the process, however that ends. */
static bool lock_slot(struct pool *pool, unsigned at)
{
    struct flock lock = lock_of(at, F_WRLCK);
    return fcntl(pool->fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_alive(const struct pool *pool, unsigned at)
{
    struct flock lock = lock_of(at, F_WRLCK);
    if (pool->own == &pool->table->slots[at])
        return true;
    return fcntl(pool->fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

static void clear(struct slot *slot)
{
    atomic_store(&slot->team, 0);
    atomic_store(&slot->user, 0);
    atomic_store(&slot->sandbox, 0);
    atomic_store(&slot->starts, false);
    atomic_store(&slot->waits, false);
}

static int take_slot(struct pool *pool, struct error **err)
{
    unsigned at = 0;
    while (at < SLOTS_MAX && !lock_slot(pool, at))
        at++;
    if (at == SLOTS_MAX)
        return error_set(err, ERR_CONFIG, "the pool %s has more than %d workers", pool->name,
                         SLOTS_MAX);
    pool->own = &pool->table->slots[at];
    clear(pool->own);
    atomic_store(&pool->own->pid, (int)getpid());
    unsigned used = atomic_load(&pool->table->used);
    while (used < at + 1 && !atomic_compare_exchange_weak(&pool->table->used, &used, at + 1))
        continue;
    return 0;
}

/* Clear the slots of dead workers. A starting worker does so too: the pool may have been larger,
 * and a new worker takes the first free slot. */
static void forget_the_dead(struct pool *pool, bool places)
{
    for (unsigned at = 0; at < atomic_load(&pool->table->used); at++) {
        struct slot *slot = &pool->table->slots[at];
        if (!atomic_load(&slot->pid) || is_alive(pool, at))
            continue;
        clear(slot);
        if (places)
            atomic_store(&slot->pid, 0);
    }
}

/* --- opening --- */

static int name_of_socket(char name[POOL_NAME_SIZE], struct error **err)
{
    struct sockaddr_un address = {0};
    socklen_t size = sizeof address - 1;
    if (getsockname(LISTEN_FD, (struct sockaddr *)&address, &size) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "file descriptor 0 is not a socket");
    const char *slash = strrchr(address.sun_path, '/');
    const char *base = slash ? slash + 1 : "";
    size_t length = strlen(base) - (str_ends_with(base, ".sock") ? strlen(".sock") : 0);
    if (address.sun_family != AF_UNIX || !length || length >= POOL_NAME_SIZE)
        return error_set(err, ERR_CONFIG, "file descriptor 0 is not a Unix socket with a path");
    memcpy(name, base, length);
    name[length] = '\0';
    return 0;
}

int pool_open_as(const char *dir, const char *name, struct pool **pool, struct error **err)
{
    struct pool *opened = xcalloc(1, sizeof *opened);
    void *map;
    opened->fd = -1;
    memcpy(opened->name, name, strnlen(name, POOL_NAME_SIZE - 1));
    autofree char *path = xasprintf("%s/%s.pool", dir, opened->name);
    if (shared_file_map(path, sizeof *opened->table, &opened->fd, &map, err) < 0) {
        free(opened);
        return -1;
    }
    opened->table = map;
    if (take_slot(opened, err) < 0) {
        pool_close(opened);
        return -1;
    }
    forget_the_dead(opened, true);
    *pool = opened;
    return 0;
}

int pool_open(const char *dir, struct pool **pool, struct error **err)
{
    char name[POOL_NAME_SIZE];
    if (name_of_socket(name, err) < 0)
        return -1;
    return pool_open_as(dir, name, pool, err);
}

void pool_close(struct pool *pool)
{
    if (!pool)
        return;
    if (pool->own) {
        clear(pool->own);
        atomic_store(&pool->own->pid, 0);
    }
    close(pool->fd);
    free(pool);
}

bool pool_is_first(const struct pool *pool)
{
    return pool->own == pool->table->slots;
}

const char *pool_name(const struct pool *pool)
{
    return pool->name;
}

/* --- sharing --- */

/* Count the other workers that serve the same tenant. */
struct share {
    unsigned workers, of_team, of_user, of_sandbox;
    unsigned starts_of_team, starts_of_user;
    unsigned waits, waits_of_tenant;
};

static struct share count(const struct pool *pool, const struct pool_claim *claim)
{
    struct share share = {0};
    unsigned used = atomic_load(&pool->table->used);
    for (unsigned at = 0; at < used; at++) {
        const struct slot *slot = &pool->table->slots[at];
        share.workers += atomic_load(&slot->pid) != 0;
        if (slot == pool->own)
            continue;
        bool same_team = claim->team && atomic_load(&slot->team) == claim->team;
        bool same_user = claim->user && atomic_load(&slot->user) == claim->user;
        bool starts = atomic_load(&slot->starts);
        share.of_team += same_team;
        share.of_user += same_user;
        share.starts_of_team += same_team && starts;
        share.starts_of_user += same_user && starts;
        bool waits = atomic_load(&slot->waits);
        share.waits += waits;
        share.waits_of_tenant += waits && (same_team || same_user);
        share.of_sandbox += claim->sandbox && atomic_load(&slot->sandbox) == claim->sandbox;
    }
    return share;
}

bool pool_is_beside_others(const struct pool *pool)
{
    int64_t other_ms = atomic_load(&pool->table->other_started_ms);
    return other_ms && clock_monotonic_ms() - other_ms < BESIDE_OTHERS_MS;
}

/* Team and user are stored one after the other: a mixed pair costs a tenant alone a minute in which
 * it counts as beside others. */
static void note_start(struct pool *pool, const struct pool_claim *claim)
{
    struct table *table = pool->table;
    uint64_t team = atomic_load(&table->starter_team), user = atomic_load(&table->starter_user);
    pool->repeats = team == claim->team || user == claim->user;
    if (team && !pool->repeats)
        atomic_store(&table->other_started_ms, clock_monotonic_ms());
    if (team != claim->team)
        atomic_store(&table->starter_team, claim->team);
    if (user != claim->user)
        atomic_store(&table->starter_user, claim->user);
}

bool pool_repeats(const struct pool *pool)
{
    return atomic_load(&pool->own->starts) && pool->repeats && pool_is_beside_others(pool);
}

static bool may_start(const struct pool *pool, const struct share *share)
{
    long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    unsigned most = half > STARTS_LEAST ? (unsigned)half : STARTS_LEAST;
    return (share->starts_of_team < most && share->starts_of_user < most) ||
           !pool_is_beside_others(pool);
}

/* A tenant who waits already gets no more while a quarter of the workers waits. So the tenants who
 * wait in several workers have a quarter together, and the other quarter is for first waits. */
static bool may_wait(const struct share *share)
{
    unsigned half = share->workers / 2, quarter = share->workers / 4;
    if (share->waits_of_tenant)
        return share->waits < quarter;
    return share->waits < (half ? half : 1);
}

static bool fits(const struct pool *pool, const struct pool_claim *claim)
{
    struct share share = count(pool, claim);
    if ((claim->starts && !may_start(pool, &share)) || (claim->waits && !may_wait(&share)))
        return false;
    unsigned most = claim->borrows && pool->lends ? share.workers : share.workers / 2;
    unsigned of_user = claim->is_narrow ? most / 2 : most;
    return share.of_team < (most ? most : 1) && share.of_user < (of_user ? of_user : 1) &&
           !(claim->alone && share.of_sandbox);
}

/* The locks cost a system call each: they are checked before a refusal, and not at each step of a
 * wait. */
bool pool_has_room(struct pool *pool, const struct pool_claim *claim)
{
    if (pool->shut)
        return false;
    if ((!claim->team && !claim->user) || fits(pool, claim))
        return true;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < pool->look_at_ms)
        return false;
    pool->look_at_ms = now_ms + LOOK_PAUSE_MS;
    forget_the_dead(pool, false);
    return fits(pool, claim);
}

/* Said first and counted then: of two that enter at once both may be turned away where there was
 * room for one, but never both let in. */
bool pool_enter(struct pool *pool, const struct pool_claim *claim)
{
    if (claim->starts && claim->team)
        note_start(pool, claim);
    pool->claims_start = claim->starts;
    atomic_store(&pool->own->starts, claim->starts);
    atomic_store(&pool->own->waits, claim->waits);
    atomic_store(&pool->own->sandbox, claim->sandbox);
    atomic_store(&pool->own->user, claim->user);
    atomic_store(&pool->own->team, claim->team);
    if (pool_has_room(pool, claim))
        return true;
    pool_leave(pool);
    return false;
}

void pool_leave(struct pool *pool)
{
    pool->claims_start = false;
    clear(pool->own);
}

void pool_suspend_start(struct pool *pool)
{
    if (pool)
        atomic_store(&pool->own->starts, false);
}

bool pool_resume_start(struct pool *pool)
{
    if (!pool || !pool->claims_start || atomic_load(&pool->own->starts))
        return true;
    const struct pool_claim claim = {.team = atomic_load(&pool->own->team),
                                     .user = atomic_load(&pool->own->user),
                                     .starts = true};
    atomic_store(&pool->own->starts, true); /* stored before the count, as in pool_enter() */
    if (pool_has_room(pool, &claim))
        return true;
    atomic_store(&pool->own->starts, false);
    return false;
}

void pool_shut(struct pool *pool, bool shut)
{
    pool->shut = shut;
}

void pool_lend(struct pool *pool, bool lend)
{
    pool->lends = lend;
}

/* --- looking at all pools --- */

#define SUFFIX ".pool"

static int look_at(const char *dir, const char *name, struct pool_use *use, struct error **err)
{
    struct pool pool = {.fd = -1};
    void *map;
    autofree char *path = xasprintf("%s/%s" SUFFIX, dir, name);
    if (shared_file_map(path, sizeof *pool.table, &pool.fd, &map, err) < 0)
        return -1;
    pool.table = map;
    snprintf(use->name, sizeof use->name, "%s", name);
    for (unsigned at = 0; at < atomic_load(&pool.table->used); at++) {
        const struct slot *slot = &pool.table->slots[at];
        if (!atomic_load(&slot->pid) || !is_alive(&pool, at))
            continue;
        use->workers++;
        use->serving += atomic_load(&slot->team) || atomic_load(&slot->user);
    }
    munmap(map, sizeof *pool.table);
    close(pool.fd);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pool_use *)a)->name, ((const struct pool_use *)b)->name);
}

int pools_look(const char *dir, struct pool_use pools[POOLS_LOOKED_AT_MAX], unsigned *count,
               struct error **err)
{
    DIR *listing = opendir(dir);
    const struct dirent *entry;
    int result = 0;
    *count = 0;
    if (!listing)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read the folder %s", dir);
    while (result == 0 && *count < POOLS_LOOKED_AT_MAX && (entry = readdir(listing))) {
        size_t length = strlen(entry->d_name);
        if (!str_ends_with(entry->d_name, SUFFIX) || length - strlen(SUFFIX) >= POOL_NAME_SIZE)
            continue;
        autofree char *name = xstrndup(entry->d_name, length - strlen(SUFFIX));
        pools[*count] = (struct pool_use){0};
        result = look_at(dir, name, &pools[(*count)++], err);
    }
    closedir(listing);
    qsort(pools, *count, sizeof *pools, by_name);
    return result;
}
