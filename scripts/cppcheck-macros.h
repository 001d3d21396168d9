/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For cppcheck, which reads no headers of the system: the macros of libraries that look like
 * syntax. */
#pragma once

#define json_array_foreach(array, index, value) \
    for (index = 0; (value = json_array_get(array, index)); index++)
#define json_object_foreach(object, key, value)                                   \
    for (key = json_object_first(object); (value = json_object_get(object, key)); \
         key = json_object_next(object, key))
