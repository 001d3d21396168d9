/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper's fence, its places below a root, and the removal of trees. */
#include "unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

static char root_path[] = "/tmp/sandlot-keeper-XXXXXX";
static int root;

static int make_root(void **state)
{
    if (!mkdtemp(root_path))
        return -1;
    root = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? -1 : 0;
}

static int remove_root(void **state)
{
    int result = tree_empty(root, fence_of("end"), 1);
    close(root);
    return result == 0 ? rmdir(root_path) : -1;
}

static void touch(int directory, const char *name)
{
    autoclose int fd = openat(directory, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
}

TEST(an_older_generation_is_refused)
{
    struct fence *fence = fence_of("generations");
    struct keeper_error error;
    assert_ptr_equal(fence, fence_of("generations"));
    assert_int_equal(fence_enter(fence, 3, &error), 0);
    fence_leave(fence);
    fence_raise(fence, 4);
    assert_int_equal(fence_enter(fence, 3, &error), -1);
    assert_int_equal(error.code, KEEPER_FENCED);
    assert_true(fence_is_raised(fence, 3));
    fence_raise(fence, 2);
    assert_int_equal(fence_enter(fence, 3, &error), -1);
    assert_int_equal(fence_enter(fence, 4, &error), 0);
    fence_leave(fence);
    assert_int_equal(fence_enter(fence_of("another"), 1, &error), 0);
    fence_leave(fence_of("another"));
}

static bool raised;

static void *raise_it(void *context)
{
    fence_raise(context, 9);
    __atomic_store_n(&raised, true, __ATOMIC_SEQ_CST);
    return NULL;
}

TEST(raising_waits_for_what_is_under_way)
{
    struct fence *fence = fence_of("waiting");
    struct keeper_error error;
    pthread_t thread;
    assert_int_equal(fence_enter(fence, 8, &error), 0);
    assert_int_equal(pthread_create(&thread, NULL, raise_it, fence), 0);
    while (!fence_is_raised(fence, 8))
        clock_sleep_ms(1);
    assert_int_equal(fence_enter(fence, 8, &error), -1);
    assert_false(__atomic_load_n(&raised, __ATOMIC_SEQ_CST));
    fence_leave(fence);
    pthread_join(thread, NULL);
    assert_true(raised);
}

/* --- many at once --- */

#define CROWD  4
#define ROUNDS 300

/* One generation after the other is raised while others go in and out with the one that they
 * know. */
struct crowd {
    struct fence *fence;
    uint64_t newest;             /* atomic: what is about to be raised, or is */
    unsigned inside[ROUNDS + 2]; /* atomic, by generation */
};

static void *go_in_and_out(void *context)
{
    struct crowd *crowd = context;
    struct keeper_error error;
    uint64_t generation;
    while ((generation = __atomic_load_n(&crowd->newest, __ATOMIC_SEQ_CST)) <= ROUNDS) {
        bool slow = generation % 2;
        int result = slow ? fence_enter_slow(crowd->fence, generation)
                          : fence_enter(crowd->fence, generation, &error);
        if (result < 0)
            continue;
        __atomic_add_fetch(&crowd->inside[generation], 1, __ATOMIC_SEQ_CST);
        if (fence_is_first(crowd->fence))
            fence_ask_again(crowd->fence);
        __atomic_sub_fetch(&crowd->inside[generation], 1, __ATOMIC_SEQ_CST);
        slow ? fence_leave_slow(crowd->fence) : fence_leave(crowd->fence);
    }
    return NULL;
}

TEST(nobody_is_inside_behind_a_raised_fence)
{
    struct crowd crowd = {fence_of("crowd"), 1, {0}};
    pthread_t threads[CROWD];
    unsigned late = 0;
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, go_in_and_out, &crowd), 0);
    for (uint64_t generation = 2; generation <= ROUNDS + 1; generation++) {
        fence_raise(crowd.fence, generation);
        for (uint64_t older = 0; older < generation; older++)
            late += __atomic_load_n(&crowd.inside[older], __ATOMIC_SEQ_CST);
        __atomic_store_n(&crowd.newest, generation, __ATOMIC_SEQ_CST);
    }
    for (size_t i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(late, 0);
}

