/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps and the configuration that Dockerfiles become. */
#include "unit/unit.h"

#include "base/mem.h"
#include "dockerfile/dockerfile.h"

#define HASH  "0123456789abcdef0123456789abcdef"
#define SHELL "\"shell_at\":0,\"arguments\":[\"/bin/sh\",\"-c\","
#define NONE  ",\"variables\":{}"

static struct dockerfile_plan plan(const char *text, const struct dockerfile_build *build)
{
    dockerfile_auto *file = NULL;
    struct dockerfile_plan made = {.bases = NULL};
    error_auto err = NULL;
    assert_ok(dockerfile_parse(text, strlen(text), &file, &err));
    assert_ok(dockerfile_plan(file, build, &made, &err));
    return made;
}

static void assert_json(const char *text, const json_t *made, const char *expected)
{
    json_auto_t *wanted = json_loads(expected, 0, NULL);
    if (!wanted)
        fail_msg("not JSON: %s", expected);
    if (json_equal((json_t *)(uintptr_t)made, wanted))
        return;
    autofree char *said = json_dumps(made, JSON_COMPACT | JSON_PRESERVE_ORDER);
    fail_msg("%s\nbecomes  %s\nexpected %s", text, said, expected);
}

/* Each file begins with "FROM x\n", so its first instruction is on line 2. */
TEST(makes_steps)
{
    static const struct {
        const char *text, *steps;
    } cases[] = {
        {"", "[]"},
        {"RUN a  b",
         "[{\"type\":\"run\",\"command\":\"a  b\"," SHELL "\"a  b\"]" NONE ",\"line\":2}]"},
        {"run [\"a\", \"b c\"]",
         "[{\"type\":\"run\",\"command\":\"[\\\"a\\\", \\\"b c\\\"]\",\"arguments\":[\"a\",\"b "
         "c\"]" NONE ",\"line\":2}]"},
        {"RUN [ -f x ]",
         "[{\"type\":\"run\",\"command\":\"[ -f x ]\"," SHELL "\"[ -f x ]\"]" NONE ",\"line\":2}]"},
        {"RUN a \\\n  # note\n\n  b \\  \n c",
         "[{\"type\":\"run\",\"command\":\"a   b  c\"," SHELL "\"a   b  c\"]" NONE ",\"line\":2}]"},
        {"SHELL [\"/bin/bash\", \"-ec\"]\nRUN a",
         "[{\"type\":\"run\",\"command\":\"a\",\"arguments\":[\"/bin/bash\",\"-ec\",\"a\"]" NONE
         ",\"line\":3}]"},
        {"RUN <<EOF\na $b\nEOF\nUSER root",
         "[{\"type\":\"run\",\"command\":\"<<EOF\"," SHELL "\"a $b\\n\"]" NONE ",\"line\":2},"
         "{\"type\":\"user\",\"user\":\"root\",\"group\":\"\",\"line\":5}]"},
        {"RUN cat <<-'A' >/x\n\tone\n\tA",
         "[{\"type\":\"run\",\"command\":\"cat <<-'A' >/x\"," SHELL
         "\"cat <<-'A' >/x\\n\\tone\\n\\tA\\n\"]" NONE ",\"line\":2}]"},
        {"RUN echo \"<<A\" $((1 << n))",
         "[{\"type\":\"run\",\"command\":\"echo \\\"<<A\\\" $((1 << n))\"," SHELL
         "\"echo \\\"<<A\\\" $((1 << n))\"]" NONE ",\"line\":2}]"},
        {"ENV A=1 B=\"x y\" C='$A' D=a\\ b",
         "[{\"type\":\"env\",\"envs\":{\"A\":\"1\",\"B\":\"x y\",\"C\":\"$A\",\"D\":\"a b\"},"
         "\"line\":2}]"},
        {"ENV A  b \"c\"", "[{\"type\":\"env\",\"envs\":{\"A\":\"b c\"},\"line\":2}]"},
        {"ENV A=1\nENV A=2 B=$A C=${A:+y}${NO:-z}",
         "[{\"type\":\"env\",\"envs\":{\"A\":\"1\"},\"line\":2},{\"type\":\"env\",\"expand\":true,"
         "\"envs\":{\"A\":\"2\",\"B\":\"1\",\"C\":\"y${NO:-z}\"},\"line\":3}]"},
        {"ENV PATH=/a:$PATH B=\\$x",
         "[{\"type\":\"env\",\"expand\":true,\"envs\":{\"PATH\":\"/a:${PATH}\",\"B\":\"\\\\$x\"},"
         "\"line\":2}]"},
        {"WORKDIR /a b\nWORKDIR $HOME/c",
         "[{\"type\":\"workdir\",\"path\":\"/a b\",\"line\":2},"
         "{\"type\":\"workdir\",\"path\":\"${HOME}/c\",\"open\":true,\"line\":3}]"},
        {"USER app:staff\nUSER 12:34\nUSER 0",
         "[{\"type\":\"user\",\"user\":\"app\",\"group\":\"staff\",\"line\":2},"
         "{\"type\":\"user\",\"user\":\"user12\",\"group\":\"34\",\"number\":\"12\",\"line\":3},"
         "{\"type\":\"user\",\"user\":\"root\",\"group\":\"\",\"line\":4}]"},
        {"ARG A=1\nARG B=${A}2\nARG C\nENV A=e\nRUN a",
         "[{\"type\":\"env\",\"envs\":{\"A\":\"e\"},\"line\":5},{\"type\":\"run\",\"command\":"
         "\"a\"," SHELL "\"a\"],\"variables\":{\"B\":\"12\"},\"line\":6}]"},
        {"COPY a ./b/* /c/",
         "[{\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\"a\",\"destination\":\"/c/\","
         "\"user\":\"0:0\",\"exact\":true,\"line\":2},{\"type\":\"copy\",\"files\":\"" HASH "\","
         "\"source\":\"b/*\",\"destination\":\"/c/\",\"user\":\"0:0\",\"exact\":true,\"line\":2}]"},
        {"ARG D=/d\nADD --chown=app --chmod=644 [\"a b\", \"/c\"]\nCOPY --chown=7 . $D\nCOPY / $E/",
         "[{\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\"a b\",\"destination\":\"/c\","
         "\"user\":\"app:\",\"mode\":\"644\",\"exact\":true,\"unpack\":true,\"line\":3},"
         "{\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\".\",\"destination\":\"/d\","
         "\"user\":\"7:7\",\"exact\":true,\"line\":4},{\"type\":\"copy\",\"files\":\"" HASH "\","
         "\"source\":\".\",\"destination\":\"${E}/\",\"user\":\"0:0\",\"exact\":true,\"open\":true,"
         "\"line\":5}]"},
        {"ARG A=q\nCOPY [\"$A b\", \"it's\", \"/e ${A}/\"]",
         "[{\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\"q b\",\"destination\":\"/e q/\","
         "\"user\":\"0:0\",\"exact\":true,\"line\":3},{\"type\":\"copy\",\"files\":\"" HASH "\","
         "\"source\":\"it's\",\"destination\":\"/e "
         "q/\",\"user\":\"0:0\",\"exact\":true,\"line\":3}]"},
        {"RUN [ -f x ] || cat <<A\nb\nA",
         "[{\"type\":\"run\",\"command\":\"[ -f x ] || cat <<A\"," SHELL
         "\"[ -f x ] || cat <<A\\nb\\nA\\n\"]" NONE ",\"line\":2}]"},
        {"RUN cat <<\\A\n$b\nA\nRUN a",
         "[{\"type\":\"run\",\"command\":\"cat <<\\\\A\"," SHELL "\"cat <<\\\\A\\n$b\\nA\\n\"]" NONE
         ",\"line\":2},{\"type\":\"run\",\"command\":\"a\"," SHELL "\"a\"]" NONE ",\"line\":5}]"},
        {"LABEL a=b \"c d\"=e\nLABEL f g\nMAINTAINER me", "[]"},
        {"RUN cat << EOF >/x\n$a\nEOF\nRUN <<- 'B'\n\tb\n\tB",
         "[{\"type\":\"run\",\"command\":\"cat << EOF >/x\"," SHELL "\"cat << EOF "
         ">/x\\n$a\\nEOF\\n\"]" NONE ",\"line\":2},{\"type\":\"run\",\"command\":\"<<- 'B'\"," SHELL
         "\"b\\n\"]" NONE ",\"line\":5}]"},
        {"RUN -- a", "[{\"type\":\"run\",\"command\":\"a\"," SHELL "\"a\"]" NONE ",\"line\":2}]"},
        {"USER ${U}:$G", "[{\"type\":\"user\",\"user\":\"${U}:${G}\",\"open\":true,\"line\":2}]"},
        {"COPY --chown=$U a $$/b",
         "[{\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\"a\",\"destination\":"
         "\"\\\\$\\\\$/b\",\"user\":\"${U}\",\"exact\":true,\"open\":true,\"line\":2}]"},
        {"COPY --exclude=*.md --link=false --exclude=\"a b\" --parents ./x/./y /z/",
         "[{\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\"x/./y\",\"destination\":\"/z/\","
         "\"user\":\"0:0\",\"exact\":true,\"excludes\":[\"*.md\",\"a "
         "b\"],\"parents\":true,\"line\":2}]"},
        {"ADD --unpack=false a /b",
         "[{\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\"a\",\"destination\":\"/b\","
         "\"user\":\"0:0\",\"exact\":true,\"line\":2}]"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *text = xasprintf("FROM x\n%s", cases[i].text);
        const struct dockerfile_build build = {.context = HASH};
        struct dockerfile_plan made = plan(text, &build);
        assert_json(text, made.bases, "[\"x\"]");
        assert_json(text, made.steps, cases[i].steps);
        dockerfile_plan_deinit(&made);
    }
}

TEST(makes_a_configuration)
{
    static const struct {
        const char *text, *config;
    } cases[] = {
        {"CMD [\"a\", \"b\"]", "{\"command\":[\"a\",\"b\"]}"},
        {"CMD a b", "{\"command\":[\"/bin/sh\",\"-c\",\"a b\"],\"base_shell\":{\"command\":true}}"},
        {"CMD a b\nENTRYPOINT c\nCMD [\"d\"]",
         "{\"entrypoint\":[\"/bin/sh\",\"-c\",\"c\"],\"command\":[\"d\"],\"base_shell\":{"
         "\"entrypoint\":true}}"},
        {"CMD []", "{\"command\":[]}"},
        {"ENTRYPOINT [\"a\"]", "{\"entrypoint\":[\"a\"],\"command\":[]}"},
        {"CMD [\"b\"]\nENTRYPOINT [\"a\"]", "{\"entrypoint\":[\"a\"],\"command\":[\"b\"]}"},
        {"SHELL [\"/bin/bash\", \"-c\"]\nENTRYPOINT a",
         "{\"entrypoint\":[\"/bin/bash\",\"-c\",\"a\"],\"command\":[],\"shell\":[\"/bin/"
         "bash\",\"-c\"]}"},
        {"ARG P=80\nEXPOSE $P 53/udp\nEXPOSE 8000-8010",
         "{\"exposed_ports\":[\"80/tcp\",\"53/udp\",\"8000-8010/tcp\"]}"},
        {"EXPOSE 80/TCP 9/sctp", "{\"exposed_ports\":[\"80/tcp\",\"9/sctp\"]}"},
        {"EXPOSE ${PORT:-80} 81 $P/udp",
         "{\"exposed_ports\":[\"81/tcp\"],\"open_ports\":[\"${PORT:-80}\",\"${P}/udp\"]}"},
        {"ARG P=\"80  53/udp\"\nEXPOSE $P 81",
         "{\"exposed_ports\":[\"80/tcp\",\"53/udp\",\"81/tcp\"]}"},
        {"ARG D=/d\nVOLUME [\"$D/e\"]", "{\"volumes\":[\"/d/e\"]}"},
        {"HEALTHCHECK --interval=0s CMD [\"a\"]",
         "{\"health_interval\":0,\"health_timeout\":0,\"health_check\":[\"CMD\",\"a\"]}"},
        {"STOPSIGNAL SIGINT", "{\"stop_signal\":\"SIGINT\"}"},
        {"STOPSIGNAL quit", "{\"stop_signal\":\"QUIT\"}"},
        {"ARG D=/d\nVOLUME $D /b\nVOLUME [\"/c d\"]", "{\"volumes\":[\"/d\",\"/b\",\"/c d\"]}"},
        {"HEALTHCHECK --interval=1m5s --timeout=1500ms --retries=3 CMD a b",
         "{\"health_interval\":65,\"health_timeout\":2,\"health_check\":[\"CMD-SHELL\",\"a b\"]}"},
        {"HEALTHCHECK --interval=5m0s --timeout=2.5s CMD [\"a\"]",
         "{\"health_interval\":300,\"health_timeout\":3,\"health_check\":[\"CMD\",\"a\"]}"},
        {"HEALTHCHECK --interval=1h0.5m1000ms --timeout=1us CMD [\"a\"]",
         "{\"health_interval\":3631,\"health_timeout\":1,\"health_check\":[\"CMD\",\"a\"]}"},
        {"HEALTHCHECK CMD [\"a\"]",
         "{\"health_interval\":0,\"health_timeout\":0,\"health_check\":[\"CMD\",\"a\"]}"},
        {"HEALTHCHECK none",
         "{\"health_interval\":0,\"health_timeout\":0,\"health_check\":[\"NONE\"]}"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *text = xasprintf("FROM x\n%s\n", cases[i].text);
        const struct dockerfile_build build = {.context = NULL};
        struct dockerfile_plan made = plan(text, &build);
        assert_json(text, made.config, cases[i].config);
        dockerfile_plan_deinit(&made);
    }
}

/* The names of env steps say which stages were walked. */
TEST(keeps_triggers_for_others)
{
    static const char text[] =
        "FROM x\nONBUILD run  a \\\n  b\nCMD c\nONBUILD COPY --chown=1 d e\n";
    struct dockerfile_plan made = plan(text, &(struct dockerfile_build){.machine = NULL});
    assert_json(text, made.steps, "[]");
    assert_json(text, json_object_get(made.config, DOCKERFILE_TRIGGERS),
                "[\"run  a   b\",\"COPY --chown=1 d e\"]");
    dockerfile_plan_deinit(&made);
}

/* Plan a Dockerfile whose base x has these ONBUILD instructions. */
static struct dockerfile_plan plan_with(const char *text, const char *triggers,
                                        const struct dockerfile_build *given)
{
    json_auto_t *known = json_pack("{s:o}", "x", json_loads(triggers, 0, NULL));
    struct dockerfile_build build = *given;
    assert_non_null(known);
    build.triggers = known;
    return plan(text, &build);
}

TEST(runs_the_triggers_of_a_base)
{
    json_auto_t *args = json_pack("{s:s, s:s}", "MODE", "fast", "OTHER", "o");
    const struct dockerfile_build given = {.args = args, .context = HASH, .machine = "amd64"};
    static const char text[] = "ARG MODE\nARG OTHER\n\nFROM x\nEXPOSE 80\nENTRYPOINT [\"own\"]\n";
    static const char triggers[] = "[\"ARG MODE=slow\", \"ENV A=$MODE\", \"COPY . /app\", \"EXPOSE "
                                   "81\", \"CMD [\\\"run\\\"]\"]";
    static const char steps[] =
        "[{\"type\":\"env\",\"envs\":{\"A\":\"fast\"},\"on_build\":true,\"line\":4},{"
        "\"type\":\"copy\",\"files\":\"" HASH "\",\"source\":\".\",\"destination\":\"/app\","
        "\"user\":\"0:0\",\"exact\":true,\"on_build\":true,\"line\":4}]";
    static const char config[] = "{\"exposed_ports\":[\"81/tcp\",\"80/tcp\"],\"entrypoint\":"
                                 "[\"own\"],\"command\":[\"run\"]}";
    struct dockerfile_plan own = plan(text, &given), made = plan_with(text, triggers, &given),
                           again;
    error_auto err = NULL;
    assert_json(text, own.steps, "[]");
    assert_json(text, made.steps, steps);
    assert_json(text, made.config, config);
    json_auto_t *known = json_pack("{s:o}", "x", json_loads(triggers, 0, NULL));
    assert_ok(dockerfile_plan_again(own.build, NULL, known, &again, &err));
    assert_json(text, again.steps, steps);
    assert_json(text, again.config, config);
    dockerfile_plan_deinit(&again);
    dockerfile_plan_deinit(&made);
    dockerfile_plan_deinit(&own);
}

TEST(a_plan_is_repeated_with_all_of_its_parameters)
{
    json_auto_t *args = json_pack("{s:s}", "A", "1"), *secrets = json_pack("{s:s}", "k", "v");
    const struct dockerfile_build build = {
        .args = args, .secrets = secrets, .target = "one", .context = HASH, .machine = "arm64"};
    static const char text[] = "FROM x AS one\nARG A\nARG TARGETARCH\nCOPY a /b\n"
                               "RUN --mount=type=secret,id=k,required=true c\nFROM y\nRUN d\n";
    struct dockerfile_plan made = plan(text, &build), again;
    error_auto err = NULL;
    assert_ok(dockerfile_plan_again(made.build, secrets, NULL, &again, &err));
    assert_int_equal(json_array_size(made.steps), 2);
    assert_true(json_equal(made.steps, again.steps));
    assert_true(json_equal(made.build, again.build));
    dockerfile_plan_deinit(&again);
    dockerfile_plan_deinit(&made);
}

/* As if the triggers were in the Dockerfile, behind FROM. */
TEST(triggers_hold_for_later_instructions)
{
    static const char triggers[] =
        "[\"ARG V=1\", \"SHELL [\\\"/bin/bash\\\", \\\"-c\\\"]\", \"ENV E=e\"]";
    struct dockerfile_plan made = plan_with("FROM x\nENV F=$V$E\nRUN a\nCMD b\n", triggers,
                                            &(struct dockerfile_build){.machine = NULL});
    assert_json("later", json_object_get(made.config, "command"), "[\"/bin/bash\",\"-c\",\"b\"]");
    assert_json("later", json_object_get(json_array_get(made.steps, 1), "envs"), "{\"F\":\"1e\"}");
    assert_json("later", json_array_get(made.steps, 2),
                "{\"type\":\"run\",\"command\":\"a\",\"arguments\":[\"/bin/bash\",\"-c\",\"a\"],"
                "\"variables\":{\"V\":\"1\"},\"line\":3}");
    dockerfile_plan_deinit(&made);
}

/* A stage that only a trigger copies from becomes a stage of the build. */
TEST(triggers_copy_from_stages_and_images)
{
    static const char text[] =
        "FROM lib AS lib\nFROM more AS more\nENV m=1\nFROM x\nENV last=1\nFROM never\n";
    const struct dockerfile_build build = {.target = "2"};
    static const char triggers[] = "[\"COPY --from=more /m /n\", \"RUN "
                                   "--mount=from=tools,target=/t true\"]";
    struct dockerfile_plan own = plan(text, &build), made = plan_with(text, triggers, &build);
    static const struct {
        const char *type;
        int line;
    } steps[] = {{"stage", 4},      {"save", 4},  {"stage", 2},      {"env", 3},
                 {"save", 2},       {"stage", 4}, {"copy_stage", 4}, {"run", 4},
                 {"copy_stage", 4}, {"run", 4},   {"run", 4},        {"env", 5}};
    assert_json(text, own.bases, "[\"x\"]");
    assert_json(text, own.unused, "[\"lib\",\"more\"]");
    assert_json(text, made.bases, "[\"tools\",\"more\",\"x\"]");
    assert_json(text, made.places, "[[4,6],[2,6],[4,6]]");
    assert_json(text, made.unused, "[\"lib\"]");
    assert_int_equal(json_array_size(made.steps), ARRAY_SIZE(steps));
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        const json_t *step = json_array_get(made.steps, i);
        assert_string_equal(json_string_value(json_object_get(step, "type")), steps[i].type);
        assert_int_equal(json_integer_value(json_object_get(step, "line")), steps[i].line);
    }
    dockerfile_plan_deinit(&made);
    dockerfile_plan_deinit(&own);
}

/* Also for a stage of the same Dockerfile, and once: a third stage does not run them again. */
TEST(triggers_of_a_stage_run_in_the_next_one)
{
    static const char text[] = "FROM y AS one\nONBUILD ENV a=1\nFROM one AS two\nENV b=2\n"
                               "FROM two\nENV c=3\n";
    struct dockerfile_plan made = plan(text, &(struct dockerfile_build){.machine = NULL});
    assert_json(text, made.steps,
                "[{\"type\":\"env\",\"envs\":{\"a\":\"1\"},\"line\":3},"
                "{\"type\":\"env\",\"envs\":{\"b\":\"2\"},\"line\":4},"
                "{\"type\":\"env\",\"envs\":{\"c\":\"3\"},\"line\":6}]");
    assert_null(json_object_get(made.config, DOCKERFILE_TRIGGERS));
    dockerfile_plan_deinit(&made);
}

TEST(triggers_without_steps_leave_a_mark)
{
    struct dockerfile_plan made =
        plan_with("\nFROM x\n", "[\"EXPOSE 80\"]", &(struct dockerfile_build){.machine = NULL});
    assert_json("EXPOSE", made.steps,
                "[{\"type\":\"env\",\"envs\":{},\"on_build\":true,\"line\":2}]");
    dockerfile_plan_deinit(&made);
}

/* Two bytes of the last character of a trigger are its 200th and the next one. */
#define TEN     "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

TEST(names_the_trigger_that_is_wrong)
{
    static const struct {
        const char *second, *said;
    } cases[] = {
        {"EXPOSE " HUNDRED "aaa" TEN TEN TEN TEN TEN TEN TEN TEN "aaaaaaaaa\xc3\xa4",
         "aaaaaaaaa: write a port"},
        {"EXPOSE x", "Line 3: the base has ONBUILD EXPOSE x: write a port"},
        {"FROM y", "Line 3: the base has ONBUILD FROM y: ONBUILD cannot have FROM."},
        {"ONBUILD RUN b", "Line 3: the base has ONBUILD ONBUILD RUN b: ONBUILD cannot have"},
        {"RUM a", "Line 3: the base has ONBUILD RUM a: there is no instruction RUM"},
        {"COPY a b", "Line 3: the base has ONBUILD COPY a b, which copies files: upload"},
        {"COPY --from=last a b",
         "Line 3: the base has ONBUILD COPY --from=last a b: no stage last precedes this one"},
        {"COPY --from=7 a b",
         "Line 3: the base has ONBUILD COPY --from=7 a b: no stage 7 precedes this one"},
    };
    static const char text[] = "FROM y AS one\n\nFROM x\nFROM z AS last\n";
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *triggers = json_pack("{s:[s, s]}", "x", "RUN a", cases[i].second);
        const struct dockerfile_build build = {.target = "1", .triggers = triggers};
        dockerfile_auto *file = NULL;
        struct dockerfile_plan made;
        struct error *err = NULL;
        assert_ok(dockerfile_parse(text, strlen(text), &file, &err));
        assert_fails_saying(dockerfile_plan(file, &build, &made, &err), ERR_INVALID_REQUEST,
                            cases[i].said);
        dockerfile_plan_deinit(&made);
    }
}

