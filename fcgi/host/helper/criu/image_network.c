/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/image_network.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

/* The output of "ip rule save" and "ip route save": a word of magic, then messages of netlink. */
#define RULES_IMAGE  "rule-"
#define ROUTES_IMAGE "route6-"
#define MAGIC_SIZE   4
#define IMAGE_MAX    4096

/* The rules of a new network, in their order. */
static const struct rule {
    uint32_t table, priority;
} new_rules[] = {{RT_TABLE_LOCAL, 0}, {RT_TABLE_MAIN, 32766}, {RT_TABLE_DEFAULT, 32767}};

/* Return the number in an attribute of one or four bytes. */
static uint32_t number_in(const struct rtattr *attribute)
{
    uint32_t number = 0;
    size_t size = RTA_PAYLOAD(attribute);
    memcpy(&number, RTA_DATA(attribute), size < sizeof number ? size : sizeof number);
    return number;
}

/* Sizes are signed: the macros of netlink subtract the padding too, which the end of a file that is
 * cut off does not have. */

/* Return whether a message is this rule, for all packets and without any other attribute. */
static bool is_rule(const struct nlmsghdr *message, const struct rule *rule)
{
    const struct fib_rule_hdr *head = NLMSG_DATA(message);
    struct rule found = {0, 0};
    if (message->nlmsg_type != RTM_NEWRULE || message->nlmsg_len < NLMSG_LENGTH(sizeof *head) ||
        head->dst_len || head->src_len || head->tos || head->flags || head->action != FR_ACT_TO_TBL)
        return false;
    ssize_t size = (ssize_t)(message->nlmsg_len - NLMSG_LENGTH(sizeof *head));
    for (const struct rtattr *at = (const struct rtattr *)(head + 1); RTA_OK(at, size);
         at = RTA_NEXT(at, size)) {
        if (at->rta_type == FRA_TABLE)
            found.table = number_in(at);
        else if (at->rta_type == FRA_PRIORITY)
            found.priority = number_in(at);
        else if ((at->rta_type != FRA_SUPPRESS_PREFIXLEN || number_in(at) != UINT32_MAX) &&
                 (at->rta_type != FRA_PROTOCOL || number_in(at) != RTPROT_KERNEL))
            return false;
    }
    return !size && found.table == rule->table && found.priority == rule->priority;
}

static bool are_new_rules(const struct nlmsghdr *message, ssize_t size)
{
    size_t count = 0;
    for (; NLMSG_OK(message, size); message = NLMSG_NEXT(message, size))
        if (count == ARRAY_SIZE(new_rules) || !is_rule(message, &new_rules[count++]))
            return false;
    return !size && count == ARRAY_SIZE(new_rules);
}

static bool are_routes_of_the_kernel(const struct nlmsghdr *message, ssize_t size)
{
    for (; NLMSG_OK(message, size); message = NLMSG_NEXT(message, size)) {
        const struct rtmsg *route = NLMSG_DATA(message);
        if (message->nlmsg_type != RTM_NEWROUTE ||
            message->nlmsg_len < NLMSG_LENGTH(sizeof *route) ||
            route->rtm_protocol != RTPROT_KERNEL)
            return false;
    }
    return !size;
}

static void forget_if(int folder, const char *name,
                      bool (*is_new)(const struct nlmsghdr *message, ssize_t size))
{
    uint8_t data[IMAGE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
    autoclose int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, data, sizeof data);
    if (size >= MAGIC_SIZE && size < IMAGE_MAX &&
        is_new((const struct nlmsghdr *)(data + MAGIC_SIZE), size - MAGIC_SIZE))
        unlinkat(folder, name, 0);
}

void image_forget_network(const char *folder)
{
    DIR *images = opendir(folder);
    struct dirent *image;
    while (images && (image = readdir(images)))
        if (str_starts_with(image->d_name, RULES_IMAGE))
            forget_if(dirfd(images), image->d_name, are_new_rules);
        else if (str_starts_with(image->d_name, ROUTES_IMAGE))
            forget_if(dirfd(images), image->d_name, are_routes_of_the_kernel);
    if (images)
        closedir(images);
}
