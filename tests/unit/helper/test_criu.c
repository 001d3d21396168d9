/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is mended in a call of CRIU, what is written into an image, and archives of tmpfs. */
#include "unit/folder.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "helper/criu/call.h"
#include "helper/criu/id_map.h"
#include "helper/criu/image.h"
#include "helper/criu/image_clock.h"
#include "helper/criu/image_sync.h"
#include "helper/criu/tar_pack.h"

static void write_bytes(const char *path, const char *data, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_bytes(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t got = fread(out, 1, size, file);
    fclose(file);
    return got;
}

/* --- calls --- */

static char **split(char *text, char *words[32])
{
    char *rest = NULL;
    unsigned count = 0;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    return words;
}

/* The texts are cut, and must outlive the call. */
static void read_call_on(bool apparmor, struct call *call, char *criu, char *arguments)
{
    char *own[32], *words[32];
    call_read(call, apparmor, split(criu, own), split(arguments, words));
}

static void read_call(struct call *call, char *criu, char *arguments)
{
    read_call_on(false, call, criu, arguments);
}

static char *joined(const struct call *call)
{
    char *text = xstrdup("");
    for (size_t i = 0; i < call->command.count; i++) {
        char *longer = xasprintf("%s%s%s", text, i ? " " : "", call->command.list[i]);
        free(text);
        text = longer;
    }
    return text;
}

TEST(a_profile_is_restored_where_it_can_be)
{
    char criu[] = "criu";
    char arguments[] = "restore --lsm-profile apparmor:incus-b//&:incus-b: -D images";
    struct call call;
    read_call_on(true, &call, criu, arguments);
    autofree char *text = joined(&call);
    assert_string_equal(text, "criu restore --lsm-profile apparmor:incus-b//&:incus-b: -D images");
    call_deinit(&call);
}

TEST(a_call_is_mended)
{
    char criu[] = "loader criu";
    char arguments[] = "dump --lsm-profile apparmor:x --lsm-profile=y --cgroup-root pids:/p "
                       "/lxc.payload.c -D images -o log -v4 -t 17 --leave-running";
    struct call call;
    read_call(&call, criu, arguments);
    call_add(&call, "--network-lock", "nftables");
    autofree char *text = joined(&call);
    assert_string_equal(text, "loader criu dump --cgroup-root pids:/p --cgroup-root /lxc.payload.c "
                              "-D images -o log -t 17 --leave-running --network-lock nftables");
    assert_string_equal(call.verb, "dump");
    assert_string_equal(call.images, "images");
    assert_string_equal(call.log, "log");
    assert_int_equal(call.pid, 17);
    assert_true(call.leave_running);
    call_deinit(&call);
}

TEST(a_restore_sets_the_group_of_the_unified_hierarchy)
{
    char criu[] = "criu";
    char arguments[] = "restore --cgroup-root name=systemd:/lxc.payload.c "
                       "--cgroup-root pids:/lxc.payload.c -D images";
    struct call call;
    read_call(&call, criu, arguments);
    autofree char *text = joined(&call);
    assert_string_equal(text, "criu restore --cgroup-root name=systemd:/lxc.payload.c "
                              "--cgroup-root pids:/lxc.payload.c -D images "
                              "--cgroup-root /lxc.payload.c");
    call_deinit(&call);
}

TEST(an_option_is_removed_with_its_value)
{
    char criu[] = "criu", arguments[] = "dump -t 17 --freeze-cgroup /group -R";
    struct call call;
    read_call(&call, criu, arguments);
    call_remove(&call, "--freeze-cgroup");
    call_remove(&call, "--freeze-cgroup");
    autofree char *text = joined(&call);
    assert_string_equal(text, "criu dump -t 17 -R");
    call_deinit(&call);
}

TEST(all_is_logged_on_request)
{
    char criu[] = "criu", arguments[] = "dump -v4 -t 17";
    struct call call;
    assert_int_equal(setenv(CALL_LOG_ALL, "yes", 1), 0);
    read_call(&call, criu, arguments);
    assert_int_equal(unsetenv(CALL_LOG_ALL), 0);
    autofree char *text = joined(&call);
    assert_string_equal(text, "criu dump -v4 -t 17");
    call_deinit(&call);
}

TEST(a_call_that_ends_early_is_passed_on)
{
    char criu[] = "criu", arguments[] = "check -D", none[] = "";
    char of_disk[] = "restore --root /disk";
    struct call call;
    read_call(&call, criu, of_disk);
    assert_string_equal(call.root, "/disk");
    call_deinit(&call);
    read_call(&call, criu, arguments);
    autofree char *text = joined(&call);
    assert_string_equal(text, "criu check -D");
    assert_null(call.images);
    call_deinit(&call);
    read_call(&call, criu, none);
    assert_string_equal(call.verb, "");
    call_deinit(&call);
}

TEST(the_folder_for_mounts_is_the_configurations)
{
    static const char config[] = "lxc.mount.auto = proc:rw sys:rw\n"
                                 "lxc.mount.auto = shmounts:/run/incus/c:/dev/.incus-mounts\n";
    char criu[] = "criu", arguments[] = "restore";
    struct call call;
    write_bytes("lxc.conf", config, sizeof config - 1);
    read_call(&call, criu, arguments);
    call_map_folder(&call, "lxc.conf");
    autofree char *text = joined(&call);
    assert_string_equal(text, "criu restore --ext-mount-map /dev/.incus-mounts:/run/incus/c");
    call_deinit(&call);
}

/* --- images --- */

TEST(an_image_that_was_changed_is_not_whole)
{
    assert_int_equal(mkdir("one", 0700), 0);
    assert_int_equal(mkdir("one/state", 0700), 0);
    write_bytes("one/state/pages-1.img", "pages", 5);
    write_bytes("one/state/core-1.img", "core", 4);
    assert_true(image_is_whole("one/state"));
    image_seal("one/state");
    assert_true(image_is_whole("one/state"));
    /* What another order of names has made of it. */
    write_bytes("one/state/sandlot-sizes", "5 pages-1.img\n4 core-1.img\n", 27);
    assert_true(image_is_whole("one/state"));
    write_bytes("one/state/more.img", "", 0);
    assert_false(image_is_whole("one/state"));
    assert_int_equal(unlink("one/state/more.img"), 0);
    write_bytes("one/state/pages-1.img", "page", 4);
    assert_false(image_is_whole("one/state"));
}

TEST(an_image_has_an_owner)
{
    assert_int_equal(mkdir("two", 0700), 0);
    assert_int_equal(mkdir("two/state", 0700), 0);
    assert_false(image_is_of_owner("two/state"));
    image_seal("two/state");
    assert_true(image_is_of_owner("two/state"));
    assert_true(image_is_of_owner("two/state/"));
    assert_int_equal(rename("two", "three"), 0);
    assert_false(image_is_of_owner("three/state"));
}

TEST(an_image_of_a_frozen_container_says_that_it_runs)
{
    static const char before[] = "x\x0a\x0d"
                                 "freezer.state\x12\x06"
                                 "FROZEN,\x12\x06"
                                 "FROZEN";
    char after[sizeof before];
    assert_int_equal(mkdir("four", 0700), 0);
    write_bytes("four/cgroup.img", before, sizeof before - 1);
    image_seal("four");
    read_file("four/cgroup.img", after, sizeof after);
    assert_string_equal(after, "x\x0a\x0d"
                               "freezer.state\x12\x06"
                               "THAWED,\x12\x06"
                               "FROZEN");
}

/* A record of files.img: a timerfd as CRIU writes it, in 20 bytes but for its numbers. */
static void put_timer(FILE *file, unsigned clock, unsigned ticks, unsigned value_ns,
                      unsigned interval_ms)
{
    const unsigned interval_ns = interval_ms * 1000000;
    const uint8_t timer[] = {8,
                             7,
                             16,
                             2,
                             26,
                             4,
                             8,
                             0,
                             16,
                             0,
                             32,
                             (uint8_t)clock,
                             40,
                             (uint8_t)ticks,
                             48,
                             0,
                             56,
                             0,
                             64,
                             (uint8_t)value_ns,
                             72,
                             0,
                             80,
                             (uint8_t)(interval_ns & 0x7f) | 0x80,
                             (uint8_t)(interval_ns >> 7 & 0x7f) | 0x80,
                             (uint8_t)(interval_ns >> 14 & 0x7f) | 0x80,
                             (uint8_t)(interval_ns >> 21 & 0x7f)};
    const uint8_t head[] = {6 + sizeof timer, 0, 0, 0, 8, 17, 16, 7, 98, sizeof timer};
    assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
    assert_int_equal(fwrite(timer, 1, sizeof timer, file), sizeof timer);
}

struct timer_case {
    unsigned clock, ticks, value_ns, interval_ms;
    unsigned value_ns_after;
};

static void write_timers(const char *path, const struct timer_case *cases, size_t count, bool after)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite("magicand", 1, 8, file), 8);
    assert_int_equal(fwrite("\x04\0\0\0\x08\x01\x10\x05", 1, 8, file), 8); /* another file */
    for (size_t i = 0; i < count; i++)
        put_timer(file, cases[i].clock, cases[i].ticks,
                  after ? cases[i].value_ns_after : cases[i].value_ns, cases[i].interval_ms);
    assert_int_equal(fclose(file), 0);
}

