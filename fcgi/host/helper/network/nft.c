/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nft ARGUMENT…: wrapper of nft in incusd's PATH. It keeps the cost of a start or stop independent
 * of the number of sandboxes.
 *
 * incusd lists all rules and elements of the machine several times for each sandbox, to find the
 * names of a few chains. The wrapper lists the chains alone. When incusd starts, it creates a test
 * table and then searches for any rule, to check whether nftables is in use. That call gets the
 * whole list.
 */
#include "helper/network/nft.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/common/run.h"
#include "helper/helper.h"

/* Created after incusd has seen all rules. If it cannot be created, each call lists all rules. */
#define LISTED "sandlot-rules-listed"

enum nft_call nft_read(char *const words[])
{
    static const char *const list[] = {"--json", "-nn", "list", "ruleset", NULL};
    size_t i = 0;
    if (words[0] && str_equal(words[0], "create") && words[1] && str_equal(words[1], "table")) {
        for (i = 2; words[i]; i++)
            if (strstr(words[i], "_test_"))
                return NFT_TRY;
        return NFT_OTHER;
    }
    while (words[i] && list[i] && str_equal(words[i], list[i]))
        i++;
    return words[i] || list[i] ? NFT_OTHER : NFT_LIST;
}

static int list(const char *nft, char **argv, const char *listed)
{
    static char all[] = "chains";
    if (access(listed, F_OK) == 0) {
        argv[4] = all;
        return run_become(nft, argv);
    }
    int status = run_wait(argv, false);
    if (status == 0) {
        int fd = open(listed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd >= 0)
            close(fd);
    }
    return status;
}

int helper_nft(int argc, char **argv)
{
    static const char *const places[] = {"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/bin/nft"};
    const char *nft = run_first_of(places, ARRAY_SIZE(places));
    const char *folder = getenv("INCUS_LXC_TEMPLATE_CONFIG");
    autofree char *listed = xasprintf("%s/" LISTED, folder && *folder ? folder : "/nonexistent");
    enum nft_call call = argc > 0 ? nft_read(argv + 1) : NFT_OTHER;
    argv[0] = (char *)nft; /* execvp() does not write to arguments */
    if (call == NFT_LIST)
        return list(nft, argv, listed);
    if (call == NFT_TRY)
        unlink(listed);
    return run_become(nft, argv);
}
