# SPDX-License-Identifier: GPL-2.0-or-later
"""Template versions that are built from OCI images."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest

from cli import Cli
from client import assert_error
from image_registry import MACHINE, ODD, PLAIN, Image, ImageRegistry, entry, folder, layer, link, shell
from stack import wait_until
from tenant import Sandbox
from test_template_builds import built, create, nothing_is_left, slug  # noqa: F401 (a fixture)
from test_template_retry import again, settled
from test_template_steps import HASH, archive, no_recipe_file_is_left, upload  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel

USER, PASSWORD = "robin", "open sesame"
FETCH = pathlib.Path(__file__).parents[3] / "scripts/template/files/usr/lib/sandlot/image/fetch-image"
OTHER_MACHINE = "arm64" if MACHINE == "amd64" else "amd64"


@pytest.fixture(scope="module")
def registry(stack, tmp_path_factory):
    registry = ImageRegistry(stack, tmp_path_factory.mktemp("registry"))
    try:
        registry.start()
        registry.push("small", Image([layer(*shell(), entry("etc/kept", b"kept\n"))]))
        yield registry
    finally:
        registry.stop()


def build(api, image, **fields):
    name = slug()
    create(api, name, from_image=image, **fields)
    return name


def sh(sandbox, script, **options):
    """What a script says that succeeds. Few images have bash."""
    result = sandbox.data.run("/bin/sh", "-c", script, **options)
    assert result.exit_code == 0, result
    return result.stdout.decode()


def zstd(data):
    return subprocess.run(["zstd", "-cq"], input=data, capture_output=True, check=True).stdout


def agent_answers(sandbox):
    with contextlib.suppress(AssertionError, OSError, http.client.HTTPException):
        return sh(sandbox, "/app/busybox pidof sandlot-agent", user="root")


def reason(api, name):
    """Why a build fails."""
    log = built(api, name, 1, "failed", timeout_s=240)["log"]
    return log.splitlines()[-2].split(" ", 1)[1].removeprefix("error: ")


def failed(api, image, **fields):
    """The reason of a build that fails."""
    return reason(api, build(api, image, **fields))


def test_an_image_becomes_a_template(account, stack, registry):
    api = account.api
    registry.push("library/whole", Image([
        layer(*shell(), folder("etc"), entry("etc/passwd", b"root:x:0:0::/root:/bin/sh\napp:x:700:700::/srv:/bin/sh\n"),
              folder("srv"), folder("srv/work", uid=700, gid=700), folder("data"), entry("data/gone", b"x"), entry("data/twice", b"one", mode=0o4755, uid=700, gid=5),
              folder("full"), entry("full/old", b"x"), folder("full/deep"), entry("full/deep/old", b"x")),
        layer(entry("data/.wh.gone"), link("data/linked", "data/twice", tarfile.LNKTYPE), folder("full"), entry("full/new", b"new"),
              entry("full/.wh..wh..opq"), link("absolute", "/data/linked")),
        layer(folder("absolute-folder"), link("way", "/absolute-folder"), entry("way/through", b"a link of the image"),
              entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)),
    ], {"Env": ["GREETING=hello you", "PATH=/opt/bin:/bin:/usr/bin"], "WorkingDir": "/srv/work", "User": "app:app",
        "Entrypoint": ["/bin/sh", "-c"], "Cmd": ["echo \"it's $GREETING\" >/tmp/started; sleep 1000"],
        "ExposedPorts": {"8080/tcp": {}}, "StopSignal": "SIGINT", "Healthcheck": {"Test": ["CMD", "true"]},
        "Volumes": {"/kept/here": {}, "/data": {}}, "OnBuild": ["RUN  exit 1"]}))
    upload(api, archive(folder__two=b"copied\n"))
    name = build(api, "whole", start_image_command=True, ready_command="test -s /tmp/started", tags=["v1"],
                 steps=[{"type": "copy", "files": HASH, "source": "folder", "destination": "copied/", "user": "root"},
                        {"type": "run", "command": "id -u >from-step; echo $GREETING >>from-step"},
                        {"type": "env", "envs": {"MORE": "${GREETING}!"}, "expand": True}])
    shown = built(api, name, 1, timeout_s=120)
    assert shown["from_image"] == "whole" and shown["image"] is None and shown["base_version"] is None
    config = shown["image_config"]
    assert config["digest"].startswith("sha256:") and config["platform"] == f"linux/{MACHINE}"
    assert (config["user"], config["workdir"], config["stop_signal"]) == ("app:app", "/srv/work", "SIGINT")
    assert config["entrypoint"] == ["/bin/sh", "-c"] and config["exposed_ports"] == ["8080/tcp"]
    assert config["volumes"] == ["/data", "/kept/here"]
    assert config["health_check"] == ["CMD", "true"] and config["envs"]["GREETING"] == "hello you"
    assert "fetching image whole" in shown["log"] and "step 2 of 3: run" in shown["log"] and "left out 1 device" in shown["log"]
    wait_until(lambda: api.list() == [], 60, "the end of the build's sandbox")

    sandbox = Sandbox.create(api, template=f"{name}:v1")
    said = sh(sandbox, "id -un; pwd; cat copied/two from-step; echo $MORE; echo $PATH; ls /data /full; cat /way/through")
    assert said.splitlines() == ["app", "/srv/work", "copied", "700", "hello you", "hello you!", "/opt/bin:/bin:/usr/bin",
                                 "/data:", "linked", "twice", "", "/full:", "new", "a link of the image"]
    assert sh(sandbox, "stat -c '%a %u %g %h' /data/linked; cat /absolute; readlink /sbin/init", user="root").split() == [
        "4755", "700", "5", "2", "one/usr/lib/sandlot/sandlot-agent"]
    wait_until(lambda: sh(sandbox, "cat /tmp/started || true") == "it's hello you\n", 20, "the image's command")
    assert sh(sandbox, "ls -d /.sandlot-image /var/tmp/.sandlot-build /null 2>/dev/null || true", user="root") == ""
    assert sandbox.show()["exposed_ports"] == [{"port": 8080, "protocol": "http", "public": False}]
    closed = Sandbox.create(api, template=name, exposed_ports=[])
    assert closed.show()["exposed_ports"] == []
    api.delete(closed.path)
    assert sh(sandbox, "id -un; pwd; ls -d /kept/here", user="user").split() == ["user", "/srv/work", "/kept/here"]


@pytest.mark.long
def test_an_image_without_a_shell(account, registry):
    """Nothing is there but a program: neither /etc nor a shell, and the user is a number."""
    api = account.api
    busybox = shell()[1][1]
    registry.push("bare", Image([layer(folder("app"), entry("app/busybox", busybox, mode=0o755))],
                                {"User": "4321:99", "Entrypoint": ["/app/busybox", "httpd", "-f", "-p", "8000", "-h", "/"]}))
    name = build(api, f"{PLAIN}/bare", start_image_command=True)
    built(api, name, 1, timeout_s=120)
    sandbox = Sandbox.create(api, template=name)
    assert sh(sandbox, "id -u; id -g; /app/busybox echo it runs").splitlines() == ["4321", "99", "it runs"]
    asked = "/app/busybox wget -qO- http://127.0.0.1:8000/etc/hosts | /app/busybox grep -c localhost || true"
    wait_until(lambda: sh(sandbox, asked) == "2\n", 20, "the image's server")
    # The agent is the first process: it is there again when it was killed, and it stops in order.
    assert sh(sandbox, "/app/busybox cat /proc/1/comm", user="root") == "sandlot-init\n"
    before = sh(sandbox, "/app/busybox pidof sandlot-agent", user="root")
    sandbox.data.background("/bin/sh", "-c", "/app/busybox sleep 0.3; /app/busybox killall -KILL sandlot-agent", user="root")
    wait_until(lambda: agent_answers(sandbox) not in (None, before), 20, "another agent")
    sh(sandbox, "/app/busybox touch /app/kept; /app/busybox sync", user="root")
    assert api.post(f"{sandbox.path}/pause", {"memory": False}).status == 200
    sandbox.resume()
    assert sh(sandbox, "cat /etc/hostname; ls /app").split() == ["sandbox", "busybox", "kept"]


def program(folder, compiler):
    """A program that a compiler links to its own library for programs."""
    (folder / "hello.c").write_text('#include <pwd.h>\n#include <stdio.h>\n#include <unistd.h>\n'
                                    'int main(void) { struct passwd *me = getpwuid(getuid());'
                                    ' return printf("hello %s\\n", me ? me->pw_name : "nobody") < 0; }')
    subprocess.run([compiler, "-o", str(folder / "hello"), str(folder / "hello.c")], check=True)
    return (folder / "hello").read_bytes()


def library(path):
    return entry(path.lstrip("/"), pathlib.Path(path).read_bytes(), mode=0o755)


def musl(folder_):
    return [*shell(), folder("lib"), library("/lib/ld-musl-x86_64.so.1"), entry("bin/hello", program(folder_, "musl-gcc"), mode=0o755)]


def distroless(folder_):
    return [folder("etc"), entry("etc/passwd", b"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n"),
            entry("etc/group", b"root:x:0:\nnonroot:x:65532:\n"), library("/lib64/ld-linux-x86-64.so.2"),
            library("/lib/x86_64-linux-gnu/libc.so.6"), entry("bin/hello", program(folder_, "gcc"), mode=0o555)]


def nix(folder_):
    """Links into a store in which nothing can be written, also of /etc and /bin."""
    store = "nix/store/0000-"
    made = [folder("nix"), folder("nix/store", 0o555), folder(f"{store}etc", 0o555), folder(f"{store}glibc"),
            entry(f"{store}etc/passwd", b"root:x:0:0::/root:/bin/sh\n", mode=0o444), *shell(f"{store}tools"),
            library("/lib/x86_64-linux-gnu/libc.so.6"), library("/lib64/ld-linux-x86-64.so.2"),
            entry(f"{store}tools/hello", program(folder_, "gcc"), mode=0o555)]
    return [*made, link("etc", f"/{store}etc"), link("bin", f"/{store}tools"), link("tmp", "/var/tmp")]


@pytest.mark.long
@pytest.mark.parametrize("files,user", [(musl, "user"), (distroless, "nonroot"), (nix, "user")])
def test_images_of_other_kinds(account, registry, tmp_path, files, user):
    """Another C library, no shell, and an odd /etc: the programs of the image and the steps of a build run."""
    api, image = account.api, files.__name__
    registry.push(image, Image([layer(*files(tmp_path))], {"User": "65532" if image == "distroless" else ""}))
    name = slug()
    create(api, name, dockerfile=f"FROM {PLAIN}/{image}\nUSER root\nRUN /bin/hello >/made\nRUN echo kept >>/etc/hosts.kept\n")
    built(api, name, 1, timeout_s=180)
    sandbox = Sandbox.create(api, template=name)
    assert sh(sandbox, "cat /made; hello; cat /etc/hosts.kept", user="root").splitlines() == ["hello root", "hello root", "kept"]
    assert sh(sandbox, "hello", user=user) == f"hello {user}\n"
    sandbox.data.upload("written", b"by the API", user=user)
    assert sh(sandbox, "cat ~/written", user=user) == "by the API"


def test_a_dockerfile_begins_with_an_image(account, registry):
    """Without USER and WORKDIR the steps run as root in the root folder; sandboxes have what the image has."""
    api, name = account.api, slug()
    registry.push("plain", Image([layer(*shell())], {"Env": ["FROM_IMAGE=yes"], "Entrypoint": ["/bin/old"], "Cmd": ["old"],
                                                     "ExposedPorts": {"80/tcp": {}}}))
    create(api, name, start_image_command=True, ready_command="test -s /tmp/started", dockerfile=f"""
