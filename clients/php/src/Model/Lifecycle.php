<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Lifecycle
{
    /**
     * @param OnTimeout $onTimeout What happens at the deadline: the sandbox is removed, or stopped with its memory
     *   and disk.
     * @param bool $autoResume Whether an authorised data-plane or preview request resumes the paused sandbox.
     * @param bool $pauseMemory Whether a pause at the deadline keeps the memory.
     * @param OnPauseFailure $onPauseFailure What a pause does that cannot keep the memory: stop with the disk only,
     *   or not at all.
     * @param int|null $idleTimeout The seconds of idleness after which the sandbox is paused. null: never.
     * @param LifecycleIdleConnections $idleConnections Whether open connections to the outside keep the sandbox
     *   awake.
     */
    public function __construct(
        public readonly OnTimeout $onTimeout,
        public readonly bool $autoResume,
        public readonly bool $pauseMemory,
        public readonly OnPauseFailure $onPauseFailure,
        public readonly ?int $idleTimeout,
        public readonly LifecycleIdleConnections $idleConnections,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            onTimeout: $fields->enum('on_timeout', OnTimeout::class),
            autoResume: $fields->bool('auto_resume'),
            pauseMemory: $fields->bool('pause_memory'),
            onPauseFailure: $fields->enum('on_pause_failure', OnPauseFailure::class),
            idleTimeout: $fields->intOrNull('idle_timeout'),
            idleConnections: $fields->enum('idle_connections', LifecycleIdleConnections::class),
        );
    }
}
