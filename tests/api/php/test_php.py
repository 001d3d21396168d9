# SPDX-License-Identifier: GPL-2.0-or-later
"""The client library for PHP: its own tests against the stack, its examples, and its page."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest

from client import Origin
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
def php_account(make_module_account):
    return make_module_account("pro")


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


@contextlib.contextmanager
def served_by_php(environment, script):
    """The address of PHP's own web server, which answers with this script."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(["php", "-S", f"127.0.0.1:{port}", script], cwd=script.parent, env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: listens(port), 30, "the server listens")
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait()


def post(url, **fields):
    with urllib.request.urlopen(url, urllib.parse.urlencode(fields).encode(), timeout=60) as answer:
        return answer.read().decode()


def test_the_form_runs_a_visitors_code(environment, php_account):
    before = {sandbox["id"] for sandbox in php_account.api.list()}
    with served_by_php(environment, PACKAGE / "examples" / "run-form.php") as url:
        assert "print(&#039;hello&#039;)" in urllib.request.urlopen(url, timeout=60).read().decode()
        assert "<pre>42\n</pre>" in post(url, code="print(6 * 7)")
        assert "&lt;script&gt;" in post(url, code="print('<script>')")
        assert "ZeroDivisionError" in post(url, code="1 / 0")
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


DOC = pathlib.Path(__file__).parents[3] / "doc"


