/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is built for use cannot be stopped or killed by a file. */
#include "unit/unit.h"

#include "base/mem.h"

#define PROGRAM_MAX (64 * 1024 * 1024)

/* Whether the program's file holds the text: the name of a symbol, or a string. */
static bool holds(const char *program, const char *text)
{
    autofree char *path = xasprintf("%s/%s", getenv("SANDLOT_BUILD_DIR"), program);
    autofree char *bytes = xmalloc(PROGRAM_MAX);
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s cannot be read", path);
    size_t size = fread(bytes, 1, PROGRAM_MAX, file);
    assert_true(size > 4096 && size < PROGRAM_MAX);
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

TEST(only_a_build_for_tests_has_fault_points)
{
    static const char *const programs[] = {"sandlot-api", "sandlot-gate", "sandlot-dispatcher"};
    static const char *const traces[] = {"fault_point", "fault_point_open", "create.inserting",
                                         "delete.removed"};
#ifdef SANDLOT_FAULT_POINTS
    const bool wanted = true;
#else
    const bool wanted = false;
#endif
    if (!getenv("SANDLOT_BUILD_DIR"))
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        /* The search itself works. */
        assert_true(holds(programs[i], "worker_open"));
        for (size_t j = 0; j < ARRAY_SIZE(traces); j++)
            if (holds(programs[i], traces[j]) != wanted)
                fail_msg("%s: %s is %s", programs[i], traces[j], wanted ? "missing" : "there");
    }
}