TEST(chooses_a_stage)
{
    static const char text[] = "ARG TAG=1\n"
                               "FROM image:${TAG:-2} AS Base\n"
                               "ENV base=1\n"
                               "CMD [\"base\"]\n"
                               "FROM --platform=$BUILDPLATFORM other AS other\n"
                               "COPY --from=base /a /b\n"
                               "COPY x /y\n"
                               "FROM base\n"
                               "ARG TAG\n"
                               "ENV last=$TAG\n"
                               "ENTRYPOINT [\"last\"]\n";
    static const struct {
        const char *target, *tag, *bases, *steps, *config;
    } cases[] = {
        {NULL, NULL, "[\"image:1\"]",
         "[{\"type\":\"env\",\"envs\":{\"base\":\"1\"},\"line\":3},"
         "{\"type\":\"env\",\"envs\":{\"last\":\"1\"},\"line\":10}]",
         "{\"entrypoint\":[\"last\"],\"command\":[]}"},
        {"BASE", "7", "[\"image:7\"]", "[{\"type\":\"env\",\"envs\":{\"base\":\"1\"},\"line\":3}]",
         "{\"command\":[\"base\"]}"},
        {"0", NULL, "[\"image:1\"]", "[{\"type\":\"env\",\"envs\":{\"base\":\"1\"},\"line\":3}]",
         "{\"command\":[\"base\"]}"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *args = json_pack("{s:s*}", "TAG", cases[i].tag);
        const struct dockerfile_build build = {.args = args, .target = cases[i].target};
        struct dockerfile_plan made = plan(text, &build);
        assert_json(text, made.bases, cases[i].bases);
        assert_json(text, made.steps, cases[i].steps);
        assert_json(text, made.config, cases[i].config);
        dockerfile_plan_deinit(&made);
    }
}

/* A stage that no wanted one copies from is left out. */
TEST(copies_from_stages)
{
    static const char text[] = "FROM build AS one\n"
                               "ENV a=1\n"
                               "FROM unused AS two\n"
                               "COPY --from=one /x /x\n"
                               "FROM other AS three\n"
                               "COPY --from=one --chown=app /a /b/*.c /c/\n"
                               "FROM last\n"
                               "COPY --from=2 /c/ /d\n";
    const struct dockerfile_build build = {.args = NULL};
    struct dockerfile_plan made = plan(text, &build);
    assert_json(text, made.bases, "[\"build\",\"other\",\"last\"]");
    assert_json(
        text, made.steps,
        "[{\"type\":\"stage\",\"number\":0,\"path\":\"build\",\"line\":1},"
        "{\"type\":\"env\",\"envs\":{\"a\":\"1\"},\"line\":2},"
        "{\"type\":\"save\",\"stage\":0,\"sources\":[\"a\",\"b/*.c\"],\"path\":\"build AS one\","
        "\"line\":1},"
        "{\"type\":\"stage\",\"number\":1,\"path\":\"other\",\"line\":5},"
        "{\"type\":\"copy_stage\",\"stage\":0,\"source\":\"a\",\"destination\":\"/c/\","
        "\"user\":\"app:\",\"exact\":true,\"line\":6},"
        "{\"type\":\"copy_stage\",\"stage\":0,\"source\":\"b/*.c\",\"destination\":\"/c/\","
        "\"user\":\"app:\",\"exact\":true,\"line\":6},"
        "{\"type\":\"save\",\"stage\":2,\"sources\":[\"c/\"],\"path\":\"other AS "
        "three\",\"line\":5},"
        "{\"type\":\"stage\",\"number\":2,\"path\":\"last\",\"line\":7},"
        "{\"type\":\"copy_stage\",\"stage\":2,\"source\":\"c/\",\"destination\":\"/d\","
        "\"exact\":true,\"line\":8}]");
    dockerfile_plan_deinit(&made);
}

/* An image is a stage without instructions, once for all that copy from it. */
TEST(copies_from_images)
{
    static const char text[] = "ARG V=2\n"
                               "FROM a AS one\n"
                               "COPY --from=unused /x /x\n"
                               "FROM last\n"
                               "ARG V\n"
                               "COPY --from=tools:$V --chmod=u+x /bin/t /bin/\n"
                               "COPY --from=tools:2 /u /u\n";
    const struct dockerfile_build build = {.args = NULL};
    struct dockerfile_plan made = plan(text, &build);
    assert_json(text, made.bases, "[\"tools:2\",\"last\"]");
    assert_json(text, made.places, "[[6,6],[4,6]]");
    assert_json(
        text, made.steps,
        "[{\"type\":\"stage\",\"number\":0,\"path\":\"tools:2\",\"line\":6,"
        "\"files_only\":true},{\"type\":\"save\",\"stage\":2,\"sources\":[\"bin/t\",\"u\"],"
        "\"path\":\"tools:2\",\"line\":6},"
        "{\"type\":\"stage\",\"number\":1,\"path\":\"last\",\"line\":4},"
        "{\"type\":\"copy_stage\",\"stage\":2,\"source\":\"bin/t\",\"destination\":\"/bin/\","
        "\"mode\":\"u+x\",\"exact\":true,\"line\":6},"
        "{\"type\":\"copy_stage\",\"stage\":2,\"source\":\"u\",\"destination\":\"/u\","
        "\"exact\":true,\"line\":7}]");
    dockerfile_plan_deinit(&made);
}

TEST(knows_the_processor)
{
    const struct dockerfile_build build = {.machine = "arm64"};
    struct dockerfile_plan made =
        plan("FROM --platform=linux/arm64 x\nARG TARGETPLATFORM\nARG TARGETARCH BUILDVARIANT\nARG "
             "BUILDARCH=own\nRUN a",
             &build);
    assert_json(
        "processor", json_object_get(json_array_get(made.steps, 0), "variables"),
        "{\"TARGETPLATFORM\":\"linux/arm64\",\"TARGETARCH\":\"arm64\",\"BUILDVARIANT\":\"\","
        "\"BUILDARCH\":\"own\"}");
    dockerfile_plan_deinit(&made);
}

/* Each file sets V at its end. */
TEST(expands_variables)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"ARG A=1\nENV A=2\nENV V=$A", "2"},
        {"ENV A=2\nARG A=1\nENV V=$A", "1"},
        {"ENV A=2\nARG A\nENV V=$A", "2"},
        {"ARG A=a.b.c\nENV V=${A#*.}-${A##*.}-${A%.*}-${A%%.*}", "b.c-c-a.b-a"},
        {"ARG A=a.b.c\nENV V=${A/./}-${A//./_}-${A/b*/x}", "ab.c-a_b_c-a.x"},
        {"ARG A=a/b}c\nENV V=${A/\\//-}-${A%\\}c}-${A#?}", "a-b}c-a/b-/b}c"},
        {"ARG A=a*b B=b\nENV V=${A%\\*$B}-${A%'*'b}-${A#x}", "a-a*-a*b"},
        {"ARG A=aXbX\nENV V=${A/%X}", NULL},
        {"ARG A=[x]y\nENV V=${A#[x]}", "y"},
        {"ARG A\nENV V=-${A%x}-${A/x/y}-", "---"},
        {"ARG A=1\nENV V=${A:?no}${A?no}", "11"},
        {"ENV V=a\\ b\\\"c", "a b\"c"},
        {"ENV V=\"a\\\\b\\c\\\"d\"", "a\\b\\c\"d"},
        {"ENV V='a\\b'\\''c'", "a\\b'c"},
        {"ENV A=1 \\\n  # note\n  V=\"x \\\n y\"", "x  y"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *text = xasprintf("FROM x\n%s\n", cases[i].text);
        const struct dockerfile_build build = {.args = NULL};
        dockerfile_auto *file = NULL;
        struct dockerfile_plan made = {.bases = NULL};
        error_auto err = NULL;
        assert_ok(dockerfile_parse(text, strlen(text), &file, &err));
        if (cases[i].value) {
            assert_ok(dockerfile_plan(file, &build, &made, &err));
            const json_t *last = json_array_get(made.steps, json_array_size(made.steps) - 1);
            const char *value =
                json_string_value(json_object_get(json_object_get(last, "envs"), "V"));
            if (!value || strcmp(value, cases[i].value) != 0)
                fail_msg("%s\nbecomes  %s\nexpected %s", text, value, cases[i].value);
        } else {
            assert_fails(dockerfile_plan(file, &build, &made, &err), ERR_INVALID_REQUEST);
        }
        dockerfile_plan_deinit(&made);
    }
}