def blocks(page, containing=""):
    """The PHP blocks of a page that have this text."""
    text = (DOC / page).read_text(encoding="utf-8")
    found = re.findall(r"^```php\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block for block in found if containing in block]


def block(page, containing):
    found = blocks(page, containing)
    assert len(found) == 1, (page, containing, len(found))
    return found[0]


@pytest.fixture
def site(tmp_path):
    """A folder with the library as Composer installs it."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "autoload.php").write_text(f"<?php require_once '{PACKAGE}/autoload.php';", encoding="utf-8")
    return tmp_path


def test_the_tutorial(environment, tmp_path):
    program, visitor = blocks("tutorial/first-php-program.md")
    program = program.replace("__DIR__ . '/clients/php", f"'{PACKAGE}").replace("$sandbox->delete();", visitor + "$sandbox->delete();")
    (tmp_path / "hello.php").write_text(program, encoding="utf-8")
    assert say(php(environment, tmp_path / "hello.php")) == "hello world\n3\na,b\n1,2\n42\n"


VISITORS = "howto/run-visitors-code-from-php.md"
FRAMEWORKS = "howto/use-a-php-framework.md"


@pytest.fixture
def visitors_site(site):
    for name, text in (("visitor.php", "function sandlot()"), ("page.php", "session_start();"), ("clean.php", "StateFilter")):
        (site / name).write_text(block(VISITORS, text), encoding="utf-8")
    return site


def test_the_functions_for_visitors_code(environment, visitors_site, php_account):
    """One sandbox for a visitor, also after a pause and a delete; a note for a program that failed."""
    file = block(VISITORS, "main.py").replace("$result = ", "echo ").replace("timeout: 10.0)", "timeout: 10.0)->stdout")
    (visitors_site / "try.php").write_text("""<?php
        require __DIR__ . '/visitor.php';
        $sandbox = visitorSandbox(sandlot(), null);
        echo runCode($sandbox, 'open("kept", "w").write("kept"); print(6 * 7)');
        $sandbox->pause();
        $again = visitorSandbox(sandlot(), $sandbox->id);
        echo runCode($again, 'print(open("kept").read())'), $again->id === $sandbox->id ? "the same\n" : "another\n";
        [$code, $input] = ['print(input() + "!")', 'typed'];
        """ + file + """
        $again->delete();
        $other = visitorSandbox(sandlot(), $sandbox->id);
        echo runCode($other, 'print("again")'), $other->id === $sandbox->id ? "the same\n" : "another\n";
        echo substr(runCode($other, 'print("x" * 2_000_000); open("end", "w")'), -40), "\n";
        echo $other->files->exists('end') ? "it continued\n" : "it ended\n";
        echo runCode($other, 'import time; time.sleep(20)'), "\n";
        echo runCode($other, str_repeat('#', 100_001)), "\n";
        echo runCode($other, "print('\\0')") === '' ? "nothing\n" : "an error\n";
        $other->delete();
        """, encoding="utf-8")
    said = say(php(environment, visitors_site / "try.php"))
    assert re.sub(r"x+\n", "", said) == (
        "42\nkept\nthe same\ntyped!\nagain\nanother\nThe rest of the output is missing.\nit continued\n"
        "\nYour program took more than 10 seconds.\nYour program is too long.\nan error\n")


def test_the_apologies(environment, visitors_site, stack, php_account):
    """The plan is full, or the service is down: the visitor gets a sentence, and the log the exception."""
    (visitors_site / "try.php").write_text("""<?php
        require __DIR__ . '/visitor.php';
        ini_set('error_log', __DIR__ . '/log');
        try {
            visitorSandbox(sandlot(), null);
            visitorSandbox(sandlot(), null);
        } catch (Sandlot\\Exception\\SandlotException $failure) {
            echo apology($failure), "\n";
        }
        """, encoding="utf-8")
    log = visitors_site / "log"
    assert say(php(environment | {"SANDLOT_URL": "https://127.0.0.1:1"}, visitors_site / "try.php")) == (
        "Code cannot run at the moment. Please try again later.\n")
    assert "ConnectionException" in log.read_text(encoding="utf-8")

    one = Account(stack)
    stack.ctl("plan", "create", one.team, "--from", "basic")
    stack.ctl("plan", "set", one.team, "sandboxes=1")
    stack.ctl("team", "set-plan", one.team, one.team)
    try:
        assert say(php(environment | {"SANDLOT_KEY": one.api.key}, visitors_site / "try.php")) == (
            "All sandboxes are in use. Please try again in some minutes.\n")
        assert "SandboxQuotaExceededException" in log.read_text(encoding="utf-8")
    finally:
        one.clean_up()


def test_the_page_for_visitors_and_the_clean_up(environment, visitors_site, stack):
    """A visitor with the form gets one sandbox, a request without it none; the daily program deletes old ones."""
    account = Account(stack)
    environment = environment | {"SANDLOT_KEY": account.api.key}
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with served_by_php(environment, visitors_site / "page.php") as url:
        assert "<pre></pre>" in post(url, code="print(6 * 7)") and account.api.list() == []
        page = visitor.open(url, timeout=60).read().decode()
        form = re.search(r'name="form" value="(\w+)"', page).group(1)
        for code, output in (("print('<b>'); open('n', 'w')", "&lt;b&gt;\n"), ("import os; print(os.listdir())", "&#039;n&#039;")):
            data = urllib.parse.urlencode({"form": form, "code": code}).encode()
            assert output in visitor.open(url, data, timeout=60).read().decode()
    (sandbox,) = account.api.list()
    assert account.api.post(f"/v1/sandboxes/{sandbox['id']}/pause").status == 200
    clean = visitors_site / "clean.php"
    assert say(php(environment, clean)) == "" and len(account.api.list()) == 1
    clean.write_text(clean.read_text(encoding="utf-8").replace("-7 days", "now"), encoding="utf-8")
    assert say(php(environment, clean)) == "" and account.api.list() == []


WORDPRESS = """
$action = $route = null;
$meta = [];
function add_action($name, $call) { $GLOBALS['action'] = $call; }
function register_rest_route($space, $path, $options) { $GLOBALS['route'] = $options; }
function is_user_logged_in() { return true; }
function get_current_user_id() { return 7; }
function get_user_meta($user, $key, $single) { return $GLOBALS['meta'][$user] ?? ''; }
function update_user_meta($user, $key, $value) { $GLOBALS['meta'][$user] = $value; }
class WP_REST_Request extends ArrayObject {}
class WP_Error { public function __construct(public $code, public $message, public $data) {} }
define('SANDLOT_URL', getenv('SANDLOT_URL'));
define('SANDLOT_KEY', getenv('SANDLOT_KEY'));
define('SANDLOT_CA', getenv('SANDLOT_CA'));
"""
RUN_WORDPRESS = """
$action();
foreach (['print(6 * 7); open("kept", "w")', 'import os; print(os.path.exists("kept"))'] as $code) {
    echo json_encode($route['callback'](new WP_REST_Request(['code' => $code]))), "\\n";
}
Sandlot\\Client::fromEnvironment()->sandboxes->get($meta[7])->delete();
"""
LARAVEL = """
class Request {
    public array $kept = [];
    public function validate($rules) { return ['code' => 'print(6 * 7)']; }
    public function session() { return $this; }
    public function get($name) { return $this->kept[$name] ?? null; }
    public function put($name, $value) { $this->kept[$name] = $value; }
    public function singleton($name, $make) { $this->kept[$name] = $make; }
    public Request $app;
}
class_alias(Request::class, 'Illuminate\\Http\\Request');
class Route { public static $call; public static function post($path, $call) { self::$call = $call; } }
function env($name) { return getenv($name); }
function config($name) { return $GLOBALS['services']['sandlot'][substr($name, 17)]; }
function response($text, $status, $headers) { return "{$status} {$text}"; }
"""
RUN_LARAVEL = """
$client = $request->kept[Sandlot\\Client::class]();
echo (Route::$call)($request, $client);
$client->sandboxes->get($request->kept['sandbox'])->delete();
"""


def test_wordpress(environment, visitors_site):
    """Against stand-ins of its functions."""
    plugin = block(FRAMEWORKS, "Plugin Name").replace("<?php", "<?php" + WORDPRESS, 1)
    (visitors_site / "sandbox.php").write_text(plugin + RUN_WORDPRESS, encoding="utf-8")
    said = say(php(environment, visitors_site / "sandbox.php"))
    assert [json.loads(line) for line in said.splitlines()] == [{"output": "42\n"}, {"output": "True\n"}]


def test_laravel(environment, visitors_site):
    """Against stand-ins of its classes."""
    services = "$services = [" + block(FRAMEWORKS, "'sandlot' => [") + "];"
    provider = "$request = new Request(); $request->app = $request;" + block(FRAMEWORKS, "singleton(").replace("$this", "$request")
    script = "<?php require __DIR__ . '/visitor.php';" + LARAVEL + services + provider + block(FRAMEWORKS, "Route::post")
    (visitors_site / "laravel.php").write_text(script + RUN_LARAVEL, encoding="utf-8")
    assert say(php(environment, visitors_site / "laravel.php")) == "200 42\n"


def test_symfony(environment, tmp_path):
    """The controller is PHP, and the constructors have the arguments that the services name."""
    (tmp_path / "controller.php").write_text(
        "<?php class Controller {" + block(FRAMEWORKS, "#[Route") + "}", encoding="utf-8")
    say(php(environment, "-l", tmp_path / "controller.php"))
    services = re.findall(r"^        (Sandlot\\[\w\\]+):\n((?: {12}.*\n)+)", (DOC / FRAMEWORKS).read_text(encoding="utf-8"),
                          re.MULTILINE)
    assert len(services) == 4
    for name, arguments in services:
        text = (PACKAGE / "src" / pathlib.Path(*name.split("\\")[1:]).with_suffix(".php")).read_text(encoding="utf-8")
        head = re.search(r"function __construct\((.*?)\) ?{", text, re.DOTALL).group(1)
        wanted = re.findall(r"(\$\w+):", arguments)
        assert wanted and all(re.search(rf"{re.escape(one)}\b", head) for one in wanted), name


def test_the_page_of_ports(environment, stack, site, php_account):
    """Its three blocks: a server that outlives the program, a token for as long as the sandbox, one that wakes up."""
    create, expose, token = (block("howto/expose-a-port.md", text) for text in ("autoResume", "waitUntilReady", "Lifetime::"))
    (site / "ports.php").write_text(
        "<?php require __DIR__ . '/vendor/autoload.php'; $client = Sandlot\\Client::fromEnvironment();"
        + create + expose + token + "echo $sandbox->id;", encoding="utf-8")
    link, long, sandbox = say(php(environment, site / "ports.php")).splitlines()
    preview = Origin(stack.ca_file, link.split("/?")[0])
    assert preview.request("GET", "/?" + link.partition("/?")[2]).status == 303
    assert php_account.api.post(f"/v1/sandboxes/{sandbox}/pause").status == 200
    token = long.partition("access_token=")[2]
    assert preview.request("GET", "/", headers={"X-Access-Token": token}).status == 200
    php_account.api.destroy(sandbox)