TEST(timers_of_an_image_fire_again)
{
    static const struct timer_case cases[] = {
        {1, 1, 0, 5, 1},   /* periodic, expired unread */
        {0, 9, 0, 50, 1},  /* CLOCK_REALTIME */
        {7, 3, 0, 50, 1},  /* CLOCK_BOOTTIME */
        {1, 0, 0, 5, 0},   /* disarmed */
        {1, 1, 0, 0, 0},   /* of one shot: its tick is restored */
        {1, 0, 90, 5, 90}, /* has time left */
    };
    char before[1024], after[1024], wanted[1024];
    assert_int_equal(mkdir("five", 0700), 0);
    write_timers("five/wanted", cases, ARRAY_SIZE(cases), true);
    write_timers("five/files.img", cases, ARRAY_SIZE(cases), false);
    image_seal("five");
    size_t size = read_bytes("five/files.img", after, sizeof after);
    assert_int_equal(read_bytes("five/wanted", wanted, sizeof wanted), size);
    assert_memory_equal(after, wanted, size);
    /* What is cut off anywhere stays as it is, up to there. */
    for (size_t cut = 0; cut < size; cut++) {
        write_bytes("five/files.img", wanted, cut);
        image_seal("five");
        assert_int_equal(read_bytes("five/files.img", before, sizeof before), cut);
        assert_memory_equal(before, wanted, cut);
    }
}

