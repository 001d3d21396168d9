<?php

declare(strict_types=1);

// A queue worker: a job a line on standard input, {"id": "…", "code": "…"}; what came of it on standard output.
require __DIR__ . '/../autoload.php';

$sandboxes = Sandlot\Client::fromEnvironment()->sandboxes;
while (($line = fgets(STDIN)) !== false) {
    $job = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    // A worker that died in the middle and takes the job again gets the same sandbox again.
    $sandbox = $sandboxes->create(timeout: 300, metadata: ['job' => $job['id']], idempotencyKey: "job-{$job['id']}");
    $result = $sandbox->commands->run(['python3', '-c', $job['code']], timeout: 60.0);
    $sandbox->delete();
    echo json_encode(['id' => $job['id'], 'exit_code' => $result->exitCode, 'output' => $result->stdout]), "\n";
}
