/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the part of XML that the answers of S3 use. */
#pragma once

/* Return the text of the first element with this name after *at, with its entities replaced, and
 * move *at behind it. The caller frees the text. NULL: no such element. */
char *objects_xml_next(const char **at, const char *name);

/* Do the same from the beginning of a document. */
char *objects_xml_find(const char *text, const char *name);
