<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

use Sandlot\Exception\CommandFailedException;
use Sandlot\Model\Fields;

/** The output of a command, and its end. */
final class CommandResult
{
    /**
     * @param int $exitCode 128 and the signal's number when a signal ended it
     * @param string|null $signal its name, such as SIGKILL
     * @param bool $timedOut whether the time limit ended it
     * @param string|null $reason why it failed: out_of_memory, process_limit, disk_full, time_limit, signal
     * @param string|null $message the reason in words
     * @param int|null $pid its process id; null if the sandbox has an older agent
     * @param bool $truncated whether stdout or stderr was longer than 1 MiB; the result lacks the rest
     */
    public function __construct(
        public readonly int $exitCode,
        public readonly string $stdout,
        public readonly string $stderr,
        public readonly ?string $signal = null,
        public readonly bool $timedOut = false,
        public readonly bool $truncated = false,
        public readonly int $durationMs = 0,
        public readonly bool $outOfMemory = false,
        public readonly ?string $reason = null,
        public readonly ?string $message = null,
        public readonly ?int $pid = null,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            exitCode: $fields->int('exit_code'),
            stdout: self::text($fields, 'stdout', 'stdout_encoding'),
            stderr: self::text($fields, 'stderr', 'stderr_encoding'),
            signal: $fields->stringOrNull('signal'),
            timedOut: $fields->bool('timed_out'),
            truncated: $fields->boolOrNull('truncated') ?? false,
            durationMs: $fields->int('duration_ms'),
            outOfMemory: $fields->boolOrNull('oom') ?? false,
            reason: $fields->stringOrNull('reason'),
            message: $fields->stringOrNull('message'),
            pid: $fields->intOrNull('pid'),
        );
    }

    public function succeeded(): bool
    {
        return $this->exitCode === 0;
    }

    /** @throws CommandFailedException the exit code is not 0, or a part of the output is missing */
    public function orFail(): self
    {
        return $this->succeeded() && !$this->truncated ? $this : throw new CommandFailedException($this);
    }

    /** @internal */
    public static function text(Fields $fields, string $name, string $encoding): string
    {
        $text = $fields->stringOrNull($name) ?? '';
        return $fields->stringOrNull($encoding) === 'base64' ? (string) base64_decode($text, true) : $text;
    }
}