FROM {PLAIN}/plain
RUN id -u >made; pwd >>made; echo $FROM_IMAGE >>made
USER 700
COPY <<END /made-too
$FROM_THIS
END
ENV MORE=${{FROM_IMAGE}}!
EXPOSE 81 80
CMD echo "$MORE" >/tmp/started; sleep 1000
ENTRYPOINT []
""".replace("$FROM_THIS", "text"))
    shown = built(api, name, 1, timeout_s=120)
    config = shown["image_config"]
    assert shown["from_image"] == config["name"] == f"{PLAIN}/plain" and config["exposed_ports"] == ["80/tcp", "81/tcp"]
    assert config["entrypoint"] == [] and config["command"][:2] == ["/bin/sh", "-c"]
    sandbox = Sandbox.create(api, template=name)
    assert sh(sandbox, "id -u; cat /made /made-too; echo $MORE").splitlines() == ["700", "0", "/", "yes", "text", "yes!"]
    wait_until(lambda: sh(sandbox, "cat /tmp/started || true") == "yes!\n", 20, "the command")


@pytest.mark.long
def test_the_command_of_an_image_runs_as_in_docker(account, registry):
    """An image without a user and a folder means root in "/", also if the shell of root is nologin. A template on it inherits the
    command. Other commands run as `user`."""
    api, child = account.api, slug()
    registry.push("server", Image([layer(*shell(), folder("etc"), entry("etc/passwd", b"root:x:0:0::/root:/sbin/nologin\n"))],
                                  {"Cmd": ["./bin/sh", "-c", "x=$(id -u; pwd); echo \"$x\" >/started; sleep 1000"]}))
    name = build(api, f"{PLAIN}/server", start_image_command=True, ready_command="test -s /started")
    built(api, name, 1, timeout_s=120)
    create(api, child, dockerfile=f"FROM {name}\nRUN rm -f /started\n")
    built(api, child, 1, timeout_s=120)
    for template in (name, child):
        sandbox = Sandbox.create(api, template=template)
        assert sh(sandbox, "cat /started; id -un").splitlines() == ["0", "/", "user"]
        api.destroy(sandbox.id)


def test_a_dockerfile_adds_a_user_of_the_number_of_ours(account, registry):
    """As Rails does with groupadd --gid 1000: `user` comes behind the last step, with the same number."""
    api, name = account.api, slug()
    registry.push("adds", Image([layer(*shell(), folder("etc"))]))
    create(api, name, dockerfile=f"""FROM {PLAIN}/adds
