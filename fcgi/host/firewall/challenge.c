/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/challenge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "firewall/filter.h"

#define IPV4_SIZE    20
#define TCP_SIZE     20
#define SEGMENT_SIZE (IPV4_SIZE + TCP_SIZE)
#define TIME_TO_LIVE 64
#define TCP_SYN      0x02

static int set_address(int fd, const char *name, unsigned long what, uint32_t address)
{
    struct ifreq request = {0};
    struct sockaddr_in *socket_address = (struct sockaddr_in *)&request.ifr_addr;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    socket_address->sin_family = AF_INET;
    socket_address->sin_addr.s_addr = htonl(address);
    return ioctl(fd, what, &request);
}

/* Bring the device up with an address. Without one, the kernel drops packets with a source that is
 * routed elsewhere (fib_validate_source()). The address is the one that sandboxes' links have. It
 * is set before the device is up, so that it creates no route to a network. */
static int bring_up(const char *name)
{
    struct ifreq request = {0};
    autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        return -1;
    if (!(request.ifr_flags & IFF_UP) && (set_address(fd, name, SIOCSIFADDR, FILTER_RESOLVER) < 0 ||
                                          set_address(fd, name, SIOCSIFNETMASK, UINT32_MAX) < 0))
        return -1;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    return ioctl(fd, SIOCSIFFLAGS, &request);
}

/* Allow sources that are routed elsewhere, as all packets from this device have. The strict filter
 * (1) would drop them. */
static void loosen_source_check(const char *name)
{
    autofree char *path = xasprintf("/proc/sys/net/ipv4/conf/%s/rp_filter", name);
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "2", 1) != 1)
        log_warning("cannot set rp_filter of the TUN device; the kernel may drop the notifications "
                    "of cut connections",
                    LOG_STR("path", path));
}

static int device_fd(void)
{
    const char *handed = getenv("SANDLOT_TUN_FD");
    uint64_t fd;
    if (handed && str_parse_u64(handed, 3, 1023, &fd) == 0)
        return fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
    return open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

/* Attach a descriptor to the device. A previous process may have attached an inherited one
 * already. */
static int attach(int fd, const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI}, present = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNGETIFF, &present) == 0 && !strcmp(present.ifr_name, request.ifr_name))
        return 0;
    return ioctl(fd, TUNSETIFF, &request);
}

int challenge_open(const char *name)
{
    autoclose int fd = device_fd();
    if (fd < 0 || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 || attach(fd, name) < 0 ||
        bring_up(name) < 0) {
        log_warning("cannot notify the idle ends of cut connections; they end at their timeouts",
                    LOG_STR("device", name), LOG_STR("reason", strerror(errno)));
        return -1;
    }
    loosen_source_check(name);
    return steal_fd(&fd);
}

/* --- segments --- */

static uint32_t sum_words(const uint8_t *data, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i += 2)
        sum += (uint32_t)data[i] << 8 | data[i + 1];
    return sum;
}

static void put_16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_32(uint8_t *at, uint32_t value)
{
    put_16(at, (uint16_t)(value >> 16));
    put_16(at + 2, (uint16_t)value);
}

static void put_checksum(uint8_t *at, uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    put_16(at, (uint16_t)~sum);
}

/* Header layouts: RFC 791 section 3.1, RFC 9293 section 3.1. */
static void send_syn(int tun, uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port)
{
    uint8_t segment[SEGMENT_SIZE] = {0x45};
    uint8_t *tcp = segment + IPV4_SIZE;
    uint32_t sequence = 0;
    if (getrandom(&sequence, sizeof sequence, 0) != (ssize_t)sizeof sequence)
        return;
    put_16(segment + 2, SEGMENT_SIZE);
    segment[8] = TIME_TO_LIVE;
    segment[9] = IPPROTO_TCP;
    put_32(segment + 12, from);
    put_32(segment + 16, to);
    put_checksum(segment + 10, sum_words(segment, IPV4_SIZE));
    put_16(tcp, from_port);
    put_16(tcp + 2, to_port);
    put_32(tcp + 4, sequence);
    tcp[12] = TCP_SIZE / 4 << 4;
    tcp[13] = TCP_SYN;
    put_16(tcp + 14, 1024);
    put_checksum(tcp + 16,
                 sum_words(segment + 12, 8) + IPPROTO_TCP + TCP_SIZE + sum_words(tcp, TCP_SIZE));
    /* A full queue drops the segment, as any network may. */
    if (write(tun, segment, sizeof segment) < 0 && errno != EAGAIN)
        log_debug("segment not sent", LOG_STR("reason", strerror(errno)));
}

void challenge_both_ends(int tun, uint32_t sandbox, const struct flow *flow)
{
    send_syn(tun, flow->remote, flow->remote_port, sandbox, flow->local_port);
    send_syn(tun, sandbox, flow->local_port, flow->remote, flow->remote_port);
}
