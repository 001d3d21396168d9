# SPDX-License-Identifier: GPL-2.0-or-later
"""The client library for PHP: its own tests against the stack, its examples, and its page."""

import json
import os
import pathlib
import re
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest

from faulty_proxy import Wire, faulty_proxy
from stack import wait_until
from tenant import Account, Sandbox

pytestmark = pytest.mark.parallel

PACKAGE = pathlib.Path(__file__).parents[3] / "clients" / "php"
SUITES = sorted(path.stem for path in (PACKAGE / "tests").glob("*Test.php"))


@pytest.fixture(scope="module", autouse=True)
def classes_of_the_api():
    subprocess.run([PACKAGE / "bin" / "generate"], timeout=60, check=True)


@pytest.fixture(scope="module")
def php_account(stack):
    account = Account(stack, "pro")
    yield account
    account.clean_up()


@pytest.fixture(scope="module")
def environment(stack, php_account, tmp_path_factory):
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": str(tmp_path_factory.mktemp("php")),
            "SANDLOT_URL": stack.base_url, "SANDLOT_KEY": php_account.api.key, "SANDLOT_CA": str(stack.ca_file)}


def php(environment, *words, **options):
    return subprocess.run(["php", *map(str, words)], env=environment, capture_output=True, text=True, timeout=180,
                          check=False, **options)


def say(done):
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    return done.stdout


def test_every_file_is_php(environment):
    files = [path for path in PACKAGE.rglob("*.php") if "vendor" not in path.parts]
    assert len(files) > 100
    # One process looks at all of them: `php -l` would start one for each.
    script = "foreach (array_slice($argv, 1) as $f) token_get_all(file_get_contents($f), TOKEN_PARSE);"
    say(php(environment, "-r", script, "--", *files))
    for path in files:
        assert "declare(strict_types=1);" in path.read_text(encoding="utf-8"), path