RUN : useradd --uid 1000; cat /etc/passwd /etc/group >/before
RUN echo app:x:1000:1000::/srv:/bin/sh >>/etc/passwd; echo app:x:1000: >>/etc/group
""")
    built(api, name, 1, timeout_s=120)
    sandbox = Sandbox.create(api, template=name)
    assert sh(sandbox, "cat /before; id -u; id -g; cd; pwd; id -u app").splitlines() == [
        "root:x:0:0:root:/root:/bin/sh", "root:x:0:", "1000", "1000", "/home/user", "1000"]
    assert sh(sandbox, "cat /etc/group; stat -c %u:%g /home/user").splitlines() == ["root:x:0:", "app:x:1000:", "1000:1000"]


@pytest.mark.long
def test_an_image_by_a_tag_is_cached_by_its_digest(account, registry):
    api, name = account.api, slug()

    def push(which):
        registry.push("tagged", Image([layer(*shell(), folder("etc"), entry("etc/which", which))]))

    def made(number):
        body = {"dockerfile": f"FROM {PLAIN}/tagged\nRUN cat /etc/which >/made; sleep 1.2\n"}
        if number == 1:
            create(api, name, **body)
        else:
            assert api.post(f"/v1/templates/{name}/versions", body).status == 201
        shown = built(api, name, number, timeout_s=120)
        sandbox = Sandbox.create(api, template=name)
        said = sh(sandbox, "cat /made")
        api.destroy(sandbox.id)
        return shown["log"].count(": cached"), said

    push(b"one")
    assert made(1) == (0, "one")
    assert made(2) == (2, "one"), "the image and the step on it"
    push(b"two")
    assert made(3) == (0, "two"), "the tag points to another image"
    assert made(4) == (2, "two")


@pytest.mark.long
def test_images_share_their_lower_layers(account, registry):
    """A second image costs its own layers: the registry does not have the shared one any more. The first one comes
    slowly, because what takes less than a second is not cached."""
    api = account.api
    files = [entry(f"many/{i}", os.urandom(64)) for i in range(20)]
    shared, own = layer(*shell(), folder("etc"), folder("many"), *files), layer(entry("etc/which", b"two\n"), entry("many/.wh.7"))
    registry.push("lower", Image([shared]))
    registry.push("upper", Image([shared, own]))
    built(api, build(api, f"{ODD}/breaks/lower"), 1, timeout_s=120)
    registry.lose(shared)
    upper = build(api, f"{PLAIN}/upper")
    log = built(api, upper, 1, timeout_s=120)["log"]
    assert "the first layer of the image: cached" in log and "layer 2 of 2" in log and "layer 1 of 2" not in log, log
    sandbox = Sandbox.create(api, template=upper)
    assert sh(sandbox, "cat /etc/which; ls /many").splitlines() == ["two", *sorted(str(i) for i in range(20) if i != 7)]
    assert sandbox.data.read("/many/8") == files[8][1]
    api.destroy(sandbox.id)
    whole = failed(api, f"{PLAIN}/upper", no_cache=True)
    assert "layer 1 of 2" in whole and "does not have it" in whole


@pytest.mark.long
def test_stages_copy_from_each_other(account, registry):
    api, name = account.api, slug()
    for one in ("builder", "base"):
        registry.push(one, Image([layer(*shell(), folder("etc"), entry("etc/which", one.encode()), entry(f"etc/{one}"))],
                                 {"Env": [f"WHICH={one}"], "User": "700" if one == "base" else ""}))
    registry.push("tools", Image([layer(folder("usr"), entry("usr/tool", b"#!/bin/sh\necho tool\n"))]))
    create(api, name, dockerfile=f"""