/* Stars over a long value: each character is compared once with each token. */
TEST(bounds_patterns)
{
    char value[4200], text[9000];
    const struct dockerfile_build build = {.args = NULL};
    memset(value, 'a', sizeof value);
    for (size_t length = 4096; length <= 4097; length++) {
        dockerfile_auto *file = NULL;
        struct dockerfile_plan made = {.bases = NULL};
        error_auto err = NULL;
        snprintf(text, sizeof text, "FROM x\nARG A=%.*s\nENV V=-${A%%%%*a*a*a*a*a*a*a*a*a*a*a*ab}",
                 (int)length, value);
        assert_ok(dockerfile_parse(text, strlen(text), &file, &err));
        if (length == 4096)
            assert_ok(dockerfile_plan(file, &build, &made, &err));
        else
            assert_fails(dockerfile_plan(file, &build, &made, &err), ERR_INVALID_REQUEST);
        dockerfile_plan_deinit(&made);
    }
}

/* A stage has the ARG of the stage with which it begins, and its shell. */
TEST(continues_a_stage)
{
    static const char text[] =
        "FROM x AS one\nARG A=1\nARG B=2\nSHELL [\"s\"]\nFROM one\nARG B=3\nRUN a\n";
    const struct dockerfile_build build = {.args = NULL};
    struct dockerfile_plan made = plan(text, &build);
    assert_json(text, made.steps,
                "[{\"type\":\"run\",\"command\":\"a\",\"arguments\":[\"s\",\"a\"],\"variables\":"
                "{\"A\":\"1\",\"B\":\"3\"},\"line\":7}]");
    dockerfile_plan_deinit(&made);
}

