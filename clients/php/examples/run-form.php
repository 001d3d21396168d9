<?php

declare(strict_types=1);

// A form that runs a visitor's code, in a sandbox of its own that reaches nothing.
require __DIR__ . '/../autoload.php';

$code = (string) ($_POST['code'] ?? "print('hello')");
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $sandbox = Sandlot\Client::fromEnvironment()->sandboxes->create(timeout: 60, allowInternetAccess: false);
    try {
        $sandbox->files->write('main.py', $code);
        $result = $sandbox->commands->run(['python3', 'main.py'], timeout: 10.0);
    } finally {
        $sandbox->delete();
    }
}
?>
<form method="post"><textarea name="code"><?= htmlspecialchars($code) ?></textarea><button>Run</button></form>
<pre><?= htmlspecialchars(isset($result) ? $result->stdout . $result->stderr : '') ?></pre>
