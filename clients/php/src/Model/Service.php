<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Service
{
    /**
     * @param string $command A line for `/bin/sh`; the start command of a template is one for the login shell of its
     *   user.
     * @param string|null $user The user of the service; null: the sandbox's default user.
     * @param string|null $cwd The working directory; null: that of other commands.
     * @param ServiceState $state `stopping`: it got SIGTERM, and starts again after its end. `waiting`: it starts
     *   again at `next_start_at`. `ended` and `failed`: it does not start again by itself.
     * @param int|null $pid The process id; null: the service does not run.
     * @param ServiceHealth|null $health `starting`: its health command has not run yet. `unhealthy`: it failed three
     *   times in a row. Null without a health command, and while it does not run.
     * @param int $restarts Number of restarts since the sandbox started from its disk.
     * @param int|null $exitCode The exit code of its last end; null: it has not ended, or a signal ended it.
     * @param string|null $reason The reason of its last end, in words.
     */
    public function __construct(
        public readonly string $name,
        public readonly string $command,
        public readonly ?string $user,
        public readonly ?string $cwd,
        public readonly ServiceRestart $restart,
        public readonly ServiceState $state,
        public readonly ?int $pid,
        public readonly ?ServiceHealth $health,
        public readonly int $restarts,
        public readonly ?int $exitCode,
        public readonly ?string $reason,
        public readonly ?\DateTimeImmutable $startedAt,
        public readonly ?\DateTimeImmutable $endedAt,
        public readonly ?\DateTimeImmutable $nextStartAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            command: $fields->string('command'),
            user: $fields->stringOrNull('user'),
            cwd: $fields->stringOrNull('cwd'),
            restart: $fields->enum('restart', ServiceRestart::class),
            state: $fields->enum('state', ServiceState::class),
            pid: $fields->intOrNull('pid'),
            health: $fields->enumOrNull('health', ServiceHealth::class),
            restarts: $fields->int('restarts'),
            exitCode: $fields->intOrNull('exit_code'),
            reason: $fields->stringOrNull('reason'),
            startedAt: $fields->timeOrNull('started_at'),
            endedAt: $fields->timeOrNull('ended_at'),
            nextStartAt: $fields->timeOrNull('next_start_at'),
        );
    }
}
