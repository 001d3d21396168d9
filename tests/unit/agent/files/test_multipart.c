/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/files/multipart.h"
#include "base/buffer.h"
#include "base/mem.h"

#define TYPE "multipart/form-data; boundary=b0"
#define PART "Content-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"

static int on_begin(void *context, const char *name, const char *file_name, struct rpc_error *error)
{
    (void)error;
    return buffer_printf(context, "<%s|%s>", name, file_name ? file_name : "-");
}

static int on_data(void *context, const char *data, size_t size, struct rpc_error *error)
{
    (void)error;
    assert_true(size > 0);
    return buffer_append(context, data, size);
}

static int on_end(void *context, struct rpc_error *error)
{
    (void)error;
    return buffer_append_string(context, "</>");
}

static const struct multipart_events events = {on_begin, on_data, on_end};

/* What the body says, taken in pieces of that size; "!" at the end when it is refused. */
static void read_body(const char *type, const char *body, size_t piece, struct buffer *told)
{
    struct multipart *multipart;
    struct rpc_error error;
    size_t size = strlen(body);
    assert_int_equal(multipart_new(type, &events, told, &multipart, &error), 0);
    int rc = 0;
    for (size_t at = 0; at < size && rc == 0; at += piece) {
        size_t now = size - at < piece ? size - at : piece;
        /* A copy of its own, so that reading past its end shows. */
        autofree char *copy = xmalloc(now);
        memcpy(copy, body + at, now);
        rc = multipart_data(multipart, copy, now, &error);
    }
    if (rc < 0 || multipart_end(multipart, &error) < 0) {
        assert_int_equal(error.code, RPC_INVALID_ARGUMENT);
        buffer_append_char(told, '!');
    }
    multipart_free(multipart);
}

static void assert_told(const char *type, const char *body, const char *expected)
{
    for (size_t piece = 1; piece <= strlen(body) + 1; piece++) {
        buffer_auto told = BUFFER_INIT(65536);
        read_body(type, body, piece, &told);
        assert_string_equal(buffer_string(&told), expected);
    }
}