ARG TOOLS=tools
FROM {PLAIN}/builder AS build
ARG TOOLS TARGETARCH
COPY --from={PLAIN}/$TOOLS --chmod=u+x,go= /usr/tool /bin/tool
WORKDIR /src
RUN echo $TARGETARCH >arch
RUN id -u >made && cat /etc/which >>made && mkdir -p out/deep && echo 2 >out/deep/two && chown 7:8 out/deep/two
ENV LOST=yes
FROM build AS more
RUN echo "$WHICH" >/src/more
FROM {PLAIN}/nothing AS unused
COPY --from=build /none /none
FROM {PLAIN}/base
COPY --from=build /src/made /src/o*t /dest/
COPY --from=more --chown=9:9 src/more /dest/nine
COPY --from={PLAIN}/tools /usr/tool /dest/
COPY --from=build /bin/tool /src/arch /dest/own/
COPY --from=0 /src/out/deep/two /two
USER root
RUN cat /etc/which /dest/made >/seen; echo "$WHICH $LOST" >>/seen; ls /src /etc/builder >>/seen 2>/dev/null || true
USER 700
""")
    shown = built(api, name, 1, timeout_s=180)
    assert shown["from_image"] == f"{PLAIN}/base" and shown["image_config"]["name"] == f"{PLAIN}/base"
    assert "unused" not in shown["log"] and "nothing" not in shown["log"]
    sandbox = Sandbox.create(api, template=name)
    said = sh(sandbox, "cat /dest/own/arch; stat -c %a /dest/tool /dest/own/tool", user="root").splitlines()
    assert said == [MACHINE, "644", "700"]
    said = sh(sandbox, "id -u; id -g; pwd; cat /seen /dest/nine; stat -c '%u:%g' /two /dest/deep/two /dest/nine /dest/made; echo $WHICH$LOST")
    assert said.splitlines() == ["700", "0", "/home/user700", "base0", "builderbase ", "builder", "7:8", "7:8", "9:9", "0:0", "base"]
    assert sh(sandbox, "ls -d /.sandlot-image* /var/tmp/.sandlot-build 2>/dev/null || true", user="root") == ""


@pytest.mark.long
def test_the_triggers_of_a_base(account, registry):
    """ONBUILD runs once, directly after FROM, in a Dockerfile that begins with an image, a stage's image or a template."""
    api, name, child, last, stages = account.api, slug(), slug(), slug(), slug()
    triggers = ["ARG MODE=none", "WORKDIR /app", "COPY folder/ .", "RUN echo $MODE $WHICH >mode"]
    registry.push("triggers", Image([layer(*shell(), folder("etc"))], {"Env": ["WHICH=base"], "OnBuild": [*triggers, "EXPOSE 81"]}))
    upload(api, archive(folder__two=b"copied\n"))
    create(api, name, context=HASH, build_args={"MODE": "fast"}, dockerfile=f"""ARG MODE
FROM {PLAIN}/triggers
RUN cat two mode >seen
EXPOSE 80
ONBUILD RUN echo child >>/child
""")
    shown = built(api, name, 1, timeout_s=120)
    assert [one["line"] for one in shown["steps"]][-4:] == [2, 2, 2, 3], shown["steps"]
    assert {one["state"] for one in shown["steps"]} == {"done"}, shown["steps"]
    assert ", line 2: run echo $MODE $WHICH >mode" in shown["log"], shown["log"]
    assert sorted(shown["image_config"]["exposed_ports"]) == ["80/tcp", "81/tcp"]
    sandbox = Sandbox.create(api, template=name)
    assert sh(sandbox, "cat /app/seen; ls /child 2>/dev/null || true", user="root").splitlines() == ["copied", "fast base"]
    api.destroy(sandbox.id)

    create(api, child, dockerfile=f"FROM {name}\nRUN cat /child >/seen\n")
    built(api, child, 1, timeout_s=120)
    create(api, last, dockerfile=f"FROM {child}\nRUN cat /child /seen >/all\n")
    built(api, last, 1, timeout_s=120)
    sandbox = Sandbox.create(api, template=last)
    assert sh(sandbox, "cat /all", user="root").split() == ["child", "child"]
    api.destroy(sandbox.id)

    create(api, stages, context=HASH, dockerfile=f"""FROM {PLAIN}/triggers AS one
FROM {PLAIN}/triggers
COPY --from=one /app/mode /other
""")
    built(api, stages, 1, timeout_s=180)
    sandbox = Sandbox.create(api, template=stages)
    assert sh(sandbox, "cat /other /app/mode /app/two", user="root").splitlines() == 2 * ["none base"] + ["copied"]
    api.destroy(sandbox.id)

    registry.push("badtriggers", Image([layer(*shell(), folder("etc"))], {"OnBuild": ["RUN true", "RUM x"]}))
    for image, said in (("badtriggers", "Line 2: the base has ONBUILD RUM x: there is no instruction RUM"),
                        ("triggers", "Line 2: the base has ONBUILD COPY folder/ ., which copies files")):
        wrong = slug()
        create(api, wrong, dockerfile=f"# wrong\nFROM {PLAIN}/{image}\n")
        assert said in built(api, wrong, 1, "failed", timeout_s=120)["log"]


def refused(api, said, text):
    answer = api.post("/v1/templates", {"slug": slug(), "dockerfile": text})
    assert_error(answer, 422, "invalid_request", "/dockerfile")
    assert said in answer.json()["message"], answer.json()


def push_tool(registry):
    registry.push("tool", Image([layer(folder("usr"), entry("usr/tool", b"#!/bin/sh\necho tool\n"))]))
    return f"COPY --from={PLAIN}/tool --chmod=755 /usr/tool"


