/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "incus/incus_metrics.h"

#define LABELS(name) "name=\"" name "\",project=\"sandlot\",type=\"container\"}"

TEST(adds_up_processors_and_modes)
{
    autofree struct incus_usage *list = NULL;
    size_t count;
    incus_metrics_parse(
        "# HELP incus_cpu_seconds_total The total number of CPU time used in seconds.\n"
        "# TYPE incus_cpu_seconds_total counter\n"
        "incus_cpu_seconds_total{cpu=\"1\",mode=\"system\"," LABELS(
            "b") " 0.25\n"
                 "incus_cpu_seconds_total{cpu=\"1\",mode=\"user\"," LABELS(
                     "b") " 1.5\n"
                          "incus_cpu_seconds_total{cpu=\"0\",mode=\"user\"," LABELS(
                              "b") " 2e+03\n"
                                   "incus_cpu_seconds_total{cpu=\"0\",mode=\"idle\"," LABELS(
                                       "b") " 77\n"
                                            "incus_cpu_seconds_total{cpu=\"0\",mode="
                                            "\"user\"," LABELS(
                                                "a") " 0\n"
                                                     "incus_memory_MemTotal_bytes{" LABELS(
                                                         "a") " 5.36870912e+08\n"
                                                              "incus_memory_MemFree_bytes{" LABELS(
                                                                  "a") " 5e+08\n"
                                                                       "incus_memory_Cached_"
                                                                       "bytes{" LABELS(
                                                                           "a") " 1000\n"
                                                                                "incus_procs_"
                                                                                "total{" LABELS(
                                                                                    "c") " 2",
        &list, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].name, "a");
    assert_true(list[0].has_cpu && list[0].has_memory && !list[0].virtual_machine);
    assert_int_equal(list[0].cpu_ms, 0);
    assert_int_equal(list[0].memory_bytes, 536870912);
    assert_int_equal(list[0].free_bytes, 500000000);
    assert_int_equal(list[0].cached_bytes, 1000);
    assert_string_equal(list[1].name, "b");
    assert_true(list[1].has_cpu && !list[1].has_memory);
    assert_int_equal(list[1].cpu_ms, 2001750);
}

TEST(passes_over_what_it_does_not_know)
{
    static const char *const texts[] = {
        "",
        "\n\n\n",
        "incus_cpu_seconds_total",
        "incus_cpu_seconds_total{",
        "incus_cpu_seconds_total{}",
        "incus_cpu_seconds_total{} 1",
        "incus_cpu_seconds_total{name=\"} 1",
        "incus_cpu_seconds_total{name=\"\"} 1",
        "incus_cpu_seconds_total{name=\"x\"}",
        "incus_cpu_seconds_total{name=\"x\"} nothing",
        "incus_cpu_seconds_total{name=\"x\"} NaN",
        "incus_cpu_seconds_total{name=\"x\"} -1",
        "incus_cpu_seconds_total{name=\"x\"} 1e300",
        "incus_cpu_seconds_total{name=\"0123456789012345678901234567890123456789012345678901234567"
        "890123456789\"} 1",
        "incus_cpu_seconds_totals{name=\"x\"} 1",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        autofree struct incus_usage *list = NULL;
        size_t count;
        incus_metrics_parse(texts[i], &list, &count);
        if (count)
            fail_msg("'%s' gave %s", texts[i], list[0].name);
    }
}

TEST(takes_thousands_of_instances)
{
    buffer_auto text = BUFFER_INIT(1 << 20);
    autofree struct incus_usage *list = NULL;
    size_t count;
    for (unsigned i = 0; i < 3000; i++)
        buffer_printf(&text,
                      "incus_memory_MemTotal_bytes{name=\"sbx-%u\",type=\"virtual-machine\"}"
                      " %u\n",
                      i * 7919 % 3000, i);
    incus_metrics_parse(buffer_string(&text), &list, &count);
    assert_int_equal(count, 3000);
    assert_true(list[2999].virtual_machine);
}
