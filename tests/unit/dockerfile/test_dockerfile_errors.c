/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every refusal of a Dockerfile names the line and the column. */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile.h"

#define HASH "0123456789abcdef0123456789abcdef"

static int try(const char *text, const struct dockerfile_build *build, struct error **err)
{
    dockerfile_auto *file = NULL;
    struct dockerfile_plan made = {.bases = NULL};
    int result = dockerfile_parse(text, strlen(text), &file, err);
    if (result == 0)
        result = dockerfile_plan(file, build, &made, err);
    dockerfile_plan_deinit(&made);
    return result;
}

struct refusal {
    const char *text;
    unsigned line, column;
    const char *said;
};

static void refuses(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct dockerfile_build build = {.context = HASH};
        error_auto err = NULL;
        if (try(cases[i].text, &build, &err) == 0)
            fail_msg("taken: %s", cases[i].text);
        autofree char *place = xasprintf("Line %u, column %u: ", cases[i].line, cases[i].column);
        if (err->code != ERR_INVALID_REQUEST || !str_equal(err->field, DOCKERFILE_FIELD) ||
            !str_starts_with(err->message, place) || !strstr(err->message, cases[i].said))
            fail_msg("%s\nsays      %s\nexpected  %s… %s", cases[i].text, err->message, place,
                     cases[i].said);
    }
}

TEST(names_the_place)
{
    static const struct refusal cases[] = {
        {"", 1, 1, "there is no FROM"},
        {"# only this\n", 2, 1, "there is no FROM"},
        {"RUN x", 1, 1, "only ARG comes before the first FROM"},
        {"FROM", 1, 5, "FROM needs an argument"},
        {"FROM x\nRUN", 2, 4, "RUN needs an argument"},
        {"FROM x\nRUNN x", 2, 1, "did you mean RUN?"},
        {"FROM x\n\n  COPPY a b", 3, 3, "did you mean COPY?"},
        {"# escape=x\nFROM x", 1, 10, "the escape character must be"},
        {"FROM x y", 1, 8, "FROM NAME AS STAGE"},
        {"FROM x AS 1y", 1, 11, "the name of a stage"},
        {"ARG A\nFROM $A", 2, 6, "FROM has an empty name"},
        {"FROM --platform=linux/arm64 x", 1, 6, "Remove the flag"},
        {"ARG P=windows/amd64\nFROM --platform=$P x", 2, 6, "Remove the flag"},
        {"FROM x\nONBUILD RUM x", 2, 9, "there is no instruction RUM"},
        {"FROM x\nONBUILD from y", 2, 9, "ONBUILD cannot have FROM"},
        {"FROM x\nONBUILD ONBUILD RUN y", 2, 9, "ONBUILD cannot have ONBUILD"},
        {"FROM x\nENV A", 2, 5, "write A=VALUE"},
        {"FROM x\nENV A=1 B", 2, 9, "write NAME=VALUE"},
        {"FROM x\nARG K=k\nENV $K=v", 3, 5, "the name has no quotes and no variables"},
        {"FROM x\nONBUILD RUN cat <<-'E'\nENV a=b\nE", 2, 17, "ONBUILD has no here-document"},
        {"FROM x\nVOLUME [\"/a\", \"b\"]", 2, 8, "absolute paths"},
        {"FROM x\nENV A=\"1", 2, 7, "a quote has no closing quote"},
        {"FROM x\nENV A=1 \\\n    B='2", 3, 7, "a quote has no closing quote"},
        {"FROM x\nENV \xc3\xa4=${x", 2, 7, "and a closing brace"},
        {"FROM x\nENV A=${x:?no}", 2, 10, "only the sandbox"},
        {"FROM x\nENV A=${x%y}", 2, 10, "only the sandbox"},
        {"FROM x\nARG A\nENV B=\"${A:?give A}\"", 3, 13, "A: give A."},
        {"FROM x\nARG A=1\nENV B=${A^^}", 3, 10, "this form of a variable"},
        {"FROM x\nARG A=1\nENV B=${A/1}", 3, 10, "${NAME/PATTERN/TEXT}"},
        {"FROM x\nARG A=1\nENV B=${A%$HOME}", 3, 11, "the pattern has a variable"},
        {"FROM x\nENV A=${x:-\"}\"}", 2, 13, "this variable has a brace"},
        {"FROM x\nENV A=\\\\$x", 2, 9, "a backslash precedes a variable"},
        {"FROM x\nLABEL a=b c", 2, 11, "write NAME=VALUE"},
        {"FROM x\nARG =x", 2, 5, "write ARG NAME"},
        {"FROM x\nARG TARGETARCH", 2, 5, "give it as a build argument"},
        {"FROM x\nUSER a b", 2, 6, "such as USER root"},
        {"FROM x\nUSER 70000", 2, 6, "0 to 65535"},
        {"FROM x\nUSER a:70000", 2, 6, "0 to 65535"},
        {"FROM x\nVOLUME /a data", 2, 8, "absolute paths"},
        {"FROM x\nSHELL /bin/sh", 2, 7, "SHELL takes the exec form"},
        {"FROM x\nCMD ['a', 'b']", 2, 6, "in double quotes"},
        {"FROM x\nRUN []", 2, 5, "the exec form needs a program"},
    };
    refuses(cases, ARRAY_SIZE(cases));
}