TEST(a_volume_has_few_removals)
{
    struct fence *fence = fence_of("removals"), *other = fence_of("other removals");
    char name[VOLUME_ID_SIZE];
    assert_true(fence_is_first(fence));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(fence_enter_slow(fence, 1), 0);
    assert_false(fence_is_first(fence));
    assert_int_equal(fence_enter_slow(fence, 1), -1);
    assert_true(fence_is_first(fence)); /* the next removal takes over its work */
    for (unsigned i = 0; i < 7 * 4; i++) {
        snprintf(name, sizeof name, "removals %u", i / 4);
        assert_int_equal(fence_enter_slow(fence_of(name), 1), 0);
    }
    assert_int_equal(fence_enter_slow(other, 1), 0); /* many run: one for each volume */
    assert_int_equal(fence_enter_slow(other, 1), -1);
    fence_leave_slow(other);
    for (unsigned i = 0; i < 7 * 4; i++) {
        snprintf(name, sizeof name, "removals %u", i / 4);
        fence_leave_slow(fence_of(name));
    }
    for (unsigned i = 0; i < 4; i++)
        fence_leave_slow(fence);
    assert_int_equal(fence_enter_slow(fence, 1), 0);
    fence_leave_slow(fence);
}

TEST(links_do_not_lead_out)
{
    struct stat status;
    struct keeper_error error;
    const char *name;
    assert_int_equal(mkdirat(root, "dir", 0700), 0);
    touch(root, "dir/file");
    assert_int_equal(symlinkat("/etc/passwd", root, "absolute"), 0);
    assert_int_equal(symlinkat("../../../etc", root, "up"), 0);
    assert_int_equal(symlinkat("dir/../dir/file", root, "within"), 0);
    assert_int_equal(symlinkat("circle", root, "circle"), 0);
    assert_int_equal(mkfifoat(root, "fifo", 0600), 0);
    autoclose int within = place_open_file(root, "within", &status, &error);
    assert_true(within >= 0);
    for (size_t i = 0; i < 4; i++) {
        static const char *const paths[] = {"absolute", "up/passwd", "circle", "fifo"};
        assert_int_equal(place_open_file(root, paths[i], &status, &error), -1);
        assert_int_equal(error.code, KEEPER_INVALID);
    }
    assert_int_equal(place_open_file(root, "nothing", &status, &error), -1);
    assert_int_equal(error.code, KEEPER_NOT_FOUND);
    assert_int_equal(place_open_parent(root, "up/new/file", true, &name, &error), -1);
    assert_int_equal(place_open_parent(root, "", true, &name, &error), -1);
    assert_int_equal(place_open_volume("nothing-mounted", &error), -1);
    assert_int_equal(error.code, KEEPER_NOT_MOUNTED);
}

TEST(a_deep_tree_goes_and_links_stay_unfollowed)
{
    assert_int_equal(mkdirat(root, "tree", 0700), 0);
    int at = openat(root, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int top = dup(at);
    for (unsigned i = 0; i < 2000; i++) {
        touch(at, "file");
        assert_int_equal(symlinkat(root_path, at, "link"), 0);
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
    }
    close(at);
    struct fence *fence = fence_of("tree");
    fence_raise(fence, 2);
    assert_int_equal(tree_empty(top, fence, 1), 1);
    assert_int_equal(faccessat(top, "file", F_OK, 0), 0);
    assert_int_equal(tree_empty(top, fence, 2), 0);
    close(top);
    assert_int_equal(unlinkat(root, "tree", AT_REMOVEDIR), 0);
    assert_int_equal(faccessat(root, "dir/file", F_OK, 0), 0);
}

TEST_GROUP(make_root, remove_root)