/* --- the clock of an image --- */

#define MONOTONIC  "\x0a\x07\x08\x07\x10\xff\xff\xff\x01" /* 7 s and some ns */
#define HEAD(size) "magicand" size "\0\0\0" MONOTONIC
/* 300 s and 16,384 ns as CRIU writes them, and with five bytes a number. */
#define PLAIN HEAD("\x12") "\x12\x07\x08\xac\x02\x10\x80\x80\x01"
#define WIDE  HEAD("\x17") "\x12\x0c\x08\xac\x82\x80\x80\0\x10\x80\x80\x81\x80\0"

struct clock_case {
    const char *before;
    size_t size;
    struct timespec now;
    const char *after; /* NULL: unchanged */
    size_t after_size;
};

#define BYTES(text)     text, sizeof(text) - 1
#define NO_CHANGE(text) NULL, sizeof(text) - 1

static void check_clocks(const struct clock_case *cases, size_t count, bool at_a_dump)
{
    /* of the host's namespace, and of one that a restore has made */
    static const char *const images[] = {"six/timens-0.img", "six/timens-13.img"};
    char found[64];
    for (size_t i = 0; i < count * ARRAY_SIZE(images); i++) {
        const struct clock_case *c = &cases[i / ARRAY_SIZE(images)];
        const char *image = images[i % ARRAY_SIZE(images)];
        write_bytes(image, c->before, c->size);
        if (at_a_dump)
            image_widen_clock("six");
        else
            image_advance_clock("six", &c->now);
        assert_int_equal(read_bytes(image, found, sizeof found), c->after_size);
        assert_memory_equal(found, c->after ? c->after : c->before, c->after_size);
    }
}