/* The variables of the processor have values in each FROM. */
TEST(begins_with_the_processor)
{
    static const struct {
        const char *text, *base;
    } cases[] = {
        {"FROM a-$TARGETARCH", "a-amd64"},
        {"FROM --platform=$BUILDPLATFORM a-${TARGETOS}${TARGETVARIANT}", "a-linux"},
        {"ARG P=linux/x86_64\nFROM --platform=${P:-linux/arm64} a", "a"},
        {"FROM --platform=\"amd64\" a", "a"},
        {"FROM --platform=linux a", "a"},
        {"ARG TARGETARCH=own\nFROM a-$TARGETARCH", "a-own"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct dockerfile_build build = {.machine = "amd64"};
        struct dockerfile_plan made = plan(cases[i].text, &build);
        assert_string_equal(json_string_value(json_array_get(made.bases, 0)), cases[i].base);
        dockerfile_plan_deinit(&made);
    }
}

/* All of a stage, and the default id of a secret: the last name of its target. */
TEST(has_defaults)
{
    json_auto_t *secrets = json_pack("{s:s}", ".npmrc", "x");
    static const char text[] = "FROM x AS one\nFROM scratch\nCOPY --from=one / /\n"
                               "RUN --mount=type=secret,target=/root/.npmrc,required a\n";
    const struct dockerfile_build build = {.secrets = secrets};
    struct dockerfile_plan made = plan(text, &build);
    assert_json(text, json_object_get(json_array_get(made.steps, 1), "sources"), "[\".\"]");
    assert_json(text, json_object_get(json_array_get(made.steps, 4), "secrets"),
                "[{\"id\":\".npmrc\",\"target\":\"/root/.npmrc\"}]");
    dockerfile_plan_deinit(&made);
}

TEST(reads_directives)
{
    static const char *const texts[] = {
        "# syntax=docker/dockerfile:1\n# escape=`\nFROM x\nENV A=\\b `\n C=`$d",
        "\xef\xbb\xbf#Escape = `\r\nFROM x\r\nENV A=\\b `\r\n C=`$d\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const struct dockerfile_build build = {.args = NULL};
        struct dockerfile_plan made = plan(texts[i], &build);
        assert_json(texts[i], json_object_get(json_array_get(made.steps, 0), "envs"),
                    "{\"A\":\"\\\\b\",\"C\":\"$d\"}");
        dockerfile_plan_deinit(&made);
    }
}

/* text: NULL: the member does not exist. */
static void assert_text(const char *member, const json_t *object, const char *text)
{
    const char *found = json_string_value(json_object_get(object, member));
    if (!text)
        assert_null(found);
    else
        assert_string_equal(found ? found : "(nothing)", text);
}

TEST(passes_arguments)
{
    json_auto_t *args = json_pack("{s:s, s:s}", "A", "given", "HTTP_PROXY", "p");
    const struct dockerfile_build build = {.args = args};
    struct dockerfile_plan made = plan("FROM x\nARG A=default\nARG TARGETOS\nRUN a", &build);
    assert_json("arguments", json_object_get(json_array_get(made.steps, 0), "variables"),
                "{\"A\":\"given\",\"TARGETOS\":\"linux\"}");
    assert_json("arguments", json_object_get(json_array_get(made.steps, 0), "proxies"),
                "{\"HTTP_PROXY\":\"p\"}");
    dockerfile_plan_deinit(&made);
    /* With an ARG, it counts like any other argument. */
    made = plan("FROM x\nARG HTTP_PROXY A\nRUN a", &build);
    assert_json("arguments", json_object_get(json_array_get(made.steps, 0), "variables"),
                "{\"A\":\"given\",\"HTTP_PROXY\":\"p\"}");
    dockerfile_plan_deinit(&made);
}

/* Arguments for BuildKit itself need no ARG. */
TEST(takes_arguments_of_the_builder)
{
    json_auto_t *args =
        json_pack("{s:s, s:s}", "BUILDKIT_INLINE_CACHE", "1", "SOURCE_DATE_EPOCH", "0");
    const struct dockerfile_build build = {.args = args};
    struct dockerfile_plan made = plan("FROM x\nRUN a", &build);
    assert_json("arguments", json_object_get(json_array_get(made.steps, 0), "variables"), "{}");
    dockerfile_plan_deinit(&made);
}

/* No source leads out of the context. */
TEST(sources_end_at_the_context)
{
    static const char text[] = "FROM x\nCOPY ../a a/../../b/./c ../../*.d .. /e/\n"
                               "RUN --mount=type=bind,src=../a,target=/a a\n";
    static const char *const sources[] = {"a", "b/c", "*.d", "."};
    const struct dockerfile_build build = {.context = HASH};
    struct dockerfile_plan made = plan(text, &build);
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        assert_text("source", json_array_get(made.steps, i), sources[i]);
    assert_text("source", json_array_get(made.steps, 5), "a");
    dockerfile_plan_deinit(&made);
}

TEST(wraps_caches_and_files)
{
    static const char text[] =
        "FROM x\nRUN --mount=type=cache,id=c,target=/c/,mode=0700,uid=7,sharing=locked"
        " --mount=type=tmpfs,dst=/d a\n"
        "COPY --chown=u:g <<'E' /f\n$x\nE\n";
    const struct dockerfile_build build = {.args = NULL};
    struct dockerfile_plan made = plan(text, &build);
    const json_t *step = json_array_get(made.steps, 0);
    const json_t *cached = json_object_get(step, "arguments");
    /* The third word is a script. The cache's file has a hash as its name. */
    static const char *const wanted[] = {"/bin/sh", "-c", NULL,      "sh", "/c",      NULL, "7:0",
                                         "0700",    "1",  "/bin/sh", "-c", NULL,      "sh", "/d",
                                         "",        "",   "",        "",   "/bin/sh", "-c", "a"};
    assert_int_equal(json_array_size(json_object_get(step, "caches")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(step, "caches"), 0)),
                        "/c");
    assert_int_equal(json_array_size(cached), ARRAY_SIZE(wanted));
    assert_int_equal(json_integer_value(json_object_get(step, "shell_at")), 18);
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        if (wanted[i])
            assert_string_equal(json_string_value(json_array_get(cached, i)), wanted[i]);
    const char *file = json_string_value(json_array_get(cached, 5));
    assert_int_equal(strspn(file, "0123456789abcdef"), 64);
    assert_string_equal(file + 64, ".tar");
    const json_t *written = json_array_get(made.steps, 1);
    const json_t *arguments = json_object_get(written, "arguments");
    assert_string_equal(json_string_value(json_object_get(written, "user")), "root");
    static const char *const file_words[] = {"$x\n", "/f", "u:g", "0644", "E"};
    for (size_t i = 0; i < ARRAY_SIZE(file_words); i++)
        assert_string_equal(json_string_value(json_array_get(arguments, 4 + i)), file_words[i]);
    dockerfile_plan_deinit(&made);
}

