/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "boot/boot.h"

#define CARD "eth0"
/* The first octet of the address. The card has the other three; the runtime driver refuses virtual
 * machines with other addresses. */
#define FIRST_OCTET 10

static int fail(const char *what)
{
    fprintf(stderr, "sandlot-boot: cannot %s: %m\n", what);
    return -1;
}

static struct ifreq request_of(const char *card)
{
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", card);
    return request;
}

static struct sockaddr ipv4(in_addr_t address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = address};
    struct sockaddr out;
    memcpy(&out, &in, sizeof out);
    return out;
}

static int bring_up(int fd, const char *card)
{
    struct ifreq request = request_of(card);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    return ioctl(fd, SIOCSIFFLAGS, &request);
}

/* The address of the card, and no other one beside it on its cable. */
static int set_address(int fd)
{
    struct ifreq card = request_of(CARD), request = request_of(CARD);
    unsigned char octets[4] = {FIRST_OCTET};
    in_addr_t address;
    if (ioctl(fd, SIOCGIFHWADDR, &card) < 0)
        return -1;
    memcpy(octets + 1, card.ifr_hwaddr.sa_data + 3, 3);
    memcpy(&address, octets, sizeof address);
    request.ifr_addr = ipv4(address);
    if (ioctl(fd, SIOCSIFADDR, &request) < 0)
        return -1;
    request.ifr_netmask = ipv4(INADDR_BROADCAST);
    return ioctl(fd, SIOCSIFNETMASK, &request);
}

static int add_routes(int fd, in_addr_t gateway)
{
    char card[] = CARD;
    struct rtentry near = {.rt_dst = ipv4(gateway),
                           .rt_genmask = ipv4(INADDR_BROADCAST),
                           .rt_flags = RTF_UP | RTF_HOST,
                           .rt_dev = card};
    struct rtentry rest = {.rt_dst = ipv4(INADDR_ANY),
                           .rt_genmask = ipv4(INADDR_ANY),
                           .rt_gateway = ipv4(gateway),
                           .rt_flags = RTF_UP | RTF_GATEWAY,
                           .rt_dev = card};
    return ioctl(fd, SIOCADDRT, &near) < 0 ? -1 : ioctl(fd, SIOCADDRT, &rest);
}

int boot_set_address(const char *gateway)
{
    autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bring_up(fd, "lo") < 0)
        return fail("bring up lo");
    if (set_address(fd) < 0)
        return fail("set the address of " CARD);
    if (bring_up(fd, CARD) < 0)
        return fail("bring up " CARD);
    return add_routes(fd, inet_addr(gateway)) < 0 ? fail("add the routes of " CARD) : 0;
}
