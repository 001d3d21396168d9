# SPDX-License-Identifier: GPL-2.0-or-later
"""Template versions that are built from Dockerfiles."""

import io
import json
import tarfile

import pytest

from cli import Cli
from client import assert_error
from services import until
from stack import wait_until
from tenant import Sandbox
from test_template_builds import built, create, nothing_is_left, slug  # noqa: F401 (a fixture)
from test_template_steps import HASH, archive, no_recipe_file_is_left, upload  # noqa: F401 (a fixture)

pytestmark = pytest.mark.parallel


def packed():
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as tar:
        entry = tarfile.TarInfo("deep/unpacked")
        entry.size, entry.uid = 4, 0
        tar.addfile(entry, io.BytesIO(b"tar\n"))
    return inner.getvalue()


DOCKERFILE = r"""# syntax=docker/dockerfile:1
ARG BASE=none
FROM ${BASE} AS first
ARG VERSION=1
# A comment, and lines that belong together.
ENV GREETING="hello you" \
    # in between
    OPT=/opt/app
ENV PATH=$OPT/bin:$PATH
WORKDIR $OPT
WORKDIR work
RUN id -un >root && pwd >>root && echo "$VERSION $GREETING" >>root
RUN ["/bin/sh", "-c", "echo \"$0 $1\" >exec", "one", "two words"]
RUN <<END
printf '%s\n' first 'second line' >script
[ -n "$BASH_VERSION" ] && echo bash >>script || echo sh >>script
END
RUN <<-END cat >document
[TAB]kept
[TAB]END
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN false | true || echo pipefail >shell
RUN --mount=type=cache,target=/var/cache/mine echo x >/var/cache/mine/file && test -s /var/cache/mine/file
COPY one folder/*.txt files/
COPY --chown=user:user --chmod=0640 one ${OPT}/owned
COPY folder $OPT/tree
ADD inner.tar.gz $OPT/added/
COPY <<END <<"RAW" docs/
version $VERSION
END
$VERSION
RAW
LABEL a=b
VOLUME /data
EXPOSE 8080 53/udp
STOPSIGNAL SIGINT
HEALTHCHECK --interval=1s CMD test -e /tmp/started
CMD ["unused"]
FROM first AS second
ENTRYPOINT ["/bin/sh", "-c"]
CMD ["trap 'echo int >/tmp/asked; exit' INT; echo \"it's $GREETING\" >/tmp/started; while :; do sleep 0.1; done"]
USER 4321:99
RUN id -u >/tmp/number; id -g >>/tmp/number
USER user
FROM first
RUN exit 1
"""


def test_a_dockerfile_becomes_a_template(account, stack):
    api, name = account.api, slug()
    upload(api, archive(one=b"1\n", folder__a__deep=b"2\n", folder__b=b"3\n", **{"folder__c.txt": b"4\n", "inner.tar.gz": packed()}))
    text = DOCKERFILE.replace("[TAB]", "\t")
    create(api, name, dockerfile=text, context=HASH, target="second", start_image_command=True, tags=["v1"],
           build_args={"BASE": stack.template, "VERSION": "7"}, ready_command="test -s /tmp/started")
    shown = built(api, name, 1, timeout_s=180)
    assert shown["base_version"].startswith("tpv_") and shown["from_image"] is None
    assert ", line 12: run id -un" in shown["log"], shown["log"]
    config = shown["image_config"]
    assert config["entrypoint"] == ["/bin/sh", "-c"] and config["command"][0].startswith("trap")
    assert config["exposed_ports"] == ["8080/tcp", "53/udp"] and config["stop_signal"] == "SIGINT"
    assert config["health_check"] == ["CMD-SHELL", "test -e /tmp/started"]
    assert (config["user"], config["workdir"]) == ("user", "/opt/app/work")
    assert config["envs"]["GREETING"] == "hello you" and config["envs"]["PATH"].startswith("/opt/app/bin:/")
    assert config["envs"]["PATH"].count("/opt/app/bin") == 1
    wait_until(lambda: api.list() == [], 60, "the end of the build's sandbox")

    sandbox = Sandbox.create(api, template=name)
    said = sandbox.data.check("id -un; pwd; cat root exec script document shell; echo ${PATH%%:*} $VERSION", user="user").splitlines()
    assert said == ["user", "/opt/app/work", "root", "/opt/app/work", "7 hello you", "one two words", "first", "second line",
                    "sh", "kept", "pipefail", "/opt/app/bin"]
    said = sandbox.data.check("ls files docs; cat docs/*; cd ..; stat -c '%a %U %G' owned; stat -c %U files/one work/files/one"
                              " 2>/dev/null; find tree added -type f | sort; cat added/deep/unpacked; ls /var/cache/mine", user="root")
    assert said.splitlines() == ["docs:", "END", "RAW", "", "files:", "c.txt", "one", "version 7", "$VERSION", "640 user user", "root",
                                 "added/deep/unpacked", "tree/a/deep", "tree/b", "tree/c.txt", "tar"]
    assert sandbox.data.check("cat /tmp/number; grep -c ^user4321: /etc/passwd", user="root").split() == ["4321", "99", "1"]
    wait_until(lambda: sandbox.data.check("cat /tmp/started || true") == "it's hello you\n", 20, "the start command")
    until(sandbox, "start_command", state="running", health="healthy")
    assert sandbox.api.post(f"{sandbox.path}/services/start_command/restart").status == 204
    wait_until(lambda: sandbox.data.check("cat /tmp/asked || true") == "int\n", 20, "the stop signal of the image")

    # A second one begins with the first: it keeps its user, and the commands run as root until USER.
    again = slug()
    create(api, again, dockerfile=f"FROM {name}:v1\nUSER root\nRUN id -un >/who\nCOPY one none /x/\n", context=HASH)
    log = built(api, again, 1, "failed", timeout_s=120)["log"]
    assert "line 4: copy /x/" in log and "has no file none" in log