/* Variables of the base, such as those of the images of Go and Rust. */
TEST(a_folder_may_have_a_variable_of_the_base)
{
    static const char text[] = "FROM x\nARG A='b$'\n"
                               "RUN --mount=type=tmpfs,dst=/d --mount=type=cache,target=$GOPATH/mod"
                               " --mount=type=cache,target=/$A a\n";
    const struct dockerfile_build build = {.args = NULL};
    struct dockerfile_plan made = plan(text, &build);
    const json_t *step = json_array_get(made.steps, 0);
    const json_t *words = json_object_get(step, "arguments");
    json_auto_t *places = json_pack("[i]", 13);
    json_auto_t *folders = json_pack("[s, s]", "${GOPATH}/mod", "/b\\$");
    assert_true(json_equal(json_object_get(step, "open_at"), places));
    assert_true(json_equal(json_object_get(step, "caches"), folders));
    assert_string_equal(json_string_value(json_array_get(words, 4)), "/d");
    assert_string_equal(json_string_value(json_array_get(words, 13)), "${GOPATH}/mod");
    assert_string_equal(json_string_value(json_array_get(words, 22)), "/b$");
    dockerfile_plan_deinit(&made);
}

TEST(a_volume_may_have_a_variable_of_the_base)
{
    const struct dockerfile_build build = {.args = NULL};
    struct dockerfile_plan made = plan("FROM x\nVOLUME /a $B\nVOLUME [\"$B/c\"]\n", &build);
    static const size_t places[] = {5, 4};
    static const char *const paths[] = {"${B}", "${B}/c"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *step = json_array_get(made.steps, i);
        const json_t *words = json_object_get(step, "arguments");
        json_auto_t *open_at = json_pack("[i]", (int)places[i]);
        assert_true(json_equal(json_object_get(step, "open_at"), open_at));
        assert_string_equal(json_string_value(json_array_get(words, places[i])), paths[i]);
    }
    assert_json("VOLUME", made.config, "{\"volumes\":[\"/a\"]}");
    dockerfile_plan_deinit(&made);
}

