<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

use Sandlot\Model\Fields;

/** The end of a process. */
final class ProcessExit
{
    /** The protocol's words for signals. */
    private const SIGNALS = [
        'hangup' => [1, 'SIGHUP'],
        'interrupt' => [2, 'SIGINT'],
        'quit' => [3, 'SIGQUIT'],
        'illegal instruction' => [4, 'SIGILL'],
        'trace/breakpoint trap' => [5, 'SIGTRAP'],
        'aborted' => [6, 'SIGABRT'],
        'bus error' => [7, 'SIGBUS'],
        'floating point exception' => [8, 'SIGFPE'],
        'killed' => [9, 'SIGKILL'],
        'user defined signal 1' => [10, 'SIGUSR1'],
        'segmentation fault' => [11, 'SIGSEGV'],
        'user defined signal 2' => [12, 'SIGUSR2'],
        'broken pipe' => [13, 'SIGPIPE'],
        'alarm clock' => [14, 'SIGALRM'],
        'terminated' => [15, 'SIGTERM'],
        'CPU time limit exceeded' => [24, 'SIGXCPU'],
        'file size limit exceeded' => [25, 'SIGXFSZ'],
        'bad system call' => [31, 'SIGSYS'],
    ];

    /**
     * @param int $exitCode 128 and the signal's number when a signal ended it
     * @param string|null $signal its name, such as SIGKILL
     * @param string $status the same in words
     */
    public function __construct(
        public readonly int $exitCode,
        public readonly ?string $signal,
        public readonly string $status,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        $status = $fields->stringOrNull('status') ?? '';
        if (!preg_match('/^signal: (.*?)(?: \(core dumped\))?$/', $status, $found)) {
            return new self($fields->intOrNull('exitCode') ?? 0, null, $status);
        }
        $number = sscanf($found[1], 'signal %d')[0] ?? 0;
        [$number, $name] = self::SIGNALS[$found[1]] ?? [$number, "SIG{$number}"];
        return new self(128 + $number, $name, $status);
    }
}
