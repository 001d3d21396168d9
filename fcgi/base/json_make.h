/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON values from C values. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Make an array of to_json(&list[0]) and so on. */
#define JSON_LIST(list, count, to_json)                           \
    ({                                                            \
        json_t *values_ = json_array();                           \
        for (size_t i_ = 0; i_ < (size_t)(count); i_++)           \
            json_array_append_new(values_, to_json(&(list)[i_])); \
        values_;                                                  \
    })

/* Make the text of a moment; 0: null. */
json_t *time_to_json(int64_t at_ms);