TEST(an_argument_may_have_a_variable_of_the_base)
{
    static const char text[] = "FROM x\nARG V=${V:-dev}\nARG W=a$V\nARG E=$V\nENV E=$E/$W\n"
                               "COPY $V /d/\nRUN a\n";
    const struct dockerfile_build build = {.context = HASH};
    const json_t *envs, *step;
    struct dockerfile_plan made = plan(text, &build);
    envs = json_object_get(json_array_get(made.steps, 0), "envs");
    assert_text("E", envs, "${V:-dev}/a${V:-dev}");
    assert_text("source", json_array_get(made.steps, 1), "${V:-dev}");
    step = json_array_get(made.steps, 2);
    assert_int_equal(json_object_size(json_object_get(step, "variables")), 0);
    assert_int_equal(json_object_size(json_object_get(step, "open_variables")), 2);
    assert_text("V", json_object_get(step, "open_variables"), "${V:-dev}");
    assert_text("W", json_object_get(step, "open_variables"), "a${V:-dev}");
    dockerfile_plan_deinit(&made);
    /* A build argument, and an ARG before FROM, know everything. */
    json_auto_t *args = json_pack("{s:s}", "V", "1");
    const struct dockerfile_build known = {.args = args};
    made = plan("ARG B=${B:-x}\nFROM $B\nARG V=${V:-dev}\nRUN a\n", &known);
    assert_string_equal(json_string_value(json_array_get(made.bases, 0)), "x");
    step = json_array_get(made.steps, 0);
    assert_text("V", json_object_get(step, "variables"), "1");
    assert_null(json_object_get(step, "open_variables"));
    dockerfile_plan_deinit(&made);
}

