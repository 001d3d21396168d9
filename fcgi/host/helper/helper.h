/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs inside sandlot-incus (main.c). Each takes its own arguments, its name first, and
 * returns the exit status of the process. */
#pragma once

int helper_incusd_exec(int argc, char **argv);
int helper_incusd_prepare(int argc, char **argv);
int helper_mount_lxcfs(int argc, char **argv);
int helper_pool_guard(int argc, char **argv);
int helper_btrfs(int argc, char **argv);
int helper_ip(int argc, char **argv);
int helper_nft(int argc, char **argv);
int helper_criu(int argc, char **argv);
int helper_tar(int argc, char **argv);