TEST(the_clock_of_an_image_continues_with_the_hosts)
{
    static const struct clock_case dumps[] = {
        {BYTES(PLAIN), {0, 0}, BYTES(WIDE)},
        {BYTES(WIDE), {0, 0}, NO_CHANGE(WIDE)},
        /* other fields, a field behind, and a message that is cut off */
        {BYTES(HEAD("\x12") "\x12\x07\x18\xac\x02\x10\x80\x80\x01"), {0, 0}, NO_CHANGE(PLAIN)},
        {BYTES(PLAIN "\x18\x01"), {0, 0}, NO_CHANGE(PLAIN "\x18\x01")},
        {BYTES(HEAD("\x12") "\x12\x07\x08\xac\x02\x10\x80\x80"), {0, 0}, NO_CHANGE(PLAIN) - 1},
        {BYTES("magicand\x12"), {0, 0}, NO_CHANGE("magicand\x12")},
    };
    static const struct clock_case restores[] = {
        {BYTES(WIDE),
         {301, 5},
         BYTES(HEAD("\x17") "\x12\x0c\x08\xad\x82\x80\x80\0\x10\x85\x80\x80\x80\0")},
        /* the same second, and the most that both can be */
        {BYTES(WIDE),
         {300, 16385},
         BYTES(HEAD("\x17") "\x12\x0c\x08\xac\x82\x80\x80\0\x10\x81\x80\x81\x80\0")},
        {BYTES(WIDE),
         {INT32_MAX, 999999999},
         BYTES(HEAD("\x17") "\x12\x0c\x08\xff\xff\xff\xff\x07\x10\xff\x93\xeb\xdc\x03")},
        /* not later: another host */
        {BYTES(WIDE), {299, 999999999}, NO_CHANGE(WIDE)},
        {BYTES(WIDE), {300, 16384}, NO_CHANGE(WIDE)},
        /* not widened */
        {BYTES(PLAIN), {301, 5}, NO_CHANGE(PLAIN)},
    };
    image_advance_clock("six", &restores[0].now); /* no such folder: nothing */
    assert_int_equal(mkdir("six", 0700), 0);
    check_clocks(dumps, ARRAY_SIZE(dumps), true);
    check_clocks(restores, ARRAY_SIZE(restores), false);
}

/* --- the network of an image --- */

/* "ip rule save" and "ip -6 route save" in a new network; the sequence and process number is
 * text. */
#define RULE(size, table, priority)                                                        \
    size "\0\0\0\x20\0\x02\0sequproc\x02\0\0\0" table "\0\0\x01\0\0\0\0\x08\0\x0f\0" table \
         "\0\0\0\x08\0\x0e\0\xff\xff\xff\xff\x05\0\x15\0\x02\0\0\0" priority
#define MAIN_RULE RULE("\x3c", "\xfe", "\x08\0\x06\0\xfe\x7f\0\0")
#define NEW_RULES \
    "magi" RULE("\x34", "\xff", "") MAIN_RULE RULE("\x3c", "\xfd", "\x08\0\x06\0\xff\x7f\0\0")
#define ROUTE(protocol)                                                                            \
    "\x24\0\0\0\x18\0\x22\0sequproc\x0a\x40\0\0\xfe" protocol "\0\x01\0\0\0\0\x08\0\x0f\0\xfe\0\0" \
    "\0"

static bool is_kept(const char *path, const char *data, size_t size)
{
    struct stat found;
    write_bytes(path, data, size);
    image_seal("seven");
    return stat(path, &found) == 0;
}

TEST(what_a_new_network_has_is_left_out)
{
    static const char rules[] = NEW_RULES, more[] = NEW_RULES MAIN_RULE;
    static const char routes[] = "magi" ROUTE("\x02") ROUTE("\x02");
    static const char own[] = "magi" ROUTE("\x02") ROUTE("\x04");
    const size_t head = 4 + 16; /* the magic, and the head of a message */
    /* both networks, the kind of service, the action, the flags, and the values of attributes */
    static const size_t places[] = {1, 2, 3, 7, 8, 16, 24, 32};
    char changed[sizeof rules];
    assert_int_equal(mkdir("seven", 0700), 0);
    assert_false(is_kept("seven/rule-10.img", BYTES(rules)));
    assert_true(is_kept("seven/rule-10.img", BYTES(more)));
    assert_false(is_kept("seven/route6-10.img", BYTES(routes)));
    assert_true(is_kept("seven/route6-10.img", BYTES(own)));
    assert_true(is_kept("seven/route-10.img", BYTES(routes))); /* IPv4 */
    for (size_t cut = 0; cut < sizeof rules - 1; cut++)
        assert_true(is_kept("seven/rule-10.img", rules, cut));
    /* the last message and its last attribute without their padding */
    memcpy(changed, rules, sizeof rules);
    changed[sizeof rules - 1 - 0x3c] = 0x3a;
    changed[sizeof rules - 1 - 8] = 6;
    assert_true(is_kept("seven/rule-10.img", changed, sizeof rules - 1 - 2));
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        memcpy(changed, rules, sizeof rules);
        changed[head + places[i]] ^= 0x10;
        assert_true(is_kept("seven/rule-10.img", BYTES(changed)));
    }
}

/* --- user ids --- */

#define ROOT 2000000 /* of the container, on the host */