TEST(finds_contents)
{
    static const char *const cases[][2] = {
        {"--b0\r\n" PART "text\r\n--b0--\r\n", "<file|f>text</>"},
        {"--b0\r\n" PART "text\r\n--b0--", "<file|f>text</>"},
        {"\r\n--b0\r\n" PART "\r\n--b0--\r\n", "<file|f></>"},
        {"--b0\r\n" PART "--b0--\r\n", "<file|f></>"},
        {"--b0\r\n" PART "\r\n\r\n--b0--\r\n", "<file|f>\r\n</>"},
        {"--b0\r\n" PART "a\r\n--b\r\n--b1\r\n\r\r\n--\r\n-\r--b0 --b0\n--b0\r\r\n--b0--\r\n",
         "<file|f>a\r\n--b\r\n--b1\r\n\r\r\n--\r\n-\r--b0 --b0\n--b0\r</>"},
        {"--b0\r\n" PART "-\r\n--b0--\r\n", "<file|f>-</>"},
        {"--b0\r\n" PART "--b\r\n--b0--\r\n", "<file|f>--b</>"},
        {"--b0 \t\r\n" PART "1\r\n--b0\r\n" PART "2\r\n--b0--\r\n", "<file|f>1</><file|f>2</>"},
        {"a preamble\r\n--b\r\n--b0\r\n" PART "x\r\n--b0--\r\nan epilogue\r\n--b0\r\nof it",
         "<file|f>x</>"},
        {"--b0--\r\n", ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_told(TYPE, cases[i][0], cases[i][1]);
}

TEST(reads_heads)
{
    static const char *const cases[][2] = {
        {"Content-Disposition: form-data; name=file; filename=/a/b", "<file|/a/b>"},
        {"content-disposition:FORM-DATA;NAME = \"file\" ;FILENAME=\"f\"", "<file|f>"},
        {"Content-Type: x/y; name=\"no\"\r\nContent-Disposition: form-data; filename=\"f\"; "
         "name=\"n\"",
         "<n|f>"},
        {"Content-Disposition: form-data; name=\"file\"; filename=\"a; name=b\"",
         "<file|a; name=b>"},
        {"Content-Disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\" \\\\ c:\\d\"",
         "<file|a \"b\" \\ c:\\d>"},
        {"Content-Disposition: form-data;\r\n name=\"file\";\r\n\tfilename=\"f\"\r\nX: y",
         "<file|f>"},
        {"Content-Disposition: form-data; name=file; filename=\"=?utf-8?B?w6Q=?=\"; "
         "filename*=utf-8''%C3%a4%20b",
         "<file|\xc3\xa4 b>"},
        {"Content-Disposition: form-data; name=file; FileName*=\"UTF-8'de'%2Fa%25\"", "<file|/a%>"},
        {"Content-Disposition: form-data; name=file; filename=f; filename*=utf-8''%ff", "<file|f>"},
        {"Content-Disposition: form-data; name=file; filename=f; filename*=utf-8''%0", "<file|f>"},
        {"Content-Disposition: form-data; name=file; filename=f; filename*=utf-8''a%00b",
         "<file|f>"},
        {"Content-Disposition: form-data; name=file; filename=f; filename*=latin1''%e4",
         "<file|f>"},
        {"Content-Disposition: form-data; name=file; filename=f; filename*=utf-8", "<file|f>"},
        {"Content-Disposition: form-data; name=\"\"", "<|->"},
        {"Content-Disposition: form-data; flag; name=\"file\"", "<file|->"},
        {"Content-Disposition: form-data", "!"},
        {"Content-Disposition: form-data; name=\"file", "!"},
        {"Content-Disposition: form-data; filename=\"name=x\"", "!"},
        {"Content-Type: text/plain", "!"},
        {"", "!"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool refused = !strcmp(cases[i][1], "!");
        autofree char *body = xasprintf("--b0\r\n%s\r\n\r\nx\r\n--b0--\r\n", cases[i][0]);
        autofree char *told = xasprintf(refused ? "%s" : "%sx</>", cases[i][1]);
        assert_told(TYPE, body, told);
    }
}

TEST(refuses_what_is_malformed)
{
    static const char *const cases[][2] = {
        {"", "!"},
        {"no delimiter at all", "!"},
        {"--b0", "!"},
        {"--b0\r\n", "!"},
        {"--b0\r\nContent-Disp", "!"},
        {"--b0\r\n" PART, "<file|f>!"},
        {"--b0\r\n" PART "x\r\n--b0\r\n", "<file|f>x</>!"},
        {"--b0x\r\n" PART "x\r\n--b0--\r\n", "!"},
        {"--b0\r\n" PART "x\r\n--b0-\r\n--b0--\r\n", "<file|f>x</>!"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_told(TYPE, cases[i][0], cases[i][1]);
    autofree char *padding = xcalloc(1, 1001);
    memset(padding, ' ', 1000);
    autofree char *padded = xasprintf("--b0%s\r\n" PART "x\r\n--b0--\r\n", padding);
    assert_told(TYPE, padded, "!");
    autofree char *name = xcalloc(1, MULTIPART_HEAD_MAX + 1);
    memset(name, 'n', MULTIPART_HEAD_MAX);
    autofree char *long_head =
        xasprintf("--b0\r\nContent-Disposition: form-data; name=%s\r\n\r\nx\r\n--b0--\r\n", name);
    buffer_auto told = BUFFER_INIT(65536);
    read_body(TYPE, long_head, 1000, &told);
    assert_string_equal(buffer_string(&told), "!");
}

TEST(finds_the_boundary)
{
    static const char *const good[] = {
        TYPE,
        "multipart/form-data; boundary=b0; charset=utf-8",
        "multipart/form-data;charset=utf-8;Boundary=\"b0\"",
        "Multipart/Form-Data ; BOUNDARY = b0 ;",
    };
    static const char *const bad[] = {"multipart/form-data", "multipart/form-data; boundary=",
                                      "multipart/form-data; boundary=\"b0",
                                      "multipart/form-data; xboundary=b0"};
    struct multipart *multipart;
    struct rpc_error error;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_told(good[i], "--b0\r\n" PART "x\r\n--b0--\r\n", "<file|f>x</>");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(multipart_new(bad[i], &events, NULL, &multipart, &error), -1);
}