def with_links():
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as tar:
        for name in ("a.txt", ".c.txt", "b.md", "dir/x.png", "dir/y.txt", "dir/sub/z.png", "dir/sub/z.txt"):
            entry = tarfile.TarInfo(name)
            entry.size = len(name)
            tar.addfile(entry, io.BytesIO(name.encode()))
        for name, target in (("link", "dir/y.txt"), ("dir/inner", "y.txt")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return whole.getvalue()


def test_files_are_copied_as_in_docker(account, stack):
    """Patterns, links, folders of the path, and users whose name only the base knows."""
    api, name = account.api, slug()
    upload(api, with_links())
    create(api, name, dockerfile=f"FROM {stack.template}\nENV NUMBER=4242 NAME=user\nVOLUME /data/one\n")
    assert built(api, name, 1, timeout_s=120)["image_config"]["volumes"] == ["/data/one"]
    again = api.post(f"/v1/templates/{name}/versions", {"context": HASH, "dockerfile": rf"""FROM {name}
COPY *.txt none* /pattern/
COPY --link link /link
COPY --exclude=**/*.png --exclude=sub/*.txt dir /without/
COPY --parents dir/y.txt ./dir/./sub dir/**/in* /parents/
COPY --chown=$NAME:${{NAME}} a.txt /owned
WORKDIR /work
COPY << END <<- 'RAW' here/
end
END
[TAB]$raw
[TAB]RAW
USER ${{NUMBER}}
RUN id -u >/tmp/who; id -g >>/tmp/who
""".replace("[TAB]", "\t")})
    assert again.status == 201, again
    built(api, name, 2, timeout_s=120)
    sandbox = Sandbox.create(api, template=name)
    said = sandbox.data.check("cd /; find pattern without parents -type f -o -type l | sort; stat -c '%F %s' link; cat link; echo;"
                              " readlink without/inner; stat -c '%U %G' owned; cat work/here/*; cat /tmp/who; ls -d data/one",
                              user="root").splitlines()
    assert said == ["parents/dir/inner", "parents/dir/y.txt", "parents/sub/z.png", "parents/sub/z.txt", "pattern/.c.txt",
                    "pattern/a.txt", "without/inner", "without/y.txt", "regular file 9", "dir/y.txt", "y.txt", "user user", "end",
                    "$raw", "4242", "0", "data/one"]


@pytest.mark.long
def test_a_file_is_replaced_by_a_new_one(account, stack):
    """A program that runs keeps its old file, and a program that starts finds a whole one."""
    api, name = account.api, slug()
    upload(api, archive(app__one=b"new\n", app__deep__two=b"new\n", app__link=b"new\n", single=b"new\n", target=b"new\n"))
    files = "/app/one /app/deep/two /app/kept /single /opt/target"
    create(api, name, context=HASH, dockerfile=f"""FROM {stack.template}
RUN mkdir -p /app/deep && for f in {files}; do echo old >$f; done; ln -s kept /app/link; ln -s /opt/target /target
RUN stat -c %i {files} >/before
COPY app /app
COPY single /
COPY target /target
COPY single /made/.
RUN stat -c %i {files} >/after && cat /made/single
""")
    built(api, name, 1, timeout_s=120)
    sandbox = Sandbox.create(api, template=name)
    said = sandbox.data.check(f"cat {files} /app/link; readlink /target; test -L /app/link || echo replaced; paste /before /after",
                              user="root").splitlines()
    assert said[:8] == ["new", "new", "old", "new", "new", "new", "/opt/target", "replaced"]
    assert [len(set(pair.split())) for pair in said[8:]] == [2, 2, 1, 2, 2], said


def test_a_user_has_the_group_that_is_given(account, stack):
    """As in Docker, it has no other group, neither in RUN nor in sandboxes."""
    api, name = account.api, slug()
    create(api, name, dockerfile=f"""FROM {stack.template}
RUN groupadd -g 7000 staffers && groupadd -g 7002 others && usermod -aG others user
USER user:staffers
RUN for f in un g G; do id -$f; done >/tmp/staffers
WORKDIR /made
USER 1000:7001
RUN for f in un g G; do id -$f; done >/tmp/numbers
""")
    assert built(api, name, 1, timeout_s=120)["image_config"]["user"] == "user1000:7001"
    sandbox = Sandbox.create(api, template=name)
    assert sandbox.data.check("cat /tmp/staffers /tmp/numbers; for f in un g G; do id -$f; done").split() == [
        "user", "7000", "7000", *2 * ("user", "7001", "7001")]
    assert sandbox.data.check("stat -c '%U %G' /made; id -G", user="user").split()[:2] == ["user", "staffers"]
    assert "7002" in sandbox.data.check("id -G", user="user").split()

    create(api, f"{name}x", dockerfile=f"FROM {name}\nUSER user:nobody-has-it\n")
    assert "There is no group nobody-has-it." in built(api, f"{name}x", 1, "failed", timeout_s=120)["log"]


def test_a_dockerfile_on_a_template_takes_the_number_of_its_user(account, stack):
    """`user` comes again behind the last step, with the same number, before the ready command."""
    api, name = account.api, slug()
    create(api, name, ready_command="id user", dockerfile=f"""FROM {stack.template}
RUN ! id 1000 && groupadd -g 1000 rails && useradd -u 1000 -g 1000 -m rails
USER rails
""")
    shown = built(api, name, 1, timeout_s=120)
    assert "step 1 of 3: run removing the user" in shown["log"], shown["log"]
    sandbox = Sandbox.create(api, template=name)
    assert sandbox.data.check("id -u; id -un; grep -o '^[a-z]*:x:1000:' /etc/passwd").split() == [
        "1000", "rails", "rails:x:1000:", "user:x:1000:"]
    assert sandbox.data.check("id -u; echo ~user", user="user").split() == ["1000", "/home/user"]


@pytest.mark.long
def test_ports_folders_and_arguments_have_variables_of_the_base(account, stack):
    api, name = account.api, slug()
    create(api, name, dockerfile=f"FROM {stack.template}\nENV STORE=/store PORT=8123\n")
    built(api, name, 1, timeout_s=120)
    again = api.post(f"/v1/templates/{name}/versions", {"dockerfile": f"""FROM {name}
EXPOSE $PORT ${{OTHER:-9000}}
ARG LEVEL=${{LEVEL:-deep}} STORE=${{STORE:-none}}
ARG OWN=${{OWN:-/own}}/cache
RUN echo $LEVEL $STORE >/levels
RUN --mount=type=cache,target=$OWN test -d $OWN && test ! -e $OWN/cache
RUN --mount=type=cache,target=$STORE/a echo x >/store/a/file && ls -A /store/a >/seen
RUN test ! -e /store/a/file
"""})
    assert again.status == 201, again
    assert built(api, name, 2, timeout_s=120)["image_config"]["exposed_ports"] == ["8123/tcp", "9000/tcp"]
    assert Sandbox.create(api, template=name).data.check("cat /seen /levels") == "file\ndeep /store\n"


@pytest.mark.long
def test_a_build_keeps_the_resolver(account, stack):
    """A package may put a link in the place of the list, to a file that only its server makes."""
    api, name = account.api, slug()
    link = "RUN ln -sf ../run/none /etc/resolv.conf\n"
    create(api, name, dockerfile=f"FROM {stack.template}\n{link}RUN cp /etc/resolv.conf /seen\n{link}")
    built(api, name, 1, timeout_s=120)
    said = Sandbox.create(api, template=name).data.check("cat /seen /etc/resolv.conf; test ! -L /etc/resolv.conf")
    assert said.count("nameserver 169.254.0.1\n") == 2, said


def packed_system():
    """/bin is a link, and there is a device."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as tar:
        for name, kind, more in (("./bin", tarfile.SYMTYPE, {"linkname": "usr/bin"}), ("./usr/bin", tarfile.DIRTYPE, {"mode": 0o755}),
                                 ("./dev", tarfile.DIRTYPE, {"mode": 0o755}), ("./dev/mem", tarfile.CHRTYPE, {"devmajor": 1, "devminor": 1}),
                                 ("./proc", tarfile.DIRTYPE, {"mode": 0o555})):
            entry = tarfile.TarInfo(name)
            entry.type = kind
            for member, value in more.items():
                setattr(entry, member, value)
            tar.addfile(entry)
        entry = tarfile.TarInfo("./usr/bin/mark")
        entry.size = 5
        tar.addfile(entry, io.BytesIO(b"mark\n"))
    return whole.getvalue()


@pytest.mark.long
def test_an_archive_of_a_system_is_unpacked_over_an_empty_image(account, stack):
    api, name = account.api, slug()
    upload(api, archive(**{"system.tar.gz": packed_system(), "broken.tar.gz": packed_system()[:-40]}))
    create(api, name, context=HASH, dockerfile="FROM scratch\nADD system.tar.gz /\nRUN echo made >/bin/made\n")
    built(api, name, 1, timeout_s=180)
    busybox = "/usr/lib/sandlot/busybox"
    result = Sandbox.create(api, template=name).data.run("/bin/sh", "-c", f"{busybox} readlink /bin; {busybox} cat /usr/bin/made /bin/mark")
    assert result.stdout.decode().split() == ["usr/bin", "made", "mark"], result
    create(api, other := slug(), context=HASH, dockerfile=f"FROM {stack.template}\nADD system.tar.gz /srv/\nADD broken.tar.gz /opt/\n")
    assert "line 3: copy /opt/: the command ended with status" in built(api, other, 1, "failed", timeout_s=120)["log"]


@pytest.mark.long
def test_a_list_of_users_of_the_context_gets_root_and_ours(account):
    """Images without files of their own often have a list of one user."""
    api, name = account.api, slug()
    upload(api, archive(passwd=b"nobody:x:65534:65534:Nobody:/:"))
    create(api, name, context=HASH, dockerfile="FROM scratch\nCOPY passwd /etc/passwd\nWORKDIR /made\nUSER nobody\n")
    built(api, name, 1, timeout_s=180)
    sandbox = Sandbox.create(api, template=name)
    for user, number in ({}, "65534"), ({"user": "root"}, "0"), ({"user": "user"}, "1000"):
        result = sandbox.data.run("/usr/lib/sandlot/busybox", "id", "-u", **user)
        assert (result.exit_code, result.stdout.decode().strip()) == (0, number)


@pytest.mark.long
@pytest.mark.parametrize("command, said", [
    ('["/sbin/init"]', "The image starts /sbin/init. "),
    ("echo 's6-overlay-suexec: fatal: can only run as pid 1'; exit 100", "ended with status 100: s6-overlay-suexec: fatal")])
def test_an_init_does_not_start(account, stack, command, said):
    """The agent is the first process."""
    api, name = account.api, slug()
    create(api, name, dockerfile=f"FROM {stack.template}\nCMD {command}\n", start_image_command=True)
    log = built(api, name, 1, "failed", timeout_s=240)["log"]
    assert said in log and "of a sandbox is its agent" in log, log


GIVEN = "given.example/base:1"  # the stack's settings name the default template for this image


@pytest.mark.parametrize("fields", [
    {"from_image": GIVEN}, pytest.param({"dockerfile": f"FROM {GIVEN}\nENV MODE=given"}, marks=pytest.mark.long)])
def test_the_operator_gives_a_template_for_an_image(account, fields):
    api, name = account.api, slug()
    create(api, name, **fields)
    shown = built(api, name, 1, timeout_s=120)
    assert shown["base_version"] and shown["from_image"] is None
    with_login = api.post("/v1/templates", {"slug": slug(), "registry_login": {"user": "a", "password": "b"}, **fields})
    assert with_login.status == 201, with_login
    log = built(api, with_login.json()["slug"], 1, "failed", timeout_s=120)["log"]
    assert "given.example" in log


@pytest.mark.long
def test_a_command_gets_files_of_mounts(account, stack):
    """They are there for the command only, also over files and folders of the image."""
    api, name = account.api, slug()
    upload(api, archive(one=b"1\n", folder__a__deep=b"2\n", folder__b=b"3\n"))
    create(api, name, context=HASH, dockerfile=f"""FROM {stack.template}
USER root
WORKDIR /app
RUN mkdir folder && echo kept >folder/own && echo kept >one && ln -s /app/folder /app/linked && chown user: /app
USER user
RUN --mount=type=bind,source=one,target=one --mount=type=bind,source=folder,target=folder/ \
    --mount=type=bind,src=/folder/b,dst=/opt/new/b,ro cat one folder/a/deep folder/b /opt/new/b >seen && ls -A folder >>seen
RUN --mount=target=. cat one folder/b >/tmp/all && test ! -e seen
RUN --mount=type=bind,source=folder,target=linked ls linked >linked.seen
""")
    shown = built(api, name, 1, timeout_s=180)
    assert "line 6: copy folder/" in shown["log"], shown["log"]
    said = Sandbox.create(api, template=name).data.check(
        "cd /app; ls -A . folder; cat one seen linked.seen /tmp/all; readlink linked; ls -A /opt/new; ls -d /.sandlot* || true")
    assert said.split() == [".:", "folder", "linked", "linked.seen", "one", "seen", "folder:", "own", "kept", "1", "2", "3", "3",
                            "a", "b", "a", "b", "1", "3", "/app/folder"]
    create(api, other := slug(), context=HASH, dockerfile=f"FROM {stack.template}\nRUN --mount=target=/usr/.. true")
    assert "line 2: run mounting the files of RUN --mount" in built(api, other, 1, "failed", timeout_s=120)["log"]


def test_refusals_name_the_place(account, stack):
    api = account.api

    def refused(field, said, text, **body):
        answer = api.post("/v1/templates", {"slug": slug(), "dockerfile": text, **body})
        assert_error(answer, 422, "invalid_request", field)
        assert said in answer.json()["message"], answer.json()

    base = f"FROM {stack.template}\n"
    refused("/dockerfile", "Line 2, column 1: there is no instruction RUNN; did you mean RUN?", base + "RUNN x")
    refused("/dockerfile", "Line 2, column 6: no stage x precedes this one", base + "COPY --from=x /a /b\nFROM image AS x")
    refused("/dockerfile", "Line 2, column 13: ONBUILD has no here-document", base + "ONBUILD RUN <<E\nENV a=b\nE\n")
    refused("/dockerfile", "Line 2, column 6: --link takes true or false", base + "COPY --link=no /a /b")
    refused("/dockerfile", "Line 3, column 6: \"image:\" is not the name of an image", base + "\nFROM image:$NONE\n")
    refused("/context", "Line 2", base + "COPY a /b")
    refused("/context", "No archive", base + "COPY a /b", context="ab" * 32)
    refused("/context", "A hash has", base + "COPY a /b", context="XY")
    refused("/target", "no stage two", base, target="two")
    refused("/build_args", "no ARG X", base, build_args={"X": "1"})
    refused("/build_args/X", "", base, build_args={"X": 1})
    refused("/dockerfile", "dockerfile", base, template=stack.template)
    refused("/steps", "Only a build with", base, steps=[])
    refused("/dockerfile", "", "FROM UPPER/case")
    assert_error(api.post("/v1/templates", {"slug": slug(), "template": stack.template, "context": HASH}), 422, "invalid_request", "/context")
    too_long = api.post("/v1/templates", {"slug": slug(), "dockerfile": base + "#" * 65536})
    assert_error(too_long, 422, "invalid_request", "/dockerfile")
    assert json.dumps(api.get("/v1/templates").json()).count('"dockerfile"') == 0


def test_a_command_gets_secrets_for_its_own_time(account, stack):
    api, name, value = account.api, slug(), "s3cret-käse"
    text = (f"FROM {stack.template}\nRUN useradd -m app\nUSER app\n"
            "RUN --mount=type=secret,id=token --mount=type=secret,id=other,env=OTHER --mount=type=secret,id=none"
            " --mount=type=secret,id=token,target=/home/app/.rc"
            " wc -c </run/secrets/token >/tmp/size && stat -c %a-%U /run/secrets/token >>/tmp/size && test ! -e /run/secrets/none"
            " && cmp /run/secrets/token ~/.rc && printenv OTHER | wc -c >>/tmp/size\n"
            "RUN sleep 1.2; test ! -e /run/secrets/token && test ! -e ~/.rc && ! printenv OTHER\n")
    create(api, name, dockerfile=text, secrets={"token": value, "other": "x"})
    shown = built(api, name, 1, timeout_s=120)
    assert value not in json.dumps(shown)
    sandbox = Sandbox.create(api, template=name)
    assert sandbox.data.check("cat /tmp/size").split() == [str(len(value.encode())), "400-app", "2"]
    found = sandbox.data.check(f"sudo grep -rlF '{value}' /run /var/tmp /etc /home /root /tmp 2>/dev/null | wc -l")
    assert found == "0\n", found
    api.destroy(sandbox.id)
    # Another value is no reason to run the step again, as in Docker.
    assert api.post(f"/v1/templates/{name}/versions", {"dockerfile": text, "secrets": {"token": "a", "other": "b"}}).status == 201
    assert all(step["cached"] for step in built(api, name, 2)["steps"])


def test_a_failed_build_leaves_no_secret(account, stack):
    api, name, value = account.api, slug(), "s3cret-" + slug()
    create(api, name, dockerfile=f"FROM {stack.template}\nRUN --mount=type=secret,id=t false\n", secrets={"t": value})
    assert value not in json.dumps(built(api, name, 1, "failed"))
    wait_until(lambda: not stack.query(
        "SELECT 1 FROM template_recipes r JOIN teams t ON t.id = r.team_id WHERE r.sealed IS NOT NULL AND t.slug = %s",
        account.team), 60, "the end of the secret")
    taken = f"FROM {stack.template}\nRUN --mount=type=secret,id=t,target=/etc/passwd true\n"
    create(api, other := slug(), dockerfile=taken, secrets={"t": value})
    assert "A file /etc/passwd exists already" in built(api, other, 1, "failed")["log"]


@pytest.mark.parametrize("mount, secrets, place", [
    ("id=t,required=true", {}, "Line 2, column 13: the build has no secret t"),
    ("target=/x,required=true", {}, "Line 2, column 13: the build has no secret x"),
    ("id=a/b", {}, "Line 2, column 13: a secret's id"), ("id=t,target=x", {"t": "1"}, "absolute path"),
    ("id=t,env=A=B", {"t": "1"}, "name of a variable"),
])
def test_secrets_that_cannot_be(module_account, stack, mount, secrets, place):
    body = {"slug": slug(), "dockerfile": f"FROM {stack.template}\nRUN --mount=type=secret,{mount} true\n", "secrets": secrets}
    assert place in assert_error(module_account.api.post("/v1/templates", body), 422, "invalid_request", "/dockerfile")["message"]


def test_secrets_over_the_command_line(account, stack, tmp_path):
    cli, name = Cli(stack, tmp_path, account.api.key), slug()
    (tmp_path / "c").mkdir()
    (tmp_path / "c/Dockerfile").write_text(f"FROM {stack.template}\nRUN --mount=type=secret,id=t,required=true grep -c said /run/secrets/t\n")
    (tmp_path / "secret").write_text("said")
    done = cli("template", "build", name, str(tmp_path / "c"), "--secret", f"id=t,src={tmp_path}/secret", "--follow")
    assert done.returncode == 0 and b"| 1\n" in done.stdout, done
    assert cli("template", "build", name, str(tmp_path / "c"), "--secret", "t").returncode == 2
    assert cli("template", "build", name, "--image", "x", "--secret", f"id=t,src={tmp_path}/secret").returncode == 2
