/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-confine PROGRAM [ARGUMENT…]: runs a program that, with all its descendants, makes system
 * calls of this machine's own kind only; those of another (32-bit, x32) are "not there". incusd's
 * wrapper starts each container through it.
 *
 * The policy that liblxc loads cannot say this: it takes each rule for the machine's own calls and
 * those of its relatives alike. Neither filter sets no_new_privs, sudo goes on to work; root sets
 * this one, and no one takes it off again.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_ARCH AUDIT_ARCH_RISCV64
#else
#error "name the kind of system calls of this architecture (linux/audit.h)"
#endif

/* Set in the number of an x32 call, which has the same architecture as the others. */
#define X32_BIT    0x40000000U

#define CANNOT_RUN 127

static struct sock_filter program[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 0, 2),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int main(int argc, char **argv)
{
    const struct sock_fprog filter = {sizeof program / sizeof program[0], program};
    if (argc < 2) {
        fprintf(stderr, "usage: sandlot-confine PROGRAM [ARGUMENT...]\n");
        return CANNOT_RUN;
    }
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        fprintf(stderr, "sandlot-confine: the kernel refused the filter of system calls: %s\n",
                strerror(errno));
        return CANNOT_RUN;
    }
    execv(argv[1], argv + 1);
    fprintf(stderr, "sandlot-confine: %s cannot be run: %s\n", argv[1], strerror(errno));
    return CANNOT_RUN;
}