/* A cache is known by its id, which is its target without another one. */
TEST(names_caches)
{
    static const char text[] = "FROM x\nRUN --mount=type=cache,target=/c a\n"
                               "RUN --mount=type=cache,target=/d,id=/c a\n"
                               "RUN --mount=type=cache,target=/d,ro a\n"
                               "RUN --mount=type=tmpfs,target=/c a\n";
    const struct dockerfile_build build = {.args = NULL};
    struct dockerfile_plan made = plan(text, &build);
    const char *files[4], *saves[4];
    for (size_t i = 0; i < 4; i++) {
        const json_t *step = json_array_get(made.steps, i);
        const json_t *words = json_object_get(step, "arguments");
        files[i] = json_string_value(json_array_get(words, 5));
        saves[i] = json_string_value(json_array_get(words, 8));
        assert_int_equal(json_array_size(json_object_get(step, "caches")), i < 3);
    }
    assert_string_equal(files[0], files[1]);
    assert_string_not_equal(files[0], files[2]);
    assert_string_equal(files[3], "");
    assert_string_equal(saves[0], "1");
    assert_string_equal(saves[2], "");
    dockerfile_plan_deinit(&made);
}

TEST(copies_files_of_mounts)
{
    static const char text[] =
        "FROM x AS one\nFROM y\nRUN "
        "--mount=type=bind,source=/a/,target=b --mount=target=/all --mount=source=c "
        "--mount=type=bind,from=one,src=/o,dst=/p make\n";
    const struct dockerfile_build build = {.context = HASH};
    struct dockerfile_plan made = plan(text, &build);
    static const char *const types[] = {"stage", "save", "stage",      "run", "copy",
                                        "copy",  "copy", "copy_stage", "run", "run"};
    static const char *const places[][3] = {
        {"a/", "b", "0:0"}, {".", "/all", "0:0"}, {"c", ".", "0:0"}, {"o", "/p", NULL}};
    assert_int_equal(json_array_size(made.steps), ARRAY_SIZE(types));
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        assert_text("type", json_array_get(made.steps, i), types[i]);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        const json_t *step = json_array_get(made.steps, 4 + i);
        assert_text("source", step, places[i][0]);
        assert_text("destination", step, places[i][1]);
        assert_text("user", step, places[i][2]);
    }
    assert_text("command", json_array_get(made.steps, 8), "make");
    assert_text("user", json_array_get(made.steps, 8), NULL);
    for (size_t i = 3; i < 10; i += 6)
        assert_text("user", json_array_get(made.steps, i), "root");
    const json_t *before = json_object_get(json_array_get(made.steps, 3), "arguments");
    assert_int_equal(json_array_size(before), 4 + ARRAY_SIZE(places));
    assert_string_equal(json_string_value(json_array_get(before, 4)), "b");
    dockerfile_plan_deinit(&made);
}