TEST(names_the_place_of_files_and_settings)
{
    static const struct refusal cases[] = {
        {"FROM x\nRUN --network=host a", 2, 5, "RUN --network=host is not supported"},
        {"FROM x\nRUN --security=insecure a", 2, 5, "Remove the flag"},
        {"FROM x\nCOPY --link=no a /b", 2, 6, "--link takes true or false"},
        {"FROM x\nCOPY [\"a\\nb\", \"/c\"]", 2, 6, "has no line break"},
        {"FROM x\nCOPY [\"${A\", \"/c\"]", 2, 6, "a closing brace"},
        {"FROM x\nRUN --mount=type=bind,source=a,target= a", 2, 13, "below the root folder"},
        {"FROM x\nRUN --mount=target=//,from=y a", 2, 13, "below the root folder"},
        {"FROM x\nRUN --mount=type=bind,from=7,target=/a a", 2, 13, "no stage 7"},
        {"FROM x\nCOPY --parents a/../b /c", 2, 16, "has no \"..\""},
        {"FROM x\nRUN --mount=type=secret,id=a,required=true a", 2, 13,
         "the build has no secret a"},
        {"FROM x\nRUN --mount=type=secret a", 2, 13, "name the secret"},
        {"FROM x\nRUN --mount=type=secret,id=$A a", 2, 13, "the file does not set"},
        {"FROM x\nRUN --mount=type=cache,id=$A,target=/a a", 2, 13, "the file does not set"},
        {"FROM x\nRUN --mount=target=$A/b a", 2, 13, "the file does not set"},
        {"FROM x\nARG A=$B\nENV C=${A:-1}", 3, 10, "only the sandbox of the build knows"},
        {"FROM x\nARG A=$B\nENV C=${D:-$A}", 3, 12, "only the sandbox of the build knows"},
        {"FROM x\nARG A=$B\nENV C=${A#1}", 3, 10, "only the sandbox of the build knows"},
        {"FROM x\nARG A\nCOPY $A /b", 3, 6, "this source is empty"},
        {"FROM x\nRUN --mount=type=ssh a", 2, 13, "no SSH agent"},
        {"FROM x\nRUN --mount=type=tmpfs a", 2, 13, "type=tmpfs,target=/PATH"},
        {"FROM x\nRUN --mount=type=other a", 2, 13, "the types are bind, cache, secret and"},
        {"FROM x\nRUN --mount=type=cache a", 2, 13, "type=cache,target=/PATH"},
        {"FROM x\nRUN --mount=type=cache,target=/. a", 2, 13, "below the root folder"},
        {"FROM x\nRUN --mount=type=cache,target=/a,color=red a", 2, 13,
         "no option color; its options are target id sharing mode uid gid ro rw"},
        {"FROM x\nRUN true && \\\n  a\nRUN --mount=target=/a,sharing=shared a", 4, 13,
         "type=bind has no option sharing; its options are target source from rw ro"},
        {"FROM x\nRUN --mount=type=cache,target=/a,from=b a", 2, 13, "a cache has no from"},
        {"FROM x\nRUN --mount=type=cache,target=/a,sharing=all a", 2, 13,
         "shared, private or locked"},
        {"FROM x\nRUN --mount=type=cache,target=/a,mode=u+x a", 2, 13, "octal digits"},
        {"FROM x\nRUN --mount=type=cache,target=/a,uid=root a", 2, 13, "numbers"},
        {"FROM x\nRUN --mount=type=secret,id=a,target=b a", 2, 13, "absolute path"},
        {"FROM x\nRUN <<EOF\na\n", 2, 5, "no line EOF"},
        {"FROM x\nRUN cat << EOF\na\n", 2, 9, "no line EOF"},
        {"FROM x\nCOPY a", 2, 6, "needs a source and a destination"},
        {"FROM x\nCOPY a b /c", 2, 10, "as destination: end it with a slash"},
        {"FROM x\nCOPY --from=y a /b\nFROM x AS y", 2, 6, "no stage y"},
        {"FROM x\nCOPY --from=7 a /b", 2, 6, "no stage 7"},
        {"FROM x AS y\nCOPY --from=y a /b", 2, 6, "no stage y"},
        {"FROM x AS y\nFROM z\nCOPY --from=y $A /b", 3, 15, "does not set"},
        {"FROM x\nCOPY --form=y a /b", 2, 6, "COPY has no flag --form"},
        {"FROM x\nCOPY --chmod=u+y a /b", 2, 6, "octal digits"},
        {"FROM x\nCOPY --chown= a /b", 2, 6, "--chown=USER:GROUP"},
        {"FROM x\nCOPY --link --link a /b", 2, 13, "is given twice"},
        {"FROM x\nCOPY --exclude=!a b /c", 2, 6, "files that are left out"},
        {"FROM x\nCOPY --unpack a /b", 2, 6, "write ADD"},
        {"FROM x\nCOPY --chown=$A <<E /f\nx\nE", 2, 21, "the owner of a here-document"},
        {"FROM x\nCOPY $A/../a /b", 2, 6, "has no \"..\""},
        {"FROM x\nADD https://example.com/a /b", 2, 5, "fetch it with RUN"},
        {"FROM x\nCOPY a \\\n  https://example.com/a /b/", 3, 3, "fetch it with RUN"},
        {"FROM x\nCOPY <<E /f\n$host\nE", 2, 6, "write <<'E'"},
        {"FROM x\nEXPOSE 80 http", 2, 11, "write a port"},
        {"FROM x\nEXPOSE 90-80", 2, 8, "write a port"},
        {"FROM x\nEXPOSE 70000", 2, 8, "write a port"},
        {"FROM x\nSTOPSIGNAL stop", 2, 12, "SIGTERM"},
        {"FROM x\nHEALTHCHECK curl x", 2, 13, "HEALTHCHECK CMD COMMAND"},
        {"FROM x\nHEALTHCHECK --interval=soon CMD a", 2, 13, "a duration, such as 30s"},
        {"FROM x\nHEALTHCHECK --every=1s CMD a", 2, 13, "has no flag --every"},
        {"FROM x\nENV --a=b c=d", 2, 5, "ENV has no flag --a"},
        {"FROM x AS a\nONBUILD FROM x\nFROM y", 2, 9, "ONBUILD cannot have FROM"},
    };
    refuses(cases, ARRAY_SIZE(cases));
}

