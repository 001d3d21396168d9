<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

use Sandlot\Exception\StreamCutException;
use Sandlot\Http\DataPlane;
use Sandlot\Http\EventStream;
use Sandlot\Http\Repeat;

/**
 * Programs in one sandbox. A command is a line for /bin/sh, or a list of a program and its arguments, which
 * no shell reads. Put the text of a visitor into a list, never into a line.
 */
final class Commands
{
    /** Seconds for the connection, in addition to the command's own time. */
    private const MARGIN = 30.0;

    /** @internal */
    public function __construct(private readonly DataPlane $plane)
    {
    }

    /**
     * Runs a command, and returns when it has ended.
     *
     * Without a callback, the result has the first 1 MiB of each output. With a callback, the callbacks get the
     * output as it comes, in whole characters, and the result has none. If your program ends first, or a callback
     * throws, the command ends too. Use start() for a command that must continue.
     *
     * @param string|list<string> $command
     * @param float $timeout seconds, after which sandlot kills the command
     * @param array<string, string> $envs in addition to those of the sandbox
     * @param string|null $stdin its standard input; null: /dev/null
     * @param (callable(string): void)|null $onStdout
     * @param (callable(string): void)|null $onStderr
     */
    public function run(
        string|array $command,
        float $timeout = 60.0,
        array $envs = [],
        ?string $cwd = null,
        ?string $user = null,
        ?string $stdin = null,
        ?callable $onStdout = null,
        ?callable $onStderr = null,
    ): CommandResult {
        $wish = array_filter([
            'cmd' => is_array($command) ? self::first($command) : $command,
            'args' => is_array($command) ? array_slice(array_values($command), 1) : null,
            'envs' => $envs === [] ? null : (object) $envs,
            'cwd' => $cwd,
            'user' => $user,
            'stdin' => $stdin === null ? null : base64_encode($stdin),
            'stdin_encoding' => $stdin === null ? null : 'base64',
            'timeout' => $timeout,
        ], static fn (mixed $value): bool => $value !== null);
        return $onStdout === null && $onStderr === null
            ? CommandResult::read($this->plane->json('/exec', $wish, $timeout + self::MARGIN))
            : self::follow($this->plane->events('/exec', $wish), $onStdout, $onStderr);
    }

    /**
     * Starts a program, and returns at once. Iterate over the process to read its output.
     *
     * @param string|list<string> $command
     * @param float|null $timeout seconds, after which sandlot kills the program; null: no limit
     * @param array<string, string> $envs
     * @param bool $stdin true: you can write() to it; false: it reads /dev/null
     * @param string|null $tag a name by which attach() finds it
     */
    public function start(
        string|array $command,
        ?float $timeout = null,
        array $envs = [],
        ?string $cwd = null,
        ?string $user = null,
        bool $stdin = false,
        ?TerminalSize $terminal = null,
        ?string $tag = null,
    ): Process {
        $words = is_array($command) ? array_values($command) : ['/bin/sh', '-c', $command];
        $process = ['cmd' => self::first($words), 'args' => array_slice($words, 1), 'envs' => (object) $envs];
        $message = [
            'process' => $cwd === null ? $process : [...$process, 'cwd' => $cwd],
            'stdin' => $stdin,
            ...($terminal === null ? [] : ['pty' => $terminal->message()]),
            ...($tag === null ? [] : ['tag' => $tag]),
        ];
        $stream = $this->plane->stream('process.Process/Start', $message, $user, $timeout);
        return new Process($this->plane, $stream, $terminal !== null);
    }

    /**
     * Follows a running process again, by its number or its tag. You get its output from now on.
     *
     * @param bool $hasTerminal whether you started it with a terminal
     */
    public function attach(int|string $process, bool $hasTerminal = false): Process
    {
        $message = ['process' => is_int($process) ? ['pid' => $process] : ['tag' => $process]];
        $stream = $this->plane->stream('process.Process/Connect', $message);
        return new Process($this->plane, $stream, $hasTerminal);
    }

    /** @return list<ProcessInfo> */
    public function list(): array
    {
        return $this->plane
            ->call('process.Process/List', [], Repeat::Safe)
            ->objects('processes', ProcessInfo::read(...));
    }

    /**
     * @param (callable(string): void)|null $onStdout
     * @param (callable(string): void)|null $onStderr
     */
    private static function follow(EventStream $events, ?callable $onStdout, ?callable $onStderr): CommandResult
    {
        try {
            while (($event = $events->next()) !== null) {
                [$name, $fields] = $event;
                if ($name === 'exit') {
                    return CommandResult::read($fields);
                }
                $take = match ($name) {
                    'stdout' => $onStdout,
                    'stderr' => $onStderr,
                    default => null,
                };
                if ($take !== null) {
                    $take(CommandResult::text($fields, 'data', 'encoding'));
                }
            }
        } finally {
            // Before its end this ends the command, too.
            $events->close();
        }
        throw new StreamCutException('The command was cut off before its end.');
    }

    /** @param array<int, string> $words */
    private static function first(array $words): string
    {
        return array_values($words)[0] ?? throw new \InvalidArgumentException('A command has at least one word.');
    }
}
