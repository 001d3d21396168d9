/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "recipe/image_reference.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_step.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(takes_names_apart)
{
    static const struct {
        const char *name, *registry, *repository, *tag, *digest;
    } cases[] = {
        {"small", "default.example", "library/small", "latest", ""},
        {"small:1.2", "default.example", "library/small", "1.2", ""},
        {"team/small", "default.example", "team/small", "latest", ""},
        {"localhost/small", "localhost", "small", "latest", ""},
        {"host.example/a/b-c/d__e:V_1", "host.example", "a/b-c/d__e", "V_1", ""},
        {"host:5000/a", "host:5000", "a", "latest", ""},
        {"docker.io/small:1", "docker.io", "library/small", "1", ""},
        {"docker.io/library/small", "docker.io", "library/small", "latest", ""},
        {"docker.io/team/small", "docker.io", "team/small", "latest", ""},
        {"10.0.0.1:5000/a:b", "10.0.0.1:5000", "a", "b", ""},
        {"a@" DIGEST, "default.example", "library/a", "", DIGEST},
        {"host.example/a:b@" DIGEST, "host.example", "a", "", DIGEST},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct image_reference reference;
        error_auto err = NULL;
        assert_int_equal(image_reference_parse(cases[i].name, "default.example", &reference, &err),
                         0);
        assert_string_equal(reference.registry, cases[i].registry);
        assert_string_equal(reference.repository, cases[i].repository);
        assert_string_equal(reference.tag, cases[i].tag);
        assert_string_equal(reference.digest, cases[i].digest);
    }
}

TEST(refuses_other_names)
{
    static const char *const names[] = {
        "",
        "/",
        "a/",
        "/a",
        "a//b",
        "A",
        "a:",
        "a b",
        "a:b:c",
        "a@b",
        "a@" DIGEST "0",
        "../a",
        "a/../b",
        "a..b",
        "a___b",
        "-a",
        "a-",
        "a/-b",
        "u:p@h/a",
        "h:p/a",
        "h:123456/a",
        "h.example/",
        "https://h/a",
        "a\nb",
        "h.example/a:.b",
        "h.example/A",
        "a@sha512:00",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct image_reference reference;
        error_auto err = NULL;
        if (image_reference_parse(names[i], "default.example", &reference, &err) == 0)
            fail_msg("taken: %s as %s %s", names[i], reference.registry, reference.repository);
    }
}

TEST(a_short_name_needs_a_default)
{
    struct image_reference reference;
    error_auto err = NULL;
    assert_int_equal(image_reference_parse("small", "", &reference, &err), -1);
    assert_int_equal(err->code, ERR_NOT_SERVED);
    error_clear(&err);
    assert_int_equal(image_reference_parse("host.example/small", "", &reference, &err), 0);
}