def test_stages_begin_with_a_template(account, stack):
    """Each stage has the files of the template, and not those of another stage."""
    api, name = account.api, slug()
    create(api, name, dockerfile=f"""FROM {stack.template} AS build
ENV LOST=yes
RUN id -un >/made; mkdir -p /out/deep; echo 1 >/out/deep/one; chown 7:8 /out/deep/one; ln -s deep/one /out/link; touch "/a changed file"
FROM {stack.template}
COPY --from=build /out /made /dest/
RUN echo "lost:$LOST" >/seen; ls /a* /out 2>/dev/null || echo none >>/seen; stat -c %a /usr/bin/su >>/seen
""")
    shown = built(api, name, 1, timeout_s=600)
    assert shown["base_version"].startswith("tpv_") and shown["from_image"] is None
    sandbox = Sandbox.create(api, template=name)
    said = sandbox.data.check("cat /seen /dest/made /dest/deep/one /dest/link; stat -c %u:%g /dest/deep/one", user="root")
    assert said.split() == ["lost:", "none", "4755", "root", "1", "1", "7:8"]
    assert sandbox.data.check("ls -d /.sandlot-image* /var/tmp/.sandlot-build 2>/dev/null || true", user="root") == ""


# The busybox that the build added copies itself in 7 s, more than a lease of the tests.
SLOW = ("n=${0##*/}; [ $n = busybox ] || exec /busybox $n \"$@\"; "
        "case $1 in cp) /busybox sleep 7; exec /busybox cp /busybox \"$3\";; esac; exec /busybox \"$@\"")


@pytest.mark.long
def test_stages_of_a_template_behind_an_image(account, stack, registry):
    """The first stage gets the template's root, the second stage a copy. The exchange of roots takes longer than a lease."""
    api, name = account.api, slug()
    registry.push("front", Image([layer(*shell(), folder("etc"), entry("etc/which", b"front\n"))]))
    create(api, name, dockerfile=f"""FROM {PLAIN}/front AS front
RUN <<'END'
printf '%s\\n' '#!/bin/sh' '{SLOW}' >/new
busybox=/usr/lib/sandlot/busybox
$busybox chmod 755 /new && $busybox mv $busybox /busybox && /busybox mv /new $busybox
END
FROM {stack.template} AS build
COPY --from=front /etc/which /made
RUN stat -c '%a %U' / /usr/bin/su >>/made; touch "/a changed file"
FROM {stack.template}
COPY --from=build /made /made
RUN stat -c '%a %U' / /usr/bin/su >>/made; ls /a* /etc/which 2>/dev/null || echo none >>/made
""")
    shown = built(api, name, 1, timeout_s=600)
    assert shown["log"].count(": stage ") == 3, shown["log"]
    log = (stack.root / "log" / "dispatcher.log").read_text(encoding="utf-8", errors="replace")
    assert f"another process has taken the lease {shown['id']}" not in log
    sandbox = Sandbox.create(api, template=name)
    assert sandbox.data.check("cat /made").splitlines() == ["front", *2 * ["755 root", "4755 root"], "none"]
    assert sandbox.data.check("ls -d /.sandlot-image* /var/tmp/.sandlot-build 2>/dev/null || true", user="root") == ""
    api.destroy(sandbox.id)


@pytest.mark.long
def test_an_image_copies_from_a_stage_of_a_template(account, stack, registry):
    """A repeated build begins with the template too."""
    api, name = account.api, slug()
    registry.push("last", Image([layer(*shell(), folder("etc"), entry("etc/which", b"last\n"))]))
    create(api, name, dockerfile=f"""FROM {stack.template} AS build
RUN python3 -c 'print("made")' >/made
FROM {PLAIN}/last
COPY --from=build /made /made
RUN cat /made /etc/which; exit 3
""")
    failures = [built(api, name, 1, "failed", timeout_s=600)]
    settled(stack, name)
    assert again(api, name, 1).status == 201
    failures.append(built(api, name, 2, "failed", timeout_s=600))
    for failure in failures:
        assert failure["from_image"] == f"{PLAIN}/last" and "ended with status 3" in failure["log"], failure["log"]
        assert "| made" in failure["log"] and "| last" in failure["log"], failure["log"]
    assert [step["title"] for step in failures[0]["steps"]] == [step["title"] for step in failures[1]["steps"]]


@pytest.mark.long
def test_templates_that_stages_cannot_begin_with(account, stack, registry):
    """One template, and images only if the template can fetch them."""
    api, other, image, name = account.api, slug(), slug(), slug()
    tool = push_tool(registry)
    registry.push("alone", Image([layer(*shell())]))
    create(api, other, dockerfile=f"FROM {stack.template}\nRUN true\n")
    create(api, image, dockerfile=f"FROM {PLAIN}/alone\nRUN true\n")
    built(api, other, 1, timeout_s=120)
    built(api, image, 1, timeout_s=120)
    refused(api, f"Line 2, column 6: {other} is another template than {stack.template}",
            f"FROM {stack.template} AS a\nFROM {other}\nCOPY --from=a /x /y\n")
    refused(api, f"Line 1, column 6: The template {image} was built from an image", f"FROM {image}\n{tool} /t\n")
    create(api, name, dockerfile=f"FROM {image} AS a\nRUN echo x >/x\nFROM {image}\nCOPY --from=a /x /y\nRUN ls /x || echo none >>/y\n")
    built(api, name, 1, timeout_s=240)
    assert sh(Sandbox.create(api, template=name), "cat /y").split() == ["x", "none"]


@pytest.mark.long
def test_triggers_copy_and_hold_for_later_instructions(account, stack, registry):
    """A stage that only ONBUILD needs is built; ARG and SHELL of ONBUILD reach the instructions behind FROM."""
    api, template = account.api, slug()
    triggers = ["ARG V=seven", 'SHELL ["/bin/sh", "-ec"]', "COPY --from=assets /out /srv/", f"{push_tool(registry)} /srv/tool"]
    registry.push("assets", Image([layer(*shell())]))
    registry.push("copies", Image([layer(*shell(), folder("etc"))], {"OnBuild": triggers}))
    create(api, template, dockerfile="\n".join([f"FROM {stack.template}", *(f"ONBUILD {trigger}" for trigger in triggers)]))
    built(api, template, 1, timeout_s=120)
    for base in (f"{PLAIN}/copies", template):
        create(api, name := slug(), dockerfile=f"""FROM {PLAIN}/assets AS assets
RUN mkdir /out && echo asset >/out/file
FROM {base}
RUN case $- in *e*) echo "$V" >/seen;; esac; cat /srv/file >>/seen; /srv/tool >>/seen
""")
        shown = built(api, name, 1, timeout_s=240)
        assert [step["line"] for step in shown["steps"]][-3:] == [3, 3, 4], shown["steps"]
        sandbox = Sandbox.create(api, template=name)
        assert sh(sandbox, "cat /seen", user="root").split() == ["seven", "asset", "tool"]
        api.destroy(sandbox.id)