def test_its_style():
    done = subprocess.run(["phpcs", "-q", "--standard=PSR12", "src", "generator", "tests", "examples", "autoload.php"],
                          cwd=PACKAGE, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_file():
    package = json.loads((PACKAGE / "composer.json").read_text(encoding="utf-8"))
    assert package["autoload"]["psr-4"] == {"Sandlot\\": "src/"}
    needed = {name for name in package["require"] if not name.startswith(("php", "ext-"))}
    assert needed == {"psr/http-client", "psr/http-factory", "psr/http-message", "psr/log"}
    # Every class is where PSR-4 looks for it.
    for path in (PACKAGE / "src").rglob("*.php"):
        text = path.read_text(encoding="utf-8")
        namespace = re.search(r"^namespace (.+);$", text, re.MULTILINE).group(1)
        name = re.search(r"^(?:final |abstract )*(?:class|interface|enum|trait) (\w+)", text, re.MULTILINE).group(1)
        assert path == PACKAGE / "src" / pathlib.Path(*namespace.split("\\")[1:], f"{name}.php")


@pytest.mark.parametrize("suite", SUITES)
def test_its_own_tests(environment, stack, php_account, suite):
    with faulty_proxy(php_account.api.origin) as faults:
        done = subprocess.run(["phpunit", "-c", str(PACKAGE / "phpunit.xml.dist"), str(PACKAGE / "tests" / f"{suite}.php")],
                              cwd=PACKAGE, env=environment | {"SANDLOT_FAULTS": faults}, capture_output=True,
                              text=True, timeout=300, check=False)
    assert done.returncode == 0 and re.search(r"^OK \(", done.stdout, re.MULTILINE), done.stdout + done.stderr


# --- a command is not run twice ---

@pytest.fixture(scope="module")
def sandbox_of_php(php_account):
    return Sandbox.create(php_account.api, timeout=600)


THROUGH_A_WIRE = r"""
require $argv[1] . '/autoload.php';
$http = new Sandlot\Http\CurlClient(getenv('SANDLOT_CA'), options: [CURLOPT_CONNECT_TO => ["::127.0.0.1:{$argv[2]}"]]);
$sandbox = (new Sandlot\Client(getenv('SANDLOT_URL'), getenv('SANDLOT_KEY'), $http))->sandboxes->get($argv[3]);
$sandbox->files->exists('warm');
try {
    echo $sandbox->commands->run($argv[4], timeout: 60)->stdout;
} catch (Sandlot\Exception\ConnectionException $failure) {
    echo get_class($failure), $failure->wasSent ? ' was sent' : ' was not sent';
}
"""


@pytest.fixture
def wire(stack):
    wire = Wire(urllib.parse.urlsplit(stack.base_url).port)
    yield wire
    wire.close()


def through_a_wire(environment, wire, sandbox, command, meanwhile):
    process = subprocess.Popen(["php", "-r", THROUGH_A_WIRE, "--", str(PACKAGE), str(wire.port), sandbox.id, command],
                               env=environment, stdout=subprocess.PIPE, text=True)
    try:
        meanwhile()
        return process.communicate(timeout=90)[0]
    finally:
        process.kill()
        process.wait()


def test_a_command_whose_connection_broke_is_not_run_again(environment, wire, sandbox_of_php):
    sandbox = sandbox_of_php

    def cut_when_it_runs():
        wait_until(lambda: sandbox.data.download("/home/user/runs").status == 200, 60, "the command runs")
        wire.cut()

    said = through_a_wire(environment, wire, sandbox, "echo run >>runs; sleep 30", cut_when_it_runs)
    assert said == "Sandlot\\Exception\\ConnectionException was sent"
    assert sandbox.data.read("/home/user/runs") == b"run\n"


def test_a_command_that_was_not_sent_is_sent_again(environment, wire, sandbox_of_php):
    wire.refuse(2)
    said = through_a_wire(environment, wire, sandbox_of_php, "echo once", lambda: None)
    assert said == "once\n" and wire.made > 2


# --- examples ---


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def post(url, **fields):
    with urllib.request.urlopen(url, urllib.parse.urlencode(fields).encode(), timeout=60) as answer:
        return answer.read().decode()


def test_the_form_runs_a_visitors_code(environment, php_account):
    before = {sandbox["id"] for sandbox in php_account.api.list()}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(["php", "-S", f"127.0.0.1:{port}", PACKAGE / "examples" / "run-form.php"],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: listens(port), 30, "the server listens")
        url = f"http://127.0.0.1:{port}/"
        assert "print(&#039;hello&#039;)" in urllib.request.urlopen(url, timeout=60).read().decode()
        assert "<pre>42\n</pre>" in post(url, code="print(6 * 7)")
        assert "&lt;script&gt;" in post(url, code="print('<script>')")
        assert "ZeroDivisionError" in post(url, code="1 / 0")
    finally:
        server.terminate()
        server.wait()
    kept = {sandbox["id"] for sandbox in php_account.api.list()}
    assert kept == before, "each was deleted"


def test_the_worker_takes_jobs_from_a_queue(environment):
    jobs = [{"id": f"{os.getpid()}-{number}", "code": f"print({number} ** 2)"} for number in (3, 4)]
    jobs.append({"id": f"{os.getpid()}-bad", "code": "exit(7)"})
    said = say(php(environment, PACKAGE / "examples" / "worker.php", input="".join(json.dumps(job) + "\n" for job in jobs)))
    assert [json.loads(line) for line in said.splitlines()] == [
        {"id": jobs[0]["id"], "exit_code": 0, "output": "9\n"},
        {"id": jobs[1]["id"], "exit_code": 0, "output": "16\n"},
        {"id": jobs[2]["id"], "exit_code": 7, "output": ""}]


@pytest.mark.long
def test_the_page(environment, stack, php_account, tmp_path):
    """Its blocks are one program, and what it says is what the lines `// …` behind them promise."""
    page = (PACKAGE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```php\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    script = "".join(blocks).replace("__DIR__", repr(str(tmp_path))).replace("vendor/autoload.php", "autoload.php")
    (tmp_path / "autoload.php").write_text(f"<?php require '{PACKAGE}/autoload.php';", encoding="utf-8")
    (tmp_path / "page.php").write_text("<?php\n" + script, encoding="utf-8")
    said = say(php(environment, tmp_path / "page.php", cwd=tmp_path))
    promised = re.findall(r"^// (?:→ )(.*)$", script, re.MULTILINE)
    assert len(promised) >= 10
    for text in promised:
        assert text in said, (text, said)
        said = said[said.index(text) + len(text):]
    for name in re.findall(r"`((?:examples|bin|src|tests)/[\w./-]*)`", page):
        assert (PACKAGE / name).exists(), name


VISITORS = pathlib.Path(__file__).parents[3] / "doc" / "howto" / "run-visitors-code-from-php.md"
WORDPRESS = """<?php
require '%s/autoload.php';
$action = $route = null;
function add_action($name, $call) { $GLOBALS['action'] = $call; }
function register_rest_route($space, $path, $options) { $GLOBALS['route'] = $options; }
function is_user_logged_in() { return true; }
function get_current_user_id() { return getmypid(); }
class WP_REST_Request extends ArrayObject {}
define('SANDLOT_URL', getenv('SANDLOT_URL'));
define('SANDLOT_KEY', getenv('SANDLOT_KEY'));
%s
$action();
foreach (['print(6 * 7)', 'import os; print(os.path.exists(".cache"))'] as $code) {
    echo json_encode($route['callback'](new WP_REST_Request(['code' => $code]))), "\\n";
}
"""


def visitors_blocks():
    return re.findall(r"^```php\n(.*?)^```", VISITORS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_of_visitors_code(environment, php_account, tmp_path):
    """One sandbox for a visitor over requests, also after a pause and a delete; what is cut or too slow is said."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "autoload.php").write_text(f"<?php require_once '{PACKAGE}/autoload.php';", encoding="utf-8")
    (tmp_path / "visitor.php").write_text(visitors_blocks()[0], encoding="utf-8")
    (tmp_path / "page.php").write_text("""<?php
        require __DIR__ . '/visitor.php';
        $session = [];
        echo runVisitorsCode($session, 'open("kept", "w").write("kept"); print(6 * 7)');
        visitorsSandbox($session)->pause();
        echo runVisitorsCode($session, 'print(open("kept").read())'), count(iterator_to_array(sandlot()->sandboxes->list())), "\n";
        visitorsSandbox($session)->delete();
        echo runVisitorsCode($session, 'print("again")');
        echo substr(runVisitorsCode($session, 'print("x" * 2_000_000)'), -30), "\n";
        echo runVisitorsCode($session, 'import time; time.sleep(20)'), "\n";
        visitorsSandbox($session)->delete();
        """, encoding="utf-8")
    for one in php_account.api.list():
        php_account.api.delete(f"/v1/sandboxes/{one['id']}")
    said = say(php(environment, tmp_path / "page.php", cwd=tmp_path))
    assert re.sub(r"x+\n", "", said) == "42\nkept\n1\nagain\n(and more, which is cut)\nYour program took more than 10 seconds.\n"


def test_the_snippets_of_frameworks(environment, tmp_path):
    """WordPress' runs, against stand-ins of its functions; the names that the others use are there."""
    _, _, laravel, wordpress = visitors_blocks()
    code = wordpress.replace("SANDLOT_KEY)", "SANDLOT_KEY, new Sandlot\\Http\\CurlClient(caFile: getenv('SANDLOT_CA')))")
    (tmp_path / "wordpress.php").write_text(WORDPRESS % (PACKAGE, code), encoding="utf-8")
    said = [json.loads(line) for line in say(php(environment, tmp_path / "wordpress.php")).splitlines()]
    assert [one["output"] for one in said] == ["42\n", "False\n"] and said[0]["exit_code"] == 0
    assert "new \\Sandlot\\Http\\CurlClient(caFile: " in laravel
    for path, names in (("Client.php", ("url", "key", "http", "logger")), ("Http/CurlClient.php", ("caFile",))):
        text = (PACKAGE / "src" / path).read_text(encoding="utf-8")
        head = re.search(r"function __construct\((.*?)\) ?{", text, re.DOTALL).group(1)
        for name in names:
            assert f"${name}" in head and f"${name}: " in VISITORS.read_text(encoding="utf-8"), name
