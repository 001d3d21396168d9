/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper/fence.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Work that continues after its answer. All volumes of a host share this process. */
#define SLOW_MOST  4  /* of a volume */
#define SLOW_BUSY  32 /* of all volumes; then a volume has one */
#define SLOW_TOTAL 256

struct fence {
    struct fence *next;
    char volume_id[VOLUME_ID_SIZE];
    uint64_t generation; /* the oldest that is still let in */
    unsigned inside, inside_slow;
    bool asked;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct fence *fences;
static unsigned slow; /* of all fences */

const char *fence_epoch(void)
{
    static char epoch[EPOCH_SIZE];
    pthread_mutex_lock(&mutex);
    if (!epoch[0]) {
        unsigned char random[(EPOCH_SIZE - 1) / 2];
        randombytes_buf(random, sizeof random);
        sodium_bin2hex(epoch, sizeof epoch, random, sizeof random);
    }
    pthread_mutex_unlock(&mutex);
    return epoch;
}

struct fence *fence_of(const char *volume_id)
{
    pthread_mutex_lock(&mutex);
    struct fence *fence = fences;
    while (fence && strcmp(fence->volume_id, volume_id) != 0)
        fence = fence->next;
    if (!fence) {
        fence = xcalloc(1, sizeof *fence);
        snprintf(fence->volume_id, sizeof fence->volume_id, "%s", volume_id);
        fence->next = fences;
        fences = fence;
    }
    pthread_mutex_unlock(&mutex);
    return fence;
}

int fence_enter(struct fence *fence, uint64_t generation, struct keeper_error *error)
{
    pthread_mutex_lock(&mutex);
    bool is_old = generation < fence->generation;
    fence->inside += !is_old;
    pthread_mutex_unlock(&mutex);
    return is_old ? keeper_error_set(error, KEEPER_FENCED, "A sandbox is starting with the volume.")
                  : 0;
}

void fence_leave(struct fence *fence)
{
    pthread_mutex_lock(&mutex);
    fence->inside--;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&mutex);
}

int fence_enter_slow(struct fence *fence, uint64_t generation)
{
    pthread_mutex_lock(&mutex);
    unsigned most = slow < SLOW_BUSY ? SLOW_MOST : slow < SLOW_TOTAL ? 1 : 0;
    bool is_full = fence->inside_slow >= most, is_old = generation < fence->generation;
    if (is_full)
        fence->asked = false;
    if (!is_full && !is_old) {
        fence->inside_slow++;
        slow++;
    }
    pthread_mutex_unlock(&mutex);
    return is_full || is_old ? -1 : 0;
}

void fence_leave_slow(struct fence *fence)
{
    pthread_mutex_lock(&mutex);
    fence->inside_slow--;
    slow--;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&mutex);
}

bool fence_is_raised(struct fence *fence, uint64_t generation)
{
    pthread_mutex_lock(&mutex);
    bool raised = generation < fence->generation;
    pthread_mutex_unlock(&mutex);
    return raised;
}

bool fence_is_first(struct fence *fence)
{
    pthread_mutex_lock(&mutex);
    bool first = !fence->asked;
    fence->asked = true;
    pthread_mutex_unlock(&mutex);
    return first;
}

void fence_ask_again(struct fence *fence)
{
    pthread_mutex_lock(&mutex);
    fence->asked = false;
    pthread_mutex_unlock(&mutex);
}

void fence_raise(struct fence *fence, uint64_t generation)
{
    pthread_mutex_lock(&mutex);
    if (fence->generation < generation)
        fence->generation = generation;
    while (fence->inside || fence->inside_slow)
        pthread_cond_wait(&left, &mutex);
    pthread_mutex_unlock(&mutex);
}
