/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/btrfs_call.h"

#include <linux/btrfs.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"
#include "common/btrfs.h"

static size_t count_of(char *const words[])
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

/* Read a limit; "none" is UINT64_MAX. The kernel takes a limit of 0 as no limit, and incusd does
 * not ask for it. */
static int read_bytes(const char *text, uint64_t *bytes)
{
    *bytes = UINT64_MAX;
    return str_equal(text, "none") ? 0 : str_parse_u64(text, 0, UINT64_MAX - 1, bytes);
}

static int read_group(const char *text, uint64_t *group)
{
    static const char level[] = "0/";
    return str_starts_with(text, level)
               ? str_parse_u64(text + strlen(level), 1, BTRFS_SUBVOLUME_MAX, group)
               : -1;
}

/* Read the limit of a subvolume. Other forms of the call are left to btrfs. */
static bool read_size(char *const words[], size_t count, struct btrfs_call *asked)
{
    bool exclusive = str_equal(words[0], "-e");
    asked->limit = exclusive ? BTRFS_QGROUP_LIMIT_MAX_EXCL : BTRFS_QGROUP_LIMIT_MAX_RFER;
    words += exclusive;
    if (count - exclusive != 3 || read_bytes(words[0], &asked->bytes) < 0 ||
        read_group(words[1], &asked->group) < 0)
        return false;
    asked->path = words[2];
    return true;
}

static void read_group_of(char *const words[], size_t count, struct btrfs_call *asked)
{
    if (count != 6 || !str_equal(words[1], "show") || !str_equal(words[2], "-e") ||
        !str_equal(words[3], "-f") || !str_equal(words[4], "--raw"))
        return;
    *asked = (struct btrfs_call){.kind = BTRFS_CALL_GROUP, .path = words[5]};
}

static void read_property(char *const words[], size_t count, struct btrfs_call *asked)
{
    if (str_equal(words[0], "set") && count == 6 && str_equal(words[4], "ro"))
        *asked = (struct btrfs_call){.kind = str_equal(words[5], "true")    ? BTRFS_CALL_SEAL
                                             : str_equal(words[5], "false") ? BTRFS_CALL_UNSEAL
                                                                            : BTRFS_CALL_OTHER,
                                     .path = words[3]};
    else if (str_equal(words[0], "get") && count == 3 && str_equal(words[1], "-ts"))
        *asked = (struct btrfs_call){.kind = BTRFS_CALL_SEALED, .path = words[2]};
}

/* Read the two ends of a transfer between servers. */
static bool read_stream(char *const words[], size_t count, struct btrfs_call *asked)
{
    if (count < 2)
        return false;
    if (str_equal(words[0], "send") && count == 2)
        asked->kind = BTRFS_CALL_SEND;
    else if (str_equal(words[0], "receive") && count == 3 && str_equal(words[1], "-e"))
        asked->kind = BTRFS_CALL_RECEIVE;
    else
        return false;
    asked->path = words[count - 1];
    return true;
}

void btrfs_call_read(char *const words[], struct btrfs_call *asked)
{
    size_t count = count_of(words);
    *asked = (struct btrfs_call){.kind = BTRFS_CALL_OTHER};
    if (read_stream(words, count, asked) || count < 3)
        return;
    const char *topic = words[0], *verb = words[1];
    if (str_equal(topic, "subvolume") && str_equal(verb, "snapshot") && count == 4)
        *asked =
            (struct btrfs_call){.kind = BTRFS_CALL_SNAPSHOT, .from = words[2], .path = words[3]};
    else if (str_equal(topic, "subvolume") && str_equal(verb, "delete") && count == 3)
        *asked = (struct btrfs_call){.kind = BTRFS_CALL_DELETE, .path = words[2]};
    else if (str_equal(topic, "property"))
        read_property(words + 1, count - 1, asked);
    else if (str_equal(topic, "qgroup") && str_equal(verb, "limit") &&
             read_size(words + 2, count - 2, asked))
        asked->kind = BTRFS_CALL_SIZE;
    else if (str_equal(topic, "qgroup"))
        read_group_of(words, count, asked);
}
