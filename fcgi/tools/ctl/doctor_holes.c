/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the installed packages of this machine, and the kernel that runs, have known security
 * holes (known_holes.def). A hole is wrong where apt has the version that closes it; otherwise
 * it is a note, because the operator can only wait for Debian or move to its next release.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/debian_version.h"
#include "ctl/doctor.h"
#include "ctl/holes.h"

#define CHECK       "holes"
#define LINE_SIZE   512
#define ANSWER_SIZE 8192

static const struct {
    const char *package, *source;
} packages[] = {
    {"incus-base", "incus"}, {"liblxc1", "lxc"}, {"liblxc1t64", "lxc"},  {"lxcfs", "lxcfs"},
    {"criu", "criu"},        {"nginx", "nginx"}, {"libssh-4", "libssh"},
};

static char *const environment[] = {(char *)"LC_ALL=C",
                                    (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};

/* The value of NAME=value in /etc/os-release; "" where it is missing. */
static void read_codename(char out[HOLE_RELEASE_SIZE])
{
    static const char name[] = "VERSION_CODENAME=";
    char line[LINE_SIZE];
    autofclose FILE *file = fopen("/etc/os-release", "re");
    out[0] = '\0';
    while (file && fgets(line, sizeof line, file))
        if (str_starts_with(line, name)) {
            const char *value = line + strlen(name);
            snprintf(out, HOLE_RELEASE_SIZE, "%.*s", (int)strcspn(value, "\n"), value);
        }
}

/* Find the line of a text that begins with a prefix, and copy the rest of it. Returns false when no
 * line does. */
static bool find_line(const char *text, const char *prefix, char out[HOLE_VERSION_SIZE])
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (str_starts_with(line, prefix)) {
            const char *value = line + strlen(prefix);
            snprintf(out, HOLE_VERSION_SIZE, "%.*s", (int)strcspn(value, "\n"), value);
            return true;
        }
    return false;
}

/* Whether apt would install a newer version. */
static bool can_be_mended(const char *package, const char *installed)
{
    char *arguments[] = {(char *)"/usr/bin/apt-cache", (char *)"policy", (char *)package, NULL};
    char answer[ANSWER_SIZE], candidate[HOLE_VERSION_SIZE];
    doctor_run(arguments, environment, answer, sizeof answer);
    return find_line(answer, "  Candidate: ", candidate) &&
           debian_version_compare(candidate, installed) > 0;
}

/* Report the known holes of a version. Returns whether it has a hole. */
static bool judge(struct doctor *doctor, const struct holes *holes, const char *source,
                  const char *package, const char *version, const char *codename)
{
    struct hole_verdict verdict = holes_judge(holes, source, version, codename);
    bool is_kernel = str_equal(source, "linux");
    if (!verdict.newest)
        return false;
    autofree char *finding = xasprintf("%s %s has %zu known hole%s, among them %.*s: %s", package,
                                       version, verdict.count, verdict.count == 1 ? "" : "s",
                                       (int)strcspn(verdict.newest->names, " "),
                                       verdict.newest->names, verdict.newest->why);
    autofree char *advice =
        xasprintf("Run `apt-get update && apt-get install --only-upgrade %s`%s.", package,
                  is_kernel ? ", and reboot" : "");
    if (can_be_mended(package, version))
        doctor_wrong(doctor, CHECK, advice, "%s.", finding);
    else
        doctor_note(doctor, CHECK, "%s. apt has no newer version; Debian's %s fixes them in %s.",
                    finding, verdict.release, verdict.newest->fixed);
    return true;
}

static bool judge_packages(struct doctor *doctor, const struct holes *holes, const char *codename)
{
    char *arguments[3 + ARRAY_SIZE(packages) + 1] = {
        (char *)"/usr/bin/dpkg-query", (char *)"--show",
        (char *)"--showformat=${Package} ${db:Status-Status} ${Version}\\n"};
    char answer[ANSWER_SIZE], version[HOLE_VERSION_SIZE];
    bool has_holes = false;
    for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
        arguments[3 + i] = (char *)packages[i].package;
    doctor_run(arguments, environment, answer, sizeof answer);
    for (size_t i = 0; i < ARRAY_SIZE(packages); i++) {
        autofree char *prefix = xasprintf("%s installed ", packages[i].package);
        if (find_line(answer, prefix, version))
            has_holes |=
                judge(doctor, holes, packages[i].source, packages[i].package, version, codename);
    }
    return has_holes;
}

/* The kernel that runs says its version: "#1 SMP PREEMPT_DYNAMIC Debian 6.12.95-1 (2026-07-01)".
 * Its package is linux-image-FLAVOUR, and the flavour follows the last number of its release. */
static bool judge_kernel(struct doctor *doctor, const struct holes *holes, const char *codename)
{
    static const char word[] = "Debian ";
    struct utsname kernel;
    char version[HOLE_VERSION_SIZE];
    const char *at = uname(&kernel) == 0 ? strstr(kernel.version, word) : NULL;
    if (!at) {
        doctor_note(doctor, CHECK,
                    "The kernel is not Debian's, so sandlotctl did not check its known holes.");
        return false;
    }
    at += strlen(word);
    snprintf(version, sizeof version, "%.*s", (int)strcspn(at, " "), at);
    const char *flavour = kernel.release;
    for (const char *digit = flavour; (digit = strpbrk(digit, "0123456789")); digit++)
        if (digit[1] == '-')
            flavour = digit + 2;
    if (flavour[strspn(flavour, "abcdefghijklmnopqrstuvwxyz0123456789-")])
        return false;
    autofree char *package = xasprintf("linux-image-%s", flavour);
    return judge(doctor, holes, "linux", package, version, codename);
}

void doctor_check_holes(struct doctor *doctor)
{
    error_auto err = NULL;
    holes_auto holes = {0};
    char codename[HOLE_RELEASE_SIZE];
    if (holes_load(&holes, &err) < 0) {
        doctor_wrong(doctor, CHECK, "Run `sandlotctl holes refresh FILE`, or delete the file.",
                     "%s.", err->message);
        return;
    }
    read_codename(codename);
    bool has_holes = judge_packages(doctor, &holes, codename);
    has_holes |= judge_kernel(doctor, &holes, codename);
    if (!has_holes)
        doctor_ok(
            doctor, CHECK,
            "No installed package of this machine has a known hole (`sandlotctl holes list`).");
}
