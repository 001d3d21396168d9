/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/framework/envelope.h"

static int parse(const char *data, size_t size, struct envelope *envelope, enum rpc_code *code)
{
    struct rpc_error error = {.code = RPC_CODE_COUNT};
    int rc = envelope_parse(data, size, envelope, &error);
    *code = error.code;
    return rc;
}

TEST(reads_one)
{
    struct envelope envelope;
    enum rpc_code code;
    assert_int_equal(parse("\0\0\0\0\2{}", 7, &envelope, &code), 0);
    assert_int_equal(envelope.size, 2);
    assert_memory_equal(envelope.message, "{}", 2);
    assert_false(envelope.compressed);
    assert_int_equal(parse("\1\0\0\0\2{}", 7, &envelope, &code), 0);
    assert_true(envelope.compressed);
    assert_int_equal(parse("\0\0\0\0\0", 5, &envelope, &code), 0);
    assert_int_equal(envelope.size, 0);
}

TEST(refuses_others)
{
    static const struct {
        const char *data;
        size_t size;
        enum rpc_code code;
    } cases[] = {
        {NULL, 0, RPC_INVALID_ARGUMENT},
        {"\0\0\0\0", 4, RPC_INVALID_ARGUMENT},
        {"\0\0\0\0\3{}", 7, RPC_INVALID_ARGUMENT},
        {"\0\0\0\0\1{}", 7, RPC_INVALID_ARGUMENT},
        {"\0\377\377\377\377{}", 7, RPC_INVALID_ARGUMENT},
        {"\0\0\0\0\2{}\0\0\0\0\2{}", 14, RPC_INVALID_ARGUMENT},
        {"\2\0\0\0\2{}", 7, RPC_INVALID_ARGUMENT},
        {"\200\0\0\0\2{}", 7, RPC_INVALID_ARGUMENT},
        {"\3\0\0\0\2{}", 7, RPC_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct envelope envelope;
        enum rpc_code code;
        assert_int_equal(parse(cases[i].data, cases[i].size, &envelope, &code), -1);
        assert_int_equal(code, cases[i].code);
    }
}

TEST(writes)
{
    buffer_auto buffer = BUFFER_INIT(20);
    assert_int_equal(envelope_append(&buffer, ENVELOPE_END, "{\"a\":1}", 7), 0);
    assert_int_equal(buffer.size, 12);
    assert_memory_equal(buffer.data, "\2\0\0\0\7{\"a\":1}", 12);
    assert_int_equal(envelope_append(&buffer, 0, "123456789", 9), -1);
    assert_true(buffer_overflowed(&buffer));
}