@pytest.mark.long
def test_a_base_keeps_its_shell(account, registry):
    """The shell form in a Dockerfile runs in the SHELL of its base, which is an image or a template."""
    api, kept, own, last = account.api, slug(), slug(), slug()
    flags = "case $- in *e*) echo exits;; *) echo continues;; esac"
    registry.push("shelled", Image([layer(*shell(), folder("etc"))], {"Shell": ["/bin/sh", "-ec"]}))
    create(api, kept, dockerfile=f"FROM {PLAIN}/shelled\nRUN {flags} >/seen\nCMD {flags}\n")
    config = built(api, kept, 1, timeout_s=120)["image_config"]
    assert config["shell"] == ["/bin/sh", "-ec"] and config["command"] == ["/bin/sh", "-ec", flags]
    create(api, own, dockerfile=f"""FROM {kept}
RUN {flags} >>/seen
SHELL ["/bin/sh", "-c"]
RUN {flags} >>/seen
""")
    config = built(api, own, 1, timeout_s=120)["image_config"]
    assert config["shell"] == ["/bin/sh", "-c"] and config["command"] == ["/bin/sh", "-ec", flags]
    create(api, last, dockerfile=f"FROM {own}\nRUN {flags} >>/seen\n")
    built(api, last, 1, timeout_s=120)
    sandbox = Sandbox.create(api, template=last)
    assert sh(sandbox, "cat /seen", user="root").split() == ["exits", "exits", "continues", "continues"]
    api.destroy(sandbox.id)


