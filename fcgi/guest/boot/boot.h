/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a virtual machine's boot, between its kernel and its agent. Each function writes its
 * errors to standard error, which is the machine's console, and returns 0 or -1.
 */
#pragma once

#define BOOT_ROOT "/root" /* where the file system of the disk is mounted */

/* Load the modules that the file `list` names, one path a line, in this order. */
int boot_load_modules(const char *list);

/* Wait for the disk, let its second partition end with the disk, mount it on BOOT_ROOT, and let its
 * file system fill the partition. */
int boot_mount_disk(void);

/* Give eth0 the IPv4 address that follows from its Ethernet address (base/link_address.h), and
 * routes through `gateway`, which answers on the same cable. */
int boot_set_address(const char *gateway);