TEST(an_image_gets_the_user_ids_of_its_container)
{
    static const char config[] = "lxc.idmap = u 0 2000000 65536\n"
                                 "lxc.idmap = g 0 3000000 65536\n"
                                 "lxc.rootfs.options = idmap=container\n";
    static const char before[] = "MAGICMAG\x02\0\0\0\x0a\x00";
    static const char after[] = "MAGICMAG\x19\0\0\0"
                                "\x0a\x0a\x08\x00\x10\x80\x89\x7a\x18\x80\x80\x04"
                                "\x12\x0b\x08\x00\x10\xc0\x8d\xb7\x01\x18\x80\x80\x04";
    char image[] = "users", out[sizeof after + 1];
    struct call call = {.images = image};
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    assert_int_equal(mkdir("run", 0755), 0);
    assert_int_equal(mkdir("users", 0700), 0);
    write_bytes("run/lxc.conf", config, sizeof config - 1);
    write_bytes("users/userns-9.img", before, sizeof before - 1);
    assert_int_equal(id_map_prepare(&call, NULL), 0);
    assert_int_equal(read_bytes("users/userns-9.img", out, sizeof out), sizeof before - 1);
    /* Its files are the container's already. */
    assert_int_equal(chown("users", ROOT, 3000000), 0);
    assert_int_equal(id_map_prepare(&call, "run/lxc.conf"), 0);
    assert_int_equal(read_bytes("users/userns-9.img", out, sizeof out), sizeof after - 1);
    assert_memory_equal(out, after, sizeof after - 1);
    /* The image itself has not changed. */
    assert_int_equal(umount("users/userns-9.img"), 0);
    assert_int_equal(read_bytes("users/userns-9.img", out, sizeof out), sizeof before - 1);
}

TEST(a_disk_and_an_image_are_seen_as_the_containers)
{
    char image[] = "memory", disk[] = "disk";
    struct call call = {.images = image, .root = disk};
    struct stat found;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir("disk", 0755), 0);
    assert_int_equal(mkdir("memory", 0700), 0);
    write_bytes("disk/file", "", 0);
    assert_int_equal(chown("disk/file", 1000, 1000), 0);
    if (id_map_prepare(&call, "run/lxc.conf") < 0)
        skip(); /* this file system maps no ids */
    assert_int_equal(stat("disk/file", &found), 0);
    assert_int_equal(found.st_uid, ROOT + 1000);
    assert_int_equal(found.st_gid, 3001000);
    assert_int_equal(stat("memory", &found), 0);
    assert_int_equal(found.st_uid, ROOT);
    assert_int_equal(found.st_mode & 0777, 0711);
    autofree char *text = joined(&call);
    assert_string_equal(text, "--work-dir run");
    call_deinit(&call);
    assert_int_equal(umount("disk"), 0);
    assert_int_equal(umount("memory"), 0);
    assert_int_equal(stat("disk/file", &found), 0);
    assert_int_equal(found.st_uid, 1000);
}

/* --- archives --- */

static void fill(const char *path)
{
    autofree char *file = xasprintf("%s/file", path);
    autofree char *inner = xasprintf("%s/inner", path);
    autofree char *link = xasprintf("%s/inner/link", path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(mkdir(inner, 0700), 0);
    write_bytes(file, "content\n", 8);
    assert_int_equal(chmod(file, 04751), 0);
    assert_int_equal(symlink("/nowhere", link), 0);
    assert_int_equal(chmod(path, 01777), 0);
}

static void assert_filled(const char *path)
{
    autofree char *file = xasprintf("%s/file", path);
    autofree char *link = xasprintf("%s/inner/link", path);
    char content[32] = "", target[32] = "";
    struct stat found;
    read_file(file, content, sizeof content);
    assert_string_equal(content, "content\n");
    assert_int_equal(stat(file, &found), 0);
    assert_int_equal(found.st_mode & 07777, 04751);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 07777, 01777);
    assert_true(readlink(link, target, sizeof target - 1) > 0);
    assert_string_equal(target, "/nowhere");
}

TEST(what_is_packed_is_unpacked)
{
    autofree char *archive = NULL;
    size_t size = 0;
    fill("full");
    assert_int_equal(tar_pack("full", &archive, &size), 0);
    assert_int_equal(size % TAR_RECORD, 0);
    assert_int_equal(mkdir("copy", 0700), 0);
    assert_int_equal(tar_unpack("copy", archive, size), 0);
    assert_filled("copy");
}

