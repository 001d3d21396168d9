/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdlib.h>

#include "base/mem.h"
#include "objects/objects_xml.h"

TEST(finds_elements_in_their_order)
{
    const char *at =
        "<?xml version=\"1.0\"?><R><Key>a/b</Key><X/><Key>c&amp;d&lt;&quot;&bogus;</Key></R>";
    autofree char *first = objects_xml_next(&at, "Key");
    autofree char *second = objects_xml_next(&at, "Key");
    assert_string_equal(first, "a/b");
    assert_string_equal(second, "c&d<\"&bogus;");
    assert_null(objects_xml_next(&at, "Key"));
}

TEST(takes_nothing_of_what_is_cut_off)
{
    assert_null(objects_xml_find("<UploadId>abc", "UploadId"));
    assert_null(objects_xml_find("<UploadId", "UploadId"));
    assert_null(objects_xml_find("", "UploadId"));
    autofree char *empty = objects_xml_find("<Code></Code>", "Code");
    assert_string_equal(empty, "");
}
