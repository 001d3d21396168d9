/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/upstreams.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define DNS_PORT 53
#define LINE_MAX 512

static int set_address(const char *host, uint16_t port, struct upstream *upstream)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&upstream->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&upstream->address;
    *upstream = (struct upstream){0};
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        upstream->size = sizeof *v4;
        return 0;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
        return -1;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    upstream->size = sizeof *v6;
    return 0;
}

/* Read an address. text is changed. */
static int parse_one(char *text, struct upstream *upstream)
{
    uint64_t port = DNS_PORT;
    char *colon = strrchr(text, ':'), *host = text;
    if (*text == '[') {
        char *end = strchr(text, ']');
        if (!end || (end[1] && end[1] != ':'))
            return -1;
        colon = end[1] ? end + 1 : NULL;
        *end = '\0';
        host = text + 1;
    } else if (colon && strchr(text, ':') != colon) {
        colon = NULL; /* IPv6 without brackets */
    }
    if (colon) {
        *colon = '\0';
        if (str_parse_u64(colon + 1, 1, 65535, &port) < 0)
            return -1;
    }
    return set_address(host, (uint16_t)port, upstream);
}

int upstreams_parse(const char *text, struct upstream *upstreams, size_t max, size_t *count,
                    struct error **err)
{
    autofree char *copy = xstrdup(text);
    char *rest = NULL;
    *count = 0;
    for (char *word = strtok_r(copy, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest)) {
        if (*count == max)
            return error_set(err, ERR_CONFIG, "dns_upstreams: more than %zu", max);
        if (parse_one(word, &upstreams[*count]) < 0)
            return error_set(err, ERR_CONFIG,
                             "dns_upstreams: %s is not an address, with or without a port", word);
        (*count)++;
    }
    return 0;
}

size_t upstreams_read(const char *path, struct upstream *upstreams, size_t max)
{
    char line[LINE_MAX];
    size_t count = 0;
    autofclose FILE *file = fopen(path, "re");
    while (file && count < max && fgets(line, sizeof line, file)) {
        char *rest = NULL, *word = strtok_r(line, " \t\n", &rest);
        if (!word || strcmp(word, "nameserver") != 0)
            continue;
        word = strtok_r(NULL, " \t\n", &rest);
        if (word && set_address(word, DNS_PORT, &upstreams[count]) == 0)
            count++;
    }
    return count;
}