TEST(tar_reads_what_is_packed_and_is_read)
{
    autofree char *archive = NULL;
    char other[TAR_RECORD + 1];
    size_t size = 0;
    fill("more");
    assert_int_equal(tar_pack("more", &archive, &size), 0);
    write_bytes("ours.tar", archive, size);
    assert_int_equal(mkdir("theirs", 0700), 0);
    /* NOLINTNEXTLINE(cert-env33-c) */
    assert_int_equal(system("tar --extract --preserve-permissions --directory theirs <ours.tar"),
                     0);
    assert_filled("theirs");
    /* NOLINTNEXTLINE(cert-env33-c) */
    assert_int_equal(system("tar --create --numeric-owner --directory more . >theirs.tar"), 0);
    FILE *file = fopen("theirs.tar", "re");
    assert_non_null(file);
    assert_int_equal(fread(other, 1, sizeof other, file), TAR_RECORD);
    fclose(file);
    assert_int_equal(mkdir("back", 0700), 0);
    assert_int_equal(tar_unpack("back", other, TAR_RECORD), 0);
    assert_filled("back");
}

TEST(what_is_not_small_and_plain_is_left_to_tar)
{
    autofree char *archive = NULL;
    size_t size = 0;
    assert_int_equal(mkdir("pipes", 0700), 0);
    assert_int_equal(mkfifo("pipes/one", 0600), 0);
    assert_int_equal(tar_pack("pipes", &archive, &size), 1);
    assert_int_equal(mkdir("large", 0700), 0);
    write_bytes("large/file", "", 0);
    assert_int_equal(truncate("large/file", 1 << 20), 0);
    assert_int_equal(tar_pack("large", &archive, &size), 1);
    assert_int_equal(mkdir("twice", 0700), 0);
    write_bytes("twice/file", "", 0);
    assert_int_equal(link("twice/file", "twice/again"), 0);
    assert_int_equal(tar_pack("twice", &archive, &size), 1);
    const int64_t times[] = {-1, INT64_C(8589934592), INT64_C(70000000000)};
    assert_int_equal(mkdir("times", 0700), 0);
    write_bytes("times/file", "", 0);
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        const struct timespec set[] = {{.tv_sec = times[i]}, {.tv_sec = times[i]}};
        struct stat found;
        assert_int_equal(utimensat(AT_FDCWD, "times/file", set, 0), 0);
        assert_int_equal(stat("times/file", &found), 0);
        if (found.st_mtime == times[i]) /* not every file system holds all */
            assert_int_equal(tar_pack("times", &archive, &size), 1);
    }
    assert_null(archive);
}

/* Cut off, or with a sum that is wrong. */
TEST(an_archive_that_was_tampered_with_is_not_unpacked)
{
    autofree char *archive = NULL;
    size_t size = 0;
    fill("good");
    assert_int_equal(tar_pack("good", &archive, &size), 0);
    assert_int_equal(mkdir("bad", 0700), 0);
    assert_int_equal(tar_unpack("bad", archive, TAR_BLOCK), 1);
    archive[TAR_BLOCK + 2] ^= 1;
    assert_int_equal(tar_unpack("bad", archive, size), 1);
    assert_int_equal(rmdir("bad"), 0);
}

/* --- writing images to the disk --- */

static unsigned children(void)
{
    char text[256], *rest = NULL;
    unsigned count = 0;
    autofree char *path = xasprintf("/proc/self/task/%d/children", getpid());
    text[read_bytes(path, text, sizeof text - 1)] = '\0';
    for (char *pid = strtok_r(text, " ", &rest); pid; pid = strtok_r(NULL, " ", &rest))
        count++;
    return count;
}

/* The test holds the lock as a process that writes does. Of eight calls, one process waits for the
 * lock. */
TEST(one_image_is_written_and_one_waits)
{
    static const char image[] = "pool/containers/one/state";
    mkdir("pool", 0755);
    mkdir("pool/containers", 0755);
    mkdir("pool/containers/one", 0755);
    mkdir(image, 0755);
    mkdir("pool/containers-snapshots", 0755);
    autoclose int writing = open("pool/containers-snapshots", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(writing, LOCK_EX), 0);
    assert_int_equal(children(), 0);
    for (unsigned i = 0; i < 8; i++)
        image_sync(image);
    assert_int_equal(children(), 1);
    assert_int_equal(flock(writing, LOCK_UN), 0);
    assert_true(wait(NULL) > 0);
    image_sync(image);
    assert_int_equal(children(), 1);
    assert_true(wait(NULL) > 0);
}

TEST_GROUP(make_folder, remove_folder)