TEST(names_the_field)
{
    json_auto_t *unknown = json_pack("{s:s}", "NONE", "x");
    static const char text[] = "FROM x AS one\nARG A\nCOPY a /b\n";
    const struct {
        struct dockerfile_build build;
        const char *field;
    } cases[] = {
        {{.context = NULL}, "/context"},
        {{.context = HASH, .target = "two"}, "/target"},
        {{.context = HASH, .target = "1"}, "/target"},
        {{.context = HASH, .args = unknown}, "/build_args"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        error_auto err = NULL;
        assert_fails(try(text, &cases[i].build, &err), ERR_INVALID_REQUEST);
        assert_string_equal(err->field, cases[i].field);
    }
}

static char *repeated(const char *head, const char *line, size_t count)
{
    struct buffer text = BUFFER_INIT(1 << 20);
    buffer_append_string(&text, head);
    for (size_t i = 0; i < count; i++)
        buffer_append_string(&text, line);
    return buffer_steal(&text);
}

TEST(is_bounded)
{
    static const struct {
        const char *head, *line;
        size_t count;
        const char *said;
    } cases[] = {
        {"FROM x\n", "LABEL a=b\n", 500, "at most 500 instructions"},
        {"FROM x\n", "\n", DOCKERFILE_LINES_MAX, "at most 5000 lines"},
        {"", "FROM x\n", 40, "at most 32 stages"},
        {"FROM x\n", "#####################################\n", 2000, "at most 65536 bytes"},
        {"FROM x\nENV A=xxxxxxxx\n", "ENV A=$A$A$A$A\n", 9, "too long"},
        {"FROM x\n", "COPY a a a a a a a a a a a a /b/\n", 30, "at most 200 steps"},
        {"FROM x\nARG A=12345678\nARG A=$A$A$A$A$A$A$A$A\nARG A=$A$A$A$A$A$A$A$A\n"
         "ARG A=$A$A$A$A$A$A$A$A\nARG A=$A$A$A$A\n",
         "RUN x\n", 100, "more than 1024 KiB"},
        {"FROM x\nARG A=12345678\nARG A=$A$A$A$A$A$A$A$A\nARG A=$A$A$A$A$A$A$A$A\n"
         "ARG A=$A$A$A$A$A$A$A$A\nARG A=$A$A$A$A\n",
         "LABEL a=$A a=$A\n", 150, "too long together"},
        {"FROM x\nEXPOSE", " 80", 65, "at most 64 ports"},
        {"FROM x\nEXPOSE", " $A", 65, "at most 64 ports"},
        {"FROM x\nVOLUME", " /a", 65, "at most 64 volumes"},
        {"FROM x\nVOLUME", " $A", 65, "at most 64 volumes"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct dockerfile_build build = {.context = HASH};
        autofree char *text = repeated(cases[i].head, cases[i].line, cases[i].count);
        error_auto err = NULL;
        assert_fails(try(text, &build, &err), ERR_INVALID_REQUEST);
        if (!strstr(err->message, cases[i].said))
            fail_msg("%s: %s", cases[i].said, err->message);
    }
}

TEST(takes_only_text)
{
    dockerfile_auto *file = NULL;
    error_auto err = NULL;
    assert_fails(dockerfile_parse("FROM x\0y", 8, &file, &err), ERR_INVALID_REQUEST);
    error_clear(&err);
    assert_fails(dockerfile_parse("FROM \xff", 6, &file, &err), ERR_INVALID_REQUEST);
}