@pytest.mark.long
def test_an_image_without_files(account, registry):
    api, name, alone = account.api, slug(), slug()
    create(api, alone, dockerfile="FROM scratch\nRUN echo made >/made")
    registry.push("maker", Image([layer(*shell())]))
    create(api, name, dockerfile=f"""FROM {PLAIN}/maker AS make
RUN echo '#!/bin/sh' >/app && chmod 755 /app
FROM scratch
COPY --from=make /app /app
CMD ["/app"]
""")
    shown = built(api, name, 1, timeout_s=180)
    assert shown["from_image"] == "scratch" and shown["image_config"]["command"] == ["/app"]
    assert sh(Sandbox.create(api, template=name), "/app && cd / && echo *").split() == [
        "app", "bin", "dev", "etc", "home", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var"]
    assert built(api, alone, 1, timeout_s=180)["image_config"]["name"] == "scratch"
    assert sh(Sandbox.create(api, template=alone), "cat /made") == "made\n"


@pytest.mark.long
def test_all_of_a_stage(account, registry):
    """A link that is named means its file. In an image without files, folders of the build become links of the stage, and
    links are copied again over themselves."""
    api, name = account.api, slug()
    registry.push("whole", Image([layer(*shell())]))
    create(api, name, dockerfile=f"""FROM {PLAIN}/whole AS make
RUN mkdir -p /opt/lib/real /made && mv /home /usr/own && ln -s usr/own /home && echo one >/opt/lib/real/one
RUN ln -s real/one /opt/lib/one && ln -s /opt/lib /opt/absolute && echo hidden >/opt/lib/.hidden && chown 7:8 /made
FROM scratch
COPY --from=make / /
COPY --from=make / /
COPY --from=make /opt/lib/one /copied
COPY --from=make /opt/absolute /folder/
COPY --from=make --exclude=re* /opt/lib /excluded/
COPY --from=make --parents /opt/./lib/**/o* /parents/
COPY --from=make /opt/lib/*e* /opt/lib/none* /pattern/
""")
    built(api, name, 1, timeout_s=180)
    said = sh(Sandbox.create(api, template=name), "cd /; stat -c %F copied; cat copied; readlink home; stat -c %u:%g made;"
              " for f in folder excluded parents pattern; do echo $f; find $f -mindepth 1 | sort; done", user="root").splitlines()
    assert said == ["regular file", "one", "usr/own", "7:8",
                    "folder", "folder/.hidden", "folder/one", "folder/real", "folder/real/one",
                    "excluded", "excluded/.hidden", "excluded/one",
                    "parents", "parents/lib", "parents/lib/one", "parents/lib/real", "parents/lib/real/one",
                    "pattern", "pattern/.hidden", "pattern/one"]


@pytest.mark.long
def test_a_stage_without_the_file(account, registry):
    api, name = account.api, slug()
    registry.push("alone", Image([layer(*shell())]))
    create(api, name, dockerfile=f"FROM {PLAIN}/alone AS a\nFROM {PLAIN}/alone\nCOPY --from=a /none /x\n")
    log = built(api, name, 1, "failed", timeout_s=240)["log"]
    assert "line 1: save" in log and "ended with status 1. The stage has no file /none." in log


@pytest.mark.long
def test_a_private_registry(account, other_account, stack, registry):
    api = account.api
    with_login = [build(api, f"{ODD}/private/small", registry_login={"user": USER, "password": "not this one"})]
    refused = reason(api, with_login[0])
    assert f"refuses the user {USER}" in refused and "not this one" not in refused
    assert "a client without a user" in failed(api, f"{ODD}/private/small")
    assert "wants a user and a password" in failed(api, f"{ODD}/basic/small")
    for way in ("private", "basic"):
        name = build(api, f"{ODD}/{way}/small", registry_login={"user": USER, "password": PASSWORD})
        shown = built(api, name, 1, timeout_s=120)
        assert PASSWORD not in json.dumps(shown)
        with_login.append(name)
    # A failed build without a login keeps its steps, to be repeated.
    wait_until(lambda: not stack.query(
        "SELECT 1 FROM template_recipes r JOIN template_versions v ON v.id = r.template_version_id"
        " JOIN templates t ON t.id = v.template_id WHERE r.sealed IS NOT NULL AND FIND_IN_SET(t.slug, %s)",
        ",".join(with_login)), 60, "the end of the passwords")
    assert other_account.api.get(f"/v1/templates/{name}/versions/1").status == 404


def test_the_password_is_sealed_and_goes_with_the_fetch(account, stack, registry):
    name = build(account.api, f"{ODD}/private/small", registry_login={"user": USER, "password": PASSWORD},
                 steps=[{"type": "run", "command": "sleep 5; cat /proc/*/cmdline /proc/*/environ | tr '\\0' '\\n' >/seen", "user": "root"}])

    def sealed():
        (row,) = stack.query("SELECT r.sealed FROM template_recipes r JOIN template_versions v ON v.id = r.template_version_id"
                             " JOIN templates t ON t.id = v.template_id WHERE t.slug = %s", name)
        return row["sealed"]

    first = sealed()
    assert first and PASSWORD.encode() not in first
    wait_until(lambda: "step 1" in account.api.get(f"/v1/templates/{name}/versions/1").json()["log"], 120, "the step")
    assert len(sealed()) < len(first) - len(PASSWORD)
    built(account.api, name, 1, timeout_s=60)
    sandbox = Sandbox.create(account.api, template=name)
    assert sh(sandbox, f"grep -c sandlot-build /seen; grep -c '{PASSWORD}' /seen || true", user="root").splitlines()[1] == "0"


@pytest.mark.parametrize("image", ["UPPER/case", "a b", "example.com/", "a@sha256:12", "a:b:c", "example.com/a//b",
                                   f"user:word@{PLAIN}/small", "a:" + "t" * 129, "-a", "a/../b", "https://example.com/a"])
def test_names_that_cannot_be(module_account, image):
    assert_error(module_account.api.post("/v1/templates", {"slug": slug(), "from_image": image}), 422, "invalid_request", "/from_image")


def test_what_goes_with_what(account, stack):
    def refused(field, **body):
        assert_error(account.api.post("/v1/templates", {"slug": slug(), **body}), 422, "invalid_request", field)

    login = {"user": "a", "password": "b"}
    refused("/from_image", from_image="a", template=stack.template)
    refused("/registry_login", template=stack.template, registry_login=login)
    refused("/registry_login/password", from_image="a", registry_login={"user": "a"})
    refused("/registry_login/user", from_image="a", registry_login={"user": "", "password": "b"})
    refused("/start_image_command", from_image="a", start_image_command=True, start_command="true")
    refused("/steps", image="x", start_image_command=True, steps=[])
    refused("/steps/0/type", from_image="a", steps=[{"type": "image"}])


@pytest.mark.long
def test_what_an_image_may_not_be(account, registry):
    """Each is refused with its reason, and leaves nothing."""
    api = account.api
    plain = shell()
    bad = {
        "outside": ([entry("../../etc/passwd", b"x")], "leads outside"),
        "linked": ([link("a", "../../etc/passwd", tarfile.LNKTYPE)], "a hard link to"),
        "unlinked": ([link("a", "no/such/file", tarfile.LNKTYPE)], "which is no file of the image"),
        "owner": ([entry("a", b"x", uid=1 << 30)], "its owner is"),
        "sparse": ([entry("a", pax_headers={"GNU.sparse.size": str(1 << 50), "GNU.sparse.major": "0",
                                            "GNU.sparse.map": f"{1 << 49},1"})], "more than"),
        "through": ([entry("a", b"x"), entry("a/b", b"x")], "is no folder"),
    }
    wanted = {}
    for name, (entries, said) in bad.items():
        registry.push(f"bad/{name}", Image([layer(*plain, *entries)]))
        wanted[f"{PLAIN}/bad/{name}"] = ("layer 1 of 1", said)
    registry.push("bad/broken", Image([layer(*plain)[:-2000]]))
    wanted[f"{PLAIN}/bad/broken"] = ("layer 1 of 1", "broken")
    registry.push("bad/user", Image([layer(*plain)], {"User": "somebody"}))
    wanted[f"{PLAIN}/bad/user"] = ("somebody", "/etc/passwd")
    registry.push_index("bad/index", [registry.push("bad/index", Image([layer(*plain)], machine=OTHER_MACHINE), "other")])
    wanted[f"{PLAIN}/bad/index"] = (f"not there for linux/{MACHINE}", f"linux/{OTHER_MACHINE}")
    wanted[f"{PLAIN}/bad/index:other"] = (f"it is for linux/{OTHER_MACHINE}",)
    wanted[f"{PLAIN}/small:none"] = ("does not have it",)
    wanted[f"{PLAIN}/small@sha256:" + "0" * 64] = ("does not have it",)
    with concurrent.futures.ThreadPoolExecutor(4) as at_once:
        for image, reason in zip(wanted, at_once.map(lambda image: failed(api, image), wanted)):
            assert image in reason and all(said in reason for said in wanted[image]), reason
    wait_until(lambda: api.list() == [], 60, "the end of the builds' sandboxes")


@pytest.mark.long
def test_registries_that_misbehave(account, registry):
    api = account.api
    def push(name):
        """Layers of its own: a build takes equal ones from the cache."""
        return registry.push(name, Image([layer(*shell(), entry("etc/name", name.encode())), layer(entry("etc/kept", os.urandom(200000)))]))

    for name in ("breaks", "busy", "moves", "cuts", "alters", "floods"):
        push(name)
    registry.push("packed", Image([layer(*shell(), compress=zstd), layer(entry("etc/kept", b"plain"), compress=bytes)]))
    good = [f"{PLAIN}/packed", *(f"{ODD}/{way}/{way}" for way in ("breaks", "busy", "moves"))]
    bad = {
        "cuts": "broke off 4 times", "alters": "digest", "swaps": "has the digest", "floods": "larger than 4 MiB",
    }
    exact = push("swaps")["digest"]
    with concurrent.futures.ThreadPoolExecutor(4) as at_once:
        ready = [at_once.submit(lambda image=image: built(api, build(api, image), 1, timeout_s=240)) for image in good]
        refused = {way: at_once.submit(failed, api, f"{ODD}/{way}/{way}" + (f"@{exact}" if way == "swaps" else "")) for way in bad}
        for one in ready:
            one.result()
        for way, reason in refused.items():
            assert bad[way] in reason.result()


def test_http_is_for_registries_of_the_operators_list(account, registry):
    assert "SSL" in failed(account.api, f"{ODD.replace('5001', '5002')}/small")


@pytest.mark.long
def test_an_index_and_a_digest(account, registry):
    api = account.api
    ours = registry.push("many", Image([layer(*shell(), entry("etc/which", b"ours"))]), "ours")
    other = registry.push("many", Image([layer(*shell(), entry("etc/which", b"other"))], machine=OTHER_MACHINE), "other")
    registry.push_index("many", [other, ours], "both")
    names = {image: build(api, f"{PLAIN}/{image}") for image in ("many:both", f"many@{ours['digest']}", f"many:other@{ours['digest']}")}
    for name in names.values():
        shown = built(api, name, 1, timeout_s=240)
        assert shown["image_config"]["digest"] == ours["digest"]
        assert sh(Sandbox.create(api, template=name), "cat /etc/which") == "ours"


def fetch(registry, folder, seconds, repository, port=5001, reference="latest", **fields):
    """The program of builders by itself, next to the registry."""
    order = {"image": "asked", "registry": f"127.0.0.1:{port}", "repository": repository, "reference": reference,
             "plain_http": True, "bytes_max": 1 << 30, "files_max": 1000, "seconds": seconds, **fields}
    (folder / "order").write_text(json.dumps({**order, "user": USER, "password": PASSWORD}))
    return subprocess.run(registry.in_namespace(sys.executable, "-B", str(FETCH), str(folder / "order"), str(folder / "tree")),
                          check=False, capture_output=True, text=True, timeout=120)


@pytest.mark.long
def test_parts_of_an_image(registry, tmp_path):
    """With digests of layers the program ends after each part, and continues only what it has left itself. It asks for
    the manifest once."""
    large = [layer(entry(f"large{i}", os.urandom(33 << 20)), compress=bytes) for i in range(2)]
    pushed = registry.push("parts", Image([*large, layer(entry("small", b"small"))]))
    where = {"repository": "parts", "port": 5000, "reference": pushed["digest"]}
    tree, note = tmp_path / "tree", tmp_path / "tree" / "layers"

    def more(**fields):
        return fetch(registry, tmp_path, 100, **where, layers=["known"], **fields)

    said = [more().stdout.splitlines()[-1] for _ in range(2)]
    assert [line.split(":")[0] for line in said] == ["layer 1 of 3", "layer 2 of 3"]
    assert sorted(os.listdir(tree / "root")) == ["large0", "large1"]
    registry.hide("parts")
    third = more()
    registry.show("parts")
    assert third.returncode == 75 and "layer 3 of 3" in third.stdout and "layer 2" not in third.stdout
    digest = note.read_text().splitlines()[0]
    note.write_text(f"{digest}\n9 9\n")  # not what the program has written
    assert "layer 1 of 3" in more().stdout
    note.unlink()  # killed in the middle of a layer
    assert "layer 1 of 3" in more().stdout
    where["reference"] = registry.push("parts", Image([large[1], large[0]]))["digest"]
    assert "layer 1 of 2" in more().stdout, "the lower layer is another one"
    bounded = more(bytes_max=50 << 20)
    assert bounded.returncode == 1 and "more than 50 MiB" in bounded.stdout.splitlines()[-1]


def test_registries_without_an_end(registry, tmp_path):
    """Blobs, redirects, indexes and layers."""
    small = registry.push("endless", Image([layer(*shell())]), "small")
    inner = registry.push_index("endless", [small], "inner")
    registry.push_index("endless", [{**inner, "platform": small["platform"]}], "index")
    registry.push("endless", Image([layer(*shell())] * 201), "layers")
    for where, said in ({"repository": "pours/small"}, "bytes of the manifest"), ({"repository": "loops/small"}, "HTTP 307"), (
            {"repository": "endless", "port": 5000, "reference": "index"}, "leads to another index"), (
            {"repository": "endless", "port": 5000, "reference": "layers"}, "201 layers, more than 200"):
        ended = fetch(registry, tmp_path, 100, **where)
        assert ended.returncode == 1 and said in ended.stdout.splitlines()[-1], (where, ended)


def test_a_registry_that_drips_costs_bounded_time(registry, tmp_path):
    ended = fetch(registry, tmp_path, 4, "drips/small")
    assert ended.returncode == 1 and ended.stdout.splitlines()[-1].endswith("after 4 seconds"), ended
    assert not (tmp_path / "order").exists(), "the file with the password goes at once"
    assert PASSWORD not in ended.stdout + ended.stderr


@pytest.mark.long
def test_the_command_line(stack, account, registry, tmp_path):
    cli, name = Cli(stack, tmp_path, account.api.key), slug()
    said = cli.say("template", "build", name, "--image", f"{ODD}/private/small", "--registry-user", USER, "--follow",
                   stdin=f"{PASSWORD}\n".encode())
    assert said.startswith("1\n") and f"fetching image {ODD}/private/small" in said and said.rstrip().endswith("ready")


def test_options_of_the_command_line_that_do_not_go_together(stack, module_account, tmp_path):
    cli, name = Cli(stack, tmp_path, module_account.api.key), slug()
    assert cli("template", "build", name, "--image", "small", "--checkpoint", "x").returncode == 2
    assert cli("template", "build", name, "--registry-user", USER, "--checkpoint", "x").returncode == 2
    assert cli("template", "build", name, "--image", "small", "--registry-user", USER).returncode == 2