TEST(asks_mirrors)
{
    const struct settings settings = {
        .image_registry_mirrors =
            (char[]){"one.example/deep=two.example/cache, one.example=three:5000"},
        .image_registries_http = (char[]){"three:5000,four"},
    };
    static const struct {
        const char *name, *registry, *repository;
        bool plain;
    } cases[] = {
        {"one.example/a", "three:5000", "a", true},
        {"one.example/deep/a", "two.example", "cache/a", false},
        {"one.example/deeper/a", "three:5000", "deeper/a", true},
        {"one.example.org/a", "one.example.org", "a", false},
        {"four.example/a", "four.example", "a", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct image_reference reference;
        error_auto err = NULL;
        bool plain;
        assert_int_equal(image_reference_parse(cases[i].name, "", &reference, &err), 0);
        assert_int_equal(image_reference_place(&settings, &reference, &plain, &err), 0);
        assert_string_equal(reference.registry, cases[i].registry);
        assert_string_equal(reference.repository, cases[i].repository);
        assert_int_equal(plain, cases[i].plain);
    }
}

/* https://docker.io redirects to a web site. */
TEST(knows_the_server_of_docker_hub)
{
    static const struct {
        const char *mirrors, *name, *registry, *repository;
    } cases[] = {
        {"", "docker.io/small", "registry-1.docker.io", "library/small"},
        {"", "docker.io/team/small", "registry-1.docker.io", "team/small"},
        {"", "small", "registry-1.docker.io", "library/small"},
        {"one.example=docker.io", "one.example/a/b", "registry-1.docker.io", "a/b"},
        {"docker.io=mirror:5000/hub", "docker.io/small", "mirror:5000", "hub/library/small"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct settings settings = {
            .image_registry_mirrors = (char *)(uintptr_t)cases[i].mirrors,
            .image_registries_http = (char[]){""},
        };
        struct image_reference reference;
        error_auto err = NULL;
        bool plain;
        assert_int_equal(image_reference_parse(cases[i].name, "docker.io", &reference, &err), 0);
        assert_int_equal(image_reference_place(&settings, &reference, &plain, &err), 0);
        assert_string_equal(reference.registry, cases[i].registry);
        assert_string_equal(reference.repository, cases[i].repository);
    }
}

TEST(a_wrong_mirror_is_an_error)
{
    static const char *const wrong[] = {"one.example", "=two", "one.example=", "one.example/a=two"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        const struct settings settings = {.image_registry_mirrors = (char *)(uintptr_t)wrong[i],
                                          .image_registries_http = (char[]){""}};
        struct image_reference reference;
        error_auto err = NULL;
        bool plain;
        assert_int_equal(image_reference_parse("one.example/a", "", &reference, &err), 0);
        assert_int_equal(image_reference_place(&settings, &reference, &plain, &err), -1);
        assert_int_equal(err->code, ERR_CONFIG);
    }
}

TEST(finds_templates_for_images)
{
    static const struct {
        const char *setting, *name, *template;
        int result;
    } cases[] = {
        {"", "a", NULL, 0},
        {"ubuntu:22.04=base, a=b", "ubuntu:22.04", "deployment/base", 0},
        {"ubuntu:22.04=base, a=b", "a", "deployment/b", 0},
        {"ubuntu:22.04=base, a=b", "ubuntu", NULL, 0},
        {"ubuntu:22.04", "a", NULL, -1},
        {"=b", "a", NULL, -1},
        {"a=", "a", NULL, -1},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct settings settings = {.image_templates = (char *)(uintptr_t)cases[i].setting};
        autofree char *template = NULL;
        error_auto err = NULL;
        assert_int_equal(image_reference_template(&settings, cases[i].name, &template, &err),
                         cases[i].result);
        if (cases[i].template)
            assert_string_equal(template, cases[i].template);
        else
            assert_null(template);
    }
}

TEST(the_step_of_an_image_has_its_place_and_login)
{
    static char nothing[] = "";
    const struct settings settings = {.image_registry_default = nothing,
                                      .image_registry_mirrors = nothing,
                                      .image_registries_http = nothing};
    const struct recipe_image images[] = {
        {.name = "docker.io/small:1",
         .user = "KEY",
         .password = "secret",
         .aws_region = "us-east-1"},
        {.name = "docker.io/small:1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
        json_auto_t *recipe = json_pack("{s:[]}", "steps");
        json_auto_t *whole = NULL;
        error_auto err = NULL;
        assert_ok(recipe_image_add(&settings, &images[i], recipe, &whole, &err));
        const json_t *step = json_array_get(json_object_get(whole, "steps"), 0);
        assert_string_equal(recipe_text(step, "registry"), "registry-1.docker.io");
        assert_string_equal(recipe_text(step, "repository"), "library/small");
        assert_string_equal(recipe_text(step, "reference"), "1");
        assert_string_equal(recipe_text(step, "user"), i ? "" : "KEY");
        assert_string_equal(recipe_text(step, "password"), i ? "" : "secret");
        assert_string_equal(recipe_text(step, "aws_region"), i ? "" : "us-east-1");
    }
}
