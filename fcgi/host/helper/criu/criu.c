/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * criu ARGUMENT…: wrapper of CRIU in incusd's PATH, so that containers can be paused and resumed.
 *
 * It finds CRIU (found.h). The workarounds in workarounds.def correct the arguments of a dump or
 * restore, the images after a dump, and the restored container.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/memory_loss.h"
#include "base/str.h"
#include "helper/common/run.h"
#include "helper/common/self.h"
#include "helper/criu/call.h"
#include "helper/criu/criu_path.h"
#include "helper/criu/dump.h"
#include "helper/criu/id_map.h"
#include "helper/criu/image.h"
#include "helper/criu/image_clock.h"
#include "helper/criu/page_server.h"
#include "helper/criu/sockets.h"
#include "helper/helper.h"

/* Folder next to this program, with the tar for CRIU. */
#define TOOLS "criu-path"
/* CRIU calls the real ip and nft, not the wrappers in incusd's PATH. */
#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Set PATH. plain: with the tar that does not compress. Returns whether this tar exists. */
static bool set_path(bool plain)
{
    autofree char *tools = self_beside(TOOLS);
    autofree char *tar = xasprintf("%s/tar", tools);
    autofree char *path = xasprintf("%s:" SYSTEM_PATH, tools);
    plain = plain && access(tar, X_OK) == 0;
    setenv("PATH", plain ? path : SYSTEM_PATH, 1);
    return plain;
}

static int run(const struct call *call)
{
    return run_become(call->command.list[0], call->command.list);
}

static int refuse(const struct call *call)
{
    autofclose FILE *log = call->log ? fopen(call->log, "ae") : NULL;
    FILE *const outs[] = {stderr, log};
    for (size_t i = 0; i < ARRAY_SIZE(outs); i++)
        if (outs[i])
            fprintf(outs[i], "Error (sandlot-criu): the image in %s has changed since the dump\n",
                    call->images);
    return EXIT_FAILURE;
}

/* Use the log that the launcher names: several sandboxes may be restored from one image, whose
 * folder is liblxc's place for the log. */
static void take_log(struct call *call)
{
    const char *log = getenv("SANDLOT_LOG");
    if (!log || !*log)
        return;
    call_add(call, "--log-file", log);
    call->log = log;
}

/* Return the name of the folder of a configuration; the caller frees it. */
static char *name_of_container(const char *config)
{
    autofree char *folder = xstrdup(config ? config : "");
    char *slash = strrchr(folder, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    slash = strrchr(folder, '/');
    return xstrdup(slash ? slash + 1 : folder);
}

static int restore(struct call *call)
{
    const char *config = getenv("SANDLOT_CONFIG");
    struct timespec now;
    call_add(call, "--network-lock", "nftables");
    take_log(call);
    if (!call->images)
        return run(call);
    if (!image_is_whole(call->images))
        return refuse(call);
    clock_gettime(CLOCK_BOOTTIME, &now);
    image_advance_clock(call->images, &now);
    if (id_map_prepare(call, config) < 0)
        return EXIT_FAILURE;
    set_path(image_is_plain(call->images));
    call_map_folder(call, config);
    if (!image_is_of_owner(call->images)) {
        if (sockets_keep_loopback(call->images) < 0)
            call_add(call, "--tcp-close", NULL);
        call_add(call, "--action-script", self_path());
    }
    autofree char *container = name_of_container(config);
    if (container)
        page_server_begin(call, container, getenv(MEMORY_LOSS_ENVIRONMENT));
    return run(call);
}

static int dump(struct call *call)
{
    struct stat found;
    call_add(call, "--network-lock", "nftables");
    if (call->pid)
        call_map_mounts(call);
    if (!call->images || stat(call->images, &found) < 0 || !S_ISDIR(found.st_mode))
        return run(call);
    image_make_room(call->images);
    if (set_path(true))
        image_mark_plain(call->images);
    return dump_run(call);
}

int helper_criu(int argc, char **argv)
{
    autofree char *root = self_beside("criu");
    autofree char *preloaded = self_beside("sandlot-criu.so");
    struct words criu = {.list = NULL};
    struct call call;
    (void)argc;
    if (criu_path_tell_version(root, argv + 1))
        return EXIT_SUCCESS;
    if (criu_path_find(root, preloaded, &criu) < 0)
        return RUN_CANNOT;
    call_read(&call, call_host_has_apparmor(), criu.list, argv + 1);
    words_deinit(&criu);
    int result = str_equal(call.verb, "dump")      ? dump(&call)
                 : str_equal(call.verb, "restore") ? restore(&call)
                                                   : run(&call);
    call_deinit(&call);
    return result;
}
